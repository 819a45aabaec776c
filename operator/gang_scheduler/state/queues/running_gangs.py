"""Facts about gangs with members on nodes, as far as queues need them."""

import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.bound_pods import BoundGang, BoundPod, BoundPods, Charged, by_gang
from gang_scheduler.model.evictions import Backfilled, RunningGang
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import EvictionRules, QueueSet
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import PreemptionRules
from gang_scheduler.state import terminating
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import NO_SPEC, Version
from gang_scheduler.state.gangs.run_times import NEVER_ASKED, End
from gang_scheduler.state.pods import PodStore
from gang_scheduler.state.queues.queues_of_gangs import QueuesOfGangs, Resolved
from gang_scheduler.workloads import table

_DEFAULT: Final = EvictionRules()
_GANG: Final = operator.attrgetter("gang")
PUT_OFF_SECONDS: Final = 600
"""An end that moves later by more than this, while the gang runs, is not known any more.

Else a user could put the end off again and again: others are promised a start after it, and gangs
that end before take all other room. Pods may start this long after they are bound.
"""


def may_evict(groups: Iterable[GangGroup], declared: QueueSet) -> bool:
    """Return whether the queue of any group allows it to evict at all."""
    rules = {queue.ref: queue.evictions for queue in declared.queues}
    refs = {group.queue for group in groups}
    return any(rules.get(ref, _DEFAULT).may_evict for ref in refs if ref is not None)


def were_overrun(groups: Iterable[GangGroup], infos: Mapping[GangKey, GangInfo], now: int) -> bool:
    """Return whether gangs that were backfilled before one of these groups should have ended.

    No policy of a queue protects such gangs. `now` is in seconds. Linear in gangs.
    """
    waiting = {gang.key for group in groups for gang in group.waiting}
    if not waiting:
        return False
    found = (_backfilled(info, infos) for info in infos.values())
    return any(each.until <= now and each.ahead_of in waiting for each in found if each is not None)


def all_bound(pods: PodStore) -> BoundPods:
    """Return the pods on nodes, none of them evictable. Linear in pods."""
    counted = (pods.counted(uid) for uid in pods.uids())
    there = [each for each in counted if each is not None and each.node]
    bound = tuple(
        replace(terminating.bound_pod(each.pod, each.gang), evictable=False)
        for each in there
        if not each.pod.deleting
    )
    leaving = (terminating.bound_pod(each.pod, each.gang) for each in there if each.pod.deleting)
    return BoundPods(bound, leaving=tuple(leaving))


class _Kept(NamedTuple):
    """The facts about a gang, and the inputs they were computed from.

    They are valid as long as the version of the gang and the round of the queues stay the same. The
    `end` says itself how long it holds. `backfilled` and `placed_here` are as the gang had them.
    `first_end` is the earliest end that was known since the first of these pods ran, in seconds.
    """

    gang: BoundGang
    spec: GangSpec
    resolved: Resolved | None
    created_at: float
    lasting: RunningGang
    version: Version | None
    number: int
    round: int
    end: End = NEVER_ASKED
    backfilled: Backfilled | None = None
    placed_here: bool = False
    first_end: int | None = None


