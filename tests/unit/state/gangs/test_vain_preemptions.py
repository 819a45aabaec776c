"""An owner that has evicted for nothing evicts nothing for a while, whatever becomes of gangs."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.gangs import BlockCause, GangGroup, PreemptionBlock
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.rules import Rules
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.vain_preemptions import VainRounds
from support import applying, builders, cache_feeding
from support.builders import SCHEDULER, gang_spec, node, pod
from support.gang_queue_builders import NOW
from support.plan_reading import victims_of
from support.queue_builders import queue_ref

BLOCK = PreemptionBlock(BlockCause.IN_VAIN, rounds=3)
A, B = queue_ref("a"), queue_ref("b")


def group(name: str, queue: QueueRef | None = None, namespace: str = "default") -> GangGroup:
    gang = builders.gang(name)
    key = gang.key._replace(namespace=namespace)
    return builders.group(replace(gang, queue=queue, key=key))


def blocks(rounds: VainRounds, groups: Iterable[GangGroup], now: int) -> list[bool]:
    """Return whether each group may evict nothing now."""
    found = rounds.held_back(groups, now)
    return [each.gangs[0].preemption_block == BLOCK for each in found]


def in_vain(rounds: VainRounds, times: int, queue: QueueRef | None = None) -> None:
    """Let gangs be gone, a second after each other, right after pods were evicted for them."""
    for number in range(times):
        made = group(f"g{number}", queue)
        rounds.begin(made.gangs, NOW + number)
        rounds.forget(made.gangs[0].key)


def test_three_in_ten_minutes_are_enough_and_then_it_may_evict_again() -> None:
    rounds, made = VainRounds(), [group("next")]
    found = []

    for times in (2, 1):
        in_vain(rounds, times)
        found += blocks(rounds, made, NOW + 2)
    found += [each for at in (599, 602) for each in blocks(rounds, made, NOW + at)]

    assert found == [False, True, True, False]


def test_others_are_not_concerned() -> None:
    rounds = VainRounds()
    in_vain(rounds, 3, A)

    groups = [group("x", A), group("x", B), group("x"), group("x", A, namespace="other")]

    assert blocks(rounds, groups, NOW + 5) == [True, False, False, False]


def test_what_came_to_something_does_not_count() -> None:
    rounds = VainRounds()
    for number in range(5):
        made = group(f"g{number}")
        rounds.begin(made.gangs, NOW)
        rounds.placed(made.gangs[0].key)
        rounds.forget(made.gangs[0].key)

    assert blocks(rounds, [group("next")], NOW + 5) == [False]


@pytest.mark.parametrize(
    ("reason", "blocked"),
    [
        (Reason.WAITING_FOR_MEMBERS, True),
        (Reason.INVALID_SPEC, True),
        (Reason.QUEUE_NOT_FOUND, True),
        (Reason.WAITING_FOR_VICTIMS, False),
        (Reason.UNSCHEDULABLE, False),
    ],
)
def test_gangs_that_their_owner_keeps_from_starting_count_and_others_do_not(
    reason: Reason, *, blocked: bool
) -> None:
    rounds = VainRounds()
    for number in range(3):
        made = group(f"g{number}")
        rounds.begin(made.gangs, NOW)
        rounds.refused(made.gangs[0].key, reason)

    assert blocks(rounds, [group("next")], NOW + 5) == [blocked]


def test_a_gang_that_gets_its_members_after_all_counts_no_longer() -> None:
    rounds = VainRounds()
    made = [group(f"g{number}") for number in range(3)]
    for each in made:
        rounds.begin(each.gangs, NOW)
        rounds.refused(each.gangs[0].key, Reason.WAITING_FOR_MEMBERS)

    rounds.refused(made[0].gangs[0].key, Reason.WAITING_FOR_VICTIMS)

    assert blocks(rounds, [group("next")], NOW + 5) == [False]


def test_a_group_that_is_held_back_is_the_same_object_in_each_cycle() -> None:
    rounds, made = VainRounds(), group("next")
    in_vain(rounds, 3)

    first, second = (rounds.held_back([made], NOW + at)[0] for at in (5, 6))

    assert first is second


def test_nothing_of_gangs_that_are_gone_is_kept_for_long() -> None:
    rounds = VainRounds()
    for number in range(100):
        made = group(f"g{number}", queue_ref(f"q{number}"))
        rounds.begin(made.gangs, NOW)
        if number % 2:
            rounds.forget(made.gangs[0].key)

    rounds.held_back([], NOW + 600)

    assert not rounds._by_owner
    assert not rounds._owners


# In a cluster.


def cluster(nodes: int) -> Cache:
    """Return a cluster full of pods of the lowest priority in another namespace."""
    cache = Cache([SCHEDULER], Changes(), Rules())
    cache.gang_queue.expect_nothing()
    for i in range(nodes):
        cache.upsert(cache.node_store, node(f"n{i}", cpu=8))
        low = pod(f"low-{i}", node=f"n{i}", cpu=8, priority=-1, phase="Running", namespace="guest")
        cache.upsert_pod(low)
    return cache


def come(cache: Cache, name: str) -> None:
    """Let a gang of two come that needs two nodes."""
    spec = gang_spec(name, 2)
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, spec.uid, [spec])
    for i in range(2):
        cache.upsert_pod(pod(f"{name}-{i}", gang=name, cpu=8, priority=5))


def cycle(cache: Cache, now: int) -> Plan:
    """Decide, and take the plan in."""
    plan = schedule(cache.snapshot(now), PROFILES["binpack"])
    applying.take_in(cache, plan, now, applying.WritesNothing())
    return plan


def victims_go(cache: Cache, plan: Plan, *, come_back: bool) -> None:
    """Let victims be gone, and others be bound in their places."""
    for each in (each.pod for made in plan.preemptions for each in made.victims):
        cache.delete_pod(each.uid)
        if come_back:
            cache.upsert_pod(replace(each, uid=f"{each.uid}+", marked_as_victim=False))


def evict_in_vain(cache: Cache, number: int, *, whole: bool = True) -> int:
    """Let a gang come and go before it is bound, or lose a member; return how many were evicted."""
    name = f"g{number}"
    come(cache, name)
    plan = cycle(cache, NOW + number)
    cache.delete_pod(f"uid-{name}-0")
    if whole:
        cache.delete_pod(f"uid-{name}-1")
        cache_feeding.delete_gang_specs(cache, POD_GROUPS.group, f"uid-{name}")
    victims_go(cache, plan, come_back=whole)
    cycle(cache, NOW + number)
    return len(victims_of(plan))


@pytest.mark.parametrize(("whole", "evicted"), [(True, [2, 2, 2]), (False, [2, 1, 1])])
def test_an_owner_that_evicts_and_deletes_evicts_no_more(
    evicted: list[int], *, whole: bool
) -> None:
    """The gangs are deleted, or one member of each: then the next one finds a node that is free."""
    cache = cluster(20)

    found = [evict_in_vain(cache, number, whole=whole) for number in range(6)]

    assert found == [*evicted, 0, 0, 0]


def test_after_ten_minutes_it_may_evict_again() -> None:
    cache = cluster(20)
    for number in range(3):
        evict_in_vain(cache, number)
    come(cache, "last")

    plans = [cycle(cache, NOW + at) for at in (3, 599, 660)]

    assert [len(victims_of(each)) for each in plans] == [0, 0, 2]
    (refused,) = plans[0].refused
    assert refused.preemption is not None
    assert refused.preemption.block == BLOCK


def test_an_owner_whose_gangs_start_evicts_as_often_as_it_needs() -> None:
    cache = cluster(20)
    found = []

    for number in range(6):
        come(cache, f"g{number}")
        plan = cycle(cache, NOW + number)
        found.append(len(victims_of(plan)))
        victims_go(cache, plan, come_back=False)
        cache.gang_queue.room_freed()
        assert cycle(cache, NOW + number + 100).placed

    assert found == [2] * 6
