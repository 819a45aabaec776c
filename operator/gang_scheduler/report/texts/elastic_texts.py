"""What users read of elastic gangs: how many workers there are, when that changed, and why."""

from collections.abc import Collection
from typing import Any

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.gangs.gang_info import GangInfo

SCALED_UP, SCALED_DOWN = "ScaledUp", "ScaledDown"


def status_of(info: GangInfo) -> dict[str, Any] | None:
    """Return the workers of a gang, as its status has them; None if it is not elastic."""
    scaling = info.scaling
    elastic, changed_at = scaling.elastic, scaling.changed_at
    if elastic is None:
        return None
    has_changed = changed_at is not None
    return {
        "min": elastic.min_workers,
        "now": len(scaling.workers()),
        "max": elastic.max_workers,
        "lastScaleTime": rfc3339(changed_at) if changed_at is not None else None,
        "lastScale": scaling.by if has_changed else None,
        "reason": scaling.reason.value if scaling.reason is not None else None,
        "nextAllowed": rfc3339(changed_at + elastic.up_cooldown)
        if changed_at is not None and elastic.up_cooldown
        else None,
    }


def scaled_up(gang: Gang, binds: Collection[Bind]) -> str:
    """Return how a gang has grown with these members; "" if it starts or has got back others."""
    pace = gang.pace
    if pace is None or pace.changed_at is None:
        return ""
    number = pace.bound + sum(pace.elastic.counts(bind.pod) for bind in binds)
    if number <= max(pace.size, pace.elastic.min_workers):
        return ""
    return f"From {pace.bound} to {number} workers of at most {pace.elastic.max_workers}"


def scaled_down(info: GangInfo, pods: Collection[Pod], by: str) -> str:
    """Return how a gang shrinks by losing these members; "" if it goes whole or is not elastic."""
    elastic, size = info.scaling.elastic, info.scaling.size
    number = sum(elastic.counts(pod) for pod in pods) if elastic is not None else 0
    if elastic is None or not number or size < elastic.min_workers:
        return ""
    return f"From {size + number} to {size} workers of at least {elastic.min_workers}, for {by}"
