"""Law: an auditor that watches for months keeps nothing of what is gone."""

import gc
import json
import tracemalloc
from itertools import pairwise

from gang_auditor.rules import table
from gang_scheduler.api import annotations as keys
from support.audit_streams import Stream, bound, changed, deleted, node, pod, pod_group

ROUNDS = 200
WINDOWS = 4
LEAST_BYTES = 40
"""Less than any object that is kept for a round takes, by its key alone."""


def test_what_is_gone_takes_no_memory() -> None:
    stream = Stream(*table.RULES)
    tracemalloc.start()
    try:
        sizes = []
        for window in range(WINDOWS):
            for number in range(window * ROUNDS, (window + 1) * ROUNDS):
                come_and_go(stream, number)
            sizes.append(held())
    finally:
        tracemalloc.stop()

    assert [] == stream.end()
    # A cache that is bounded may grow in one of them; what is kept for each round grows in all.
    assert min(after - before for before, after in pairwise(sizes)) < ROUNDS * LEAST_BYTES


def come_and_go(stream: Stream, number: int) -> None:
    """Let nodes, a queue, and a gang that gathers in a group come and go, with a victim of it."""
    gang, queue = f"gang-{number}", {**QUEUE, "metadata": {"name": f"q-{number}", "uid": "q"}}
    hosts = [node(f"node-{number}-{letter}") for letter in "ab"]
    group = pod_group(gang, 2, **{keys.GANG_GROUPS: json.dumps([f"lab/{gang}"])})
    gathers = {keys.PODSET_REQUIRED: "kubernetes.io/hostname"}
    members = [pod(f"{gang}-{n}", gang=gang, annotations=gathers) for n in range(2)]
    foreign = pod(f"{gang}-2", gang=gang, schedulerName="default-scheduler")
    runs = [bound(each, f"node-{number}-a", plan=f"run-{number}") for each in members]
    by_hand = bound(foreign, f"node-{number}-b", plan=None)
    marked = [changed(each, status={"conditions": [MARK]}) for each in runs]
    stream.see(*hosts, queue, group, *members, by_hand, *runs)
    stream.wait(100)
    stream.see(*marked, *map(deleted, marked))
    stream.gone(*marked, by_hand, group, queue, *hosts)
    stream.wait(1000)


def held() -> int:
    """Return how many bytes Python holds."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


QUEUE = {
    "apiVersion": "py-gang-scheduler.io/v1alpha1",
    "kind": "Queue",
    "spec": {"quota": {"soft": {"cpu": "64"}}},
}
MARK = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "makes room",
}
