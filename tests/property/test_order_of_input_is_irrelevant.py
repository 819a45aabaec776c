"""Law: the order in which objects are seen does not matter."""

from collections.abc import Callable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from property.worlds import STRATEGIES, World, worlds
from support import cache_feeding
from support.builders import SCHEDULER


@given(st.data(), worlds(), STRATEGIES)
def test_nodes_and_gangs_may_come_in_any_order(
    data: st.DataObject, world: World, strategy: str
) -> None:
    shuffled = World(
        nodes=tuple(data.draw(st.permutations(world.nodes))),
        bound=tuple(data.draw(st.permutations(world.bound))),
        gangs=tuple(data.draw(st.permutations(world.gangs))),
    )

    assert world.plan(strategy) == shuffled.plan(strategy)


def plan_of_cache(world: World, order: list[int]) -> Plan:
    """Return the plan of a cache that saw everything in this order."""
    cache = Cache([SCHEDULER], Changes())
    waiting = [pod for each in world.gangs for pod in each.pending]
    declared = [
        GangSpec(each.key, each.uid, POD_GROUPS, min_member=each.min_member) for each in world.gangs
    ]
    seen: list[Callable[[], None]] = [
        *(partial(cache.upsert, cache.node_store, each) for each in world.nodes),
        *(partial(cache.upsert_pod, each) for each in (*waiting, *world.bound)),
        *(
            partial(cache_feeding.upsert_gang_specs, cache, POD_GROUPS.group, each.uid, [each])
            for each in declared
        ),
    ]
    for i in sorted(range(len(seen)), key=lambda i: (order[i % len(order)], i)):
        seen[i]()
    return schedule(cache.snapshot(0), PROFILES["binpack"])


@given(worlds(), st.lists(st.integers(0, 99), min_size=1, max_size=30))
def test_events_may_come_in_any_order(world: World, order: list[int]) -> None:
    assert plan_of_cache(world, [0]) == plan_of_cache(world, order)
