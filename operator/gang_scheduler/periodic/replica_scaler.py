"""Gives elastic workloads in mode `Replicas` as many replicas as there is room for.

It looks at the gangs now and then, and asks the API server only if a change may be due: nothing is
read or written for a gang that keeps its size. Every change is of the version that was read.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from gang_scheduler.api.parsing import path_of
from gang_scheduler.apply.workloads import replicas
from gang_scheduler.apply.workloads.replicas import Resizer
from gang_scheduler.background_tasks import every
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Body
from gang_scheduler.client.writing import Writes
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.causes.gangs import AutoscalerTargets, ReplicasContested
from gang_scheduler.model.gangs import (
    APART_SECONDS,
    ChangeReason,
    Replicas,
    ReplicasChange,
    WrittenReplicas,
    signature,
)
from gang_scheduler.model.pods import Elastic, PodClass, one_of_each
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.words.messages import (
    REPLICAS_CHANGED,
    REPLICAS_FAILED,
    REPLICAS_STOPPED,
)
from gang_scheduler.report.words.text import text_of
from gang_scheduler.scheduler import elastic_pace
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.elastic_pace import CONTEST_SECONDS, ReplicaCounts
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.workloads import table

LOOK_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 10
"""How long a gang is left alone after no change was due, or no room was free."""
LONGEST_PAUSE_SECONDS: Final = 3600
IDLE_SECONDS: Final = 60
"""How long a gang is not grown after its object allowed no growth, as after members have ended."""
MOST_TRIALS: Final = 4
"""How many trials are made in one look: they take time from the cycles."""
LARGEST_PART: Final = 0.05
"""At most this part of the time is spent on trials: with thousands of gangs each takes 0.1 s."""
MOST_SHAPES: Final = 64
"""If pods of more classes than this wait, their gangs are not looked at one by one: none grows."""
REASONS: Final = {
    ChangeReason.ROOM_FREE: "there is room for more workers",
    ChangeReason.NO_ROOM: "there is no room for the others",
    ChangeReason.PREEMPTED: "a gang of higher priority took the room",
}

log = Logger()


@dataclass(slots=True)
class _Known:
    """The memory of one workload. Times are in seconds since the epoch.

    `stopped` is the annotation under which other writers changed the number, None while none does.
    `seen` is the number that another writer wrote last, at the last of `edits`.
    """

    not_before: float = 0
    grow_after: float = 0
    refusals: int = 0
    written: WrittenReplicas | None = None
    seen: int | None = None
    edits: list[int] = field(default_factory=list)
    stopped: Elastic | None = None

    def note(self, found: Replicas, elastic: Elastic, now: int) -> None:
        """Take in the last changes that an object records, also the changes of an earlier process.

        If others changed the number too often under another annotation, these changes no longer
        count.
        """
        if self.written is None and found.written is not None:
            is_past = found.written.stopped not in ("", signature(elastic))
            self.edits = [] if is_past else [*found.written.edits]
        self.written = found.written
        if found.edited_at is None:
            self.seen = None
        elif found.number != self.seen:
            self.seen = found.number
            self.edits = [*self.edits[-1:], min(found.edited_at, now) or now]

    def lately(self, now: int) -> tuple[int, ...]:
        """Return the times of the last changes by other writers, as far as they still count."""
        return tuple(each for each in self.edits if now - each < CONTEST_SECONDS)

    @property
    def edited_at(self) -> int | None:
        """When another writer wrote the present number; None if none did."""
        return self.edits[-1] if self.seen is not None and self.edits else None


class ReplicaScaler:
    """Changes the numbers of replicas of the `kinds` that the settings allow."""

    def __init__(
        self,
        cache: Cache,
        resizer: Resizer,
        events: Events,
        profile: Profile,
        *,
        kinds: Collection[str],
        writes: Writes,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache = cache
        self._resizer = resizer
        self._events = events
        self._profile = profile
        self._kinds = kinds
        self._writes = writes
        self._clock = clock
        self._timer = timer
        self._known: dict[str, _Known] = {}
        # The number of trials in this look, and how long they took.
        self._trials, self._spent = 0, 0.0
        # From when on the time for trials is not used up, by the timer.
        self._free_at = float("-inf")
        # The namespace that had its turn last.
        self._last = ""

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        when = self._writes.allowed
        await every(LOOK_SECONDS, self.look, "write", "numbers of replicas", when=when)

    async def look(self) -> None:
        """Change the number of replicas of each gang for which a change is due.

        Namespaces take turns, as trials and changes are few.
        """
        found = dict(self._gangs())
        self._known = {uid: each for uid, each in self._known.items() if uid in found}
        self._resizer.hands_off &= found.keys()
        self._trials, self._spent = 0, 0.0
        for uid, key in self._in_turns(found):
            with confined("resize", key):
                await self._consider(key, self._known.setdefault(uid, _Known()))

    def _gangs(self) -> Iterator[tuple[str, GangKey]]:
        """Yield the gangs in this mode, with the uids of their workloads."""
        queue = self._cache.gang_queue
        for kind in self._kinds:
            name = table.PATCHED[kind].versions[0].name
            for uid, keys in queue.objects(name).items():
                for key in keys:
                    elastic = queue.infos[key].observed.elastic
                    if key.source == kind and elastic is not None and elastic.by_replicas:
                        yield uid, key

    def _in_turns(self, found: Mapping[str, GangKey]) -> Iterator[tuple[str, GangKey]]:
        """Yield gangs, one of each namespace at a time: those tried longest ago first."""
        lines: dict[str, list[tuple[float, str, GangKey]]] = {}
        for uid, key in found.items():
            known = self._known.get(uid)
            tried = (0.0 if known is None else known.not_before, uid, key)
            lines.setdefault(key.namespace, []).append(tried)
        names = sorted(lines, key=lambda each: (each <= self._last, each))
        for some in zip_longest(*(sorted(lines[each]) for each in names)):
            yield from ((uid, key) for _, uid, key in filter(None, some))

    async def _consider(self, key: GangKey, known: _Known) -> None:
        """Read the workload of a gang if a change may be due."""
        info, now = self._cache.gang_queue.infos[key], int(self._clock())
        workload, counts = replicas.workload_of(info), _counts_of(info)
        if workload is None or counts is None or now < known.not_before or self._resizer.is_busy:
            return
        elastic = counts.elastic_size.elastic
        if known.stopped is not None:
            if known.stopped == elastic:
                return
            known.stopped, known.edits = None, []
            self._resizer.hands_off.discard(workload.uid)
        if elastic_pace.why_lowered(counts, now) is not None:
            step = 0
            if counts.elastic_size.bound + counts.waiting <= elastic.min_workers:
                return
        else:
            step = elastic_pace.growth(counts, known.written, known.edited_at, now)
            if not step or now < known.grow_after or not self._has_room(key, known, step, now):
                return
        self._last = key.namespace
        await self._change(info, workload, known, counts, step)

    async def _change(
        self,
        info: GangInfo,
        workload: ManagedWorkload,
        known: _Known,
        counts: ReplicaCounts,
        fits: int,
    ) -> None:
        """Read a workload, and write the change that is due, unless others change it."""
        now = int(self._clock())
        known.not_before = now + PAUSE_SECONDS
        try:
            found = await self._resizer.read(workload)
            change = await self._due(info, workload, found, known, fits)
        except ApiError as error:
            if error.kind in (Kind.REFUSED, Kind.DENIED):
                self._failed(info, known, error)
            return
        if change is None:
            known.grow_after = now + IDLE_SECONDS if fits else 0
            return
        role = counts.elastic_size.elastic.role
        refusal = await self._resizer.resize(workload, role, found, change)
        if refusal is None:
            known.not_before, known.refusals = now + APART_SECONDS, 0
            known.seen = None
            known.written = WrittenReplicas(change.after, now, change.why.value, change.vain)
            note = f"From {change.before} to {change.after} replicas: {REASONS[change.why]}"
            self._events.record(About.of_gang(info), REPLICAS_CHANGED, note)
        elif refusal.error is not None and refusal.kind in (Kind.REFUSED, Kind.DENIED):
            self._failed(info, known, refusal.error)

    async def _due(
        self, info: GangInfo, workload: ManagedWorkload, body: Body, known: _Known, fits: int
    ) -> ReplicasChange | None:
        """Return the change that is due for a workload as it was read. Raises ApiError."""
        if replicas.is_stopped(body, workload.kind):
            return None
        now = int(self._clock())
        counts = _counts_of(info)
        if counts is None:
            return None
        found = replicas.replicas_of(body, workload.kind, counts.elastic_size.elastic.role, now)
        known.note(found, counts.elastic_size.elastic, now)
        why = elastic_pace.why_stopped(counts.elastic_size.elastic, found, known.edits, now)
        if why is None and (name := await self._resizer.autoscaler_of(workload)):
            why = AutoscalerTargets(name)
        if why is not None:
            self._stop(info, workload, known, why, body)
            if isinstance(why, ReplicasContested):
                await self._leave_alone(workload, counts.elastic_size.elastic, known, body)
            return None
        change = elastic_pace.due_change(counts, found, now, edited_at=known.edited_at, fits=fits)
        if change is not None:
            change = change._replace(edits=known.lately(now))
        if change is None or not found.ends_named or change.after > change.before:
            return change
        return change._replace(ending=counts.names_waiting[: change.before - change.after])

    async def _leave_alone(
        self, workload: ManagedWorkload, elastic: Elastic, known: _Known, body: Body
    ) -> None:
        """Note on the object, once, that it is left alone, so that the next process knows."""
        written, sign = known.written, signature(elastic)
        if written is not None and written.stopped != sign:
            noted = written._replace(edits=known.lately(int(self._clock())), stopped=sign)
            await self._resizer.leave_alone(workload, body, noted)

    def _stop(
        self, info: GangInfo, workload: ManagedWorkload, known: _Known, why: Cause, body: Body
    ) -> None:
        elastic = info.observed.elastic
        path = table.BY_REPLICAS[workload.kind].path(body, elastic.role if elastic else "")
        known.stopped = elastic
        self._resizer.hands_off.add(workload.uid)
        where = path_of(path or ("replicas",))
        note = f"{where} is not changed until the annotation elastic changes: {text_of(why)}"
        log.warning("replicas_left_alone", workload=str(workload), why=text_of(why))
        self._events.record(About.of_gang(info), REPLICAS_STOPPED, note, warning=True)

    def _failed(self, info: GangInfo, known: _Known, error: ApiError) -> None:
        """Report that a request was refused, and wait longer each time before the next one."""
        known.refusals += 1
        pause = min(30 * 2 ** min(known.refusals, 12), LONGEST_PAUSE_SECONDS)
        known.not_before = self._clock() + pause
        note = f"the number of replicas cannot be changed: {error}; next try in {pause} s"
        log.warning("replicas_not_changed", gang=str(info.key), error=str(error))
        self._events.record(About.of_gang(info), REPLICAS_FAILED, note, warning=True)

    # Room.

    def _has_room(self, key: GangKey, known: _Known, number: int, now: int) -> bool:
        """Return whether a trial finds room for `number` more workers; if not, pause trials."""
        began = self._timer()
        is_time = (
            self._spent < LARGEST_PART * LOOK_SECONDS if self._trials else began >= self._free_at
        )
        if self._trials == MOST_TRIALS or not is_time:
            return False
        self._trials += 1
        self._last = key.namespace
        fits = self._fits(key, number, now)
        took = self._timer() - began
        self._spent += took
        self._free_at = began + took + self._spent * (1 / LARGEST_PART - 1)
        if fits:
            return True
        known.not_before = now + PAUSE_SECONDS
        return False

    def _fits(self, key: GangKey, number: int, now: int) -> bool:
        """Return whether `number` more workers find room that no gang waits for."""
        snapshot = self._cache.with_more(key, number, now)
        if snapshot is None:
            return False
        nodes = nodes_for(snapshot, key, number, self._profile)
        waiting = self._waiting(key) if nodes else ()
        return bool(nodes) and not is_wanted(nodes, waiting, snapshot, self._profile)

    def _waiting(self, key: GangKey) -> Iterator[PodClass]:
        """Yield the classes of the members of gangs that are complete and have not started."""
        for info in self._cache.gang_queue.infos.values():
            observed = info.observed
            if info.key == key or info.attempt.was_whole:
                continue
            is_sound = observed.spec is None or observed.spec.problem is None
            if not is_sound or not info.has_pending(self._cache.schedulers):
                continue
            if observed.has_quorum(observed.living):
                yield from {pod.pod_class for pod in one_of_each(observed.living) if not pod.node}


def _counts_of(info: GangInfo) -> ReplicaCounts | None:
    """Return the members of a gang that runs; None for any other."""
    size, observed = info.scaling.elastic_size, info.observed
    if size is None or size.changed_at is None or not info.attempt.was_whole:
        return None
    workers = (pod for pod in observed.living if size.elastic.counts(pod))
    waiting = [pod for pod in workers if not pod.node]
    names = tuple(sorted(pod.name for pod in waiting))
    return ReplicaCounts(
        size, len(waiting), min((pod.created_at for pod in waiting), default=0), names
    )


# Whether more members would find room, and whether another gang waits for that room.


def nodes_for(snapshot: Snapshot, key: GangKey, number: int, profile: Profile) -> frozenset[str]:
    """Return the nodes on which `number` more members of a gang find room; empty if they do not.

    The snapshot has them as waiting members. Nothing is evicted for them.
    """
    plan = schedule(snapshot, profile, to_the_end=True)
    binds = [bind for placed in plan.placed if placed.gang.key == key for bind in placed.binds]
    return frozenset(bind.node for bind in binds) if len(binds) == number else frozenset()


def is_wanted(
    nodes: frozenset[str], waiting: Iterable[PodClass], snapshot: Snapshot, profile: Profile
) -> bool:
    """Return whether a pod of one of the waiting classes could use one of the nodes."""
    asking = {_alone(each) for each in waiting if _is_known(each, snapshot)}
    if len(asking) > MOST_SHAPES:
        return True
    trial = Trial(snapshot)
    rows = [snapshot.nodes.rows[name] for name in sorted(nodes)]
    return any((offer_slots(each, trial, profile)[rows] > 0).any() for each in asking)


def _is_known(pod_class: PodClass, snapshot: Snapshot) -> bool:
    """Return whether any node could hold a pod of this class."""
    return all(name in snapshot.nodes.axis for name, _ in pod_class.requests)


def _alone(pod_class: PodClass) -> PodClass:
    """Return a class without its needs of other pods, volumes and devices: it fits more nodes."""
    alone = replace(pod_class, pod_affinity=None, selected_by=frozenset(), storage=None)
    return replace(alone, devices=None)
