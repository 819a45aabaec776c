"""Which workloads can have their number of replicas changed: all others refuse it by their kind."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import ELASTIC, JOB_GANG_LABEL
from gang_scheduler.model.api_words import ELASTIC_KINDS
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import table

ASKED = '{"minWorkers": 1, "maxWorkers": 4, "mode": "Replicas"}'
POD = {"metadata": {"labels": {JOB_GANG_LABEL: "true"}}, "spec": {"containers": []}}
ROLE = {"replicas": 2, "template": POD}
JOB = {"parallelism": 2, "template": POD}
SPECS: dict[str, dict[str, Any]] = {
    "Job": JOB,
    "StatefulSet": {"replicas": 2, "podManagementPolicy": "Parallel", "template": POD},
    "JobSet": {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": JOB}}]},
    "PyTorchJob": {"pytorchReplicaSpecs": {"Worker": ROLE}},
    "TFJob": {"tfReplicaSpecs": {"Worker": ROLE}},
    "XGBoostJob": {"xgbReplicaSpecs": {"Worker": ROLE}},
    "PaddleJob": {"paddleReplicaSpecs": {"Worker": ROLE}},
    "JAXJob": {"jaxReplicaSpecs": {"Worker": ROLE}},
    "MPIJob": {"mpiReplicaSpecs": {"Worker": ROLE}},
    "RayCluster": {
        "headGroupSpec": {"template": POD},
        "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "template": POD}],
    },
}


def problem_of(kind: str) -> tuple[Reason, str] | None:
    """Return what is wrong with a workload of a kind in this mode."""
    (row,) = (each for each in table.WATCHED if each.name == kind)
    metadata = {"name": "a", "namespace": "ns", "uid": "u", "annotations": {ELASTIC: ASKED}}
    body = {"apiVersion": row.versions[0].api_version, "kind": kind, "metadata": metadata}
    assert row.read is not None
    (spec,) = row.read({**body, "spec": SPECS[kind]}).gang_specs
    return None if spec.problem is None else (spec.problem.reason, text_of(spec.problem.cause))


@pytest.mark.parametrize("kind", ELASTIC_KINDS)
def test_a_kind_with_such_a_number_is_not_refused(kind: str) -> None:
    assert problem_of(kind) is None


@pytest.mark.parametrize("kind", sorted(SPECS.keys() - set(ELASTIC_KINDS)))
def test_every_other_kind_is_refused_by_its_name(kind: str) -> None:
    found = problem_of(kind)

    assert found is not None
    assert Reason.UNSUPPORTED_FEATURE is found[0]
    assert f"mode is not supported for {kind}" in found[1]
    assert "only in the annotations of a JAXJob, Job, " in found[1]


def test_a_job_set_says_why_its_number_stays() -> None:
    found = problem_of("JobSet")

    assert found is not None
    assert "for JobSet, whose replicatedJobs cannot be changed, only in" in found[1]
