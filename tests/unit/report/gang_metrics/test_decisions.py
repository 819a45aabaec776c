"""Decisions are counted once each, with how long gangs have waited."""

import pytest

from gang_scheduler.apply.outcomes import Outcome
from gang_scheduler.model.consequences import Result
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.reasons import RULES, Reason
from gang_scheduler.report import gang_metrics
from gang_scheduler.report.gang_metrics import Decisions
from gang_scheduler.report.words import messages
from gang_scheduler.state import pruning
from gang_scheduler.telemetry import metrics as telemetry_metrics
from support import builders
from support.evicted_gangs import Cluster
from support.measured import DECISIONS, DURATION, TIMEOUT, Measured
from support.metric_values import growing
from support.topology_builders import BLOCK, SPINE

NO_DECISION = {
    *(Reason.WAITING_FOR_MEMBERS, Reason.WAITING_FOR_GANGS, Reason.POD_GROUP_NOT_FOUND),
    *(Reason.ELASTIC_LIMIT, Reason.SCATTERED, Reason.SET_ASIDE, Reason.INTERNAL_ERROR),
    *(Reason.WAITING_FOR_CLAIMS, Reason.NOT_GATHERED),
}


def test_each_reason_is_a_decision_or_none() -> None:
    assert {reason for reason, rule in RULES.items() if rule.result is None} == NO_DECISION
    results = next(each.bound for each in telemetry_metrics.DECISIONS.labels_declared)
    assert all(results.shown(each) == each for each in (*Result, gang_metrics.SCHEDULED))


def test_the_same_refusal_again_is_no_other_decision() -> None:
    found = Measured()
    found.gang("a")
    with growing(DECISIONS) as grown:
        for reason in (*([Reason.UNSCHEDULABLE] * 3), Reason.WAITING_FOR_QUOTA):
            found.refuse("a", reason)

    assert {("unschedulable", "false"): 1, ("quota", "false"): 1} == grown


def test_a_gang_that_lacks_members_is_not_decided_on() -> None:
    found = Measured()
    found.delete(found.gang("a")[:1])
    found.see(builders.pod("b-0", gang="b"))
    with growing(DECISIONS) as grown:
        found.refuse("b", Reason.WAITING_FOR_MEMBERS)

    assert {} == grown


def test_a_gang_is_late_once() -> None:
    found = Measured()
    found.gang("a")
    found.refuse("a", Reason.UNSCHEDULABLE)
    found.now += TIMEOUT
    with growing(DURATION) as waited, growing(DECISIONS) as grown:
        for reason in (Reason.UNSCHEDULABLE, Reason.WAITING_FOR_QUOTA, Reason.UNSCHEDULABLE):
            found.refuse("a", reason)

    assert {("PodGroup", "", "timeout"): TIMEOUT} == waited
    assert {("unschedulable", "true"): 2, ("quota", "true"): 1} == grown


def test_the_wait_of_a_gang_is_measured_from_when_it_was_complete() -> None:
    found = Measured()
    found.gang("a")
    found.now += 40
    with (
        growing(DURATION) as waited,
        growing("pgs_gang_wait_seconds_sum") as of_queue,
        growing(DECISIONS) as grown,
    ):
        found.carry_out("a", "n1", "n2")

    assert {("PodGroup", "", "scheduled"): 40} == waited
    assert {("",): 40} == of_queue
    assert {("scheduled", "false"): 1} == grown


def test_members_that_join_a_gang_that_runs_have_no_wait() -> None:
    found = Measured()
    found.bind(found.gang("a"))
    found.see(builders.pod("a-2", gang="a"))
    found.now += 2 * TIMEOUT
    with growing(DURATION) as waited, growing(DECISIONS) as grown:
        found.refuse("a", Reason.UNSCHEDULABLE)
        found.carry_out("a", "n1")

    assert {} == waited
    assert {("unschedulable", "false"): 1, ("scheduled", "false"): 1} == grown


def test_the_wait_of_a_gang_of_one_ends_with_the_first_that_has_its_claims() -> None:
    found = Measured()
    found.gang("a", 1)
    found.now += 40
    with growing(DURATION) as waited:
        found.carry_out("a", "n1", joins=True)
        found.now += 40
        found.carry_out("a", "n1", joins=True)

    assert {("PodGroup", "", "scheduled"): 40} == waited