class RunningGangs:
    """The gangs on nodes. A gang that has not changed is the same object as before."""

    def __init__(
        self, infos: Mapping[GangKey, GangInfo], queues: QueuesOfGangs, rules: PreemptionRules
    ) -> None:
        self._infos = infos
        self._queues = queues
        self._rules = rules
        self._kept: dict[GangKey, _Kept] = {}
        self._gangs: Mapping[GangKey, BoundGang] = {}
        self._pods: tuple[BoundPod, ...] = ()
        self._charged: Mapping[str, Charged] = {}
        self._basis: tuple[object, ...] = ()
        """The inputs that all gangs share, when they were last looked at."""
        self._by_status: set[GangKey] = set()
        """The gangs whose status names the gang before which they were backfilled."""

    def put_in(
        self,
        bound_pods: BoundPods,
        charged: Mapping[str, Charged],
        ends_as_of: int | None = None,
        *,
        enforcing: bool,
    ) -> BoundPods:
        """Return bound pods with their charges, and their gangs. Linear in gangs and pods.

        With `enforcing`, gangs that were backfilled are marked with their declared end. With
        `ends_as_of`, in seconds, the gangs also have their expected ends.
        """
        pods, before = bound_pods.pods, self._kept
        moved = self._moved(pods, charged)
        members: Mapping[GangKey, Sequence[BoundPod]] = {}
        order: Iterable[GangKey] = before
        if moved:
            # Very many pods, of which hardly any has moved.
            gangs = [*map(_GANG, pods)]
            members = by_gang(itertools.compress(pods, map(moved.__contains__, gangs)))
            order = dict.fromkeys(gangs)
        basis = (self._queues.round, self._queues.run_times.version, enforcing, ends_as_of is None)
        unsure = moved | (self._changed(ends_as_of) if basis == self._basis else before.keys())
        if unsure:
            now = {
                key: self._looked_at(key, members.get(key), charged, ends_as_of, enforcing)
                for key in order
                if key in unsure
            }
            known = before | now
            self._kept = {key: known[key] for key in order}
            self._gangs = {key: each.gang for key, each in self._kept.items()}
            self._by_status.intersection_update(self._kept)
        self._pods, self._charged, self._basis = pods, charged, basis
        return replace(bound_pods, charged=charged, gangs=self._gangs)

    def _changed(self, ends_as_of: int | None) -> set[GangKey]:
        """Return the gangs that may have changed. From cycle to cycle, hardly any has."""
        infos, now = self._infos, ends_as_of
        # This runs for each gang on nodes in every cycle.
        found = {
            key
            for key, each in self._kept.items()
            if (info := infos.get(key)) is None
            or info.version is not each.version
            or info.version.number != each.number
            or info.backfilled is not each.backfilled
            or info.admitted_here is not each.placed_here
            or not (now is None or each.end.since <= now < each.end.until)
        }
        return found | self._by_status

    def _looked_at(
        self,
        key: GangKey,
        members: Sequence[BoundPod] | None,
        charged: Mapping[str, Charged],
        ends_as_of: int | None,
        enforcing: bool,  # noqa: FBT001
    ) -> _Kept:
        """Return a gang as it is now. `members` are its pods, None if none has come or gone."""
        info, then, times = self._infos.get(key), self._kept.get(key), self._queues.run_times
        if then is None or members is not None:
            now = self._of(key, tuple(members or ()), charged, info)
        elif not self._is_as_it_was(then, info):
            now = self._of(key, then.gang.pods, charged, info)
        else:
            now = then
        backfilled = None
        self._by_status.discard(key)
        if info is not None:
            now = now._replace(backfilled=info.backfilled, placed_here=info.admitted_here)
            if enforcing:
                backfilled = _backfilled(info, self._infos)
                if _says_backfilled(info):
                    self._by_status.add(key)
        ends_at = None
        if ends_as_of is not None:
            if not now.end.holds(ends_as_of, times.version):
                those = (each.pod for each in now.gang.pods)
                now = now._replace(end=times.end_of(those, now.spec.run_time, ends_as_of))
            now, ends_at = _ending(now)
        gang = now.gang
        if now is not then or _differs(gang.known, backfilled, ends_at):
            known = _with(now.lasting, backfilled, ends_at)
            if known is not gang.known and known != gang.known:
                now = now._replace(gang=BoundGang(gang.pods, gang.charged, known))
        return now

    def _moved(self, pods: Sequence[BoundPod], charged: Mapping[str, Charged]) -> set[GangKey]:
        """Return the gangs with a pod that has come, gone or changed, or whose charge has.

        Pods are compared by identity, because of very many pods hardly any changes.
        """
        found: set[GangKey] = set()
        seen: set[str] = set()
        come, gone = _differing(pods, self._pods)
        if come or gone:
            were, there = {id(each) for each in gone}, {id(each) for each in come}
            moved = [each for each in come if id(each) not in were]
            moved += [each for each in gone if id(each) not in there]
            found.update(each.gang for each in moved)
            seen.update(each.pod.uid for each in moved)
        before = self._charged
        same = map(operator.is_, charged.values(), map(before.get, charged))
        uids = set(itertools.compress(charged, map(operator.not_, same)))
        uids |= before.keys() - charged.keys()
        # Pods that came or went are known already.
        if uids - seen:
            found.update(each.gang for each in pods if each.pod.uid in uids)
        return found

    def _is_as_it_was(self, kept: _Kept, info: GangInfo | None) -> bool:
        if info is None or kept.round != self._queues.round:
            return False
        version = info.version
        return kept.version is version and kept.number == version.number

    def _of(
        self,
        key: GangKey,
        pods: tuple[BoundPod, ...],
        charged: Mapping[str, Charged],
        info: GangInfo | None,
    ) -> _Kept:
        """Return a gang as it is now: the same object, if nothing has changed."""
        before = self._kept.get(key)
        is_same_run = before is not None and _are_some_of(before.gang.pods, pods)
        first_end = before.first_end if before is not None and is_same_run else None
        spec = (info.observed.spec if info is not None else None) or NO_SPEC
        resolved = self._queues.of(key)
        oldest = min((each.pod for each in pods), key=lambda pod: (pod.created_at, pod.uid))
        created_at = oldest.created_at if info is None else info.in_line_since(oldest)
        made_of = spec, resolved, created_at
        if before is None or pods != before.gang.pods or made_of != before[1:4]:
            lasting = _lasting(pods, spec, resolved, self._rules)
            lasting = replace(lasting, uid=spec.uid or oldest.uid, created_at=created_at)
        else:
            lasting = before.lasting
        charges = tuple([charged.get(each.pod.uid) for each in pods])
        gang = None if before is None else before.gang
        if gang is None or (pods, charges) != (gang.pods, gang.charged):
            gang = BoundGang(pods, charges, lasting)
        version = info.version if info is not None else None
        number = version.number if version is not None else 0
        return _Kept(
            *(gang, *made_of, lasting, version, number, self._queues.round), first_end=first_end
        )


