"""What workloads ask for that no scheduler reads of them is told by `simulate`."""

import pytest

from gang_scheduler.simulation import documents, objects, skipped
from gang_scheduler.simulation.documents import Document

GANG = 'labels: {py-gang-scheduler.io/gang: "true"}'
MISPLACED = "metadata.labels[py-gang-scheduler.io/gang] belongs in spec.template.metadata.labels"


def noted(kind: str, metadata: str, group: str = "apps/v1") -> str:
    text = f"{{kind: {kind}, apiVersion: {group}, metadata: {{name: web, {metadata}}}}}"
    (document,) = documents.parse("f", text)
    assert isinstance(document, Document)
    return skipped.note_in_vain(document)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_a_request_beside_the_template_is_reported(kind: str) -> None:
    said = noted(kind, GANG)

    assert f"f: document 1: {kind} web, which is not read on a cluster: {MISPLACED}" == said


@pytest.mark.parametrize("key", ["py-gang-scheduler.io/queue", "kueue.x-k8s.io/queue-name"])
@pytest.mark.parametrize(
    ("kind", "group", "template"),
    [
        ("ReplicaSet", "apps/v1", "spec.template"),
        ("DaemonSet", "apps/v1", "spec.template"),
        ("CronJob", "batch/v1", "spec.jobTemplate"),
        ("Deployment", "apps/v1", ""),
    ],
)
def test_a_queue_that_is_named_where_nothing_reads_it_is_reported(
    kind: str, group: str, template: str, key: str
) -> None:
    said = noted(kind, f"labels: {{{key}: night}}", group)

    told = f"metadata.labels[{key}] belongs in {template}.metadata.labels" in said
    assert bool(template) == told


def test_all_faults_are_reported() -> None:
    said = noted("Deployment", f'{GANG}, annotations: {{py-gang-scheduler.io/gangs: "true"}}')

    assert said.endswith("is unknown; did you mean py-gang-scheduler.io/gang?")
    assert MISPLACED in said


@pytest.mark.parametrize(
    ("kind", "metadata", "group"),
    [
        ("Deployment", "labels: {app: web}", "apps/v1"),
        ("Deployment", "labels: [app]", "apps/v1"),
        ("Deployment", GANG, "example.com/v1"),
        ("StatefulSet", GANG, "apps/v1"),
    ],
)
def test_of_others_nothing_is(kind: str, metadata: str, group: str) -> None:
    assert "" == noted(kind, metadata, group)


def test_it_is_a_note_of_the_input() -> None:
    text = f"{{kind: DaemonSet, apiVersion: apps/v1, metadata: {{name: web, {GANG}}}}}"

    found = objects.load(documents.parse("f", text), "ours")

    assert MISPLACED in found.notes[-1]


QUEUED = "labels: {kueue.x-k8s.io/queue-name: train}"
TEMPLATE = "template: {metadata: {%s}}"


def apart(
    metadata: str = QUEUED, spec: str = "parallelism: 4", template: str = "", kind: str = "Job"
) -> str:
    text = (
        f"{{kind: {kind}, apiVersion: batch/v1, metadata: {{name: train, {metadata}}}, "
        f"spec: {{{spec}, {TEMPLATE % template}}}}}"
    )
    (document,) = documents.parse("f", text)
    assert isinstance(document, Document)
    return skipped.apart(document)


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ("parallelism: 4", 4),
        ("parallelism: 4, completions: 9", 4),
        ("completions: 2, parallelism: 3", 2),
    ],
)
def test_the_hint_for_a_job_that_kueue_would_admit_whole_says_how_to_get_that_here(
    spec: str, pods: int
) -> None:
    assert (
        f"f: document 1: Job train: each of its {pods} pods starts by itself, where Kueue would "
        "admit the Job whole. spec.template.metadata.labels[py-gang-scheduler.io/gang] says "
        'whether they start together: "true" or "false"'
    ) == apart(spec=spec)


@pytest.mark.parametrize(
    "given",
    [
        {"metadata": "labels: {}"},
        {"metadata": "labels: {py-gang-scheduler.io/queue: train}"},
        {"spec": "parallelism: 1"},
        {"spec": "completions: 3"},
        {"spec": "parallelism: 4, suspend: true"},
        {"spec": "parallelism: many"},
        {"template": 'labels: {py-gang-scheduler.io/gang: "true"}'},
        {"template": 'labels: {py-gang-scheduler.io/gang: "false"}'},
        {"template": "labels: {kueue.x-k8s.io/pod-group-name: train}"},
        {"template": "labels: {pod-group.scheduling.sigs.k8s.io: train}"},
        {"template": "annotations: {kueue.x-k8s.io/podset-required-topology: rack}"},
        {"kind": "CronJob"},
    ],
)
def test_a_job_that_says_it_or_is_one_pod_or_waits_whole_gets_no_hint(
    given: dict[str, str],
) -> None:
    assert "" == apart(**given)
