"""What `simulate` says of a manifest, and what a real API server says of it."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.support.namespaces import Namespace
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.simulation.validation import objects
from support import mistakes
from support.mistakes import DROPPED, EDITS, GONE, REFUSED, RIGHT, Body
from tools import schemas
from tools.controlplane import access

pytestmark = pytest.mark.e2e

PLURALS = {"PriorityClass": "priorityclasses", "StorageClass": "storageclasses"}
CLUSTER = frozenset({"Namespace", "Node", "PersistentVolume", "PriorityClass", "StorageClass"})
NOT_ASKED = frozenset({"status"})
"""What is dropped of a new object, whatever is in it."""


def judged(namespace: Namespace, body: Body) -> tuple[str, str]:
    """Return what becomes of a new object, and what the API server says of it."""
    group, name = body["apiVersion"], PLURALS.get(body["kind"], f"{body['kind'].lower()}s")
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    scope = "" if body["kind"] in CLUSTER else f"/namespaces/{namespace.name}"
    path = f"{root}{scope}/{name}?dryRun=All&fieldValidation="
    with (
        access.Client(namespace.cluster.access) as client,
        contextlib.suppress(http.client.RemoteDisconnected),
    ):
        lenient = client.request("POST", f"{path}Ignore", body)
        if lenient.status >= 300:
            return REFUSED, str(lenient.body)
        strict = client.request("POST", f"{path}Strict", body)
        return (RIGHT, "") if strict.status < 300 else (DROPPED, str(strict.body))
    return REFUSED, "it breaks on it"  # A handler that panics closes the connection.


def ours(body: Body) -> str:
    """Return what becomes of a manifest by `simulate`."""
    try:
        return DROPPED if objects.unknown_fields(body) else RIGHT
    except InvalidField:
        return REFUSED


def test_the_schemas_are_those_that_the_api_server_publishes(namespace: Namespace) -> None:
    published = schemas.published(namespace.cluster)
    kept = json.loads(schemas.FILE.read_text())

    # Another version of Kubernetes has other fields.
    if published["kubernetes"] == kept["kubernetes"]:
        assert published == kept
    assert kept["kinds"].items() <= published["kinds"].items()


def test_each_mistake_is_one_for_the_api_server_and_no_right_manifest_is(
    namespace: Namespace,
) -> None:
    found = [(each, *judged(namespace, each.manifest)) for each in EDITS]

    assert [] == [(each.name, *theirs) for each, *theirs in found if theirs[0] != each.verdict]


def test_each_field_of_whole_manifests_is_judged_alike(namespace: Namespace) -> None:
    """Each field gone, of another type, with another value, and with an unknown one beside it.

    What an API server accepts is never refused. What it refuses may be right here: the values of
    which nothing that is read depends.
    """
    wrong, agreed, missed = {}, 0, []
    for body in mistakes.whole():
        assert RIGHT == judged(namespace, body)[0], judged(namespace, body)
        for path, value in edits_of(body):
            changed = mistakes.edited(body, path, value)
            theirs, said = judged(namespace, changed)
            if theirs == ours(changed):
                agreed += 1
            elif theirs == REFUSED and ours(changed) == RIGHT:
                missed.append((body["kind"], path, value))
            else:
                wrong[body["kind"], path, str(value)] = theirs, ours(changed), said[:300]

    assert {} == wrong
    assert agreed > 10 * len(missed)


def edits_of(body: Body) -> Iterator[tuple[str, Any]]:
    """Yield changes to each field of a manifest, as a path with commas and a value."""
    for path, value in _fields(body, ""):
        first = path.strip(",").split(",")[0]
        if first in {"apiVersion", "kind", "metadata", *NOT_ASKED}:
            continue
        if isinstance(value, dict):
            yield f"{path},unknownField", 1
        if not path.rpartition(",")[2].isdigit():
            yield path, GONE
        yield path, 7.5 if isinstance(value, str | list) else "noSuchValue"


def _fields(value: object, path: str) -> Iterator[tuple[str, Any]]:
    inside = value.items() if isinstance(value, dict) else ()
    for name, each in inside or (enumerate(value) if isinstance(value, list) else ()):
        yield f"{path},{name}", each
        yield from _fields(each, f"{path},{name}")
