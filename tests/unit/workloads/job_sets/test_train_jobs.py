"""JobSets that a TrainJob owns: gangs without asking for it."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import JOB_GANG_LABEL
from gang_scheduler.report.words.text import text_of
from gang_scheduler.wire.base import Metadata, OwnerReference
from gang_scheduler.workloads import job_sets

TRAIN_JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "t"}


def job_set(*owners: dict[str, Any], **spec: Any) -> dict[str, Any]:
    def job(name: str, labels: dict[str, str]) -> dict[str, Any]:
        template = {"metadata": {"labels": labels}, "spec": {}}
        return {"name": name, "template": {"spec": {"parallelism": 2, "template": template}}}

    metadata = {"name": "t", "namespace": "ns", "uid": "u", "ownerReferences": [*owners]}
    jobs = [
        job("plain", {}),
        job("asks", {JOB_GANG_LABEL: "true"}),
        job("refuses", {JOB_GANG_LABEL: "false"}),
    ]
    return {"metadata": metadata, "spec": {"replicatedJobs": jobs, **spec}}


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (OwnerReference("trainer.kubeflow.org/v2", "TrainJob"), True),
        (OwnerReference("example.com/v1", "TrainJob"), False),
        (OwnerReference("trainer.kubeflow.org/v2", "Other"), False),
    ],
)
def test_the_owner_is_known_by_kind_and_group(owner: OwnerReference, *, expected: bool) -> None:
    assert expected is job_sets.own(Metadata(owner_references=[owner]))
    assert not job_sets.own(Metadata())


def test_each_replicated_job_of_a_train_job_is_a_gang_but_for_those_that_refuse() -> None:
    found = job_sets.read(job_set(TRAIN_JOB))

    assert ["t/asks"] == [each.key.name for each in found.gang_specs]
    assert found.by_default is not None
    assert [("t/plain", 2), ("t/asks", 2)] == [
        (each.key.name, each.min_member) for each in found.by_default
    ]
    named = [[name for _, name in each.options.groups] for each in found.by_default]
    assert [["t/plain", "t/asks"], []] == named


def test_what_starts_later_is_a_gang_of_its_own() -> None:
    found = job_sets.read(job_set(TRAIN_JOB, startupPolicy={"startupPolicyOrder": "InOrder"}))

    assert found.by_default is not None
    assert [(), ()] == [each.options.groups for each in found.by_default]


def test_a_job_set_of_nothing_else_has_no_gangs_by_default() -> None:
    assert job_sets.read(job_set()).by_default is None


@pytest.mark.parametrize(
    ("owners", "order", "named", "told"),
    [
        ([TRAIN_JOB], "InOrder", "t", True),
        ([TRAIN_JOB], "AnyOrder", "t", False),
        ([TRAIN_JOB], "InOrder", "other", False),
        ([], "InOrder", "t", False),
    ],
)
def test_a_pod_group_of_all_pods_is_reported_where_jobs_start_in_order(
    owners: list[dict[str, Any]], order: str, named: str, *, told: bool
) -> None:
    body = job_set(*owners, startupPolicy={"startupPolicyOrder": order})
    first = body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    first["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": named}
    misplaced = job_sets.read(body).misplaced

    text = text_of(misplaced.problem.cause) if misplaced else ""
    assert told is ("each replicatedJob is a gang of its own" in text)
