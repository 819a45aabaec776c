"""Gangs are followed from when they are created until their run has ended."""

import pytest

from gang_scheduler.model.reasons import Reason
from support.measured import COMPLETION, DURATION, Measured
from support.metric_values import growing, sample, series


@pytest.mark.parametrize(("phase", "status"), [("Succeeded", "succeeded"), ("Failed", "failed")])
def test_a_run_is_measured_from_when_the_gang_was_whole(phase: str, status: str) -> None:
    found = Measured()
    pods = found.gang("a")
    found.measures.show()
    pods = found.bind(pods)
    found.now += 30
    found.measures.show()
    found.now += 70
    with growing(COMPLETION) as grown:
        found.end(pods, phase)
        found.measures.show()
        found.delete(pods)
        found.measures.show()

    assert {("PodGroup", "", status): 100} == grown


def test_a_run_that_is_over_at_the_next_look_is_measured_too() -> None:
    found = Measured()
    pods = found.bind(found.gang("a"))
    found.now += 1
    with growing(COMPLETION) as grown:
        found.end(pods, "Succeeded")
        found.measures.show()
        found.measures.show()

    assert {("PodGroup", "", "succeeded"): 1} == grown


def test_a_run_that_was_over_before_this_process_is_not_counted() -> None:
    found = Measured()
    pods = found.bind(found.gang("a"))
    found.end(pods, "Succeeded")
    successor = type(found.measures)(found.cache, lambda: found.now)
    with growing(COMPLETION) as grown:
        successor.show()

    assert {} == grown


def test_a_gang_whose_members_are_deleted_or_evicted_has_ended() -> None:
    found = Measured()
    pods, others = found.bind(found.gang("a")), found.bind(found.gang("b"))
    found.measures.show()
    found.now += 60
    with growing(COMPLETION) as grown:
        found.preempt(pods)
        found.delete(pods)
        found.delete(others)
        found.measures.show()

    assert {("PodGroup", "", "deleted"): 60, ("PodGroup", "", "evicted"): 60} == grown


def test_a_gang_that_has_recovered_was_not_evicted() -> None:
    found = Measured()
    pods = found.bind(found.gang("a"))
    found.measures.show()
    found.preempt(pods[:1])
    found.cache.gang_queue.infos[pods[0].gang].preempted.end()
    found.cache.gang_queue.changed.add(pods[0].gang)
    found.measures.show()
    found.now += 10
    with growing(COMPLETION) as grown:
        found.delete(pods)
        found.measures.show()

    assert {("PodGroup", "", "deleted"): 10} == grown


def test_a_gang_that_is_deleted_while_it_waits_has_waited_in_vain() -> None:
    found = Measured()
    pods = found.gang("a")
    found.measures.show()
    found.now += 50
    with growing(DURATION) as grown:
        found.delete(pods)
        found.measures.show()

    assert {("PodGroup", "", "deleted"): 50} == grown


def test_gangs_are_counted_by_how_far_they_have_come() -> None:
    found = Measured()
    waiting = found.gang("a", priority=5)
    found.bind(found.gang("b"))
    found.refuse("a", Reason.UNSCHEDULABLE)
    found.now += 20
    found.measures.show()

    shown = {(("job_type", "PodGroup"), ("phase", phase)): 1 for phase in ("Scheduling", "Running")}
    assert shown == series("pgs_gangs")
    assert 1 == sample("training_job_queue_length", queue="", priority="default")
    assert 20 == sample("pgs_oldest_wait_seconds", reason="Unschedulable")

    found.delete(waiting)
    found.measures.show()
    assert 1 == len(series("pgs_gangs"))
    assert {} == series("training_job_queue_length") == series("pgs_oldest_wait_seconds")


def test_a_step_that_was_handed_over_is_looked_at() -> None:
    found = Measured()
    found.gang("a")
    found.measures.gangs.changed(found.cache.gang_queue.changed)
    found.cache.gang_queue.changed.clear()
    found.measures.show()

    assert 1 == sum(series("pgs_gangs").values())
