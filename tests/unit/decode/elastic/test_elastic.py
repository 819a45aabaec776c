"""What the annotation of an elastic gang says, and every way in which it can be wrong."""

import json
from typing import Any

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import elastic
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.reasons import Problem, Reason

WHERE = "metadata.annotations[py-gang-scheduler.io/elastic]"
POLICY = {
    "scaleUpCooldown": "10m",
    "scaleDownCooldown": "5m",
    "scaleUpStep": 2,
    "scaleDownStep": 3,
}


def present(**fields: Any) -> dict[str, str]:
    return {annotations.ELASTIC: json.dumps({"minWorkers": 2, "maxWorkers": 8, **fields})}


def test_without_the_annotation_a_gang_says_nothing() -> None:
    assert elastic.elastic_of({}) is None
    assert (None, None) == elastic.of_member("ns/a", {})


def test_the_pace_is_without_cooldown_and_one_by_one_unless_it_is_given() -> None:
    assert Elastic(2, 8) == elastic.elastic_of(present())
    assert Elastic(2, 8) == elastic.elastic_of(present(scalePolicy={}, mode="Bind"))
    assert Elastic(2, 8, 600, 300, 2, 3, "worker") == elastic.elastic_of(
        present(scalePolicy=POLICY, role="worker", mode="Bind")
    )


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0), ("0", 0), ("1500ms", 2), ("24h", 86_400)])
def test_cooldowns_are_durations(text: str, seconds: int) -> None:
    found = elastic.elastic_of(present(scalePolicy={"scaleUpCooldown": text}))

    assert found is not None
    assert seconds == found.up_cooldown


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"minWorkers": 0}, ".minWorkers must be at least 1, not 0"),
        ({"minWorkers": None}, ".minWorkers is required"),
        ({"maxWorkers": None}, ".maxWorkers is required"),
        ({"minWorkers": True}, ".minWorkers must be a whole number, not true"),
        ({"maxWorkers": 1}, ".maxWorkers must be at least minWorkers (2), not 1"),
        ({"workers": 3}, " must have no fields but minWorkers and maxWorkers and"),
        ({"mode": "bind"}, '.mode must be Bind or Replicas, not "bind"'),
        ({"role": 3}, ".role must be a string, not 3"),
        ({"scalePolicy": []}, ".scalePolicy must be an object, not []"),
        ({"scalePolicy": {"scaleUpStep": 0}}, ".scalePolicy.scaleUpStep must be at least 1, not 0"),
        (
            {"scalePolicy": {"scaleDownCooldown": "24h1s"}},
            '.scalePolicy.scaleDownCooldown must be at most 24h, not "24h1s"',
        ),
        (
            {"scalePolicy": {"scaleUpCooldown": 60}},
            ".scalePolicy.scaleUpCooldown must be a string, not 60",
        ),
        (
            {"scalePolicy": {"scaleUpCooldown": "-1m"}},
            ".scalePolicy.scaleUpCooldown must be a duration",
        ),
        ({"scalePolicy": {"step": 1}}, ".scalePolicy must have no fields but scaleUpCooldown and"),
    ],
)
def test_what_is_wrong_is_named_with_its_field_and_value(
    fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidField) as error:
        elastic.elastic_of(present(**fields))

    assert str(error.value).startswith(WHERE + problem)
    said, found = elastic.of_member("ns/a", present(**fields))
    assert said is None
    assert found is not None
    assert found.reason is Reason.INVALID_SPEC


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(InvalidField) as error:
        elastic.elastic_of(present(minWorkers=0, mode=1, scalePolicy={"scaleDownStep": -1}))

    told = str(error.value)
    assert all(name in told for name in (".minWorkers", ".mode", ".scaleDownStep"))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"minWorkers": 1, "minWorkers": 2}'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidField):
        elastic.elastic_of({annotations.ELASTIC: text})


def test_the_other_mode_is_supported_on_the_workloads_that_have_it_alone() -> None:
    asked = present(mode="Replicas")

    assert Elastic(2, 8, by_replicas=True) == elastic.elastic_of(asked)
    assert elastic.unsupported(asked, "Job") is None
    assert elastic.unsupported(present(), "TrainJob") is None
    kinds = (
        "JAXJob, Job, MPIJob, PaddleJob, PyTorchJob, RayCluster, StatefulSet, TFJob or XGBoostJob"
    )
    only = f"only in the annotations of a {kinds}: must be Bind"
    text = f'{WHERE}.mode is not supported for TrainJob, {only} (it is "Replicas")'
    assert text == str(elastic.unsupported(asked, "TrainJob"))
    text = f'{WHERE}.mode is not supported here, {only} (it is "Replicas")'
    expected = Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(f"pod ns/a: {text}"))
    assert (Elastic(2, 8, by_replicas=True), expected) == elastic.of_member("ns/a", asked)


def test_a_whole_gang_needs_as_many_as_its_workers_at_least_are() -> None:
    wrong = elastic.contradiction(Elastic(2, 8), (), 3, "spec.minMember")

    assert f"spec.minMember must be the minWorkers of {WHERE} (2), not 3" == str(wrong)
    assert elastic.contradiction(Elastic(2, 8), (), 2, "spec.minMember") is None
    assert elastic.contradiction(None, (), 3, "spec.minMember") is None


def test_beside_its_workers_a_gang_may_need_members_of_other_roles() -> None:
    workers = Elastic(2, 8, role="worker")

    assert elastic.contradiction(workers, (), 3, "spec.minMember") is None
    wrong = elastic.contradiction(workers, (), 1, "spec.minMember")
    assert f"spec.minMember must be at least the minWorkers of {WHERE} (2), not 1" == str(wrong)


def test_the_role_of_the_workers_is_one_of_the_gang_with_the_same_minimum() -> None:
    workers = Elastic(2, 8, role="worker")
    master = Role("master", 1)

    assert elastic.contradiction(workers, (master, Role("worker", 2)), 3, "spec.minMember") is None
    other = elastic.contradiction(workers, (master, Role("ps", 2)), 3, "spec.minMember")
    assert f'{WHERE}.role must be master or ps, not "worker"' == str(other)
    more = elastic.contradiction(workers, (master, Role("worker", 3)), 4, "spec.minMember")
    assert f"{WHERE}.minWorkers must be 3, the minimum of role worker (it is 2)" == str(more)
