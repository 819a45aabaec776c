"""Gangs that are set aside by the scheduler are so in answers about its cluster."""

from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.inspection.explaining import first_sentence
from gang_scheduler.inspection.listing import waits
from gang_scheduler.model.causes.gangs import DecisionTooLong
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.set_aside import SHARE_SECONDS
from support.builders import SCHEDULER, gang, gang_spec, pod

NOW = 1_000_000
AT = DecisionTooLong(3.2, SHARE_SECONDS, NOW + 60)


def problem(message: str, reason: str = "SetAside") -> Problem | None:
    """Return what is wrong with a gang whose status says so."""
    cache = Cache([SCHEDULER], Changes())
    condition = {"type": "Scheduled", "status": "False", "reason": reason, "message": message}
    spec = replace(gang_spec("a", 1), status={"conditions": [condition]})
    cache.gang_queue.upsert_gang_specs(POD_GROUPS.group, spec.uid, [spec])
    cache.upsert_pod(pod("a-0", gang="a"))
    waits.set_aside_as_written(cache, NOW)
    (group,) = cache.snapshot(NOW).groups
    return group.problem


def test_what_is_said_is_what_was_written() -> None:
    assert Problem(Reason.SET_ASIDE, AT) == problem(f"gang a: {text_of(AT)}. More is said")


def test_another_reason_sets_nothing_aside() -> None:
    assert problem(text_of(AT), reason="Unschedulable") is None


@pytest.mark.parametrize("message", ["", "x" * 10_000, text_of(AT).replace("1970-01", "1970-13")])
def test_a_message_of_somebody_else_says_no_more_than_the_reason(message: str) -> None:
    found = problem(message)

    assert found is not None
    assert Reason.SET_ASIDE is found.reason


def test_a_time_that_has_passed_is_soon() -> None:
    found = problem(text_of(DecisionTooLong(3.2, SHARE_SECONDS, NOW - 60)))

    assert found == Problem(Reason.SET_ASIDE, DecisionTooLong(3.2, SHARE_SECONDS, NOW + 1))


def test_the_first_sentence_says_it() -> None:
    waits = gang("a")
    refused = Refused(waits, Reason.SET_ASIDE, waits.pending, cause=AT)

    assert first_sentence.of_refusal(refused).startswith(
        "It is set aside: to decide on it took the scheduler 3.2 s"
    )
