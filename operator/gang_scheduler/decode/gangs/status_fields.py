"""Facts that the status of a PodGroup stores for later, such as past evictions."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gang_scheduler.decode.fields import timestamp_or_zero
from gang_scheduler.model.evictions import EvictionClass, Evictions, YieldedTo
from gang_scheduler.model.refs import GangKey, GangName

# Facts about a gang that the scheduler wrote into the status of its PodGroup, and reads after a
# restart.

RESERVED, RESTING = "Reserved", "TimedOut"
"""The condition and the reason of a gang that gets no reservation for a while."""


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
            return timestamp_or_zero(each.get("lastTransitionTime"))
    return 0


def backfill_of(status: Mapping[str, Any]) -> tuple[int, GangName] | None:
    """Return the end of a backfill, in seconds since the epoch, and the gang that was passed."""
    found = status.get("backfill")
    if not isinstance(found, Mapping):
        return None
    until = timestamp_or_zero(found.get("until"))
    namespace, _, name = str(found.get("for")).partition("/")
    return (until, GangName(namespace, name)) if until and name else None


def scale_of(status: Mapping[str, Any]) -> tuple[int, int, int, str] | None:
    """Return the last change of a gang's size: when, to how many workers, by how many, and why."""
    found = status.get("elastic")
    if not isinstance(found, Mapping):
        return None
    at, size, by = (
        timestamp_or_zero(found.get("lastScaleTime")),
        found.get("now"),
        found.get("lastScale"),
    )
    if not at or not isinstance(size, int) or not isinstance(by, int):
        return None
    return at, size, by, str(found.get("reason"))


def start_time(status: Mapping[str, Any]) -> int | None:
    """Return since when the gang has had its quorum, in epoch seconds; None if unknown."""
    return timestamp_or_zero(status.get("scheduleStartTime")) or None


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


# Evictions of a gang in the status of its PodGroup. They are read leniently: an unreadable entry is
# left out, since the gang must not wait for it.

# If two classes have one name, either will do: they weigh the same.
_CLASSES: Final = {each.shown: each for each in reversed(EvictionClass)}


def read_evictions(status: Mapping[str, Any]) -> Evictions | None:
    """Return the evictions in a status; None without any.

    The gangs in it have no source, since a status does not record it. A gang recorded by its uid
    only has no name.
    """
    found = status.get("evictions")
    if not isinstance(found, Mapping) or not found:
        return None
    count = found.get("count")
    return Evictions(
        count=count if isinstance(count, int) else 0,
        last=timestamp_or_zero(found.get("last")),
        yielded=tuple(_yielded(found.get("yieldedTo"))),
    )


def _yielded(found: object) -> Iterator[YieldedTo]:
    for each in found if isinstance(found, list) else ():
        by, named = (each.get("by"), each.get("class")) if isinstance(each, Mapping) else (0, 0)
        if isinstance(by, str) and isinstance(named, str) and named in _CLASSES:
            uid, edition = (_text(each.get(key)) for key in ("uid", "edition"))
            namespace, _, name = by.partition("/")
            gang = GangKey("", namespace, name)
            yield YieldedTo(gang, uid, _CLASSES[named], timestamp_or_zero(each.get("at")), edition)


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""
