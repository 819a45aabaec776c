"""Law: what a gang is told of nodes is so: how many it needs, and how many have it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, node, snapshot

MOST_GPUS = 15
"""No node holds two members of eight."""
SAID = re.compile(
    r"Needs (\d+) nodes with (.*?) free nvidia.com/gpu(.*?), (\d+|none) ha(?:s|ve) (?:it|them)"
)
CORDONED = re.compile(r"(\d+) (?:more|other)(?: nodes?)? (?:is|are) cordoned")
NODES = st.lists(
    st.tuples(
        st.integers(0, MOST_GPUS),
        st.integers(1, 8),
        st.sampled_from(["usable", "usable", "cordoned", "down", "tainted"]),
    ),
    min_size=1,
    max_size=8,
)


@given(NODES, st.integers(2, 8), st.integers(1, 6))
def test_as_many_nodes_have_it_as_is_said(
    offered: list[tuple[int, int, str]], pods: int, cpu: int
) -> None:
    nodes = [
        node(
            f"n{number}",
            gpu=gpus,
            cpu=cpus,
            unschedulable=state == "cordoned",
            ready=state != "down",
            taints=["a=b:NoSchedule"] if state == "tainted" else [],
        )
        for number, (gpus, cpus, state) in enumerate(offered)
    ]
    plan = schedule(snapshot(nodes, [gang("a", pods=pods, gpu=8, cpu=cpu)]), PROFILES["binpack"])
    have = [state for gpus, cpus, state in offered if gpus >= 8 and cpus >= cpu]

    message = " ".join(map(describe, plan.refused))

    said = SAID.search(message)
    assert (have.count("usable") >= pods) == (not plan.refused)
    if said is not None:
        assert (pods, have.count("usable")) == (int(said[1]), int(said[4].replace("none", "0")))
        cordoned = CORDONED.search(message)
        assert have.count("cordoned") == (int(cordoned[1]) if cordoned is not None else 0)
