"""The claims of one cycle: what counts as left, what is kept, and which gangs are looked at."""

from dataclasses import replace

import pytest

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.evictions import Backfilled, RunningGang
from gang_scheduler.model.queues import Charge, EvictionRules
from gang_scheduler.scheduler.reclaim import cycle_requests as module
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest
from support.builders import gang_key
from support.queue_builders import CPU, cluster_queue, cohort, cq_ref
from support.reclaim_builders import LIMITS, NOW, Nodes, cpu_of, request

NEVER, LOWER, NEWER_EQUAL, ANY = EvictionPolicy
A, B, C = cq_ref("a"), cq_ref("b"), cq_ref("c")
QUEUES = [cohort("all"), *(cluster_queue(name, "all", 10) for name in "abc")]
PEACEFUL = EvictionRules(NEVER, NEVER, NEVER)


def names(reclaim_requests: ReclaimRequests, asking: ReclaimRequest) -> list[str]:
    return [each.key.name for each in reclaim_requests.candidates(reclaim_requests.reclaim(asking))]


def test_what_leaves_is_charged_no_longer_and_what_is_expected_is() -> None:
    nodes = Nodes()
    (victim,) = nodes.run(B, "v", 20)
    reclaim_requests = nodes.reclaim_requests(QUEUES)

    reclaim_requests.leave([victim])
    reclaim_requests.expect(request(A, 7))
    left = reclaim_requests.without_leaving()
    assert (0, 7) == (left.forest.used(B, CPU), left.forest.used(A, CPU))

    reclaim_requests.expect(None)
    assert reclaim_requests.without_leaving().forest.used(A, CPU) == 0


def test_the_charges_are_copied_once_until_anything_changes() -> None:
    nodes = Nodes()
    (victim,) = nodes.run(B, "v", 20)
    charged = nodes.ledger(QUEUES)
    reclaim_requests = ReclaimRequests(nodes.bound_pods(), charged, LIMITS)
    first = reclaim_requests.without_leaving()
    assert first is reclaim_requests.without_leaving()

    charged.charge(A, {CPU: 3})
    second = reclaim_requests.without_leaving()
    reclaim_requests.leave([victim])
    third = reclaim_requests.without_leaving()

    assert (first is second, second is third) == (False, False)
    assert (3, 23) == (third.forest.used(A, CPU), cpu_of(charged, A) + cpu_of(charged, B))


def test_whether_any_queue_may_be_reclaimed_from_is_known_whatever_is_short() -> None:
    nodes = Nodes()
    nodes.run(B, "v", 11, priority=3)
    rules = EvictionRules(NEVER, LOWER, NEVER)
    reclaim_requests = nodes.reclaim_requests(
        [QUEUES[0], cluster_queue("a", "all", 10, evictions=rules), QUEUES[2]]
    )

    assert [False, True] == [reclaim_requests.reaches_any(request(A, priority=n)) for n in (3, 4)]


def test_without_a_right_in_any_final_state_no_queue_is_reached_until_quota_is_free() -> None:
    nodes = Nodes()
    (own,) = nodes.run(A, "own", 8)
    nodes.run(B, "v", 15)
    reclaim_requests = nodes.reclaim_requests(QUEUES)

    assert [True, False] == [reclaim_requests.reaches_any(request(A, n)) for n in (2, 3)]
    reclaim_requests.leave([own])
    assert reclaim_requests.reaches_any(request(A, 3))


def test_requests_of_which_none_covers_another_are_compared_with_few_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = Nodes()
    nodes.run(B, "v", 15)
    reclaim_requests = nodes.reclaim_requests(QUEUES)
    compared: list[Charge] = []
    covers = module._covers

    def counted(large: Charge, small: Charge) -> bool:
        compared.append(small)
        return covers(large, small)

    monkeypatch.setattr(module, "_covers", counted)
    memory = CPU._replace(resource="memory")
    for each in range(1, 201):
        charge = {CPU: 1000 * each, memory: 1000 * (300 - each)}
        reclaim_requests.reaches_any(replace(request(A, 1), charge=charge))

    assert 0 < len(compared) <= 200 * module.MOST_ANSWERS


def test_a_gang_that_others_overran_reaches_them_whatever_the_quota() -> None:
    nodes = Nodes()
    known = RunningGang(backfilled=Backfilled(NOW, gang_key("p")))
    nodes.run(A, "own", 10, known=known)
    reclaim_requests = nodes.reclaim_requests(QUEUES)

    assert reclaim_requests.reaches_any(request(A, 3))
    assert not reclaim_requests.reaches_any(request(A, 3, name="q"))


def test_what_may_help_an_older_claim_alike_is_not_ruled_out_for_a_newer_one() -> None:
    nodes = Nodes()
    nodes.run(A, "v", 10, known=RunningGang(created_at=5))
    rules = EvictionRules(NEWER_EQUAL, NEVER, NEVER)
    reclaim_requests = nodes.reclaim_requests([cluster_queue("a", nominal=10, evictions=rules)])

    assert reclaim_requests.may_help(request(A, 5, created_at=9))
    assert [] == names(reclaim_requests, request(A, 5, created_at=9))
    assert ["v"] == names(reclaim_requests, request(A, 5, created_at=3))


def test_only_the_own_queue_and_those_that_borrow_what_lacks_are_candidates() -> None:
    nodes = Nodes()
    nodes.run(A, "own", 1, priority=-1)
    nodes.run(B, "borrows", 20)
    nodes.run(C, "keeps", 9)
    reclaim_requests = nodes.reclaim_requests(QUEUES)

    assert ["own", "borrows"] == names(reclaim_requests, request(A, 9))


def test_gangs_without_a_pod_that_may_go_are_no_candidates() -> None:
    nodes = Nodes()
    nodes.run(B, "fixed", 15, evictable=False)
    nodes.run(B, "loose", 15)

    assert ["loose"] == names(nodes.reclaim_requests(QUEUES), request(A, 9))


def test_a_gang_that_overran_its_end_is_one_whatever_the_policies() -> None:
    queues = [QUEUES[0], *(replace(each, evictions=PEACEFUL) for each in QUEUES[1:])]
    nodes = Nodes()
    for ref, name in ((A, "own"), (B, "within"), (C, "early")):
        until = NOW + 1 if name == "early" else NOW
        known = RunningGang(backfilled=Backfilled(until, gang_key("p")))
        nodes.run(ref, name, 10, known=known, priority=9)
    reclaim_requests = nodes.reclaim_requests(queues)

    assert ["own", "within"] == names(reclaim_requests, request(A, 9))
    assert [] == names(reclaim_requests, request(A, 9, name="q"))


def test_where_no_pod_runs_or_leaves_there_is_nothing_to_look_for() -> None:
    nodes = Nodes()
    (victim,) = nodes.run(B, "v", 1)
    nothing = Nodes().reclaim_requests(QUEUES)
    leaving = ReclaimRequests(BoundPods(leaving=(victim,)), nodes.ledger(QUEUES), LIMITS)

    assert (True, False, False) == (
        nothing.is_idle,
        nodes.reclaim_requests(QUEUES).is_idle,
        leaving.is_idle,
    )
    assert [victim] == [*nodes.reclaim_requests(QUEUES).members(victim.gang)]
    assert [] == [*leaving.members(victim.gang)]
