"""What an API server would have filled in, made from the order of the documents alone."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields, names
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Int64, Wire

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
GRACE_SECONDS = 30
"""The grace period of a pod that sets none, as in Kubernetes."""


class GivenMetadata(Metadata, frozen=True):
    """What every object has."""

    generate_name: str = ""
    deletion_grace_period_seconds: Int64 | None = None


class Identified(Wire, frozen=True):
    """An object of any kind."""

    metadata: GivenMetadata = GivenMetadata()


def with_identity(body: Mapping[str, Any], sequence: int, *, namespaced: bool) -> Mapping[str, Any]:
    """Return the object with name, namespace and uid.

    `sequence` is the place of the object among those of known kinds. Raises InvalidField for
    metadata that cannot be read.
    """
    given = fields.read(body, Identified).metadata
    for key, text in (
        ("creationTimestamp", given.creation_timestamp),
        ("deletionTimestamp", given.deletion_timestamp),
    ):
        _check_time(f"metadata.{key}", text)
    names.check_labels(given.labels, given.annotations)
    identity = {
        "name": given.name or _generated(given.generate_name, sequence),
        "namespace": (given.namespace or "default") if namespaced else "",
        "uid": given.uid or f"simulated-{sequence:012d}",
    }
    return {**body, "metadata": {**body.get("metadata", {}), **identity}}


def with_pod_defaults(body: Mapping[str, Any], scheduler: str) -> Mapping[str, Any]:
    """Return a pod with a schedulerName and a phase: Running with a node, unless it has one."""
    spec, status = body.get("spec", {}), body.get("status", {})
    _check_time("status.startTime", status.get("startTime") or "")
    phase = "Running" if spec.get("nodeName") else "Pending"
    return {
        **body,
        "spec": {**spec, "schedulerName": spec.get("schedulerName") or scheduler},
        "status": {**status, "phase": status.get("phase") or phase},
    }


def moment(field: str, text: str) -> int:
    """Return a time in seconds since the epoch. Raises InvalidField for any other text."""
    if not _is_time(text):
        raise InvalidField(field, text, "must be a time such as 2024-05-01T12:00:00Z")
    return fields.timestamp(text)


def latest_time(body: Mapping[str, Any]) -> int:
    """Return the latest time of the object, in seconds since the epoch.

    Of its creation, its deletion request, and all times in its status.
    """
    happened = _times(body.get("status"))
    return max(creation_time(body) or 0, _deleted_at(body), *happened, 0)


def creation_time(body: Mapping[str, Any]) -> int | None:
    """Return the creation time that the object gives, in seconds since the epoch; None if none."""
    text = body["metadata"].get("creationTimestamp")
    return fields.timestamp(text) if text else None


def _generated(prefix: str, sequence: int) -> str:
    if not prefix:
        raise InvalidField("metadata.name", None, "is required")
    return f"{prefix}{sequence:05d}"


def _deleted_at(body: Mapping[str, Any]) -> int:
    """Return when the deletion was asked for, 0 if it was not: a grace period before the end."""
    metadata, spec = body["metadata"], body.get("spec")
    own = spec.get("terminationGracePeriodSeconds") if isinstance(spec, Mapping) else None
    given = (metadata.get("deletionGracePeriodSeconds"), own, GRACE_SECONDS)
    grace = next(each for each in given if isinstance(each, int))
    ends_at = fields.timestamp(metadata.get("deletionTimestamp") or "")
    return max(0, ends_at - max(0, grace))


def _times(status: object) -> Iterator[int]:
    """Yield the times in a status, however deep, by the names that Kubernetes gives to times."""
    values = status.items() if isinstance(status, Mapping) else ()
    for name, value in values:
        if isinstance(value, str):
            if name.endswith(("Time", "At")) and _is_time(value):
                yield fields.timestamp(value)
        else:
            yield from _times(value)
    for each in status if isinstance(status, list) else ():
        yield from _times(each)


def _check_time(field: str, text: str) -> None:
    if text:
        moment(field, text)


def _is_time(text: str) -> bool:
    try:
        return bool(RFC_3339.fullmatch(text) and datetime.fromisoformat(text))
    except ValueError:
        return False
