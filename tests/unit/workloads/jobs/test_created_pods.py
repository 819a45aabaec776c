"""Of a workload in a dump of a cluster only the pods are made that its controller would create."""

from collections.abc import Mapping
from typing import Any

import pytest

from gang_scheduler.model.pods import Pod
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import Objects
from support import yaml_texts

INDEX = "batch.kubernetes.io/job-completion-index"
STORED = {"uid": "j", "resourceVersion": "7"}
TEMPLATE = {"spec": {"schedulerName": "ours", "containers": [{"name": "c"}]}}
ENDED = {"conditions": [{"type": "Complete", "status": "True"}]}
Body = dict[str, Any]


def job(
    metadata: Mapping[str, Any] = STORED, status: Mapping[str, Any] | None = None, **spec: Any
) -> Body:
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "a", **metadata},
        "spec": {"parallelism": 3, "completions": 3, "template": TEMPLATE, **spec},
        "status": dict(status or {}),
    }


def pod(index: int, phase: str = "Running", uid: str = "j", **metadata: Any) -> Body:
    """Return a pod of the Job, with a name such as its controller gives."""
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "a", "uid": uid, "controller": True}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"a-{index}-x7k2p",
            "uid": f"p{index}",
            "labels": {INDEX: str(index)},
            "ownerReferences": [owner],
            **metadata,
        },
        "spec": TEMPLATE["spec"],
        "status": {"phase": phase},
    }


def job_set(metadata: Mapping[str, Any] = STORED, **others: Any) -> Body:
    replicated = {"name": "w", "replicas": 2, "template": {"spec": {"template": TEMPLATE}}}
    return {
        "kind": "JobSet",
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "metadata": {"name": "s", **metadata},
        "spec": {"replicatedJobs": [replicated], **others.pop("spec", {})},
        **others,
    }


def loaded(*bodies: Body) -> Objects:
    return objects.load(documents.parse("f", yaml_texts.written_all(bodies)), "ours")


def made(*bodies: Body) -> list[str]:
    """Return the names of the pods that are not in the input."""
    given = {each["metadata"]["name"] for each in bodies}
    decoded_objects = (each.decoded for each in loaded(*bodies).loaded)
    return [
        each.name for each in decoded_objects if isinstance(each, Pod) and each.name not in given
    ]


INDEXED: Body = {"completionMode": "Indexed"}


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ([job(), pod(0), pod(1), pod(2)], []),
        ([pod(0), pod(1), pod(2), job()], []),
        ([job(**INDEXED), pod(0), pod(2)], ["a-1"]),
        ([job(**INDEXED), pod(0, "Succeeded"), pod(2)], ["a-1"]),
        ([job(**INDEXED), pod(0, "Failed"), pod(1), pod(2)], ["a-0"]),
        ([job(status={"completedIndexes": "0-1"}, **INDEXED)], ["a-2"]),
        ([job(status={"failedIndexes": "1"}, **INDEXED)], ["a-0", "a-2"]),
        ([job(status={"succeeded": 2}), pod(0)], []),
        ([job(completions=None, status={"succeeded": 1})], []),
        ([job(status={"failed": 7})], []),
        ([job(status={"failed": 7}, backoffLimit=9)], ["a-0", "a-1", "a-2"]),
        ([job(), pod(0, uid="of-another")], ["a-0", "a-1", "a-2"]),
        ([job(parallelism=1, **INDEXED), pod(0)], []),
        (
            [job(**INDEXED), pod(0, deletionTimestamp="2026-01-01T00:00:00Z"), pod(1), pod(2)],
            ["a-0"],
        ),
        (
            [
                job(podReplacementPolicy="Failed", **INDEXED),
                *(pod(0, deletionTimestamp="2026-01-01T00:00:00Z"), pod(1), pod(2)),
            ],
            [],
        ),
    ],
)
def test_a_job_gets_the_pods_that_are_missing(bodies: list[Body], expected: list[str]) -> None:
    assert expected == made(*bodies)


@pytest.mark.parametrize(
    "body",
    [
        job(status=ENDED),
        job(status={"conditions": [{"type": "Failed", "status": "True"}]}),
        job({}, status=ENDED),
        job({**STORED, "deletionTimestamp": "2026-01-01T00:00:00Z"}),
        job(suspend=True),
        job({}, suspend=True, status={"conditions": [{"type": "Suspended", "status": "True"}]}),
        job(managedBy="kueue.x-k8s.io/multikueue"),
        job_set(status={"conditions": [{"type": "Completed", "status": "True"}]}),
        job_set(spec={"suspend": True}),
    ],
)
def test_what_has_ended_or_waits_on_a_cluster_is_not_started(body: Body) -> None:
    assert [] == made(body)


@pytest.mark.parametrize("body", [job({}, suspend=True), job({})])
def test_a_job_that_was_never_on_a_cluster_is_taken_as_started(body: Body) -> None:
    assert ["a-0", "a-1", "a-2"] == made(body)


def test_pods_of_a_manifest_are_its_jobs_by_label() -> None:
    mine = pod(1, ownerReferences=[], labels={INDEX: "1", "job-name": "a"})

    assert ["a-0", "a-2"] == made(job({}, **INDEXED), mine)


def test_jobs_of_a_job_set_are_not_made_again() -> None:
    done = job({"name": "s-w-0", "uid": "j0"}, status=ENDED)

    assert ["s-w-1-0"] == made(job_set(), done)


def test_a_suspended_job_set_that_was_never_on_a_cluster_is_taken_as_started() -> None:
    assert ["s-w-0-0", "s-w-1-0"] == made(job_set({}, spec={"suspend": True}))


def test_claims_of_a_pod_are_not_made_again() -> None:
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    uses = {**pod(0), "spec": {"volumes": [volume]}}
    name = {"name": "a-0-x7k2p-scratch", "uid": "c"}
    claim = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": name}

    assert 2 == len(loaded(uses, claim).loaded)


def test_pods_that_a_job_counts_and_the_input_lacks_are_noted() -> None:
    found = loaded(job(status={"active": 3}), pod(0))

    note = "f: document 1: the status of Job a counts 2 more active pods than the input has"
    assert (f"{note}: they are added",) == found.notes


@pytest.mark.parametrize(
    ("metadata", "assume_ours", "expected"),
    [
        ({}, None, ["ours"]),
        ({}, False, ["default-scheduler"]),
        (STORED, None, ["default-scheduler"]),
        (STORED, True, ["ours"]),
    ],
)
def test_pods_without_a_scheduler_name_are_ours_in_manifests_only(
    metadata: Body,
    assume_ours: bool | None,  # noqa: FBT001 - a row of a table.
    expected: list[str],
) -> None:
    body = job(metadata, parallelism=1, template={"spec": {}})
    read = documents.parse("f", yaml_texts.written(body))
    found = objects.load(read, "ours", assume_ours=assume_ours)

    pods = [each.decoded for each in found.loaded if isinstance(each.decoded, Pod)]
    assert (expected, expected.count("ours")) == (
        [each.scheduler for each in pods],
        found.assumed_ours,
    )


CRON_JOB: Body = {
    "kind": "CronJob",
    "apiVersion": "batch/v1",
    "metadata": {"name": "c"},
    "spec": {"jobTemplate": {"spec": {"parallelism": 2, "template": TEMPLATE}}},
}


def test_a_cron_job_is_one_run_of_its_job() -> None:
    assert ["c-00000-0", "c-00000-1"] == made(CRON_JOB)


def test_a_cron_job_on_a_cluster_waits_for_its_time() -> None:
    assert [] == made({**CRON_JOB, "metadata": {"name": "c", **STORED}})
