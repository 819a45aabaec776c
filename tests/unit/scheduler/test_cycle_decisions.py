"""A shape that did not fit is no reason not to try gangs of another shape."""

from gang_scheduler.model.gangs import BlockCause, Gang, PreemptionBlock
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import bound_pod, bound_pods, gang, node, pod, snapshot
from support.plan_reading import gangs_placed, victims_of


def decide(*gangs: Gang, evictable: int) -> Plan:
    """Decide on two nodes of one CPU, each with a bound pod; so many of these are evictable."""
    nodes = [node(f"n{i}", cpu=1) for i in range(2)]
    on_nodes = [bound_pod(f"t{i}", f"n{i}", cpu=1, evictable=i < evictable) for i in range(2)]
    cluster = snapshot(nodes, gangs, bound_pods=bound_pods(*on_nodes), taken_at=1000)
    return schedule(cluster, PROFILES["binpack"])


def test_a_small_gang_may_evict_where_a_large_one_of_its_class_could_not() -> None:
    large = gang("large", pods=2, priority=5, created_at=1)
    small = gang("small", pods=1, priority=5, created_at=2)

    assert {"t0"} == victims_of(decide(large, small, evictable=1))


def test_a_gang_may_evict_though_the_surplus_of_another_one_may_not() -> None:
    surplus = gang("a", pods=1, min_member=1, bound=1, satisfied=True, priority=5, created_at=1)
    whole = gang("b", pods=1, priority=5, created_at=2)

    assert {"t0"} == victims_of(decide(surplus, whole, evictable=1))


def test_a_gang_may_evict_though_one_of_its_class_must_not() -> None:
    block = PreemptionBlock(BlockCause.POLICY_NEVER, pod="default/a-0")
    peaceful = gang("a", pods=1, priority=5, created_at=1, preemption_block=block)
    other = gang("b", pods=1, priority=5, created_at=2)

    assert {"t0"} == victims_of(decide(peaceful, other, evictable=1))


def test_a_small_gang_fits_where_a_large_one_of_its_class_did_not() -> None:
    large = gang("large", pods=3, created_at=1)
    small = gang("small", pods=2, created_at=2)

    plan = schedule(snapshot([node("n0", cpu=2)], [large, small]), PROFILES["binpack"])

    assert ["small"] == gangs_placed(plan)


def test_a_gang_of_another_class_fits_where_the_first_did_not() -> None:
    large, small = gang("large", cpu=3, created_at=1), gang("small", cpu=2, created_at=2)

    plan = schedule(snapshot([node("n0", cpu=2)], [large, small]), PROFILES["binpack"])

    assert ["small"] == gangs_placed(plan)


def test_a_gang_fits_in_room_that_another_one_has_given_up() -> None:
    first = gang("first", cpu=2, priority=10, created_at=1)
    nominated = [pod(f"b-{i}", gang="b", cpu=2, priority=10, nominated=f"n{i}") for i in range(2)]
    gives_up = gang("b", members=nominated, priority=10, created_at=2)
    low = gang("low", cpu=2, priority=1)
    nodes = [node("n0", cpu=2), node("n1", cpu=1)]

    plan = schedule(
        snapshot(nodes, [first, gives_up, low], bound_pods=bound_pods()), PROFILES["binpack"]
    )

    assert ["low"] == gangs_placed(plan)
