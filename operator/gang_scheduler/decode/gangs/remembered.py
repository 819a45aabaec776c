"""What the status of a PodGroup remembers of its gang."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.model.refs import GangName

RESERVED, RESTING = "Reserved", "TimedOut"
"""A condition, and why a gang that had a reservation for long gets none for a while."""


def is_true(status: Mapping[str, Any], condition: str) -> bool:
    """Return whether the status has a condition that is true."""
    return any(
        each["type"] == condition and each.get("status") == "True"
        for each in status.get("conditions") or []
    )


def condition_since(status: Mapping[str, Any], condition: str, reason: str = "") -> int:
    """Return since when a condition is true, in seconds since the epoch; 0 if unknown.

    With a `reason`: since when it is false for that reason.
    """
    for each in status.get("conditions") or []:
        said = (each["type"], each.get("status"), reason and each.get("reason"))
        if said == (condition, "False" if reason else "True", reason):
            return seconds_of(each.get("lastTransitionTime"))
    return 0


def backfill_of(status: Mapping[str, Any]) -> tuple[int, GangName] | None:
    """Return until when a gang was let pass, in seconds since the epoch, and by which gang."""
    found = status.get("backfill")
    if not isinstance(found, Mapping):
        return None
    until = seconds_of(found.get("until"))
    namespace, _, name = str(found.get("for")).partition("/")
    return (until, GangName(namespace, name)) if until and name else None


def scale_of(status: Mapping[str, Any]) -> tuple[int, int, int, str] | None:
    """Return when a gang last changed its size, to how many workers, by how many, and why."""
    found = status.get("elastic")
    if not isinstance(found, Mapping):
        return None
    at, size, by = seconds_of(found.get("lastScaleTime")), found.get("now"), found.get("lastScale")
    if not at or not isinstance(size, int) or not isinstance(by, int):
        return None
    return at, size, by, str(found.get("reason"))


def start_time(status: Mapping[str, Any]) -> int | None:
    """Return since when the gang has its quorum, in seconds since the epoch; None if unknown."""
    return seconds_of(status.get("scheduleStartTime")) or None


def seconds_of(text: object) -> int:
    """Return a time in seconds since the epoch; 0 if it cannot be read, without an error."""
    try:
        return fields.timestamp(text) if isinstance(text, str) else 0
    except InvalidField:
        return 0


def readable_status(status: object) -> Mapping[str, Any]:
    """Return a status without unreadable parts: another product's CRD may not check the status."""
    if not isinstance(status, Mapping):
        return {}
    conditions = status.get("conditions") or []
    if isinstance(conditions, list) and all(_is_condition(each) for each in conditions):
        return status
    return {**status, "conditions": []}


def _is_condition(found: object) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("type"), str)