def test_a_member_that_the_quorum_need_not_wait_for_has_no_wait() -> None:
    found = Measured()
    found.gang("a", 2)
    with growing(DURATION) as waited:
        found.carry_out("a", "n1", "n1", joins=True)

    assert {} == waited


def test_a_binding_that_failed_is_a_refusal() -> None:
    found = Measured()
    found.gang("a")
    with growing(DURATION) as waited, growing(DECISIONS) as grown:
        found.carry_out("a", "n1", "n2", outcome=Outcome.GAVE_UP)
        found.carry_out("a", "n1", "n2", outcome=Outcome.GAVE_UP)

    assert ({}, {("unschedulable", "false"): 1}) == (waited, grown)


@pytest.mark.parametrize(("nodes", "number"), [(("n1", "n1"), 1), (("n1", "n2"), 2)])
def test_domains_are_counted_of_each_layer(nodes: tuple[str, str], number: int) -> None:
    found = Measured()
    found.see()
    found.gang("a")
    found.label_blocks()
    with growing("pgs_gang_domains_sum") as grown:
        found.carry_out("a", *nodes)

    assert {(NODE_LAYER,): number, (BLOCK,): number, (SPINE,): 1} == grown


def test_a_victim_is_counted_with_what_is_lost() -> None:
    found = Measured()
    pods = found.bind(found.gang("a", started_at=900))
    with (
        growing("training_job_preemptions_total") as gangs,
        growing("pgs_preemption_lost_seconds_total") as lost,
    ):
        found.preempt(pods)

    assert {("", "Priority", ""): 1} == gangs
    assert {("",): 200} == lost


def test_bindings_are_counted_with_their_outcome_and_time() -> None:
    found = Measured()
    found.gang("a")
    found.gang("b")
    with (
        growing("pgs_bindings_total") as bindings,
        growing("pgs_gangs_bound_total") as gangs,
        growing("pgs_gang_bind_seconds_sum") as seconds,
    ):
        found.carry_out("a", "n1", "n2")
        found.carry_out("b", "n1", "n2", outcome=Outcome.GAVE_UP)

    assert {("bound",): 2, ("gave_up",): 2} == bindings
    assert ({(): 1}, {(): 2.0}) == (gangs, seconds)


def test_preemptions_are_counted_with_their_victims() -> None:
    found = Measured()
    with (
        growing("pgs_preemptions_total") as preemptions,
        growing("pgs_preemption_victims_total") as victims,
        growing("pgs_preemption_victims_gone_seconds_sum") as seconds,
    ):
        found.preempt(found.bind(found.gang("a")))
        found.measures.withdrawn()
        found.measures.victims_gone(3.5)

    assert {("carried_out",): 1, ("withdrawn",): 1} == preemptions
    assert ({(): 2}, {(): 3.5}) == (victims, seconds)


def test_an_elastic_gang_that_grows_or_shrinks_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Measured()
    pods = found.gang("a")
    monkeypatch.setattr(messages, "scaled_up", lambda *_: "more")
    monkeypatch.setattr(messages, "scaled_down", lambda *_: "less")
    with growing("pgs_elastic_changes_total") as grown:
        found.carry_out("a", "n1", "n2")
        found.preempt(found.bind(pods))

    assert {("up", "Bind", ""): 1, ("down", "Bind", ""): 1} == grown


def test_a_gang_that_is_evicted_is_counted_by_the_queues_of_both() -> None:
    cluster = Cluster()
    cluster.run("a")
    cluster.run("b", queue="blue")
    found = Decisions(cluster.cache)
    with (
        growing("training_job_preemptions_total") as gangs,
        growing("pgs_evictions_repeated_total") as again,
    ):
        found.preempted(cluster.evict({builders.gang_key("a"): EvictionClass.RECLAIM}, "b"))
        assert {} == again
        found.preempted(cluster.evict({builders.gang_key("a"): EvictionClass.RECLAIM}, "b"))

    assert {("blue", "Reclaim", "red"): 2} == gangs
    assert {("red",): 1} == again


def test_what_is_remembered_of_gangs_that_are_gone_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pruning, "MOST_GONE", 0)
    found = Measured()
    for number in range(5):
        pods = found.gang(f"g{number}")
        found.refuse(f"g{number}", Reason.UNSCHEDULABLE)
        found.delete(pods)
    found.gang("last")
    found.refuse("last", Reason.UNSCHEDULABLE)

    assert len(found.measures._decisions._last) <= 2
