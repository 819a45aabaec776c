"""No plan is carried out whose victim could evict the preemptor at once, and alone."""

from dataclasses import replace

import pytest

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.queues import EvictionRules, Queue
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.reclaim.after_eviction import Part
from gang_scheduler.scheduler.reclaim.legal_victims import Reclaim
from gang_scheduler.scheduler.reclaim.ping_pong import returning
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue
from support.builders import gang_key
from support.queue_builders import CPU, cluster_queue, cohort, cq_ref
from support.reclaim_builders import LIMITS, cpu_of, ledger, part, request, running

A, B = cq_ref("a"), cq_ref("b")
V = frozenset({gang_key("v")})
NONE_RETURNS = frozenset[GangKey]()
ANY = EvictionRules(within_queue=EvictionPolicy.ANY)
ONE_QUEUE = [cluster_queue("a", nominal=10, evictions=ANY)]


def returns(
    queues: list[Queue],
    asking: ReclaimRequest,
    *parts: Part,
    stays: tuple[RunningInQueue, ...] = (),
) -> frozenset[GangKey]:
    quota = ledger(queues, [*stays, *(each.running for each in parts)])
    return returning(quota, asking, parts, LIMITS)


def test_two_gangs_that_may_evict_each_other_do_not_begin() -> None:
    assert V == returns(ONE_QUEUE, request(A, 10), part(running(A, "v", 10)))


def test_a_victim_that_may_not_take_it_back_does_not_return() -> None:
    lower = [cluster_queue("a", nominal=10)]

    assert NONE_RETURNS == returns(lower, request(A, 10, priority=1), part(running(A, "v", 10)))


def test_a_victim_for_which_quota_is_left_needs_nothing_back() -> None:
    assert NONE_RETURNS == returns(ONE_QUEUE, request(A, 4), part(running(A, "v", 6)))


def test_a_victim_that_would_have_to_evict_others_too_does_not_return() -> None:
    world = part(running(A, "v", 8))

    assert V == returns(ONE_QUEUE, request(A, 4), world, stays=(running(A, "w", 2),))
    assert NONE_RETURNS == returns(ONE_QUEUE, request(A, 4), world, stays=(running(A, "w", 3),))


def test_surplus_and_gangs_that_never_preempt_take_nothing_back() -> None:
    victim = running(A, "v", 10)
    meek = replace(victim, preempts=False)

    assert NONE_RETURNS == returns(ONE_QUEUE, request(A, 10), part(victim, whole=False))
    assert NONE_RETURNS == returns(ONE_QUEUE, request(A, 10), part(meek))


@pytest.mark.parametrize(("quorum", "found"), [(6, NONE_RETURNS), (7, V)])
def test_an_elastic_gang_comes_back_with_its_quorum(quorum: int, found: frozenset[GangKey]) -> None:
    victim = part(running(A, "v", 10), quorum={CPU: quorum})

    assert found == returns(ONE_QUEUE, request(A, 4), victim)


def test_how_long_queues_let_gangs_run_does_not_protect_the_preemptor() -> None:
    rules = replace(ANY, min_runtime=600)

    assert V == returns(
        [cluster_queue("a", nominal=10, evictions=rules)], request(A, 10), part(running(A, "v", 10))
    )


def test_a_borrower_that_evicted_within_another_promise_would_be_reclaimed_from() -> None:
    queues = [cohort("all"), cluster_queue("a", "all", 4), cluster_queue("b", "all", 6)]
    own = replace(queues[1], evictions=replace(ANY, while_borrowing=EvictionPolicy.ANY))
    victim = running(B, "v", 6)

    assert V == returns([queues[0], own, queues[2]], request(A, 10), part(victim))


def test_charges_are_left_as_they_were() -> None:
    victim = running(A, "v", 10)
    quota = ledger(ONE_QUEUE, [victim])

    returning(quota, request(A, 10), [part(victim)], LIMITS)

    assert cpu_of(quota, A) == 10
    judged = Reclaim(quota, request(A, 10), LIMITS).judge([part(victim)])
    assert {victim.key: EvictionClass.IN_QUEUE} == judged.classes
