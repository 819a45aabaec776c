"""What an object says of its number of replicas, and the patch that changes it."""

from typing import Any

import pytest

from gang_scheduler.apply.workloads.patches import resizing
from gang_scheduler.apply.workloads.replicas import (
    FIELD_MANAGER,
    is_stopped,
    replicas_of,
)
from gang_scheduler.model.gangs import ChangeReason, Replicas, ReplicasChange, WrittenReplicas

NOW = 1_767_268_800
AT = "2026-01-01T12:00:00Z"
STATE = "py-gang-scheduler.io/elastic-state"


def job(state: str = "", *notes: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return an Indexed Job of four."""
    metadata: dict[str, Any] = {"name": "train", "uid": "u", "resourceVersion": "7"}
    if state:
        metadata["annotations"] = {STATE: state}
    if notes:
        metadata["managedFields"] = list(notes)
    indexed = {"parallelism": 4, "completions": 4, "completionMode": "Indexed"}
    return {"metadata": metadata, "spec": {**indexed, **spec}}


def note(manager: str, at: str, field: str = "parallelism") -> dict[str, Any]:
    return {"manager": manager, "time": at, "fieldsV1": {"f:spec": {f"f:{field}": {}}}}


def test_a_job_that_was_never_changed_has_the_number_of_its_spec() -> None:
    assert Replicas(4, drops_highest=True) == replicas_of(job(), "Job", "", NOW)
    assert Replicas(4) == replicas_of(job(completions=9), "Job", "", NOW)
    assert Replicas(4) == replicas_of(job(completionMode="NonIndexed"), "Job", "", NOW)
    assert Replicas(1) == replicas_of({"metadata": {}, "spec": {}}, "Job", "", NOW)


def test_a_number_that_we_wrote_last_is_no_edit() -> None:
    found = replicas_of(job(f'{{"workers":4,"at":"{AT}","why":"NoRoom","vain":2}}'), "Job", "", NOW)

    assert Replicas(4, drops_highest=True, written=WrittenReplicas(4, NOW, "NoRoom", 2)) == found


def test_another_number_was_written_by_the_last_other_manager_of_the_field() -> None:
    body = job(
        f'{{"workers":6,"at":"{AT}"}}',
        note(FIELD_MANAGER, "2026-01-01T11:59:00Z"),
        note("helm", "2026-01-01T11:00:00Z"),
        note("kubectl-edit", "2026-01-01T11:58:00Z"),
        note("other", "2026-01-01T11:59:59Z", "suspend"),
    )

    found = replicas_of(body, "Job", "", NOW)

    assert ("kubectl-edit", NOW - 120) == (found.editor, found.edited_at)


def test_without_managed_fields_an_edit_has_no_time() -> None:
    found = replicas_of(job(f'{{"workers":6,"at":"{AT}"}}', note("x", "never")), "Job", "", NOW)

    assert ("x", 0) == (found.editor, found.edited_at)


@pytest.mark.parametrize(("vain", "more"), [(0, ""), (3, ',"vain":3')])
def test_the_patch_is_for_this_version_and_changes_the_field_and_what_goes_along(
    vain: int, more: str
) -> None:
    change = ReplicasChange(4, 6, ChangeReason.ROOM_FREE, vain)
    metadata = {
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {STATE: f'{{"workers":6,"at":"{AT}","why":"RoomFree"{more}}}'},
    }

    both = {"metadata": metadata, "spec": {"parallelism": 6, "completions": 6}}
    assert both == resizing(job(), "Job", "", change, NOW)
    one = {"metadata": metadata, "spec": {"parallelism": 6}}
    assert one == resizing(job(completions=9), "Job", "", change, NOW)


@pytest.mark.parametrize("kind", ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"])
def test_a_job_that_ends_is_stopped(kind: str) -> None:
    ended = {**job(), "status": {"conditions": [{"type": kind, "status": "True"}]}}
    assert is_stopped(ended, "Job")
    going_on = {**job(), "status": {"conditions": [{"type": kind, "status": "False"}]}}
    assert not is_stopped(going_on, "Job")


def test_a_job_that_is_suspended_or_deleted_is_stopped() -> None:
    deleted = job()
    deleted["metadata"]["deletionTimestamp"] = AT
    assert is_stopped(job(suspend=True), "Job")
    assert is_stopped(deleted, "Job")
    assert not is_stopped(job(suspend=False), "Job")
