"""Objects as `kubectl get` shows them: one row per object, with the columns of its kind."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from gang_scheduler.api.kinds import (
    CORE_EVENTS,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
)
from gang_scheduler.client.fake.cluster import Document
from gang_scheduler.embedded.kinds import Served
from gang_scheduler.embedded.selection import field

META: Final = "meta.k8s.io/v1"
STEP: Final = re.compile(r"\.([\w-]+)|\[\?\(@\.([\w.-]+)==\"([^\"]*)\"\)\]|\[(\d+|\*)\]")
UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
NONE: Final = "<none>"


class Shown(NamedTuple):
    """A column, and its value for an object."""

    name: str
    value: Callable[[Document], object]
    type: str = "string"
    wide: bool = False


def table(served: Served, documents: Iterable[Document], metadata: Document) -> Document:
    """Return objects as a Table, the form in which kubectl requests them."""
    columns = _columns(served)
    definitions = [
        {
            "name": each.name,
            "type": each.type,
            "format": "name" if each.name == "Name" else "",
            "description": "",
            "priority": int(each.wide),
        }
        for each in columns
    ]
    rows = [
        {"cells": [each.value(document) for each in columns], "object": partial(document)}
        for document in documents
    ]
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def partial(document: Document) -> Document:
    """Return the metadata of an object as a PartialObjectMetadata."""
    metadata = document["metadata"]
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": metadata}


def age(text: object) -> str:
    """Return the time since a timestamp, in kubectl's format."""
    if not isinstance(text, str) or not text:
        return "<unknown>"
    passed = datetime.now(UTC) - datetime.fromisoformat(text)
    seconds = max(int(passed.total_seconds()), 0)
    size, unit = next((each for each in UNITS if seconds >= 2 * each[0]), UNITS[-1])
    return f"{seconds // size}{unit}"


def at(document: Document, path: str) -> object:
    """Return the value at the JSON path of a CRD's column; None if there is none."""
    found: Any = document
    for name, key, value, number in STEP.findall(path):
        if name:
            found = found.get(name) if isinstance(found, Mapping) else None
        elif key:
            several = found if isinstance(found, list) else ()
            found = next((each for each in several if field(each, key) == value), None)
        else:
            several, place = found if isinstance(found, list) else [], number
            found = several[int(place)] if place.isdigit() and int(place) < len(several) else None
    return found


def _columns(served: Served) -> tuple[Shown, ...]:
    if served.is_custom:
        declared = served.columns or (_AGE_COLUMN,)
        return (NAME, *(_custom(*each) for each in declared))
    return (NAME, *OF_KINDS.get(served.gvr, (AGE,))) if served.key != EVENTS else OF_EVENTS


def _custom(name: str, kind: str, path: str, wide: bool) -> Shown:  # noqa: FBT001 - a column.
    if kind == "date":
        return Shown(name, lambda each: age(at(each, path)), kind, wide)
    return Shown(name, lambda each: at(each, path), kind, wide)


def _field(path: str, otherwise: str = NONE) -> Callable[[Document], object]:
    return lambda document: field(document, path) or otherwise


def _ready(pod: Document) -> str:
    statuses = pod.get("status", {}).get("containerStatuses", ())
    ready = sum(bool(each.get("ready")) for each in statuses)
    return f"{ready}/{len(pod['spec']['containers'])}"


def _pod_status(pod: Document) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    conditions = pod.get("status", {}).get("conditions", ())
    gated = any(each.get("reason") == "SchedulingGated" for each in conditions)
    return "SchedulingGated" if gated else str(pod.get("status", {}).get("phase", ""))


def _node_status(node: Document) -> str:
    conditions = node.get("status", {}).get("conditions", ())
    ready = any((e.get("type"), e.get("status")) == ("Ready", "True") for e in conditions)
    cordoned = ",SchedulingDisabled" if node.get("spec", {}).get("unschedulable") else ""
    return ("Ready" if ready else "NotReady") + cordoned


def _completions(job: Document) -> str:
    wanted = job["spec"].get("completions") or job["spec"].get("parallelism")
    return f"{job.get('status', {}).get('succeeded', 0)}/{wanted}"


def _job_status(job: Document) -> str:
    for each in job.get("status", {}).get("conditions", ()):
        if each["status"] == "True" and each["type"] in ("Complete", "Failed", "Suspended"):
            return str(each["type"])
    return "Running"


def _duration(job: Document) -> str:
    started = field(job, "status.startTime")
    return age(started) if started else ""


def _about(event: Document) -> str:
    about = event.get("regarding") or event.get("involvedObject") or {}
    return f"{about.get('kind', '')}/{about.get('name', '')}".lower()


def _last_seen(event: Document) -> str:
    series = event.get("series") or {}
    times = (
        *(series.get("lastObservedTime"), event.get("deprecatedLastTimestamp")),
        *(event.get("lastTimestamp"), event.get("eventTime")),
        event["metadata"].get("creationTimestamp"),
    )
    return age(next(filter(None, times), ""))


def _note(event: Document) -> str:
    return str(event.get("note") or event.get("message") or "").strip()


NAME: Final = Shown("Name", lambda each: each["metadata"]["name"])
AGE: Final = Shown("Age", lambda each: age(each["metadata"].get("creationTimestamp")), "date")
_AGE_COLUMN: Final = ("Age", "date", ".metadata.creationTimestamp", False)
OF_EVENTS: Final = (
    Shown("Last Seen", _last_seen),
    Shown("Type", _field("type")),
    Shown("Reason", _field("reason")),
    Shown("Object", _about),
    Shown("Message", _note),
)
OF_KINDS: Final[Mapping[object, tuple[Shown, ...]]] = {
    PODS: (
        Shown("Ready", _ready),
        Shown("Status", _pod_status),
        Shown("Restarts", lambda _: "0"),
        AGE,
        Shown("IP", _field("status.podIP"), wide=True),
        Shown("Node", _field("spec.nodeName"), wide=True),
        Shown("Nominated Node", _field("status.nominatedNodeName"), wide=True),
        Shown("Readiness Gates", lambda _: NONE, wide=True),
    ),
    NODES: (
        Shown("Status", _node_status),
        Shown("Roles", lambda _: NONE),
        AGE,
        Shown("Version", _field("status.nodeInfo.kubeletVersion", "")),
    ),
    NAMESPACES: (Shown("Status", _field("status.phase", "")), AGE),
    JOBS: (
        Shown("Status", _job_status),
        Shown("Completions", _completions),
        Shown("Duration", _duration),
        AGE,
    ),
    POD_DISRUPTION_BUDGETS: (
        Shown("Min Available", _field("spec.minAvailable", "N/A")),
        Shown("Max Unavailable", _field("spec.maxUnavailable", "N/A")),
        Shown("Allowed Disruptions", _field("status.disruptionsAllowed", "0")),
        AGE,
    ),
    PRIORITY_CLASSES: (
        Shown("Value", lambda each: each.get("value", 0), "integer"),
        Shown("Global-Default", lambda each: bool(each.get("globalDefault")), "boolean"),
        AGE,
    ),
    PERSISTENT_VOLUMES: (
        Shown("Capacity", _field("spec.capacity.storage", "")),
        Shown("Status", _field("status.phase", "")),
        Shown("Claim", _field("spec.claimRef.name", "")),
        AGE,
    ),
    PERSISTENT_VOLUME_CLAIMS: (
        Shown("Status", _field("status.phase", "")),
        Shown("Volume", _field("spec.volumeName", "")),
        AGE,
    ),
    CORE_EVENTS: OF_EVENTS,
}
