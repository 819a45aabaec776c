"""What leaves used lately, as time passes and charges change."""

from collections.abc import Mapping
from dataclasses import replace

from gang_scheduler.model.queues import (
    Charge,
    FlavorResource,
    LocalQueueKey,
    QueueRef,
    QueueSet,
    QueueState,
    QueueUsage,
    RecentUsage,
)
from gang_scheduler.state.queues.recent_usage import RecentUsages, advanced
from support.queue_builders import CPU, queue_ref

A, B = queue_ref("a"), queue_ref("b")
HALF = 60
DECLARED = QueueSet()
Recent = Mapping[QueueRef, Mapping[str, int]]


def usage(**charged: int) -> QueueUsage:
    found: dict[QueueRef, Charge] = {queue_ref(n): {CPU: amount} for n, amount in charged.items()}
    return QueueUsage(found)


def recent(usages: RecentUsages, used: QueueUsage, now: int) -> Recent | None:
    """Return what leaves used lately by now, when this is what they use."""
    return usages.added(QueueState(DECLARED, used), now).usage.recent


def usages(**stored: RecentUsage) -> RecentUsages:
    found = {queue_ref(name): each for name, each in stored.items()}
    return RecentUsages(HALF, lambda: found)


def test_local_queues_have_averages_of_their_own() -> None:
    key, found = LocalQueueKey("ns", "l"), usages()
    used = replace(usage(a=8), local_charged={key: {CPU: 4}})
    states = [QueueState(DECLARED, used), QueueState(DECLARED, usage())]

    first, second = (found.added(states[0], now).usage for now in (0, HALF))
    third, fourth = (found.added(states[1], now).usage for now in (HALF, 20 * HALF))

    assert [{}, {key: {"cpu": 2}}, {key: {"cpu": 2}}, {}] == [
        each.local_recent for each in (first, second, third, fourth)
    ]


def test_without_a_half_life_the_past_does_not_count() -> None:
    state = QueueState(DECLARED, usage(a=8))

    assert state is RecentUsages().added(state, 0)


def test_what_is_used_counts_by_half_after_a_half_life_and_goes_the_same_way() -> None:
    found, used, idle = usages(), usage(a=8), usage()
    seen = [recent(found, used, now) for now in (0, HALF)]
    seen += [recent(found, idle, now) for now in (HALF, 2 * HALF)]

    assert [{}, {A: {"cpu": 4}}, {A: {"cpu": 4}}, {A: {"cpu": 2}}] == seen


def test_looking_more_often_changes_nothing() -> None:
    often, seldom, used = usages(), usages(), usage(a=1000)
    for now in range(HALF):
        recent(often, used, now)
    recent(seldom, used, 0)

    assert recent(seldom, used, HALF) == recent(often, used, HALF) == {A: {"cpu": 500}}


def test_flavors_of_a_resource_are_summed() -> None:
    used = QueueUsage({A: {CPU: 2, FlavorResource("spot", "cpu"): 6}})
    found = usages()
    recent(found, used, 0)

    assert {A: {"cpu": 4}} == recent(found, used, HALF)


def test_what_was_stored_counts_as_if_the_same_was_in_use_since() -> None:
    found = usages(a=RecentUsage(0, {"cpu": 8}), b=RecentUsage(0, {"cpu": 8}))

    assert {A: {"cpu": 4}, B: {"cpu": 8}} == recent(found, usage(b=8), HALF)


def test_what_was_stored_long_ago_does_not_count() -> None:
    found, used = usages(a=RecentUsage(0, {"cpu": 8})), usage(a=4)

    assert {} == recent(found, used, 4 * HALF + 1)
    assert found.of(A, 4 * HALF + 1) == RecentUsage(4 * HALF + 1, {})


def test_what_was_stored_counts_once() -> None:
    found = usages(a=RecentUsage(0, {"cpu": 8}))
    recent(found, usage(), HALF)

    later = found.added(QueueState(QueueSet(), usage()), 2 * HALF).usage.recent

    assert {A: {"cpu": 2}} == later


def test_a_leaf_that_used_nothing_for_long_is_forgotten() -> None:
    found = usages()
    recent(found, usage(a=8), 0)
    recent(found, usage(), HALF)
    recent(found, usage(), 6 * HALF)

    assert found.of(A, 6 * HALF) is None


def test_usage_is_the_same_object_while_it_is_equal() -> None:
    found, state = usages(), QueueState(DECLARED, usage())
    first = found.added(state, 0).usage

    assert first is found.added(state, 0).usage
    assert first is found.added(state, 5).usage


def test_what_was_used_lately_counts_by_half_after_a_half_life() -> None:
    recent = RecentUsage(100, {"cpu": 8000, "memory": 4})

    later = advanced(recent, {"cpu": 2000, "pods": 6}, 160, half_life=60)

    assert RecentUsage(160, {"cpu": 5000, "memory": 2, "pods": 3}) == later


def test_what_was_used_long_ago_does_not_count() -> None:
    recent = RecentUsage(100, {"cpu": 8000})

    assert RecentUsage(341, {"cpu": 10}) == advanced(recent, {"cpu": 10}, 341, half_life=60)
    assert {"cpu": 500} == advanced(recent, {}, 340, half_life=60).amounts
    assert recent == advanced(recent, {"cpu": 1}, 90, half_life=60)
