"""What the status of a Queue says."""

from dataclasses import replace

import pytest

from gang_scheduler.api.conditions import Finding
from gang_scheduler.model.causes import InvalidInput
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.queues import StopPolicy
from gang_scheduler.report import queue_status
from support.queue_figures import TEAM_A


@pytest.mark.parametrize("stop", [StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN])
def test_a_stopped_queue_is_not_active(stop: StopPolicy) -> None:
    finding = queue_status.activity(replace(TEAM_A, queue=replace(TEAM_A.queue, stop=stop)))

    assert Finding("Active", status=False, reason="Stopped", message=finding.message) == finding
    assert stop in finding.message


def test_an_invalid_queue_says_what_is_wrong() -> None:
    problem = Problem(Reason.INVALID_SPEC, InvalidInput("spec.weight must be at least 0, not -1"))
    finding = queue_status.activity(replace(TEAM_A, problem=problem))

    words = "spec.weight must be at least 0, not -1"
    assert Finding("Active", status=False, reason="InvalidSpec", message=words) == finding


def test_any_other_queue_is_active() -> None:
    assert queue_status.activity(TEAM_A).status
