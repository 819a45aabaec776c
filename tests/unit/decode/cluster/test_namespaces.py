"""Labels of namespaces are known from the first event on, and before."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import NAMESPACES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster
from gang_scheduler.decode.cluster import DeclaredNamespace
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.namespaces import Namespaces
from support import cache_feeding

OWN = {"kubernetes.io/metadata.name": "team"}


def body(labels: Any = None) -> dict[str, Any]:
    metadata = {"name": "team", "uid": "uid-team", "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def test_a_namespace_is_read_with_the_label_that_every_one_has() -> None:
    expected = DeclaredNamespace("uid-team", "team", {"tier": "a", **OWN})
    assert expected == cluster.read_namespace(body({"tier": "a"}))


def test_a_namespace_that_cannot_be_read_is_refused_by_field() -> None:
    with pytest.raises(InvalidField) as caught:
        cluster.read_namespace(body({"tier": 1}))

    assert ("metadata.labels[tier]", 1) == (caught.value.field, caught.value.value)


def test_a_namespace_that_no_event_has_shown_has_its_name() -> None:
    assert OWN == Namespaces().labels_of("team")


def test_an_update_of_a_namespace_returns_whether_its_labels_changed() -> None:
    known = Namespaces()
    told = [
        known.upsert(cluster.read_namespace(body(labels)))
        for labels in ({}, {"a": "1"}, {"a": "1"})
    ]

    assert [False, True, False] == told
    assert ("team", OWN, "") == (
        known.delete("uid-team"),
        known.labels_of("team"),
        known.delete("x"),
    )


def test_namespaces_come_in_through_the_intake_and_leave_by_event_or_sweep() -> None:
    cache = Cache(["s"], Changes())
    event_handlers = cache_feeding.event_handlers(cache)
    steps = []
    for event in ("ADDED", "DELETED", "ADDED"):
        event_handlers.of(NAMESPACES).handle({"type": event, "object": body()})
        steps.append(sorted(cache_feeding.uids(cache, NAMESPACES)))
    cache_feeding.delete(cache, NAMESPACES, "uid-team")

    assert [["uid-team"], [], ["uid-team"]] == steps
    assert [] == sorted(cache_feeding.uids(cache, NAMESPACES))


def test_a_namespace_that_was_created_again_has_only_its_new_uid() -> None:
    known = Namespaces()
    for uid in ("first", "second"):
        known.upsert(DeclaredNamespace(uid, "team", {}))

    assert ["second"] == list(known.uids)
    assert ("", "team") == (known.delete("first"), known.delete("second"))
