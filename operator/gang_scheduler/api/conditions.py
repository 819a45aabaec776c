"""Conditions as lists of dicts: merging keeps the moment of the last change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.model.wording import rfc3339

CHECKPOINT_REQUESTED: Final = "py-gang-scheduler.io/CheckpointRequested"
"""On a pod that was asked over HTTP to save its gang's work: the message is the request's id."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The current value of one condition type: its status, reason and message."""

    type: str
    status: bool
    reason: str
    message: str = ""


def merged(
    present: Iterable[Mapping[str, Any]],
    findings: Iterable[Finding],
    generation: int,
    now: int,
) -> list[dict[str, Any]]:
    """Return the conditions to write, sorted by type; conditions of other writers are untouched.

    `lastTransitionTime` becomes `now`, in seconds since the epoch, only if the status changes, as
    the API conventions ask.
    """
    before = {str(each.get("type")): dict(each) for each in present}
    after = dict(before)
    for finding in findings:
        old = before.get(finding.type, {})
        status = "True" if finding.status else "False"
        same = old.get("status") == status
        after[finding.type] = {
            "type": finding.type,
            "status": status,
            "reason": finding.reason,
            "message": finding.message,
            "observedGeneration": generation,
            "lastTransitionTime": old.get("lastTransitionTime") if same else rfc3339(now),
        }
    return [after[name] for name in sorted(after)]
