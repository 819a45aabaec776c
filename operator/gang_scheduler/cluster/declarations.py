"""What a PodGroup object says of its gang, valid or not."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField, parse_spec
from gang_scheduler.api.pod_group import PodGroup
from gang_scheduler.cluster import decode
from gang_scheduler.cluster.sources import POD_GROUP
from gang_scheduler.model.gangs import GangKey, Problem, Reason

# Understood by a later version. Ignoring them would break a promise that the user relies on.
NOT_YET = (
    annotations.GANG_GROUPS,
    annotations.GANG_MATCH_POLICY,
    annotations.NETWORK_TOPOLOGY_SPEC,
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A PodGroup as read. With a `problem` the gang waits; `min_member` is then 1.

    `status` is what is written on the object now, and `was_scheduled` what it says of the gang:
    it was whole once. We write both, so `status` makes no declaration differ from another. Nor does
    `generation`: where a CRD has no status subresource, every write of ours makes a new one, and
    would be answered by another write.
    """

    key: GangKey
    api_group: str
    uid: str
    generation: int = field(default=0, compare=False)
    created_at: int = 0
    min_member: int = 1
    timeout_seconds: int | None = None
    was_scheduled: bool = field(default=False, compare=False)
    problem: Problem | None = None
    status: Mapping[str, Any] = field(default_factory=dict, compare=False)


def read(body: Mapping[str, Any]) -> Declaration:
    """Return what the object says. Never raises: what is wrong becomes its problem."""
    metadata = body.get("metadata") or {}
    seen = Declaration(
        key=key_of(body),
        api_group=str(body.get("apiVersion", "")).partition("/")[0],
        uid=metadata.get("uid", ""),
        generation=metadata.get("generation", 0),
        created_at=decode.timestamp(metadata.get("creationTimestamp") or ""),
        status=_readable(body.get("status")),
    )
    try:
        parsed = parse_spec(PodGroup, body)
    except InvalidField as error:
        return replace(seen, problem=Problem(Reason.INVALID_SPEC, str(error)))
    scheduled = (each for each in parsed.status.conditions if each.type == "Scheduled")
    return replace(
        seen,
        min_member=parsed.spec.min_member,
        timeout_seconds=parsed.spec.schedule_timeout_seconds,
        was_scheduled=any(each.status == "True" for each in scheduled),
        problem=_not_yet(metadata.get("annotations") or {}),
    )


def key_of(body: Mapping[str, Any]) -> GangKey:
    """Return the key of the gang that a PodGroup object describes."""
    metadata = body.get("metadata") or {}
    return GangKey(POD_GROUP.name, metadata.get("namespace", ""), metadata.get("name", ""))


def _readable(status: object) -> Mapping[str, Any]:
    """Return a status without what cannot be read: another product's CRD lets anything in."""
    if not isinstance(status, Mapping):
        return {}
    conditions = status.get("conditions") or []
    if isinstance(conditions, list) and all(_is_condition(each) for each in conditions):
        return status
    return {**status, "conditions": []}


def _is_condition(found: object) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("type"), str)


def _not_yet(present: Mapping[str, Any]) -> Problem | None:
    found = next((key for key in NOT_YET if key in present), None)
    if found is None:
        return None
    field = f"metadata.annotations[{found}]"
    return Problem(Reason.UNSUPPORTED_FEATURE, f"{field} cannot be honoured by this scheduler yet")
