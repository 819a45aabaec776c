"""What is known of the gangs with members on nodes, where queues ask for it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.model import gang_sources
from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.evictions import Backfilled, RunningGang
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Charge, EvictionRules, QueueRef, QueueSet
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.records.observed import NO_SPEC
from gang_scheduler.state.queues.gang_queues import GangQueues

_DEFAULT: Final = EvictionRules()


def may_evict(groups: Iterable[GangGroup], declared: QueueSet) -> bool:
    """Return whether the queue of any group lets it evict at all."""
    rules = {queue.ref: queue.evictions for queue in declared.queues}
    refs = {group.queue for group in groups}
    return any(rules.get(ref, _DEFAULT).may_evict for ref in refs if ref is not None)


def were_overrun(groups: Iterable[GangGroup], infos: Mapping[GangKey, GangInfo], now: int) -> bool:
    """Return whether gangs that passed one of these should have ended by now.

    No policy of a queue protects those. `now` is in seconds. Linear in gangs.
    """
    waiting = {gang.key for group in groups for gang in group.waiting}
    found = (_backfilled(info, infos) for info in infos.values())
    return any(each.until <= now and each.ahead_of in waiting for each in found if each is not None)


def in_queues(
    bound_pods: BoundPods,
    charges: Mapping[str, tuple[QueueRef, Charge]],
    infos: Mapping[GangKey, GangInfo],
    queues: GangQueues,
    max_min_runtime_seconds: int,
    *,
    enforcing: bool,
) -> BoundPods:
    """Return bound pods with what they are charged, and what is known of their gangs.

    `enforcing`: gangs that were let pass because they end in time are told.
    """
    gangs = _running_gangs(bound_pods.pods, infos, queues, max_min_runtime_seconds)
    if enforcing:
        gangs = {key: _with_passed(key, gang, infos) for key, gang in gangs.items()}
    return replace(
        bound_pods,
        queues={uid: ref for uid, (ref, _) in charges.items()},
        charges={uid: charge for uid, (_, charge) in charges.items()},
        gangs=gangs,
    )


def _running_gangs(
    bound_pods: Iterable[BoundPod],
    infos: Mapping[GangKey, GangInfo],
    queues: GangQueues,
    max_min_runtime_seconds: int,
) -> dict[GangKey, RunningGang]:
    """Return the gangs of bound pods. Linear in pods on nodes."""
    members: dict[GangKey, list[Pod]] = {}
    for each in bound_pods:
        members.setdefault(each.gang, []).append(each.pod)
    return {
        key: _running(key, pods, infos.get(key), queues, max_min_runtime_seconds)
        for key, pods in members.items()
    }


def _running(
    key: GangKey, pods: list[Pod], info: GangInfo | None, queues: GangQueues, most: int
) -> RunningGang:
    spec = (info.observed.spec if info is not None else None) or NO_SPEC
    oldest = min(pods, key=lambda pod: (pod.created_at, pod.uid))
    resolved = queues.of(key)
    return RunningGang(
        uid=spec.uid or oldest.uid,
        created_at=spec.created_at if spec.uid else oldest.created_at,
        started_at=min(map(_began, pods)),
        min_runtime=min(spec.options.min_runtime_seconds, most),
        class_priority=resolved.class_priority if resolved is not None else None,
        saved_at=_saved_at(spec.status),
    )


def _with_passed(
    key: GangKey, running: RunningGang, infos: Mapping[GangKey, GangInfo]
) -> RunningGang:
    found = _backfilled(infos[key], infos) if key in infos else None
    return running if found is None else replace(running, backfilled=found)


def _backfilled(info: GangInfo, infos: Mapping[GangKey, GangInfo]) -> Backfilled | None:
    """Return which gang a gang was let pass: as decided here, else as is written."""
    spec = info.observed.spec
    if info.admitted_here or spec is None or spec.backfilled is None:
        return info.backfilled
    until, name = spec.backfilled
    keys = (GangKey(source.name, *name) for source in gang_sources.SOURCES)
    found = next((key for key in keys if key in infos), None)
    return Backfilled(until, found) if found is not None else None


def _began(pod: Pod) -> int:
    # The kubelet writes the start time. Until then the time of the binding is the best guess.
    return int(pod.started_at or pod.scheduled_at or pod.created_at)


def _saved_at(status: Mapping[str, object]) -> int:
    """Return when the gang last saved its work, in seconds; 0 if it never did."""
    checkpoint = status.get("checkpoint")
    done_at = checkpoint.get("doneAt") if isinstance(checkpoint, Mapping) else None
    try:
        return fields.timestamp(done_at) if isinstance(done_at, str) else 0
    except InvalidField:
        return 0
