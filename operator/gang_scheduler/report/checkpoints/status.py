"""What the status of a PodGroup says of checkpoints. Pure: what is known in, a dict out."""

from collections.abc import Iterator, Mapping
from typing import Any

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.checkpoints import NO_CHECKPOINTS, Checkpoints, Save


def status_of(found: Checkpoints, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a status, null for what is not so any more.

    `written` is the status that is there: a merge patch removes no field that it does not name. {}
    where nothing is known, nor was.
    """
    if found == NO_CHECKPOINTS:
        return {key: None for key in ("checkpoint", "checkpoints") if written.get(key)}
    requested, last = found.requested, found.last
    request = requested.request if requested is not None else None
    outcome = requested.outcome if requested is not None else None
    return {
        "checkpoint": {
            "requestId": request.id if request is not None else None,
            "requestedAt": rfc3339(request.at) if request is not None else None,
            "outcome": outcome.value if outcome is not None else None,
            "doneAt": rfc3339(last.done_at) if last is not None else None,
            "step": last.step if last is not None else None,
            "path": last.path or None if last is not None else None,
            "workloadUid": last.workload_uid or None if last is not None else None,
            "resumeCount": found.resume_count or None,
        },
        "checkpoints": [dict(_fields(each)) for each in found.saves],
    }


def _fields(save: Save) -> Iterator[tuple[str, Any]]:
    """Yield what a save has: a list is replaced as a whole, so nothing else need be removed."""
    yield "doneAt", rfc3339(save.done_at)
    if save.step is not None:
        yield "step", save.step
    if save.path:
        yield "path", save.path
    if save.request_id:
        yield "requestId", save.request_id
    if save.workload_uid:
        yield "workloadUid", save.workload_uid
