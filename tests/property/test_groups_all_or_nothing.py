"""Law: a gang group gets all of its quorums at once, or none of them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property import oracle
from property.worlds import STRATEGIES, World, asks, at_once, clusters, verdicts, worlds
from support.builders import gang, group, snapshot


@st.composite
def grouped(draw: st.DrawFn, world: World) -> tuple[GangGroup, ...]:
    """Return the gangs of a world, cut into groups."""
    rest, found = list(world.gangs), []
    while rest:
        size = draw(st.integers(1, len(rest)))
        found.append(group(*rest[:size]))
        rest = rest[size:]
    return tuple(found)


def plan_of(world: World, groups: tuple[GangGroup, ...], strategy: str) -> Plan:
    return schedule(snapshot(world.nodes, groups, world.bound), PROFILES[strategy])


@given(st.data(), worlds(), STRATEGIES)
def test_all_quorums_of_a_group_or_none(data: st.DataObject, world: World, strategy: str) -> None:
    groups = data.draw(grouped(world))

    plan = plan_of(world, groups, strategy)

    placed = {each.gang.key: len(each.binds) for each in plan.placed}
    for each in groups:
        quorums = [placed.get(one.key, 0) >= at_once(one) for one in each.gangs]
        assert all(quorums) or not any(one.key in placed for one in each.gangs)


@given(st.data(), worlds(), STRATEGIES)
def test_every_gang_of_a_group_has_one_verdict(
    data: st.DataObject, world: World, strategy: str
) -> None:
    groups = data.draw(grouped(world))

    plan = plan_of(world, groups, strategy)

    assert sorted(each.key for each in world.gangs) == verdicts(plan)


@given(st.data(), worlds(), STRATEGIES)
def test_what_a_group_was_bound_to_is_accepted_beside_all_others(
    data: st.DataObject, world: World, strategy: str
) -> None:
    plan = plan_of(world, data.draw(grouped(world)), strategy)

    after = world.after(plan).bound
    nodes = {each.name: each for each in world.nodes}
    for pod in after[len(world.bound) :]:
        others = oracle.on(nodes[pod.node], (each for each in after if each.uid != pod.uid))
        assert oracle.accepts(nodes[pod.node], others, pod.pod_class)


@given(st.data(), worlds(), STRATEGIES)
def test_a_group_in_any_order_of_groups_gets_the_same(
    data: st.DataObject, world: World, strategy: str
) -> None:
    groups = data.draw(grouped(world))
    shuffled = tuple(data.draw(st.permutations(groups)))

    assert plan_of(world, groups, strategy) == plan_of(world, shuffled, strategy)


@given(st.data(), worlds(), STRATEGIES)
def test_a_refused_group_takes_no_room_from_others(
    data: st.DataObject, world: World, strategy: str
) -> None:
    rigid = tuple(
        group(*(replace(one, pending=one.pending[: at_once(one) or 1]) for one in each.gangs))
        for each in data.draw(grouped(world))
    )
    plan = plan_of(world, rigid, strategy)
    placed = {each.gang.key for each in plan.placed}
    refused = {each.gang.key for each in plan.refused} - placed
    others = tuple(each for each in rigid if each.gangs[0].key not in refused)

    assert plan.placed == plan_of(world, others, strategy).placed


@given(
    clusters(),
    asks(),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 1)), min_size=1, max_size=3),
    STRATEGIES,
)
def test_a_group_of_equal_members_is_placed_when_brute_force_finds_room(
    world: World, asked: PodClass, sizes: list[tuple[int, int]], strategy: str
) -> None:
    gangs = []
    for name, (minimum, surplus) in zip("abc", sizes, strict=False):
        one = gang(name, pods=minimum + surplus, min_member=minimum)
        pending = tuple(replace(each, pod_class=asked) for each in one.pending)
        gangs.append(replace(one, pending=pending))
    needed = sum(minimum for minimum, _ in sizes)

    plan = plan_of(world, (group(*gangs),), strategy)

    assert bool(plan.placed) == _fits(world, asked, needed)


def _fits(world: World, asked: PodClass, needed: int) -> bool:
    """Count what each node takes, one by one: the order of equal pods does not matter."""
    room = 0
    for node in world.nodes:
        here = oracle.on(node, world.bound)
        while room < needed and oracle.accepts(node, here, asked):
            here.append(asked)
            room += 1
    return room >= needed
