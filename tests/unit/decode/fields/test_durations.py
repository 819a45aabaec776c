"""How long pods are declared to run, by annotation, label and deadline."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangName
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import job_sets, jobs
from support import decoded as pod
from support.api_objects import pod_body, pod_group_body

EXPECTED = "py-gang-scheduler.io/expected-duration"
KUEUE = "kueue.x-k8s.io/max-exec-time-seconds"


def test_the_shorter_of_two_times_counts() -> None:
    assert fields.expected_duration({KUEUE: "60"}, {EXPECTED: "2h"}) == 60
    assert fields.expected_duration({KUEUE: "7201"}, {EXPECTED: "2h"}) == 7200
    assert fields.expected_duration({}, {}) is None


@pytest.mark.parametrize(
    ("labels", "present", "key"),
    [
        ({}, {EXPECTED: "soon"}, EXPECTED),
        ({}, {EXPECTED: "0s"}, EXPECTED),
        ({KUEUE: "0"}, {}, KUEUE),
        ({KUEUE: "1h"}, {}, KUEUE),
    ],
)
def test_a_bad_value_is_named_and_says_nothing(
    labels: dict[str, str], present: dict[str, str], key: str
) -> None:
    with pytest.raises(InvalidField, match=key):
        fields.expected_duration(labels, present)

    assert fields.run_time(None, labels, present) is None
    assert fields.run_time(30, labels, present) == RunTime(30)


def read(present: dict[str, str], **spec: Any) -> Pod:
    return pod.pod(pod_body(metadata={"annotations": present}, **spec))


def test_a_pod_with_a_bad_value_waits_and_says_why() -> None:
    wrong = read({EXPECTED: "soon"})

    assert wrong.problem is not None
    assert wrong.problem.reason is Reason.INVALID_SPEC
    assert EXPECTED in text_of(wrong.problem.cause)


def test_what_a_pod_says() -> None:
    assert read({EXPECTED: "90m"}).run_time == RunTime(None, 5400)
    assert read({}, activeDeadlineSeconds=60).run_time == RunTime(60)
    assert read({}).run_time is None


def test_a_pod_group_says_it_for_its_gang_and_what_is_written_of_its_reservation() -> None:
    since = "2026-01-01T00:00:00Z"
    body = pod_group_body("a", metadata={"annotations": {EXPECTED: "90m"}, "name": "a"})
    conditions = [{"type": "Reserved", "status": "True", "lastTransitionTime": since}]
    backfill = {"until": since, "for": "default/big"}
    resting = {**conditions[0], "status": "False", "reason": "TimedOut"}

    held = pod_groups.pod_group({**body, "status": {"conditions": conditions}})
    rests = pod_groups.pod_group({**body, "status": {"conditions": [resting]}})
    passed = pod_groups.pod_group({**body, "status": {"backfill": backfill}})

    assert held.run_time == RunTime(None, 5400)
    assert (held.reserved_since, held.rests_since) == (1_767_225_600, 0)
    assert (rests.reserved_since, rests.rests_since) == (0, 1_767_225_600)
    assert passed.backfilled == (1_767_225_600, GangName("default", "big"))


def test_a_job_says_it_for_its_pods_from_its_start() -> None:
    metadata = {"name": "j", "namespace": "ns", "uid": "j", "labels": {KUEUE: "60"}}
    body = {
        "metadata": metadata,
        "spec": {"activeDeadlineSeconds": 90, "template": {}},
        "status": {"startTime": "2026-01-01T00:00:00Z"},
    }

    read_job = jobs.read(body)
    wrong = jobs.read({**body, "metadata": {**metadata, "labels": {KUEUE: "x"}}})

    assert read_job.run_time == RunTime(90, 60, 1_767_225_600)
    assert read_job.run_time_problem is None
    assert wrong.run_time == RunTime(90, None, 1_767_225_600)
    assert wrong.run_time_problem is not None
    assert "Job ns/j" in text_of(wrong.run_time_problem.cause)


@pytest.mark.parametrize("text", ["1m" * 32, "+" + "1" * 12 + "s"])
def test_a_duration_may_be_long(text: str) -> None:
    assert fields.seconds(text, "x") > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.1h", 3960), ("1h30m", 5400), ("300ms", 1), ("1.5us", 1), ("90.5s", 91)],
)
def test_a_duration_is_exact_and_rounded_up(text: str, expected: int) -> None:
    assert expected == fields.seconds(text, "x")


@pytest.mark.parametrize("text", ["0", "0s", "0m", "0h0s"])
def test_no_time_is_a_duration_only_where_it_makes_sense(text: str) -> None:
    assert 0 == fields.seconds(text, "x", or_zero=True)
    with pytest.raises(InvalidField, match="must be a duration of more than 0"):
        fields.seconds(text, "x")


@pytest.mark.parametrize("text", ["", "90", "abc", "90 s", "-90s", "1h90"])
def test_what_is_no_duration_is_named_with_its_field(text: str) -> None:
    with pytest.raises(InvalidField, match=f'x must be a duration .* not "{text}"'):
        fields.seconds(text, "x", or_zero=True)


@pytest.mark.parametrize("text", ["1m" * 33, "1" * 65 + "s", "1" * 250_000])
def test_what_is_longer_than_any_duration_is_none(text: str) -> None:
    with pytest.raises(InvalidField, match="must be a duration"):
        fields.seconds(text, "x")


def test_a_job_set_says_how_long_its_gangs_run() -> None:
    template = {"metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}}, "spec": {}}
    job = {"spec": {"template": template}}
    own = {"name": "s", "namespace": "default", "uid": "s"}

    said = []
    for text in ("2h", "soon"):
        body = {
            "metadata": {**own, "annotations": {EXPECTED: text}},
            "spec": {"replicatedJobs": [{"name": "w", "template": job}]},
        }
        (spec,) = job_sets.read(body).gang_specs
        said.append((spec.run_time, spec.problem and spec.problem.reason))

    assert [(RunTime(expected=7200), None), (None, Reason.INVALID_SPEC)] == said
