"""Which pods are of one run, of which nothing that has succeeded is run again."""

from typing import Any

import pytest

from gang_scheduler.wire.base import Metadata, OwnerReference
from gang_scheduler.workloads.table import MEMBERSHIP

JOB_SET = {"jobset.sigs.k8s.io/jobset-name": "s", "jobset.sigs.k8s.io/restart-attempt": "0"}
GROUP = {"kueue.x-k8s.io/pod-group-name": "g"}
TOTAL = "kueue.x-k8s.io/pod-group-total-count"


def by(kind: str, uid: str) -> dict[str, Any]:
    owner = OwnerReference("v1", kind, "w", uid, controller=True)
    return {"owner_references": [owner]}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (by("Job", "a"), by("Job", "a"), True),
        (by("Job", "a"), by("Job", "b"), False),
        (by("PyTorchJob", "a"), by("PyTorchJob", "a"), True),
        (by("Workflow", "a"), by("Workflow", "a"), True),
        ({"labels": JOB_SET, **by("Job", "a")}, {"labels": JOB_SET, **by("Job", "b")}, True),
        (
            {"labels": JOB_SET},
            {"labels": {**JOB_SET, "jobset.sigs.k8s.io/restart-attempt": "1"}},
            False,
        ),
        (
            {"labels": {**JOB_SET, "jobset.sigs.k8s.io/jobset-uid": "x"}},
            {"labels": {**JOB_SET, "jobset.sigs.k8s.io/jobset-uid": "y"}},
            False,
        ),
        ({"labels": GROUP, "annotations": {TOTAL: "3"}},) * 2 + (True,),
        (
            {"labels": GROUP, "annotations": {TOTAL: "3"}},
            {"labels": GROUP, "annotations": {TOTAL: "4"}},
            False,
        ),
    ],
)
def test_pods_of_one_run(one: dict[str, Any], other: dict[str, Any], *, same: bool) -> None:
    runs = [MEMBERSHIP.run_of(Metadata(**each)) for each in (one, other)]

    assert all(runs)
    assert same == (runs[0] == runs[1])


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "RayCluster", "Pod"])
def test_what_is_replaced_however_it_ended_has_no_run(kind: str) -> None:
    assert "" == MEMBERSHIP.run_of(Metadata(**by(kind, "a")))


def test_a_pod_without_a_controller_has_no_run() -> None:
    assert "" == MEMBERSHIP.run_of(
        Metadata(owner_references=[OwnerReference("v1", "Job", "j", "a")])
    )
