"""Clusters as files, and what commands that list make of them."""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
from click.testing import CliRunner, Result

from gang_scheduler.cli import main
from gang_scheduler.cli.reading import settings_of_operator
from gang_scheduler.inspection import files
from gang_scheduler.inspection.explaining.answers import answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.explaining.document_fields import Document, as_json

GPU = "nvidia.com/gpu"
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
Body = dict[str, Any]


def node(name: str, gpus: int = 8, labels: Mapping[str, str] | None = None) -> Body:
    """Return a node that is ready."""
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110", GPU: str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def gang(
    name: str,
    members: int,
    *,
    gpus: int = 8,
    nodes: Iterable[str] = (),
    namespace: str = "team",
    queue: str = "",
    priority: int = 0,
    created: str = "2026-01-01T12:00:00Z",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> list[Body]:
    """Return a PodGroup and its members; those that have nodes run."""
    own = {"py-gang-scheduler.io/queue": queue} if queue else {}
    meta = {"name": name, "namespace": namespace, "creationTimestamp": created}
    group = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {**meta, "labels": own, "annotations": dict(annotations or {})},
        "spec": {"minMember": members},
    }
    placed = [*nodes]
    pods = (
        pod(
            f"{name}-{number}",
            gpus=gpus,
            node=placed[number] if number < len(placed) else "",
            namespace=namespace,
            priority=priority,
            created=created,
            labels={"pod-group.scheduling.sigs.k8s.io": name, **(labels or {})},
        )
        for number in range(members)
    )
    return [group, *pods]


def pod(
    name: str,
    *,
    gpus: int = 8,
    node: str = "",
    namespace: str = "team",
    priority: int = 0,
    created: str = "2026-01-01T12:00:00Z",
    labels: Mapping[str, str] | None = None,
    scheduler: str = "py-gang-scheduler",
) -> Body:
    """Return a pod; one with a node runs."""
    body: Body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": created,
            "labels": dict(labels or {}),
        },
        "spec": {
            "schedulerName": scheduler,
            "priority": priority,
            "containers": [
                {"name": "c", "resources": {"limits": {GPU: gpus}, "requests": {GPU: gpus}}}
            ],
        },
    }
    if node:
        body["spec"]["nodeName"] = node
        body["status"] = {"phase": "Running", "startTime": created}
    return body


def queue(name: str, gpus: int, parent: str = "") -> Body:
    """Return a Queue with quota for GPUs."""
    spec: Body = {"quota": {"soft": {GPU: str(gpus)}}, "borrowing": {"enabled": True}}
    spec |= {"parent": parent} if parent else {}
    return {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def written(directory: Path, bodies: Iterable[Body]) -> str:
    """Return the path of a file with these objects."""
    path = directory / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*bodies]}))
    return str(path)


def asked(command: str, directory: Path, bodies: Iterable[Body], *options: str) -> Result:
    """Return what a command says of a cluster of these objects."""
    return CliRunner().invoke(main, [command, "-f", written(directory, bodies), *options])


def document(command: str, directory: Path, bodies: Iterable[Body], *options: str) -> Body:
    """Return the document of a command, held against its schema."""
    result = asked(command, directory, bodies, *options, "-o", "json")
    assert 0 == result.exit_code, result.stderr
    found: Body = json.loads(result.stdout)
    hold(found)
    return found


def explained(
    directory: Path, bodies: Iterable[Body], name: str, settings: Sequence[str] = ()
) -> Document:
    """Return what `explain` knows of a NAME, held against its schema as JSON."""
    cluster = files.read([written(directory, bodies)], settings_of_operator.policy_of(settings))
    found = answer_for(name, "", Question(cluster)).document
    assert found is not None
    hold(json.loads(json.dumps(as_json(found))))
    return found


def hold(found: Body) -> None:
    """Raise for a document that is not as its schema says."""
    _validator(found["kind"]).validate(found)


@functools.cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    """Return what holds documents against the schema of a kind. To check that takes long."""
    schema = json.loads((SCHEMAS / f"{kind.lower()}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
