"""The most that queues allow in any final state, and charges that are gone for a while."""

from collections.abc import Sequence

from gang_scheduler.model.api_words import EvictionPolicy, Fairness
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.queues import EvictionRules
from gang_scheduler.scheduler.reclaim.after_eviction import by_queue, parts_released
from gang_scheduler.scheduler.reclaim.legal_victims import Reclaim
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue
from gang_scheduler.scheduler.turns.ledger import Ledger
from support.queue_builders import cluster_queue, cohort, cq_ref
from support.reclaim_builders import LIMITS, cpu_of, ledger, part, request, running

A, B = cq_ref("a"), cq_ref("b")
LOWER = EvictionPolicy.LOWER_PRIORITY
RULES = EvictionRules(within_queue=LOWER, reclaim=EvictionPolicy.ANY)


def a_cluster(*gangs: RunningInQueue, fairness: Fairness = Fairness.DRS) -> Ledger:
    """Return the charges of two queues that were promised 4 each."""
    both = [cluster_queue(name, "all", 4, evictions=RULES) for name in ("a", "b")]
    return ledger([cohort("all"), *both], gangs, fairness=fairness)


def hopeless(
    quota: Ledger,
    asking: ReclaimRequest,
    victims: Sequence[RunningInQueue],
    further: Sequence[RunningInQueue] = (),
) -> bool:
    return Reclaim(quota, asking, LIMITS).is_impossible(
        [part(each) for each in victims], [part(each) for each in further]
    )


def test_gangs_of_another_queue_may_follow_once_the_own_queue_has_yielded() -> None:
    own, other = running(A, "own", 4), running(B, "other", 5)
    quota, asking = a_cluster(own, other), request(A, 4, priority=1)

    assert hopeless(quota, asking, [other])
    assert not hopeless(quota, asking, [other], further=[own])


def test_a_queue_that_stops_borrowing_gives_no_more_whoever_else_goes() -> None:
    first, second, third = (running(B, name, 2) for name in "uvw")
    quota, asking = a_cluster(first, second, third), request(A, 4)

    assert not hopeless(quota, asking, [first], further=[second, third])
    assert hopeless(quota, asking, [first, second], further=[third])


def test_surplus_may_still_go_as_part_of_its_gang() -> None:
    quota = a_cluster(gang := running(B, "v", 4))
    surplus = part(gang, whole=False)

    assert not Reclaim(quota, request(A, 4), LIMITS).is_impossible([surplus], [])


def test_a_class_that_no_victims_bring_about_is_ruled_out() -> None:
    gang = running(B, "v", 8)
    quota = a_cluster(gang)
    found = []
    for asked in (4, 9):
        reclaim = Reclaim(quota, request(A, asked), LIMITS)
        reclaim.rule_out([gang])
        found.append(reclaim.possible(gang))

    within, beyond = found
    assert EvictionClass.RECLAIM in within
    assert EvictionClass.RECLAIM not in beyond


def test_charges_come_back_after_the_context() -> None:
    quota = a_cluster(first := running(B, "v", 3), second := running(B, "w", 2))
    parts = [part(first), part(second)]

    assert {B: 5} == {ref: sum(some.values()) for ref, some in by_queue(parts).items()}
    with parts_released(quota, parts):
        assert cpu_of(quota, B) == 0
    assert cpu_of(quota, B) == 5
