"""How gangs say that they are told to save their work: strictly, with the field that is wrong."""

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import checkpoints
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.checkpoints import CheckpointMode, CheckpointPolicy, Save
from gang_scheduler.workloads import jobs

MODE, TIMEOUT = annotations.CHECKPOINT, annotations.CHECKPOINT_TIMEOUT
PORT, PATH = annotations.CHECKPOINT_PORT, annotations.CHECKPOINT_PATH


def test_nothing_is_said_by_most() -> None:
    assert checkpoints.policy_of({"example.com/a": "b"}) is None
    assert not checkpoints.says_policy({PATH: "s3://bucket/a"})


@pytest.mark.parametrize("mode", ["Signal", "Annotation"])
def test_a_mode_without_an_address(mode: str) -> None:
    said = {MODE: mode, TIMEOUT: "1m30s", PATH: "s3://bucket/a"}

    assert CheckpointPolicy(CheckpointMode(mode), 90) == checkpoints.policy_of(said)


def test_a_timeout_alone_is_of_the_default() -> None:
    assert CheckpointPolicy(CheckpointMode.SIGNAL, 20) == checkpoints.policy_of({TIMEOUT: "20s"})


def test_an_address() -> None:
    said = {MODE: "HTTP", PORT: "8090", PATH: "/v1/checkpoint"}

    found = checkpoints.policy_of(said)

    assert CheckpointPolicy(CheckpointMode.HTTP, None, 8090, "/v1/checkpoint") == found


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({MODE: "signal"}, MODE),
        ({MODE: ""}, MODE),
        ({TIMEOUT: "30"}, TIMEOUT),
        ({TIMEOUT: "0s"}, TIMEOUT),
        ({MODE: "HTTP"}, PORT),
        ({MODE: "HTTP", PORT: "1023"}, PORT),
        ({MODE: "HTTP", PORT: "65536"}, PORT),
        ({MODE: "HTTP", PORT: "-8080"}, PORT),
        ({PORT: "eight"}, PORT),
        *(
            ({MODE: "HTTP", PORT: "8090", PATH: path}, PATH)
            for path in (
                "",
                "checkpoint",
                "//a b",
                "/a\r\nHost: b",
                "/?a=b",
                "http://a/",
                "/" * 300,
            )
        ),
    ],
)
def test_what_cannot_be_meant_names_the_field(said: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidField) as wrong:
        checkpoints.policy_of(said)

    assert field in str(wrong.value)
    assert checkpoints.readable(said) is None


def test_all_faults_of_an_object_are_reported_at_once() -> None:
    with pytest.raises(InvalidField) as wrong:
        checkpoints.policy_of({MODE: "Mail", TIMEOUT: "soon", PORT: "0"})

    assert all(key in str(wrong.value) for key in (MODE, TIMEOUT, PORT))


# On a Job.


def job(**present: str) -> GangSpec:
    """Return the gang of a Job with annotations of its own."""
    labels = {annotations.JOB_GANG_LABEL: "true"}
    body = {
        "metadata": {"name": "j", "namespace": "default", "uid": "u", "annotations": present},
        "spec": {"parallelism": 2, "template": {"metadata": {"labels": labels}}},
    }
    (found,) = jobs.read(body).gang_specs
    return found


def test_a_job_says_it_for_its_gang() -> None:
    found = job(**{MODE: "Annotation", annotations.CHECKPOINT_DONE_AT: "2026-01-01T12:00:00Z"})

    assert CheckpointPolicy(CheckpointMode.ANNOTATION) == found.checkpoint
    assert Save(1_767_268_800) == found.saved
    assert found.problem is None


def test_a_job_that_says_it_wrongly_does_not_start() -> None:
    problem = job(**{MODE: "Mail"}).problem

    assert problem is not None
    assert MODE in str(problem.cause)
