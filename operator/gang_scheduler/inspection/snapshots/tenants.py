"""Reduces a snapshot to one namespace.

Of other namespaces, only their use of each node is kept, without names. So the decisions on the
gangs of the namespace, and their shortages, stay nearly the same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from gang_scheduler.api import annotations, kinds
from gang_scheduler.inspection import files as clusters_of_files
from gang_scheduler.inspection.snapshots import kept_words, ordered_pseudonyms
from gang_scheduler.inspection.snapshots.pseudonyms import UUID
from gang_scheduler.inspection.snapshots.taking import (
    PLACES,
    Line,
    Snapshot,
    counts,
    line_of_written,
)
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents

HIDDEN: Final = "hidden"
NOTE: Final = "message"
"""Fields that are hidden as a whole if any part of them must be hidden."""
OTHERS: Final = "other-namespaces"
"""The namespace of pods that stand for the usage of other namespaces."""
_PODS: Final = PLACES[kinds.PODS.name]
_NAMESPACES: Final = PLACES[kinds.NAMESPACES.name]
_CAPACITIES: Final = PLACES[kinds.CSI_STORAGE_CAPACITIES.name]
_ENDED: Final = ("Succeeded", "Failed")
_CHARGED: Final = (annotations.QUEUE, annotations.FLAVORS)
"""Annotations that name the queue to which a pod is charged: queues belong to no namespace."""
_SPEC: Final = ("nodeName", "schedulerName", "priority", "overhead", "resources", "hostNetwork")
_STATUS: Final = ("phase", "startTime", "resources", "allocatedResources")
_CONTAINER: Final = ("resources", "ports", "restartPolicy", "allocatedResources")


def restricted(snapshot: Snapshot, namespace: str) -> Snapshot:
    """Return the part of a snapshot that a namespace may know, with the cluster it describes."""
    hidden = _Hidden(set(_namespaces(snapshot.lines)) - {namespace, ""})
    lines = tuple(_lines(snapshot.lines, namespace, hidden))
    header = msgspec.structs.replace(
        snapshot.header,
        namespace=namespace,
        profile=hidden.of(snapshot.header.profile),
        counts=dict.fromkeys(snapshot.header.counts, 0) | counts(lines),
        events=_events(snapshot.header.events, namespace, hidden),
    )
    without_cluster = Snapshot(header, lines, snapshot.cluster)
    content = b"".join(without_cluster.content())
    items = list(documents.of_content("the snapshot", content))
    cluster, _ = clusters_of_files.loaded(items, Policy())
    return Snapshot(header, lines, cluster)


def _events(
    events: Iterable[SchedulerEvent] | None, namespace: str, hidden: "_Hidden"
) -> list[SchedulerEvent] | None:
    """Return the Events of a namespace. Notes that name other namespaces are removed."""
    if events is None:
        return None
    own = [each for each in events if each.namespace == namespace]
    return [
        msgspec.structs.replace(each, note="") if hidden.of(each.note, NOTE) == HIDDEN else each
        for each in own
    ]


def _namespaces(lines: Iterable[Line]) -> Iterator[str]:
    for each in lines:
        yield each.name if each.place == _NAMESPACES else each.namespace


def _lines(lines: Iterable[Line], namespace: str, hidden: "_Hidden") -> Iterator[Line]:
    number = 0
    for each in lines:
        body = msgspec.json.decode(each.text)
        own = each.namespace in (namespace, "")
        if each.place == _NAMESPACES:
            own = each.name == namespace
        if own:
            yield line_of_written(each.place, hidden.of(body))
        elif each.place == _PODS and _uses_a_node(body):
            number += 1
            yield line_of_written(each.place, _usage(body, number))
        elif each.place == _CAPACITIES:
            # These objects belong to drivers, and reveal the storage of all users.
            number += 1
            metadata = {"name": f"capacity-{number}", "namespace": OTHERS, "uid": f"uid-{number}"}
            yield line_of_written(each.place, {**hidden.of(body), "metadata": metadata})


def _uses_a_node(pod: Mapping[str, Any]) -> bool:
    phase = pod.get("status", {}).get("phase")
    return bool(pod.get("spec", {}).get("nodeName")) and phase not in _ENDED


def _usage(pod: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a pod that uses as much of its node as the given pod, with the same priority."""
    metadata, spec, status = (pod.get(part, {}) for part in ("metadata", "spec", "status"))
    present = metadata.get("annotations", {})
    name, uid = f"pod-{number}", str(metadata.get("uid"))
    # The uid of a manifest may be made of names.
    identity = {"name": name, "namespace": OTHERS, "uid": uid if UUID.fullmatch(uid) else name}
    charged = {"annotations": {key: present[key] for key in _CHARGED if key in present}}
    times = _with_fields(metadata, ("creationTimestamp", "deletionTimestamp"))
    statuses = ("containerStatuses", "initContainerStatuses")
    return {
        "apiVersion": pod["apiVersion"],
        "kind": pod["kind"],
        "metadata": {**identity, **times, **charged},
        "spec": _with_fields(spec, _SPEC) | _containers(spec, ("containers", "initContainers")),
        "status": _with_fields(status, _STATUS) | _containers(status, statuses),
    }


def _containers(of: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return the containers of a pod, or their statuses, with numbers for names."""
    names: dict[str, str] = {}
    for each in sorted(str(one.get("name")) for name in fields for one in of.get(name, ())):
        names.setdefault(each, f"c{len(names)}")
    return {
        name: [
            {"name": names[str(one.get("name"))], **_with_fields(one, _CONTAINER)}
            for one in of[name]
        ]
        for name in fields
        if name in of
    }


def _with_fields(of: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    return {name: of[name] for name in fields if name in of}


class _Hidden:
    """The names of namespaces to hide, and what replaces them."""

    def __init__(self, names: Iterable[str]) -> None:
        # A name made of words that are common to all clusters reveals nothing.
        telling = [
            each
            for each in names
            if not kept_words.WORDS.issuperset(ordered_pseudonyms.words_of(each))
        ]
        self._by_name = {name: f"other-{i}" for i, name in enumerate(sorted(telling), start=1)}
        # Longer names first: one may begin with another.
        either = "|".join(re.escape(each) for each in sorted(telling, key=len, reverse=True))
        self._named = (
            re.compile(rf"(?<![\w.-])(?:{either})(?![\w.-])(/[\w.-]+)?") if telling else None
        )

    def of(self, value: Any, field: str = "") -> Any:  # noqa: ANN401 - any JSON value.
        """Return a JSON value without these names."""
        if isinstance(value, Mapping):
            if field == "claimRef" and value.get("namespace") in self._by_name:
                return {**value, "namespace": OTHERS, "name": HIDDEN}
            return {name: self.of(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.of(each) for each in value]
        if not isinstance(value, str) or self._named is None:
            return value
        if field in kept_words.MESSAGES:
            return HIDDEN if self._named.search(value) else value
        return self._named.sub(self._instead, value)

    def _instead(self, found: re.Match[str]) -> str:
        name, slash, _ = found[0].partition("/")
        return f"{self._by_name[name]}{slash}{HIDDEN if slash else ''}"
