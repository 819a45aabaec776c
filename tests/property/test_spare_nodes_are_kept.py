"""Law: no node that is kept as spare is used but by members that replace lost ones."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.model.layers import CLUSTER_LAYER
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.rules import GangRules, Rules, SpareNodes
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.queue_worlds import a_crowd
from property.random_cases import SEEDS
from property.worlds import STRATEGIES, World, worlds
from support.topology_builders import BLOCK, BLOCK_KEY, SPINE_KEY, TREE_SPEC

COUNTS = st.integers(1, 2)


def in_blocks(world: World) -> Snapshot:
    """Return the world with a tree: every two nodes are a block."""
    nodes = [
        replace(each, labels={**each.labels, SPINE_KEY: "s", BLOCK_KEY: f"b{number // 2}"})
        for number, each in enumerate(world.nodes)
    ]
    found = World(tuple(nodes), world.bound, world.gangs).snapshot()
    return replace(found, tree_specs=(TREE_SPEC,))


def plan_of(found: Snapshot, count: int | None, strategy: str) -> Plan:
    rules = () if count is None else (SpareNodes(BLOCK, count),)
    return schedule(
        found, replace(PROFILES[strategy], rules=Rules(gangs=GangRules(spare_nodes=rules)))
    )


def spare(world: World, found: Snapshot, count: int) -> set[str]:
    """Return the last free nodes of each block, counted plainly."""
    taken = {each.node for each in world.bound}
    blocks: dict[str, list[Node]] = {}
    for node in found.nodes.nodes:
        if node.ready and not node.unschedulable and node.name not in taken:
            blocks.setdefault(node.labels[BLOCK_KEY], []).append(node)
    return {node.name for nodes in blocks.values() for node in nodes[-count:]}


@given(worlds(), COUNTS, STRATEGIES)
def test_only_replacements_are_placed_on_spare_nodes(
    world: World, count: int, strategy: str
) -> None:
    found = in_blocks(world)
    kept = spare(world, found, count)

    plan = plan_of(found, count, strategy)

    for placed in plan.placed:
        on_spare = [bind for bind in placed.binds if bind.node in kept]
        gang = placed.gang
        lost = gang.was_whole and 0 < gang.bound < gang.min_member
        assert len(on_spare) <= (gang.min_member - gang.bound if lost else 0)


@given(worlds(rigid=True), COUNTS, STRATEGIES)
def test_what_needs_no_spare_node_is_placed_as_if_these_nodes_were_cordoned(
    world: World, count: int, strategy: str
) -> None:
    found = in_blocks(world)
    kept = spare(world, found, count)
    cordoned = [replace(each, ready=each.name not in kept and each.ready) for each in world.nodes]
    without = in_blocks(World(tuple(cordoned), world.bound, world.gangs))
    tolerant = any(pod.pod_class.tolerations for gang in world.gangs for pod in gang.pending)

    if not tolerant:
        assert binds(plan_of(found, count, strategy)) == binds(plan_of(without, None, strategy))


def binds(plan: Plan) -> list[tuple[str, str]]:
    """Return the pods that a plan binds, with their nodes."""
    return [(bind.pod.name, bind.node) for placed in plan.placed for bind in placed.binds]


@given(SEEDS, COUNTS)
def test_with_queues_only_replacements_are_placed_on_spare_nodes(seed: int, count: int) -> None:
    found = a_crowd(seed).snapshot()
    taken = {each.pod.nominated for each in found.nominated}
    free = [
        node.name
        for row, node in enumerate(found.nodes.nodes)
        if node.ready
        and not node.unschedulable
        and node.name not in taken
        and (found.free[row] == found.nodes.allocatable[row]).all()
    ]
    rules = (SpareNodes(CLUSTER_LAYER, count),)

    plan = schedule(
        found, replace(PROFILES["binpack"], rules=Rules(gangs=GangRules(spare_nodes=rules)))
    )

    for placed in plan.placed:
        if not placed.gang.replacing:
            assert {bind.node for bind in placed.binds}.isdisjoint(free[-count:])
