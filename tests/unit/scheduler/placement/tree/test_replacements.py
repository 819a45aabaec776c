"""Members that join bound members are looked for only as long as that can come to something."""

from collections.abc import Sequence
from unittest.mock import patch

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support import topology_builders
from support.builders import gang, group, pod, snapshot
from support.call_counts import calls_of
from support.plan_reading import nodes_of, reasons
from support.topology_builders import BLOCK, SPINE, TREE_SPEC, must, runs

BLOCKS = 20
SIZE = 2 * BLOCKS
LOOKED = "replacements._Ranks._seat_beside"


def plan_for(request: TopologyRequest, *, needs: Sequence[int]) -> Plan:
    """Return the plan for a gang of which every other member runs; members differ in what they ask.

    Each block has two nodes of 100 CPUs, and the waiting members ask for as many as `needs`.
    """
    nodes = topology_builders.nodes(
        {f"s/b{i:02}": (2 * i, 2 * i + 1) for i in range(BLOCKS)}, cpu=100
    )
    bound = [pod(f"a-{2 * i}", node=f"node-{2 * i}", cpu=1) for i in range(BLOCKS)]
    members: list[Pod] = [pod(f"a-{2 * i + 1}", cpu=cpu) for i, cpu in enumerate(needs)]
    one = gang("a", members=members, bound_members=bound, min_member=SIZE)
    snap = snapshot(nodes, [group(one, topology_request=request)], bound, tree_specs=[TREE_SPEC])
    return schedule(snap, PROFILES["binpack"])


def test_once_too_few_find_a_slot_nobody_looks_for_the_others() -> None:
    request, others = must(SPINE, slices=[runs(BLOCK, 2)]), range(1, BLOCKS)

    first = calls_of(lambda: plan_for(request, needs=[200, *others]))[LOOKED]
    last = calls_of(lambda: plan_for(request, needs=[*others, 200]))[LOOKED]

    assert (first * BLOCKS, True) == (last, first > 0)


def test_members_that_take_the_work_of_a_whole_cycle_are_given_up_and_it_is_said() -> None:
    request = must(SPINE, slices=[runs(BLOCK, 2)])
    needs = range(1, BLOCKS + 1)

    with patch.object(effort, "MOST_OF_CYCLE", BLOCKS // 2):
        cut = plan_for(request, needs=needs)

    assert {"a": "Unschedulable"} == reasons(cut)
    assert "search" in describe(cut.refused[0])
    assert BLOCKS == len(nodes_of(plan_for(request, needs=needs)))


def test_members_without_slices_are_then_placed_anywhere_in_the_domain() -> None:
    with patch.object(effort, "MOST_OF_CYCLE", BLOCKS // 2):
        plan = plan_for(must(SPINE), needs=range(1, BLOCKS + 1))

    assert BLOCKS == len(nodes_of(plan))
