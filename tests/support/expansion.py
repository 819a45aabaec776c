"""What the controllers of manifests would create, as `simulate` makes it."""

from collections.abc import Iterator, Mapping
from typing import Any

from gang_scheduler.simulation import defaults, documents
from gang_scheduler.simulation.documents import Document
from gang_scheduler.workloads import table
from gang_scheduler.workloads.controllers import Present, Source
from support import yaml_texts

Body = Mapping[str, Any]

CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}


def expanded(*manifests: Body) -> list[Body]:
    """Return all objects that are made of manifests, in their order."""
    return [*_expanded(manifests, notes=[])]


def pods_made(*manifests: Body) -> dict[str, Body]:
    """Return the pods that are made of manifests, by name."""
    made = (each for each in expanded(*manifests) if each["kind"] == "Pod")
    return {each["metadata"]["name"]: each for each in made}


def notes_on(*manifests: Body) -> list[str]:
    """Return the lines on what is not made of manifests."""
    notes: list[str] = []
    list(_expanded(manifests, notes))
    return notes


def labels_of(pod: Body, prefix: str) -> dict[str, str]:
    """Return the labels of a pod with a prefix, without it."""
    return _without(pod["metadata"]["labels"], prefix)


def annotations_of(pod: Body, prefix: str) -> dict[str, str]:
    """Return the annotations of a pod with a prefix, without it."""
    return _without(pod["metadata"]["annotations"], prefix)


def owners_of(body: Body) -> list[str]:
    """Return the controllers of an object: KIND NAME."""
    return [f"{each['kind']} {each['name']}" for each in body["metadata"]["ownerReferences"]]


def stored(body: Body, uid: str = "u") -> Body:
    """Return a manifest as an API server has stored it."""
    return {**body, "metadata": {**body["metadata"], "uid": uid, "resourceVersion": "7"}}


def owned_by(owner: Body, body: Body) -> Body:
    """Return an object with this one as its controller."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"].get("uid", ""),
        "controller": True,
    }
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [reference]}}


def pod_named(name: str, *, phase: str = "Running", ready: bool = False, **metadata: Any) -> Body:
    """Return a pod of the input."""
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, **metadata},
        "status": {"phase": phase, "conditions": conditions},
    }


def _expanded(manifests: tuple[Body, ...], notes: list[str]) -> Iterator[Body]:
    given = [*documents.parse("f", yaml_texts.written_all(manifests))]
    present = Present(each.body for each in given if isinstance(each, Document))
    for i, each in enumerate(each for each in given if isinstance(each, Document)):
        body = defaults.with_identity(each.body, i, namespaced=True)
        from_cluster = each.is_from_cluster
        uid = body["metadata"]["uid"] if from_cluster else ""
        yield from _made(
            Source(body, present, from_cluster=from_cluster, uid=uid, notes=notes, unknown=notes)
        )


def _made(source: Source) -> Iterator[Body]:
    for body in table.missing(source):
        if body["kind"] != "Pod" and source.present.has(body):
            continue
        yield body
        made = Source(body, source.present, from_cluster=source.from_cluster, notes=source.notes)
        yield from _made(made)


def _without(texts: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): texts[key] for key in texts if key.startswith(prefix)}
