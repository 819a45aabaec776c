"""Writes the status of PodGroups and the PodScheduled condition of pods, for users.

Writes are coalesced: changed gangs are read once an interval, and only statuses that differ from
the last write are sent. So ten thousand pods that change at once cost a write a gang, not a pod.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio

from gang_scheduler.api.kinds import GVR, NATIVE_POD_GROUPS, POD_GROUPS, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.client.errors import Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import RACED, Writes
from gang_scheduler.current_work import Work, note
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.report.events import Backpressure
from gang_scheduler.report.failure_events import DegradedEvents
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.report.pod_group_status import View, native_status_of, status_of
from gang_scheduler.report.queues.gang_texts import EvictionTexts, Promised, QueuePlaces
from gang_scheduler.report.words.messages import describe
from gang_scheduler.round_robin import ByNamespace
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import retries
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import nodes_of
from gang_scheduler.state.pruning import pruned
from gang_scheduler.telemetry.logger import Logger

STATUSES = {
    POD_GROUPS.group: status_of,
    SCHED_PLUGINS_POD_GROUPS.group: status_of,
    NATIVE_POD_GROUPS[0].group: native_status_of,
}
"""The function that makes the status, by API group. Jobs and JobSets get no status here."""
QUIET_SECONDS = 5
"""Only states that last this long are written, such as a new member or a binding in progress."""
PLACE_SECONDS = 2
"""The status of a gang waits this long for its place in its queue, so that both are one write."""
REWORD_SECONDS = 30
"""A message with other counts is not written before this time: counts change with every pod."""
SLICE = 50
"""This many gangs are examined before other namespaces, and other tasks, get a turn."""
DENIED_PAUSE_SECONDS = 2
"""The pause after a denied write: it may be one of many."""

log = Logger()
Write = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Record:
    """The last written status of a gang, and since when the gang has waited for its reason.

    `uid` is the uid of the object that describes the gang: a new object gets a new status. All
    times are in seconds since the epoch. `at` is when the gang was last examined. `binding_since`
    is since when it is being bound, `no_verdict_since` since when members wait without a verdict,
    and `without_place_since` since when it waits in a queue and its place is unknown.
    """

    uid: str = ""
    status: Mapping[str, Any] = field(default_factory=dict)
    reason: Reason | None = None
    since: int = 0
    at: int = 0
    binding_since: int | None = None
    no_verdict_since: int | None = None
    without_place_since: int | None = None


class StatusWriter:
    """Keeps the statuses of gangs current. `follow` gets all gangs that have changed."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        *,
        interval_seconds: float,
        concurrency: int,
        lost_nominations: LostNominations,
        backpressure: Backpressure,
        missing_members: MissingMembers,
        degraded: DegradedEvents,
        places: QueuePlaces,
        evictions: EvictionTexts,
        pod_events: PodEvents,
        follow: Callable[[Collection[GangKey]], None] = lambda _: None,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._cache = cache
        self._backpressure = backpressure
        self._missing_members = missing_members
        self._degraded = degraded
        self._places = places
        self._evictions = evictions
        self._pod_events = pod_events
        self._follow = follow
        self._lost_nominations = lost_nominations
        self._interval = interval_seconds
        self._concurrency = concurrency
        self._writes = writes
        self._clock = clock
        self._records: dict[GangKey, _Record] = {}
        self._reworded: dict[str, int] = {}
        # When to examine gangs that have not changed.
        self._later: dict[GangKey, int] = {}
        self._due: ByNamespace[GangKey, None] = ByNamespace()
        self._without_status: set[GVR] = set()

    async def run(self) -> None:
        """Write statuses of PodGroups until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            begun = clock()
            goes_on = len(self._due) and self._writes.allowed()
            await asyncio.sleep(0 if goes_on else self._interval)
            await self._backpressure.wait(begun)
            if self._writes.allowed():
                self._look()
                # Gangs that change meanwhile are still found once an interval, and have their turn.
                await self._write_until(clock() + self._interval)

    async def flush(self) -> None:
        """Write all changes since the last call."""
        self._look()
        await self._write_until(math.inf)

    def _look(self) -> None:
        """Queue the gangs that are due."""
        self._forget_the_gone()
        for key in sorted(self._take_due(int(self._clock()))):
            self._due.put(key.namespace, key, None)

    async def _write_until(self, moment: float) -> None:
        """Write the statuses that are due, a slice at a time, until all are done or `moment`."""
        clock = asyncio.get_running_loop().time
        while len(self._due):
            now = int(self._clock())
            writes: list[Write] = []
            for _ in range(min(SLICE, len(self._due))):
                key, _ = self._due.take()
                note(Work.REPORT, f"status of {key}")
                with confined("report", str(key)):
                    writes += self._writes_of(key, now)
            await self._in_parallel(writes)
            if clock() >= moment:
                return

    def _take_due(self, now: int) -> set[GangKey]:
        """Return the gangs to examine now, and no longer keep them as due."""
        gang_queue = self._cache.gang_queue
        for key in gang_queue.reworded:
            record = self._records.get(key)
            self._look_again(key, record.at + REWORD_SECONDS if record else now)
        due = gang_queue.changed | {key for key, moment in self._later.items() if moment <= now}
        self._follow(gang_queue.changed)
        gang_queue.changed.clear()
        gang_queue.reworded.clear()
        for key in due:
            self._later.pop(key, None)
        return due

    def _look_again(self, key: GangKey, moment: int) -> None:
        self._later[key] = min(moment, self._later.get(key, moment))

    def _forget_the_gone(self) -> None:
        """Drop the records of deleted gangs and pods once they outnumber the others."""
        self._records = pruned(self._records, self._cache.gang_queue.infos)
        self._reworded = pruned(self._reworded, self._cache.pod_store.uids())
        self._missing_members.forget_the_gone()
        self._degraded.forget_the_gone()

    def _writes_of(self, key: GangKey, now: int) -> Iterator[Write]:
        info = self._cache.gang_queue.infos.get(key)
        if info is None:
            self._missing_members.forget(key)
            self._degraded.forget(key)
            return
        gang_spec = info.observed.spec
        uid = gang_spec.uid if gang_spec else ""
        record = self._records.get(key)
        if record is None or record.uid != uid:
            record = self._records[key] = _Record(uid)
        record.at = now
        if self._is_being_bound(info, record, now):
            return
        for again in (self._missing_members.look(info, now), self._degraded.look(info, now)):
            if again is not None:
                self._look_again(key, again)
        yield from self._gang_write(info, record, now)
        yield from self._pod_writes(info, record, now)
        yield from self._writes_without_verdict(info, record, now)

    def _is_being_bound(self, info: GangInfo, record: _Record, now: int) -> bool:
        """Return whether a gang is being bound, and for less than QUIET_SECONDS."""
        if info.verdict.refusal is not None or not info.observed.is_being_bound:
            record.binding_since = None
            return False
        if record.binding_since is None:
            record.binding_since = now
        until = record.binding_since + QUIET_SECONDS
        if now < until:
            self._look_again(info.key, until)
        return now < until

    def _gang_write(self, info: GangInfo, record: _Record, now: int) -> Iterator[Write]:
        gang_spec = info.observed.spec
        gvr = gang_spec.gvr if gang_spec else None
        if gang_spec is None or gvr is None or gvr.group not in STATUSES:
            return
        written_by_others = gang_spec.status and not (info.observed.members or record.status)
        if written_by_others and self._cache.foreign_members.are_in(info.key):
            return  # Another installation schedules the members, and writes the status.
        if self._awaits_place(info, record, now):
            return
        view = View(
            written=record.status or gang_spec.status,
            now=now,
            deadline=self._cache.gang_queue.deadlines.of(info),
            domain=self._cache.domain_of(nodes_of(info), info.observed.wanted_topology),
            room_lost=self._lost_nominations.cause(info.key),
            queue=self._cache.queue_of(info.key),
            place=self._places.of(info.key),
            evictions=self._evictions.status_of(info.key),
            evicted=self._evictions.finding(info.key),
            checkpoints=self._cache.checkpoints.of(info.key),
            promised=self._promised(info.key, now),
            backfilled=self._backfilled(info),
            degraded=self._cache.degraded.of(info.key, now),
        )
        status = STATUSES[gvr.group](info, gang_spec, view)
        if self._is_news(gvr, gang_spec, record, status):
            yield lambda: self._write_status(gvr, info.key, status)
        record.status = status

    def _awaits_place(self, info: GangInfo, record: _Record, now: int) -> bool:
        """Return whether the place of a gang that has just begun to wait will be known soon."""
        has_place = not self._places.in_use or self._places.of(info.key) is not None
        waits = _waits_in_line(info.verdict.refusal)
        if has_place or not waits or self._cache.queue_of(info.key) is None:
            record.without_place_since = None
            return False
        if record.without_place_since is None:
            record.without_place_since = now
        until = record.without_place_since + PLACE_SECONDS
        if now < until:
            self._look_again(info.key, until)
        return now < until

    def _promised(self, key: GangKey, now: int) -> Promised:
        reservations = self._cache.gang_queue.reservations
        held = reservations.held.get(key)
        return Promised(held.reservation if held else None, key in reservations.resting(now))

    def _backfilled(self, info: GangInfo) -> Backfilled | None:
        """Return the gang that a gang started ahead of, if its namespace may know it."""
        found = info.backfilled
        hides = self._cache.evictable_pods.rules.hide_foreign_names
        away = found is not None and found.ahead_of.namespace != info.key.namespace
        return None if hides and away else found

    def _is_news(
        self, gvr: GVR, gang_spec: GangSpec, record: _Record, status: Mapping[str, Any]
    ) -> bool:
        """Return whether a status differs from the last sent one, or else from the present one."""
        present = gang_spec.status
        if gvr in self._without_status:
            # Without a status subresource every write raises the generation, which would never end.
            return _undated(status) not in (_undated(record.status), _undated(present))
        # The sent status counts, not the present one: the watch may be late, and a CRD of another
        # product may drop fields.
        known = record.status or present
        return any(_differs(known.get(key), value) for key, value in status.items())

    async def _write_status(self, gvr: GVR, key: GangKey, status: Mapping[str, Any]) -> None:
        async def write() -> None:
            if not await self._api.patch_status(gvr, key.namespace, key.name, status):
                self._without_status.add(gvr)

        await self._write("pod_group_status", key, write)

    def _pod_writes(self, info: GangInfo, record: _Record, now: int) -> Iterator[Write]:
        refusal = info.verdict.refusal
        reason = refusal.reason if refusal else None
        if reason is not record.reason:
            record.reason, record.since = reason, now
        if refusal is None:
            return
        loud = refusal.reason is Reason.UNSCHEDULABLE
        message = describe(refusal) if loud else _of_others(refusal)
        self._tell_events(info.key, refusal, message, record.since, now)
        if not loud and now - record.since < QUIET_SECONDS:
            self._look_again(info.key, record.since + QUIET_SECONDS)
            return
        yield from self._condition_writes(info.key, refusal, message, now)

    def _writes_without_verdict(self, info: GangInfo, record: _Record, now: int) -> Iterator[Write]:
        """Yield conditions that say why members without a verdict wait, after a while."""
        suspended = info.suspended is not None
        refusal = None if suspended else retries.refusal_of_untried(info, self._cache.schedulers)
        if refusal is None:
            record.no_verdict_since = None
            return
        record.no_verdict_since = (
            now if record.no_verdict_since is None else record.no_verdict_since
        )
        self._tell_events(info.key, refusal, describe(refusal), record.no_verdict_since, now)
        if now - record.no_verdict_since < QUIET_SECONDS:
            self._look_again(info.key, record.no_verdict_since + QUIET_SECONDS)
            return
        yield from self._condition_writes(info.key, refusal, describe(refusal), now)

    def _tell_events(
        self, key: GangKey, refusal: Refused, message: str, since: int, now: int
    ) -> None:
        pods = self._waiting(refusal)
        again = self._pod_events.wait(pods, refusal.reason, message, since=since, now=now)
        if again is not None:
            self._look_again(key, again)

    def _condition_writes(
        self, key: GangKey, refusal: Refused, message: str, now: int
    ) -> Iterator[Write]:
        for pod in self._waiting(refusal):
            if self._worth_saying(key, pod, refusal.reason, message, now):
                yield self._pod_write(key, pod, refusal.reason, message, now)

    def _waiting(self, refusal: Refused) -> Iterator[Pod]:
        if refusal.gang.suspended is not None:
            return iter(())  # Pods that do not exist yet cannot be written.
        current = (self._cache.pod(pod.uid) for pod in refusal.pods)
        return (pod for pod in current if pod is not None and pod.living and not pod.node)

    def _worth_saying(self, key: GangKey, pod: Pod, reason: Reason, message: str, now: int) -> bool:
        if pod.unscheduled == (reason, message):
            return False
        has_reason = pod.unscheduled is not None and pod.unscheduled[0] == reason
        next_time = self._reworded.get(pod.uid, 0) + REWORD_SECONDS
        if has_reason and now < next_time:
            self._look_again(key, next_time)
            return False
        return True

    def _pod_write(self, key: GangKey, pod: Pod, reason: Reason, message: str, now: int) -> Write:
        self._reworded[pod.uid] = now
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason.value,
            "message": message,
        }
        if pod.unscheduled is None:
            condition["lastTransitionTime"] = rfc3339(now)
        target = PodRef(pod.namespace, pod.name, pod.uid)
        write = partial(self._api.patch_pod_condition, target, condition)
        return lambda: self._write("pod_condition", key, write)

    async def _in_parallel(self, writes: Iterable[Write]) -> None:
        """Run all writes, some at once. Uses one task for each connection, not for each write."""
        remaining = iter(writes)

        async def work() -> None:
            for write in remaining:
                # Another replica may lead by now; it writes all differences.
                if not self._writes.allowed():
                    return
                with confined("write", "a status"):
                    await write()

        async with anyio.create_task_group() as workers:
            for _ in range(self._concurrency):
                workers.start_soon(work)

    async def _write(self, what: str, key: GangKey, write: Write) -> None:
        # A conflict: others write the object so often that the server gives up.
        refusal = await self._writes.send(what, write, passing=RACED, about=key)
        if refusal is not None and refusal.passes:
            self._records.pop(key, None)
            denied = refusal.kind is Kind.DENIED
            pause = DENIED_PAUSE_SECONDS if denied else refusal.retry_after
            self._look_again(key, math.ceil(self._clock() + pause) if pause else 0)
        elif refusal is not None and refusal.is_final:
            log.warning("status_refused", what=what, gang=str(key), error=str(refusal.error))


def _undated(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return a status without observedGeneration in its conditions."""
    conditions = status.get("conditions") or []
    plain = [{k: v for k, v in each.items() if k != "observedGeneration"} for each in conditions]
    return {k: v for k, v in {**status, "conditions": plain}.items() if v is not None}


def _waits_in_line(refusal: Refused | None) -> bool:
    """Return whether the quorum of a gang waits for quota or a turn in its queue."""
    if refusal is None or refusal.left_over:
        return False
    return refusal.reason in retries.RETRIED_AFTER_QUEUES


def _differs(known: object, said: object) -> bool:
    """Return whether a merge patch would change the known status."""
    if isinstance(known, Mapping) and isinstance(said, Mapping):
        return any(_differs(known.get(key), value) for key, value in said.items())
    return known != said


def _of_others(refusal: Refused) -> str:
    if refusal.reason is Reason.WAITING_FOR_MEMBERS:
        return f"gang {refusal.gang.key}: {describe(refusal)}"
    if refusal.reason is Reason.WAITING_FOR_GANGS:
        return f"gang {refusal.gang.key} waits for the other gangs of its group"
    return describe(refusal)
