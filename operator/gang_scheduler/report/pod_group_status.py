"""The status that a PodGroup should have now. Pure: it takes an info and returns a dict."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gang_scheduler.api import conditions
from gang_scheduler.api.conditions import Finding
from gang_scheduler.api.pod_group import Phase
from gang_scheduler.apply import disruption_target
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.causes.gangs import MembersMissing, NotTriedYet, role_counts
from gang_scheduler.model.checkpoints import NO_CHECKPOINTS, Checkpoints, Save
from gang_scheduler.model.consequences import Trait
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.failures import Degraded
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.reasons import BY_QUEUES, MAKING_ROOM, RULES, Cause, Problem, Reason
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.report.queues import gang_texts
from gang_scheduler.report.queues.gang_texts import EVICTED, Place, Promised
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.messages import describe
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import (
    Counts,
    counts_of,
    members,
    phase_of,
    scheduled,
    scheduled_and_succeeded,
)

# The part of the status about checkpoints.


def checkpoint_status(found: Checkpoints, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a status, null for fields that must be removed.

    `written` is the status of the object: a merge patch removes only fields that it names. Returns
    {} if no checkpoint is known, and none is in the status.
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
    """Yield the fields of a checkpoint.

    The fields are in a list, which a merge patch replaces as a whole, so none needs a null.
    """
    yield "doneAt", rfc3339(save.done_at)
    if save.step is not None:
        yield "step", save.step
    if save.path:
        yield "path", save.path
    if save.request_id:
        yield "requestId", save.request_id
    if save.workload_uid:
        yield "workloadUid", save.workload_uid


INITIALLY = "PodGroupInitiallyScheduled"
JOB_FAILED = "JobFailed"
QUOTA_RESERVED = "QuotaReserved"
NOTHING_PROMISED = Promised()
WARNINGS = tuple(each for each in Reason if Trait.WARNS in RULES[each].traits)
"""Problems with which a gang may start nevertheless: each is a condition of that type."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything a status shows that is not in the gang info.

    `written` is the present status of the object. `now` and `deadline`, when the schedule timeout
    ends, are in seconds since the epoch; there is no deadline while the timeout does not run.
    `domain` is the lowest domain that holds the gang, None for the whole cluster. `room_lost` says
    how the gang lost its room, if it did. `queue` is the queue of the gang, None without queues,
    `place` its place among the waiting gangs, if known, and `promised` its promised start.
    `evictions` are the past evictions, and `evicted` the condition for the last one. `checkpoints`
    are the known checkpoints. `backfilled` is the gang before which it may start, if this process
    decided that and may show it. `degraded` says what a running gang has lost with failed nodes.
    """

    written: Mapping[str, Any]
    now: int
    deadline: int | None = None
    domain: Domain | None = None
    room_lost: Cause | None = None
    queue: QueueRef | None = None
    place: Place | None = None
    evictions: Mapping[str, Any] | None = None
    evicted: Finding | None = None
    checkpoints: Checkpoints = NO_CHECKPOINTS
    promised: Promised = NOTHING_PROMISED
    backfilled: Backfilled | None = None
    degraded: Degraded | None = None


def status_of(info: GangInfo, gang_spec: GangSpec, view: View) -> dict[str, Any]:
    """Return the status of a PodGroup; a null removes the key in a merge patch."""
    counts = counts_of(info)
    present = view.written.get("conditions") or []
    known = {each.get("type") for each in present}
    findings = [
        finding
        for finding in _findings(info, counts, view)
        # A condition that is false is left out if it was never written.
        if finding.status or finding.type in known or finding.type == "Scheduled"
    ]
    return {
        "phase": phase_of(counts).value,
        "members": counts.members,
        "scheduled": counts.scheduled,
        "running": counts.running,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "domain": str(view.domain) if view.domain else None,
        "queue": _queue(info, counts, view),
        "backfill": _backfill(info, view),
        "occupiedBy": _owners(info) or None,
        "scheduleStartTime": _start_time(info, view.written),
        **_elastic(info, view),
        **checkpoint_status(view.checkpoints, view.written),
        **({"evictions": view.evictions} if view.evictions else {}),
        "conditions": conditions.merged(present, findings, gang_spec.generation, view.now),
    }


def native_status_of(info: GangInfo, gang_spec: GangSpec, view: View) -> dict[str, Any]:
    """Return the status of a PodGroup of scheduling.k8s.io, as kube-scheduler writes it.

    The condition PodGroupInitiallyScheduled stays true once it is true, whatever happens to
    members.
    """
    counts = counts_of(info)
    present = view.written.get("conditions") or []
    refusal = info.verdict.refusal
    findings = []
    if not info.attempt.was_whole and not gang_spec.was_scheduled and refusal is not None:
        findings = [
            Finding(INITIALLY, status=False, reason="Unschedulable", message=describe(refusal))
        ]
    elif info.attempt.was_whole or counts.reached(scheduled):
        findings = [Finding(INITIALLY, status=True, reason="Scheduled")]
    if info.preempted.by:
        findings.append(
            Finding(
                disruption_target.TYPE,
                status=True,
                reason=disruption_target.REASON,
                message=_taken(info),
            )
        )
    elif any(each.get("type") == disruption_target.TYPE for each in present) and _is_bound(
        info, counts
    ):
        findings.append(Finding(disruption_target.TYPE, status=False, reason="Scheduled"))
    return {"conditions": conditions.merged(present, findings, gang_spec.generation, view.now)}


def _findings(info: GangInfo, counts: Counts, view: View) -> Iterator[Finding]:
    yield _scheduled(info, counts)
    if info.verdict.warnings is not None:  # Else not tried since the start: the written one stands.
        for reason in WARNINGS:
            yield _wrong(reason, info.verdict.warnings, info.verdict.refusal, otherwise="Resolved")
    refusal = None if counts.reached(scheduled) else info.verdict.refusal
    words = describe(refusal) if refusal else ""
    yield _wrong(Reason.INVALID_SPEC, (), refusal, otherwise="Valid")
    late = view.deadline is not None and view.now >= view.deadline
    if refusal is not None and late:
        yield Finding("SchedulingTimeout", status=True, reason=refusal.reason, message=words)
    else:
        yield Finding("SchedulingTimeout", status=False, reason="InTime")
    if refusal is not None and counts.scheduled > 0 and not info.attempt.was_whole:
        bound = f"{counts.scheduled} of {counts.min_member} members are bound"
        if counts.by_role:
            bound = f"bound are {role_counts(counts.short_of(scheduled))}"
        yield Finding("PartiallyBound", status=True, reason=refusal.reason, message=bound)
    else:
        yield Finding("PartiallyBound", status=False, reason="NotPartial")
    if view.degraded is not None or not _may_be_degraded(info, counts):
        yield messages.degraded_finding(view.degraded)
    yield from _of_preemption(info, counts, view)
    yield _quota_reserved(info, view)
    yield gang_texts.reservation_finding(view.promised)


def _may_be_degraded(info: GangInfo, counts: Counts) -> bool:
    """Return whether a gang lacks members and it is unclear why: then the condition stays."""
    return info.attempt.was_whole and not counts.reached(scheduled_and_succeeded)


def _quota_reserved(info: GangInfo, view: View) -> Finding:
    """Return the condition that a gang is charged to its queue, and in which flavors."""
    if view.queue is None:
        return Finding(QUOTA_RESERVED, status=False, reason="NoQueue")
    refusal = info.verdict.refusal
    if any(pod.node or pod.nominated for pod in info.observed.living):
        words = f"charged to queue {view.queue}{_flavors(info)}"
        if refusal is not None and refusal.reason in BY_QUEUES:
            words += f"; others wait ({refusal.reason}): {describe(refusal)}"
        return Finding(QUOTA_RESERVED, status=True, reason="Reserved", message=words)
    return Finding(QUOTA_RESERVED, status=False, reason=refusal.reason if refusal else "Pending")


def _flavors(info: GangInfo) -> str:
    """Return the flavors in which members are charged, as their bindings name them."""
    pods = (pod.charged_to for pod in info.observed.living if pod.charged_to)
    found = dict.fromkeys(each for charged_to in pods for each in charged_to.flavors)
    words = ", ".join(f"{resource} in {flavor}" for resource, flavor in sorted(found))
    return f": {words}" if words else ""


def _queue(info: GangInfo, counts: Counts, view: View) -> dict[str, Any] | None:
    """Return the place in the queue: 0 if the gang does not wait, or its place is unknown."""
    if view.queue is None:
        return None
    # Places are computed only now and then, so a gang that has started may still have one.
    place = None if _is_bound(info, counts) else view.place
    refusal = info.verdict.refusal
    return {
        "name": view.queue.name,
        "position": place.position if place else 0,
        "pending": place.pending if place else 0,
        "reason": refusal.reason.value if refusal else "",
        **_estimated_start(view),
    }


def _estimated_start(view: View) -> dict[str, str | None]:
    """Return the expected start; null if one was written and is no longer known."""
    reservation = view.promised.reservation
    start = reservation.start if reservation is not None else None
    if start is not None:
        return {"estimatedStart": rfc3339(start)}
    was_written = "estimatedStart" in (view.written.get("queue") or {})
    return {"estimatedStart": None} if was_written else {}


def _backfill(info: GangInfo, view: View) -> Mapping[str, Any] | None:
    """Return the gang that this gang was started ahead of, and until when; at first as written."""
    if not any(info.observed.with_node()):
        return None
    if info.admitted_here:
        return gang_texts.backfill_of(view.backfilled)
    written: Mapping[str, Any] | None = view.written.get("backfill")
    return written


def _elastic(info: GangInfo, view: View) -> dict[str, Any]:
    """Return the workers of an elastic gang; null removes them if it is no longer elastic."""
    found = messages.status_of(info)
    return {"elastic": found} if found is not None or "elastic" in view.written else {}


def _of_preemption(info: GangInfo, counts: Counts, view: View) -> Iterator[Finding]:
    """Yield the conditions about preemptions; after a restart, the written conditions stay."""
    bound = _is_bound(info, counts)
    started = info.preemptor.under_way
    if started is not None and started.victims:
        where = f" in {started.domain}" if started.domain else ""
        number = len(started.victims)
        words = f"{'1 pod makes' if number == 1 else f'{number} pods make'} room{where}"
        reason = Reason.WAITING_FOR_VICTIMS
        if info.preemptor.saves_awaited is not None:
            reason = Reason.WAITING_FOR_CHECKPOINT
        yield Finding("Preempting", status=True, reason=reason, message=words)
    elif bound or not _waits_for_victims(info):
        yield Finding("Preempting", status=False, reason="Scheduled" if bound else "NotPreempting")
    if info.preempted.by:
        words, own = _taken(info), info.preempted.by == str(info.key)
        why = disruption_target.DEGRADED if own else disruption_target.REASON
        yield Finding("Preempted", status=True, reason=why, message=words)
        if view.evicted is not None:
            yield view.evicted
    elif bound:
        yield Finding("Preempted", status=False, reason="Scheduled")
        yield Finding(EVICTED, status=False, reason="Scheduled")
    if view.room_lost is not None and not bound:
        words = text_of(view.room_lost)
        yield Finding("RoomLost", status=True, reason=Reason.UNSCHEDULABLE, message=words)
    elif bound:
        yield Finding("RoomLost", status=False, reason="Scheduled")


def _taken(info: GangInfo) -> str:
    if info.preempted.by == str(info.key):
        return "all members were evicted: their domain had no room for those that were lost"
    return f"members were evicted to make room for {info.preempted.by}"


def _is_bound(info: GangInfo, counts: Counts) -> bool:
    return counts.reached(scheduled_and_succeeded) or info.attempt.was_whole


def _waits_for_victims(info: GangInfo) -> bool:
    # Before the first verdict this is unknown: assume that it does.
    if info.verdict.refusal is None:
        return not info.verdict.tried
    return info.verdict.refusal.reason in MAKING_ROOM


def _wrong(
    reason: Reason, warnings: Iterable[Problem], refusal: Refused | None, *, otherwise: str
) -> Finding:
    """Return the condition of one reason, whether or not its problem keeps the gang waiting."""
    texts = [text_of(each.cause) for each in warnings if each.reason is reason]
    if refusal is not None and refusal.reason is reason:
        texts.append(describe(refusal))
    if not texts:
        return Finding(reason, status=False, reason=otherwise)
    return Finding(reason, status=True, reason=reason, message="; ".join(texts))


def _scheduled(info: GangInfo, counts: Counts) -> Finding:
    if _is_bound(info, counts):
        bound = f"{counts.scheduled} members have a node{_of_others(info, counts)}"
        return Finding("Scheduled", status=True, reason="Scheduled", message=bound)
    if phase_of(counts) is Phase.FAILED and counts.jobs_failed:
        words = "the Job of all members has failed: it creates no others"
        return Finding("Scheduled", status=False, reason=JOB_FAILED, message=words)
    if info.verdict.refusal is not None:
        words = describe(info.verdict.refusal)
        return Finding("Scheduled", status=False, reason=info.verdict.refusal.reason, message=words)
    if not counts.reached(members):
        missing = MembersMissing(members(counts), counts.min_member, counts.short_of(members))
        words = f"{text_of(missing)}{_evicted(info)}"
        return Finding("Scheduled", status=False, reason=Reason.WAITING_FOR_MEMBERS, message=words)
    words = "members are being bound"
    if not info.verdict.tried and not counts.scheduled:
        words = text_of(NotTriedYet(info.key))
    return Finding("Scheduled", status=False, reason="Scheduling", message=words)


def _of_others(info: GangInfo, counts: Counts) -> str:
    """Return why replacements of lost members wait; "" if no member is missing."""
    refusal = info.verdict.refusal
    if refusal is None or counts.reached(scheduled_and_succeeded):
        return ""
    return f"; others wait ({refusal.reason}): {describe(refusal)}"


def _evicted(info: GangInfo) -> str:
    """Return why members were evicted, and whether pods replace them; "" if none was."""
    if not info.preempted.by:
        return ""
    by, creator = info.preempted.by, info.preempted.creator
    why = "with its whole gang" if by == str(info.key) else f"for {by}"
    again = "no controller creates them again"
    if creator:
        backoff = " after its backoff" if creator == "Job" else ""
        again = f"its {creator} creates pods again{backoff}"
    return f": evicted {why}; {again}"


def _owners(info: GangInfo) -> str:
    owners = {
        owner for pod in info.observed.members.values() for owner in pod.owner.split(",") if owner
    }
    return ",".join(sorted(owners))


def _start_time(info: GangInfo, written: Mapping[str, Any]) -> str | None:
    if info.attempt.quorum_since is None:
        return None
    # Set once while the quorum lasts. After a restart the written time is older and counts.
    return written.get("scheduleStartTime") or rfc3339(info.attempt.quorum_since)
