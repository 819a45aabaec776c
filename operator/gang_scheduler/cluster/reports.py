"""Tells people what was decided and done: Events on gangs, metrics and warnings."""

import asyncio
from collections import Counter, defaultdict

import structlog

from gang_scheduler import telemetry
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cluster import sources
from gang_scheduler.cluster.binder import GangBinding
from gang_scheduler.cluster.cache import Cache
from gang_scheduler.cluster.events import About, Events
from gang_scheduler.cluster.intake import Object
from gang_scheduler.cluster.pod_group_status import joined
from gang_scheduler.model.gangs import Gang, GangKey, Problem, Reason
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.scheduler.diagnosis import describe

# A gang whose members or object are still on their way is not worth an Event.
SILENT = frozenset({Reason.WAITING_FOR_MEMBERS, Reason.WAITING_FOR_GANGS})
INVALID = frozenset({Reason.INVALID_SPEC, Reason.UNKNOWN_LAYER, Reason.UNSUPPORTED_FEATURE})

log = structlog.get_logger()


class Reports:
    """What a user can read of a decision, beside the statuses."""

    def __init__(self, cache: Cache, events: Events) -> None:
        self._cache = cache
        self._events = events

    def planned(self, plan: Plan, now: int) -> None:
        """Tell why gangs wait, which wait for too long, and what else is wrong with some.

        `now` is in seconds.
        """
        for refused in plan.refused:
            if refused.reason not in SILENT:
                self._refused(refused)
            record = self._cache.gangs.records.get(refused.gang.key)
            deadline = self._cache.gangs.deadline(record) if record else None
            if deadline is not None and now >= deadline and not refused.left_over:
                note = "not bound within the schedule timeout; it stays in the queue"
                about = self._about(refused.gang)
                self._events.record(about, "SchedulingTimeout", note, warning=True)
        self._warned(plan)

    def bound(self, binding: GangBinding) -> None:
        """Tell that a gang was bound, or what kept it from being bound wholly."""
        counts = Counter(outcome.value for outcome in binding.outcomes.values())
        for outcome, number in counts.items():
            telemetry.BINDINGS.labels(outcome).inc(number)
        about = self._about(binding.gang)
        if not binding.failed:
            telemetry.GANGS_BOUND.inc()
            seconds = asyncio.get_running_loop().time() - binding.submitted_at
            telemetry.GANG_SECONDS.observe(seconds)
            self._events.record(about, "Scheduled", _where(binding))
            return
        note = f"{dict(counts)} of {len(binding.outcomes)} bindings: {binding.problem}"
        log.warning("gang_bound_in_part", gang=str(binding.gang.key), note=note)
        self._events.record(about, "FailedScheduling", note, warning=True)

    def broken(self, kind: str, obj: Object, why: InvalidField) -> None:
        """Tell that an object was left out because it cannot be read."""
        metadata = obj.get("metadata", {})
        names = {each: metadata.get(each, "") for each in ("namespace", "name")}
        log.warning("object_left_out", kind=kind, **names, why=str(why))
        about = About(obj.get("apiVersion", "v1"), kind, **names, uid=metadata.get("uid", ""))
        self._events.record(about, "FailedScheduling", f"left out: {why}", warning=True)

    def _refused(self, refused: Refused) -> None:
        reason = "InvalidGang" if refused.reason in INVALID else "FailedScheduling"
        about = self._about(refused.gang)
        self._events.record(about, reason, describe(refused), warning=True)

    def _warned(self, plan: Plan) -> None:
        """Tell all there is to say of a gang for one reason in one Event."""
        problems: dict[GangKey, list[Problem]] = defaultdict(list)
        for warned in plan.warned:
            problems[warned.gang.key].append(warned.problem)
        gangs = {warned.gang.key: warned.gang for warned in plan.warned}
        for key, gang in gangs.items():
            for reason, note in joined(problems[key]).items():
                self._events.record(self._about(gang), reason, note, warning=True)

    def _about(self, gang: Gang) -> About:
        """Return the PodGroup, or the first pod of a gang without one."""
        record = self._cache.gangs.records.get(gang.key)
        declaration = record.declaration if record else None
        if declaration is not None and declaration.resource is not None:
            resource = declaration.resource
            _, namespace, name = gang.key
            kind = sources.BY_NAME[gang.key.source].object_kind
            owner = name.partition("/")[0]  # A JobSet's gang is called after its job, too.
            version = f"{resource.group}/{resource.version}"
            return About(version, kind, namespace, owner, declaration.uid)
        pod = (*gang.pending, *gang.mates)[0]
        return About("v1", "Pod", pod.namespace, pod.name, pod.uid)


def _where(binding: GangBinding) -> str:
    binds = binding.placed.binds
    if len(binds) == 1:
        return f"Successfully assigned {binds[0].pod.key} to {binds[0].node}"
    nodes = list(dict.fromkeys(bind.node for bind in binds))
    shown = ", ".join(nodes[:10]) + (f" and {len(nodes) - 10} more" if len(nodes) > 10 else "")
    return f"Successfully assigned {len(binds)} members to {len(nodes)} nodes: {shown}"
