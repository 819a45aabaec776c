"""The patches that start and suspend workloads, and change their numbers of replicas.

Pure functions: object in, patch out. Each patch has the resourceVersion of its object, so that it
overwrites no other change.
"""

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

from gang_scheduler.api.annotations import (
    ADMITTED_AT,
    ADMITTED_FROM,
    ADMITTED_TO,
    ELASTIC_STATE,
    FLAVORS,
    QUEUE,
)
from gang_scheduler.client import patches
from gang_scheduler.client.interfaces import Body
from gang_scheduler.model.gangs import ReplicasChange, WrittenReplicas
from gang_scheduler.model.suspended import Admission, ManagedWorkload
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.workloads import suspended, table
from gang_scheduler.workloads.kind import Path, value_at


def starting(admission: Admission, at: str) -> Body:
    """Return the patch that starts a workload and changes none of its templates.

    The patch applies only to the version that was decided on. `at` is the time as RFC 3339.
    """
    workload = admission.workload
    path = table.SUSPENSIONS[workload.kind].path
    return {
        "metadata": {
            "uid": workload.uid,
            "resourceVersion": workload.resource_version,
            "annotations": _notes(admission, at),
        },
        **_nested(path, value=False),
    }


def starting_from(found: Body, admission: Admission, at: str) -> Body:
    """Return the patch that starts a workload and adds its flavors to its templates.

    Additions of an earlier admission are removed. Raises LookupError if a template is gone.
    """
    wanted = copy.deepcopy(dict(found))
    suspended.take_out(wanted)
    notes = _notes(admission, at)
    notes[ADMITTED_FROM] = suspended.add_to_template(wanted, admission.edits)
    _annotate(wanted, notes)
    _put(wanted, table.SUSPENSIONS[admission.workload.kind].path, value=False)
    return _for_version(found, wanted)


def suspending(found: Body, kind: str) -> Body:
    """Return the patch that suspends a workload of a kind, and removes its admission.

    The patch also removes the additions to its templates, if the kind allows both in one write. If
    not, the additions stay recorded, and the next admission removes them.
    """
    field = table.SUSPENSIONS[kind]
    wanted = copy.deepcopy(dict(found))
    forgotten = dict.fromkeys((ADMITTED_AT, ADMITTED_TO, QUEUE, FLAVORS), "")
    if field.thaws:
        suspended.take_out(wanted)
        forgotten[ADMITTED_FROM] = ""
    _annotate(wanted, forgotten)
    _put(wanted, field.path, value=True)
    return _for_version(found, wanted)


def resizing(found: Body, kind: str, role: str, change: ReplicasChange, now: int) -> Body:
    """Return the patch that changes the number of replicas of this version of a workload.

    `role` names its elastic workers. Raises LookupError if the field is gone.
    """
    field = table.BY_REPLICAS[kind]
    written = WrittenReplicas(change.after, now, change.why, change.vain, change.edits)
    wanted = copy.deepcopy(dict(found))
    _annotate(wanted, {ELASTIC_STATE: _state(written)})
    path = field.path(found, role)
    if path is None:
        raise LookupError(role)
    for each in filter(None, (path, field.same_number_field(found))):
        _put(wanted, each, value=change.after)
    if field.ending is not None and (
        change.ending or value_at(found, field.ending(path)) is not None
    ):
        _put(wanted, field.ending(path), value=list(change.ending))
    return _for_version(found, wanted)


def leaving_alone(found: Body, written: WrittenReplicas) -> Body:
    """Return the patch that notes the last change, and that others changed the number too often."""
    wanted = copy.deepcopy(dict(found))
    _annotate(wanted, {ELASTIC_STATE: _state(written)})
    return _for_version(found, wanted)


def _state(written: WrittenReplicas) -> str:
    state: dict[str, Any] = {
        "workers": written.workers,
        "at": rfc3339(written.at),
        "why": str(written.why),
        "vain": written.vain,
        "edits": [rfc3339(each) for each in written.edits],
        "stopped": written.stopped,
    }
    said = {key: value for key, value in state.items() if value or key == "workers"}
    return msgspec.json.encode(said).decode()


def is_managed(found: Body, workload: ManagedWorkload) -> bool:
    """Return whether an object is the expected workload, runs, and was admitted by us."""
    return (
        found["metadata"]["uid"] == workload.uid
        and bool(annotations_of(found).get(ADMITTED_AT))
        and not is_suspended(found, workload.kind)
    )


def is_suspended(found: Body, kind: str) -> bool:
    """Return whether the spec of a workload says that it is suspended."""
    value: Any = found
    for step in table.SUSPENSIONS[kind].path:
        value = value.get(step) or {}
    return value is True


def annotations_of(found: Body) -> Mapping[str, str]:
    """Return the annotations of an object."""
    return found["metadata"].get("annotations") or {}


def _notes(admission: Admission, at: str) -> dict[str, str]:
    notes = {ADMITTED_AT: at}
    if admission.queue:
        notes[QUEUE] = admission.queue
    if admission.flavors:
        flavors = msgspec.json.encode(dict(admission.flavors), order="sorted").decode()
        notes[FLAVORS] = flavors
    if nodes := suspended.written_planned_nodes(admission.nodes):
        notes[ADMITTED_TO] = nodes
    return notes


def _annotate(wanted: dict[str, Any], notes: Mapping[str, str]) -> None:
    """Set annotations in place; "" removes one."""
    present = {**annotations_of(wanted), **notes}
    wanted["metadata"]["annotations"] = {key: text for key, text in present.items() if text}


def _put(wanted: dict[str, Any], path: Path, *, value: object) -> None:
    place: Any = wanted
    for step in path[:-1]:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    place[path[-1]] = value


def _nested(path: Path, *, value: bool) -> dict[str, Any]:
    patch: Any = value
    for step in reversed(path):
        patch = {step: patch}
    return dict(patch)


def _for_version(found: Body, wanted: Body) -> Body:
    patch = patches.merge_patch(found, wanted)
    known = found["metadata"]
    metadata = {key: known[key] for key in ("uid", "resourceVersion")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **metadata}}
