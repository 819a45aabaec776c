"""A plan is counted in the state as a whole, save what could not be begun."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gang_scheduler import internal_errors
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.plan import TakenIn, take_in
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.causes.queues import QuotaShort
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.plan import Bind, Placed, Plan, Preemption, Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders
from support.applying import WritesNothing
from support.queue_builders import our_queue, queue_ref
from support.queue_clusters import KIND

POD = builders.pod("a-0", gang="a")
GANG = builders.gang("a", members=[POD])


class Writers(WritesNothing):
    """Writers that fail, or that have begun with everything before."""

    def __init__(self, *, fails: bool = False, has_begun: bool = False) -> None:
        self.fails = fails
        self.has_begun = has_begun

    def bind(self, _: Sequence[Placed]) -> None:
        """Fail where that is wanted."""
        if self.fails:
            raise ZeroDivisionError("planted")

    def is_preempting(self, _: Preemption) -> bool:
        """Say what is wanted."""
        return self.has_begun

    def preempt(self, _: Preemption) -> None:
        """Fail where that is wanted."""
        if self.fails:
            raise ZeroDivisionError("planted")


def taken(plan: Plan, writers: Writers) -> tuple[Cache, TakenIn]:
    cache = Cache([builders.SCHEDULER], Changes())
    cache.upsert_pod(POD)
    try:
        found = take_in(
            cache, plan, 0, lost_nominations=LostNominations(cache, Naming()), writers=writers
        )
    finally:
        internal_errors.forget()
    return cache, found


def where(cache: Cache) -> tuple[str, str]:
    """Return the node and the nominated node of the pod."""
    found = cache.pod(POD.uid)
    assert found is not None
    return found.node, found.nominated


PLACED = Plan(placed=(Placed(GANG, (Bind(POD, "n1"),)),))
NOMINATED = Plan(preemptions=(Preemption((GANG,), (Bind(POD, "n1"),)),))


def test_members_are_on_their_nodes_from_then_on() -> None:
    cache, _ = taken(PLACED, Writers())

    assert ("n1", "") == where(cache)


def test_others_are_tried_again_for_the_quota_of_a_gang_that_cannot_be_handed_over() -> None:
    queue = our_queue("q", 1)
    cache = Cache([builders.SCHEDULER], Changes())
    cache.queues.upsert(DeclaredQueue(queue, KIND))
    waiting, starting = (replace(builders.gang(each), queue=queue.ref) for each in ("w", "a"))
    cache.gang_queue.quota_waits.moved(
        waiting.key, None, Refused(waiting, Reason.WAITING_FOR_QUOTA, waiting.pending)
    )
    plan = Plan(placed=(Placed(starting, (Bind(POD, "n1"),)),))
    lost = LostNominations(cache, Naming())
    take_in(cache, plan, 0, lost_nominations=lost, writers=Writers(fails=True))
    internal_errors.forget()

    assert {waiting.key} == cache.gang_queue.quota_waits.helped()


def test_a_gang_that_cannot_be_handed_over_is_taken_back_and_refused() -> None:
    cache, found = taken(PLACED, Writers(fails=True))

    assert ("", "") == where(cache)
    assert [Reason.INTERNAL_ERROR] == [each.reason for each in found.plan.refused]


def test_nominations_count_from_then_on() -> None:
    cache, _ = taken(NOMINATED, Writers())

    assert ("", "n1") == where(cache)


def test_what_is_on_its_way_or_cannot_be_handed_over_is_not_counted() -> None:
    for writers in (Writers(has_begun=True), Writers(fails=True)):
        cache, _ = taken(NOMINATED, writers)

        assert ("", "") == where(cache)


@pytest.mark.parametrize(("unsearched", "retry"), [(frozenset(), None), (frozenset([GANG.key]), 1)])
def test_a_gang_for_which_no_search_came_to_its_end_is_tried_again_soon(
    unsearched: frozenset[GangKey], retry: int | None
) -> None:
    refused = Refused(GANG, Reason.WAITING_FOR_QUOTA, GANG.pending)

    cache, _ = taken(Plan(refused=(refused,), unsearched=unsearched), Writers())

    assert retry == cache.gang_queue.next_retry()


def test_a_gang_that_was_not_tried_is_tried_in_the_next_cycle() -> None:
    refused = Refused(GANG, Reason.WAITING_FOR_QUOTA, GANG.pending)
    cache, _ = taken(Plan(refused=(refused,)), Writers())
    cache.gang_queue.take_due(0)
    lost_nominations = LostNominations(cache, Naming())

    take_in(
        cache,
        Plan(untried=frozenset([GANG.key])),
        0,
        lost_nominations=lost_nominations,
        writers=Writers(),
    )

    assert [GANG.key] == [group.gangs[0].key for group in cache.gang_queue.take_due(0)]
    assert refused == cache.gang_queue.infos[GANG.key].verdict.refusal


def test_a_gang_is_tried_again_when_one_that_it_let_pass_must_have_ended() -> None:
    other = replace(builders.gang("b"), queue=queue_ref("a"))
    passes = Placed(other, (), backfilled=Backfilled(40, GANG.key))
    refused = Refused(GANG, Reason.WAITING_FOR_QUOTA, GANG.pending)

    cache, _ = taken(Plan((passes,), refused=(refused,)), Writers())

    assert cache.gang_queue.next_retry() == 40


@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_gang_that_is_let_pass_when_it_is_nominated_is_held_to_its_end(
    *, is_dropped: bool
) -> None:
    """From when it starts. Not if it was refused room since."""
    waits = replace(GANG, queue=queue_ref("a"), duration=600)
    ahead_of = builders.gang_key("big")
    nominated = Preemption((waits,), (), backfilled=Backfilled(600, ahead_of))
    refused = Refused(waits, Reason.UNSCHEDULABLE, waits.pending)
    cache, _ = taken(Plan(preemptions=(nominated,)), Writers())
    lost_nominations = LostNominations(cache, Naming())
    for plan in (Plan(refused=(refused,) * is_dropped), Plan((Placed(waits, ()),))):
        take_in(cache, plan, 30, lost_nominations=lost_nominations, writers=Writers())

    held = cache.gang_queue.infos[GANG.key].backfilled
    assert held == (None if is_dropped else Backfilled(630, ahead_of))


def test_a_gang_that_waits_as_before_is_unchanged_until_its_moment_comes() -> None:
    """Its schedule timeout ends at 30, and it is tried again then."""
    short, other = (QuotaShort("a", "default", "cpu", 2, free) for free in (1, 0))
    waits, same, lacks_more = (
        Refused(GANG, Reason.WAITING_FOR_QUOTA, GANG.pending, cause=cause)
        for cause in (short, short, other)
    )
    cache = Cache([builders.SCHEDULER], Changes())
    cache.gang_queue.deadlines.timeout_seconds = 30
    cache.upsert_pod(POD)
    cache.gang_queue.infos[GANG.key].attempt.quorum_since = 0

    def is_unchanged(refused: Refused, now: int, *unsearched: GangKey) -> bool:
        lost = LostNominations(cache, Naming())
        plan = Plan(refused=(refused,), unsearched=frozenset(unsearched))
        found = take_in(cache, plan, now, lost_nominations=lost, writers=Writers())
        return found.unchanged == {GANG.key}

    assert not is_unchanged(waits, 0)
    assert is_unchanged(waits, 1)
    assert not is_unchanged(waits, 1, GANG.key)
    assert not is_unchanged(lacks_more, 2)
    assert not is_unchanged(same, 3)
    assert is_unchanged(same, 29)
    assert [set(), {GANG.key}] == [cache.gang_queue.retries.due(now) for now in (29, 30)]
    assert not is_unchanged(same, 30)
    assert cache.gang_queue.infos[GANG.key].verdict.late


def test_a_gang_without_room_is_reported_after_each_try_once_its_timeout_has_ended() -> None:
    refused = Refused(GANG, Reason.UNSCHEDULABLE, GANG.pending)
    cache = Cache([builders.SCHEDULER], Changes())
    cache.gang_queue.deadlines.timeout_seconds = 5
    cache.upsert_pod(POD)
    cache.gang_queue.infos[GANG.key].attempt.quorum_since = 0

    def is_reported(now: int) -> bool:
        lost = LostNominations(cache, Naming())
        plan = Plan(refused=(refused,))
        found = take_in(cache, plan, now, lost_nominations=lost, writers=Writers())
        return not found.unchanged

    assert [True] * 4 == [is_reported(now) for now in (5, 5, 6, 7)]


def test_a_gang_without_room_is_unchanged_until_its_pause_ends() -> None:
    refused = Refused(GANG, Reason.UNSCHEDULABLE, GANG.pending)
    cache = Cache([builders.SCHEDULER], Changes())
    cache.upsert_pod(POD)

    def is_unchanged(now: int) -> bool:
        lost = LostNominations(cache, Naming())
        plan = Plan(refused=(refused,))
        found = take_in(cache, plan, now, lost_nominations=lost, writers=Writers())
        return found.unchanged == {GANG.key}

    # Each try doubles the pause: they end at 1, 2, 6 and 11.
    assert [is_unchanged(now) for now in (0, 0, 2, 3, 11)] == [False, True, False, True, False]
