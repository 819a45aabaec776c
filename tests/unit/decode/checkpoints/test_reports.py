"""What gangs report of their checkpoints: leniently, whatever is written there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.api import annotations
from gang_scheduler.api.conditions import CHECKPOINT_REQUESTED
from gang_scheduler.decode import checkpoints
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import (
    GREATEST_STEP,
    LONGEST_PATH,
    CheckpointMode,
    CheckpointPolicy,
    Checkpoints,
    PodCheckpoint,
    Request,
    Requested,
    Save,
)
from gang_scheduler.wire.base import Condition
from gang_scheduler.wire.pods import ContainerState, ContainerStatus, Terminated
from support import api_objects
from support import decoded as pod_decode

AT, SECONDS = "2026-01-01T12:00:00Z", 1_767_268_800
DONE, STEP = annotations.CHECKPOINT_DONE_AT, annotations.CHECKPOINT_STEP
ID, PATH = annotations.CHECKPOINT_REQUEST_ID, annotations.CHECKPOINT_PATH
ASKED = annotations.CHECKPOINT_REQUESTED_AT


def ended(message: str, finished_at: str = AT) -> ContainerStatus:
    """Return the status of a container that left a message."""
    return ContainerStatus("main", ContainerState(Terminated(message, finished_at)))


# Annotations.


@pytest.mark.parametrize(
    ("status", "message", "at", "expected"),
    [
        pytest.param("True", "r1", AT, Request("r1", SECONDS), id="stands"),
        pytest.param("False", "r1", AT, None, id="withdrawn"),
        pytest.param("True", "", AT, None, id="no id"),
        pytest.param("True", "r1", None, None, id="no time"),
    ],
)
def test_a_request_over_http_is_a_condition(
    status: str, message: str, at: str | None, expected: Request | None
) -> None:
    ready = Condition("Ready", "True")
    noted = Condition(CHECKPOINT_REQUESTED, status, "", message, last_transition_time=at)

    found = checkpoints.of_pod({}, [], [ready, noted])

    assert expected == (found.request if found is not None else None)


def test_most_pods_say_nothing() -> None:
    assert checkpoints.of_pod({annotations.QUEUE: "a"}, [ContainerStatus("main")]) is None


def test_an_answer_is_read_with_the_request_on_the_pod() -> None:
    present = {ASKED: AT, ID: "r1", DONE: "2026-01-01T12:00:09Z", STEP: "1200", PATH: "s3://b/c"}

    found = checkpoints.of_pod(present, [])

    save = Save(SECONDS + 9, 1200, "s3://b/c", "r1")
    assert PodCheckpoint(request=Request("r1", SECONDS), save=save) == found


def test_a_gang_may_report_without_being_asked_and_without_a_step() -> None:
    assert Save(SECONDS) == checkpoints.of_annotations({DONE: AT}, None)


def test_in_mode_http_the_path_is_that_of_the_request() -> None:
    policy = CheckpointPolicy(CheckpointMode.HTTP, port=8080, path="/save")

    assert Save(SECONDS, 5) == checkpoints.of_annotations(
        {DONE: AT, STEP: "5", PATH: "/save"}, policy
    )


@pytest.mark.parametrize(
    "present",
    [
        {},
        {DONE: ""},
        {DONE: "yesterday", STEP: "5"},
        {STEP: "5", PATH: "s3://b/c", ID: "r1"},
    ],
)
def test_without_a_time_nothing_is_reported(present: dict[str, str]) -> None:
    assert checkpoints.of_annotations(present, None) is None


@pytest.mark.parametrize("step", ["", "-1", "1.5", "1e3", "9" * 17, str(GREATEST_STEP + 1)])
def test_a_step_that_is_no_number_is_left_out(step: str) -> None:
    assert Save(SECONDS) == checkpoints.of_annotations({DONE: AT, STEP: step}, None)


@pytest.mark.parametrize("path", ["a" * (LONGEST_PATH + 1), "a\nb", "a\x1b[31m"])
def test_a_path_that_cannot_be_shown_is_left_out(path: str) -> None:
    assert Save(SECONDS) == checkpoints.of_annotations({DONE: AT, PATH: path}, None)


# Termination messages.


def test_a_termination_message_is_a_report_of_when_the_container_ended() -> None:
    found = checkpoints.of_pod({}, [ended('{"checkpoint": {"step": 1200, "path": "s3://b/c"}}')])

    assert PodCheckpoint(save=Save(SECONDS, 1200, "s3://b/c")) == found


def test_what_a_container_left_before_it_was_started_again_counts() -> None:
    again = ended('{"checkpoint": {"step": 7}}')
    status = ContainerStatus("main", last_state=again.state)

    assert PodCheckpoint(save=Save(SECONDS, 7)) == checkpoints.of_pod({}, [status])


def test_of_two_reports_the_newer_one_counts() -> None:
    message = ended('{"checkpoint": {"step": 8}}', "2026-01-01T12:00:30Z")

    found = checkpoints.of_pod({DONE: AT, STEP: "7"}, [message])

    assert found is not None
    assert Save(SECONDS + 30, 8) == found.save


@pytest.mark.parametrize(
    "message",
    [
        "Killed",
        '"checkpoint"',
        '{"checkpoint": 5}',
        '{"checkpoint": {"step": "x"}}',
        '{"checkpoint": {"step": 1}',
        "[" * 4000 + '"checkpoint"',
        '{"checkpoint": {"path": "\ud800"}}',
    ],
)
def test_any_other_message_reports_nothing(message: str) -> None:
    found = checkpoints.of_pod({}, [ended(message)])

    assert found is None or found.save is None


def test_a_pod_is_read_with_all_of_it() -> None:
    message = '{"checkpoint": {"step": 3}}'
    status = {
        "podIP": "10.0.0.7",
        "containerStatuses": [
            {"name": "main", "state": {"terminated": {"message": message, "finishedAt": AT}}}
        ],
    }
    body = api_objects.pod_body(status=status, terminationGracePeriodSeconds=90)

    pod = pod_decode.pod(body)

    assert PodCheckpoint(save=Save(SECONDS, 3)) == pod.checkpoint
    assert ("10.0.0.7", 90) == (pod.address, pod.grace_seconds)
    assert "" == pod_decode.pod({**body, "spec": {**body["spec"], "hostNetwork": True}}).address


# Answers over HTTP.


def test_an_answer_over_http() -> None:
    assert Save(9, 3, "p", "r1") == checkpoints.of_answer(b'{"step": 3, "path": "p"}', 9, "r1")
    assert Save(9, None, "", "r1") == checkpoints.of_answer(b"{}", 9, "r1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"saved",
        b"[]",
        b'{"step": -1}',
        b'{"step": true}',
        b'{"path": "a\\u0000"}',
        b"\xff",
        b"[" * 4000,
        b'{"path": "' + b"a" * (LONGEST_PATH + 1) + b'"}',
    ],
)
def test_any_other_answer_is_none(body: bytes) -> None:
    assert checkpoints.of_answer(body, 9, "r1") is None


@given(st.binary(max_size=5000))
def test_no_answer_is_an_error(body: bytes) -> None:
    checkpoints.of_answer(body, 9, "r1")


# Statuses.


def test_a_status_is_read_as_it_is_written() -> None:
    status = {
        "checkpoint": {
            "requestId": "r2",
            "requestedAt": "2026-01-01T12:01:00Z",
            "outcome": "TimedOut",
            "doneAt": AT,
            "step": 5,
            "path": "c5",
            "resumeCount": 2,
        },
        "checkpoints": [
            {"doneAt": AT, "step": 5, "path": "c5"},
            {"doneAt": "2026-01-01T11:00:00Z", "step": 4, "path": "c4", "requestId": "r1"},
        ],
    }

    found = checkpoints.of_status(status)

    assert found is not None
    assert [(SECONDS, 5, "c5"), (SECONDS - 3600, 4, "c4")] == [each[:3] for each in found.saves]
    assert Requested(Request("r2", SECONDS + 60), CheckpointOutcome.TIMED_OUT) == found.requested
    assert 2 == found.resume_count


def test_a_status_that_only_says_when_is_enough() -> None:
    assert Checkpoints((Save(SECONDS),)) == checkpoints.of_status({"checkpoint": {"doneAt": AT}})


@pytest.mark.parametrize("status", [{}, {"checkpoint": None}, {"checkpoints": {}}])
def test_a_status_without_checkpoints_says_nothing(status: dict[str, Any]) -> None:
    assert checkpoints.of_status(status) is None


@pytest.mark.parametrize(
    "status",
    [
        {"checkpoint": {"doneAt": 5, "step": [], "requestId": {}, "outcome": 3}},
        {"checkpoints": [None, 3, "x", {"doneAt": "x"}]},
        {"checkpoint": {"requestId": "r" * 65, "requestedAt": AT}},
    ],
)
def test_what_cannot_be_read_of_a_status_is_left_out(status: dict[str, Any]) -> None:
    assert Checkpoints() == checkpoints.of_status(status)


def test_a_job_remembers_the_last_checkpoint_of_its_gang() -> None:
    text = f'{{"doneAt":"{AT}","step":5,"path":"s3://b/c","requestId":"r","resumeCount":2}}'

    found = checkpoints.of_latest({annotations.CHECKPOINT_LATEST: text})

    assert Checkpoints((Save(SECONDS, 5, "s3://b/c", "r"),), None, 2) == found


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"step":5}', "9" * 20_000])
def test_what_cannot_be_read_on_a_job_says_nothing(text: str) -> None:
    assert checkpoints.of_latest({annotations.CHECKPOINT_LATEST: text}) is None


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ('{"checkpoint": {"step": 7, "path": "c"}}', ""),
        ('{"checkpoint": {"step": "7"}}', "cannot be read"),
        ('{"checkpoint": {"step": 7.5}}', "cannot be read"),
        ('{"checkpoint": {"step": -1}}', "has a step that is not from 0"),
        ('{"checkpoint": {"step": 9007199254740992}}', "has a step that is not from 0"),
        ('{"checkpoint": "c"}', "cannot be read"),
        ('{"checkpoint": {"step": 7, "path": "c', "cannot be read"),
        ('{"checkpoint": {"path": "%s"}}' % ("c" * 1025), "has a path of more than 1024"),
        ('{"checkpoint": {"path": "a\\nb"}}', "has a path of more than 1024"),
        (' {"checkpoint": null}', "cannot be read"),
        ('Error: no "checkpoint" here', ""),
        ("{}", ""),
    ],
)
def test_a_message_that_is_meant_as_a_report_and_is_none_is_reported(
    message: str, why: str
) -> None:
    found = checkpoints.of_pod({}, [ended(message)])

    told = found.unreadable if found is not None else ""
    assert why in told
    assert bool(why) == told.startswith("the termination message of container main ")