def _differing(
    pods: Sequence[BoundPod], before: Sequence[BoundPod]
) -> tuple[Sequence[BoundPod], Sequence[BoundPod]]:
    """Return both without the pods with which both begin, and with which both end."""
    least = min(len(pods), len(before))
    first = _first_difference(pods, before, least)
    last = min(_first_difference(reversed(pods), reversed(before), least), least - first)
    return pods[first : len(pods) - last], before[first : len(before) - last]


def _first_difference(some: Iterable[BoundPod], others: Iterable[BoundPod], otherwise: int) -> int:
    """Return the first position at which two sequences have different objects."""
    differ = map(operator.is_not, some, others)
    return next(itertools.compress(itertools.count(), differ), otherwise)


def _lasting(
    bound_pods: Iterable[BoundPod],
    spec: GangSpec,
    resolved: Resolved | None,
    rules: PreemptionRules,
) -> RunningGang:
    pods = [each.pod for each in bound_pods]
    return RunningGang(
        started_at=min(pod.ran_since for pod in pods),
        min_runtime=rules.counted_min_runtime(spec.options.min_runtime_seconds),
        class_priority=resolved.class_priority if resolved is not None else None,
    )


def _ending(now: _Kept) -> tuple[_Kept, int | None]:
    """Return a gang with its first known end, and its end; None if that is unknown or put off."""
    first, ends_at = now.first_end, now.end.at
    if ends_at is None or first is None or ends_at < first:
        return now._replace(first_end=first if ends_at is None else ends_at), ends_at
    return now, ends_at if ends_at <= first + PUT_OFF_SECONDS else None


def _are_some_of(before: Sequence[BoundPod], now: Sequence[BoundPod]) -> bool:
    """Return whether some pods of a gang are still the same, so that it is the same run."""
    if before is now:
        return True
    uids = {each.pod.uid for each in before}
    return any(each.pod.uid in uids for each in now)


def _differs(known: RunningGang, backfilled: Backfilled | None, ends_at: int | None) -> bool:
    return known.ends_at != ends_at or known.backfilled != backfilled


def _with(lasting: RunningGang, backfilled: Backfilled | None, ends_at: int | None) -> RunningGang:
    if backfilled is None and ends_at is None:
        return lasting
    return replace(lasting, backfilled=backfilled, ends_at=ends_at)


def _says_backfilled(info: GangInfo) -> bool:
    """Return whether only the status says before which gang a gang was backfilled."""
    spec = info.observed.spec
    return not info.admitted_here and spec is not None and spec.backfilled is not None


def _backfilled(info: GangInfo, infos: Mapping[GangKey, GangInfo]) -> Backfilled | None:
    """Return the gang before which a gang was backfilled: as decided here, else by its status."""
    spec = info.observed.spec
    if spec is None or spec.backfilled is None or not _says_backfilled(info):
        return info.backfilled
    until, name = spec.backfilled
    keys = (GangKey(source.name, *name) for source in table.SOURCES)
    found = next((key for key in keys if key in infos), None)
    return Backfilled(until, found) if found is not None else None
