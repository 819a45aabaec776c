"""What is known of the gangs with members on nodes, where queues ask for it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.bound_pods import BoundGang, BoundPod, BoundPods, Charged, by_gang
from gang_scheduler.model.evictions import Backfilled, RunningGang
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import EvictionRules, QueueSet
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state import terminating
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import NO_SPEC, Version
from gang_scheduler.state.pods import PodStore
from gang_scheduler.state.queues.gang_queues import GangQueues, Resolved
from gang_scheduler.workloads import table

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
    if not waiting:
        return False
    found = (_backfilled(info, infos) for info in infos.values())
    return any(each.until <= now and each.ahead_of in waiting for each in found if each is not None)


def all_bound(pods: PodStore) -> BoundPods:
    """Return the pods on nodes where none may be evicted. Linear in pods."""
    counted = (pods.counted(uid) for uid in pods.uids())
    there = [each for each in counted if each is not None and each.node]
    bound = tuple(
        replace(terminating.bound_pod(each.pod, each.gang), evictable=False)
        for each in there
        if not each.pod.deleting
    )
    leaving = (terminating.bound_pod(each.pod, each.gang) for each in there if each.pod.deleting)
    return BoundPods(bound, leaving=tuple(leaving))


class _State(NamedTuple):
    """What all that is known of a gang follows from, beside its pods: the same while this is."""

    version: Version
    number: int
    round: int


class _Kept(NamedTuple):
    """A gang as it was, what it was made of, and what is known of it by itself at any time."""

    gang: BoundGang
    spec: GangSpec
    resolved: Resolved | None
    created_at: float
    lasting: RunningGang
    state: _State | None


class RunningGangs:
    """The gangs on nodes: the same objects as before for those that have stayed as they were."""

    def __init__(
        self, infos: Mapping[GangKey, GangInfo], queues: GangQueues, max_min_runtime_seconds: int
    ) -> None:
        self._infos = infos
        self._queues = queues
        self._most = max_min_runtime_seconds
        self._kept: dict[GangKey, _Kept] = {}

    def put_in(
        self,
        bound_pods: BoundPods,
        charged: Mapping[str, Charged],
        ends_as_of: int | None = None,
        *,
        enforcing: bool,
    ) -> BoundPods:
        """Return bound pods with what they are charged, and their gangs. Linear in pods.

        `enforcing`: gangs that were let pass because they end in time are told. When gangs end is
        told where `ends_as_of` is the time, in seconds.
        """
        kept: dict[GangKey, _Kept] = {}
        for key, members in by_gang(bound_pods.pods).items():
            pods, info = tuple(members), self._infos.get(key)
            charges = tuple([charged.get(each.pod.uid) for each in pods])
            now = self._as_it_was(key, pods, info)
            backfilled = _backfilled(info, self._infos) if enforcing and info is not None else None
            ends_at = None if ends_as_of is None else self._ends_at(pods, now.spec, ends_as_of)
            known, gang = _with(now.lasting, backfilled, ends_at), now.gang
            if (pods, charges, known) != (gang.pods, gang.charged, gang.known):
                now = now._replace(gang=BoundGang(pods, charges, known))
            kept[key] = now
        self._kept = kept
        gangs = {key: each.gang for key, each in kept.items()}
        return replace(bound_pods, charged=charged, gangs=gangs)

    def _as_it_was(self, key: GangKey, pods: tuple[BoundPod, ...], info: GangInfo | None) -> _Kept:
        """Return a gang as it was, if what is known of it by itself has not changed."""
        before, state = self._kept.get(key), self._state_of(info)
        is_same = before is not None and pods == before.gang.pods
        if before is not None and is_same and state is not None and state == before.state:
            return before
        spec = (info.observed.spec if info is not None else None) or NO_SPEC
        resolved = self._queues.of(key)
        oldest = min((each.pod for each in pods), key=lambda pod: (pod.created_at, pod.uid))
        created_at = oldest.created_at if info is None else info.in_line_since(oldest)
        made_of = spec, resolved, created_at
        if before is None or not is_same or made_of != before[1:4]:
            lasting = _lasting(pods, spec, resolved, self._most)
            lasting = replace(lasting, uid=spec.uid or oldest.uid, created_at=created_at)
            return _Kept(BoundGang((), ()), *made_of, lasting, state)
        return before._replace(state=state)

    def _state_of(self, info: GangInfo | None) -> _State | None:
        if info is None:
            return None
        return _State(info.version, info.version.number, self._queues.round)

    def _ends_at(self, pods: Iterable[BoundPod], spec: GangSpec, now: int) -> int | None:
        those = (each.pod for each in pods)
        return self._queues.run_times.ends_at(those, spec.run_time, now)


def _lasting(
    bound_pods: Iterable[BoundPod], spec: GangSpec, resolved: Resolved | None, most: int
) -> RunningGang:
    pods = [each.pod for each in bound_pods]
    return RunningGang(
        started_at=min(map(_began, pods)),
        min_runtime=min(spec.options.min_runtime_seconds, most),
        class_priority=resolved.class_priority if resolved is not None else None,
    )


def _with(lasting: RunningGang, backfilled: Backfilled | None, ends_at: int | None) -> RunningGang:
    if backfilled is None and ends_at is None:
        return lasting
    return replace(lasting, backfilled=backfilled, ends_at=ends_at)


def _backfilled(info: GangInfo, infos: Mapping[GangKey, GangInfo]) -> Backfilled | None:
    """Return which gang a gang was let pass: as decided here, else as is written."""
    spec = info.observed.spec
    if info.admitted_here or spec is None or spec.backfilled is None:
        return info.backfilled
    until, name = spec.backfilled
    keys = (GangKey(source.name, *name) for source in table.SOURCES)
    found = next((key for key in keys if key in infos), None)
    return Backfilled(until, found) if found is not None else None


def _began(pod: Pod) -> int:
    # The kubelet writes the start time. Until then the time of the binding is the best guess.
    return int(pod.started_at or pod.scheduled_at or pod.created_at)
