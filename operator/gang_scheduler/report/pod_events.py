"""Events on the members of gangs, for `kubectl describe pod`: why they wait, and their nodes.

A gang of ten thousand pods has ten thousand such Events, so they have a rate limit of their own.
They are sent one by one: the oldest about a waiting pod and the oldest about a bound pod take
turns. A pod without a gang already has the Events of its gang of one; only reasons that those leave
out are sent here.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from gang_scheduler.apply.outcomes import GangBinding, Outcome
from gang_scheduler.client.errors import Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import UNSURE, Refusal, Writes, count
from gang_scheduler.internal_errors import confined
from gang_scheduler.model import refs
from gang_scheduler.model.consequences import GangEvent
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.events import (
    About,
    Backpressure,
    TokenBucket,
    create,
    cut,
    event_of,
    micro_time,
)
from gang_scheduler.round_robin import ByNamespace
from gang_scheduler.state.cache import Cache

AGAIN_SECONDS: Final = 30
"""A reason that had ended is not reported to the pod again before this time."""
REWORD_SECONDS: Final = 300
"""New words for the same reason are not sent before this time."""
REFRESH_SECONDS: Final = 1800
"""The Event of a lasting reason is repeated this often.

As in client-go, that is within the hour for which it is kept.
"""
RETRY_SECONDS: Final = 1.0
FORGET_SECONDS: Final = 300
PER_SECOND: Final = 50.0
BURST: Final = 100.0
CALM_SECONDS: Final = 1.0
"""After a binding, others are likely to follow within this time."""
PAUSE_SECONDS: Final = 0.1
"""The pause before each Event while more bindings are likely."""
MOST_BOUND: Final = 10_000
"""At most this many bound pods wait for their Events; beyond that, the oldest get none."""
UNTOLD_BY_GANG: Final = those_with(lambda rule: rule.event is GangEvent.NONE)
POD_EVENT: Final = "pod_event"
"""The name of these writes in the metric."""


class _Waits(NamedTuple):
    """Why a pod waits: the reason, and the message."""

    reason: Reason
    message: str


class _Bound(NamedTuple):
    """The node of a pod, how many others were bound with it, and when, in epoch seconds."""

    uid: str
    node: str
    gang: GangKey
    others: int
    at: float


@dataclass(slots=True)
class _SentEvent:
    """The Event that reports why a pod waits; `at` is when it was last written."""

    event: str
    note: str
    at: float
    count: int = 1


class PodEvents:
    """Takes Events on pods at once, and sends them as fast as the rate allows.

    A reason must last for `stands_seconds`; a shorter one is not reported. If a reason comes again,
    the count of its Event is raised. Nothing is written with `enabled` false. Memory is bounded: an
    entry for each waiting pod and each of its reported reasons, and MOST_BOUND bound pods.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        backpressure: Backpressure,
        *,
        stands_seconds: int,
        enabled: bool = True,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._cache = cache
        self._backpressure = backpressure
        self._stands_seconds = stands_seconds
        self.enabled = enabled
        self._writes = writes
        self._clock = clock
        self._waiting: ByNamespace[str, _Waits] = ByNamespace()
        self._bound: ByNamespace[str, _Bound] = ByNamespace()
        self._sent: dict[tuple[str, Reason], _SentEvent] = {}
        # The reason for which each pod waits, and since when it is known.
        self._seen: dict[str, tuple[Reason, int]] = {}
        self._forgot_at = clock()
        self._bound_at = 0.0
        self._is_queued = asyncio.Event()
        self._turns = deque((self._tell_waiting, self._tell_bound))

    def wait(
        self, pods: Iterable[Pod], reason: Reason, message: str, *, since: int, now: int
    ) -> int | None:
        """Note why pods of a gang wait, and since when; return when to look again, None for never.

        Costs a look-up for each pod.
        """
        if not self.enabled:
            return None
        self._forget(now)
        waits = _Waits(reason, message)
        moments = (
            self._wait(pod, waits, since, now) for pod in pods if _is_reported_here(pod, reason)
        )
        return min(moments, default=None)

    def bound(self, binding: GangBinding) -> None:
        """Note where the members of a gang were bound."""
        now = self._bound_at = self._clock()
        if not self.enabled or binding.gang.key.source == refs.SINGLE.name:
            return
        outcomes = binding.outcomes
        binds = [e for e in binding.placed.binds if outcomes.get(e.pod.uid) is Outcome.BOUND]
        for bind in binds:
            bound = _Bound(bind.pod.uid, bind.node, binding.gang.key, len(binds) - 1, now)
            self._bound.put(bind.pod.namespace, bind.pod.uid, bound)
        while len(self._bound) > MOST_BOUND:
            self._bound.drop()
            count(POD_EVENT, "dropped")
        self._is_queued.set()

    async def run(self) -> None:
        """Send until cancelled, at PER_SECOND on average and BURST at once.

        Each Event waits for bindings again, since none of them is urgent. While gangs are being
        bound, there is a pause before each Event.
        """
        clock, bucket = asyncio.get_running_loop().time, TokenBucket(PER_SECOND, BURST)
        while True:
            await self._is_queued.wait()
            await self._backpressure.wait(clock())
            await bucket.take()
            if self._clock() - self._bound_at < CALM_SECONDS:
                await asyncio.sleep(PAUSE_SECONDS)
            if self._writes.allowed():
                with confined("write", "an Event of a pod"):
                    await self._tell_next()

    def _wait(self, pod: Pod, waits: _Waits, since: int, now: int) -> int:
        """Queue the reason of a waiting pod if an Event is due; return when to look again."""
        due = self._due(pod.uid, waits, since, now)
        if now < due:
            before = self._waiting.get(pod.uid)
            if before is not None and before.reason is not waits.reason:
                self._waiting.remove(pod.uid)
            return due
        # A pod that is in the queue already keeps its place.
        self._waiting.put(pod.namespace, pod.uid, waits)
        self._is_queued.set()
        return now + REFRESH_SECONDS

    def _due(self, uid: str, waits: _Waits, since: int, now: int) -> int:
        # A pod may have joined a gang that waits already.
        reason, seen_at = self._seen.get(uid, (None, 0))
        if reason is not waits.reason:
            self._seen[uid], seen_at = (waits.reason, now), now
        since = max(since, seen_at)
        sent = self._sent.get((uid, waits.reason))
        if sent is None:
            return since + self._stands_seconds
        pause = REFRESH_SECONDS if sent.note == cut(waits.message) else REWORD_SECONDS
        if since > sent.at:
            pause = AGAIN_SECONDS
        return max(since + self._stands_seconds, int(sent.at) + pause)

    async def _tell_next(self) -> None:
        """Send the oldest Event about a waiting or a bound pod; the two sorts take turns."""
        self._turns.rotate()
        for tell in self._turns:
            if await tell():
                return
        self._is_queued.clear()

    async def _tell_waiting(self) -> bool:
        """Send the Event of the next waiting pod; return whether there was one."""
        while len(self._waiting):
            uid, waits = self._waiting.take()
            pod = self._cache.pod(uid)
            if pod is not None and _is_waiting(pod):
                await self._tell(pod, waits)
                return True
        return False

    async def _tell(self, pod: Pod, waits: _Waits) -> None:
        # The text of the condition, if it has this reason already.
        said = pod.unscheduled
        note = cut(said[1] if said and said[0] == waits.reason else waits.message)
        sent = self._sent.get((pod.uid, waits.reason))
        again = sent is not None and sent.note == note
        refusal = await self._raise(pod, sent) if sent and again else None
        if not again or (refusal is not None and refusal.kind is Kind.GONE):
            now = self._clock()
            event = event_of(About.of_pod(pod), "FailedScheduling", note, now, warning=True)
            sent = _SentEvent(event["metadata"]["name"], note, now)
            refusal = await self._create(pod, event)
        if refusal is not None and refusal.kind in UNSURE:
            if self._waiting.get(pod.uid) is None:
                self._waiting.put(pod.namespace, pod.uid, waits)
            self._is_queued.set()
            await asyncio.sleep(max(RETRY_SECONDS, refusal.retry_after))
        elif sent is not None:
            self._sent[pod.uid, waits.reason] = sent

    async def _raise(self, pod: Pod, sent: _SentEvent) -> Refusal | None:
        """Raise the count of an Event; return the refusal, None on success."""
        sent.at, sent.count = self._clock(), sent.count + 1
        seen_at = micro_time(sent.at)
        return await self._writes.send(
            POD_EVENT,
            lambda: self._api.patch_event_series(pod.namespace, sent.event, sent.count, seen_at),
        )

    async def _tell_bound(self) -> bool:
        """Send the Event of the next bound pod; return whether there was one."""
        while len(self._bound):
            _, bound = self._bound.take()
            pod = self._cache.pod(bound.uid)
            if pod is not None:
                note = _where(pod, bound)
                event = event_of(About.of_pod(pod), "Scheduled", note, bound.at, warning=False)
                await self._create(pod, event)
                return True
        return False

    async def _create(self, pod: Pod, event: dict[str, object]) -> Refusal | None:
        return await self._writes.send(POD_EVENT, partial(create, self._api, pod.namespace, event))

    def _forget(self, now: int) -> None:
        """Now and then, forget the pods that no longer wait."""
        if now - self._forgot_at > FORGET_SECONDS:
            self._forgot_at = now
            self._sent = {key: sent for key, sent in self._sent.items() if self._waits(key[0])}
            self._seen = {uid: seen for uid, seen in self._seen.items() if self._waits(uid)}
            for uid in [uid for uid in self._waiting if not self._waits(uid)]:
                self._waiting.remove(uid)

    def _waits(self, uid: str) -> bool:
        pod = self._cache.pod(uid)
        return pod is not None and _is_waiting(pod)


def _is_reported_here(pod: Pod, reason: Reason) -> bool:
    return pod.gang.source != refs.SINGLE.name or reason in UNTOLD_BY_GANG


def _is_waiting(pod: Pod) -> bool:
    return pod.living and not pod.node


def _where(pod: Pod, bound: _Bound) -> str:
    where = f"Successfully assigned {pod.key} to {bound.node}"
    if not bound.others:
        return f"{where} as a member of gang {bound.gang}"
    others = "1 other member" if bound.others == 1 else f"{bound.others} other members"
    return f"{where} with {others} of gang {bound.gang}"
