"""Asks all gangs of a preemption at once to save their work, and waits until that is over.

It is over for a gang when it has answered, when its time has passed, or when it has no pod left
that could. No answer is no obstacle: the gang is evicted all the same.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from gang_scheduler.apply.checkpoints.annotating import Annotating
from gang_scheduler.apply.checkpoints.asked import AskedGang
from gang_scheduler.apply.checkpoints.posting import Posting
from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.apply.eviction.preemption_run import PreemptionRun, Step
from gang_scheduler.model.bound_pods import by_gang
from gang_scheduler.model.causes.preemption import MemberGone, SavesAwaited
from gang_scheduler.model.checkpoints import (
    CheckpointMode,
    CheckpointPolicy,
    News,
    Outcome,
    Request,
)
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache

TIMEOUT_SECONDS: Final = 30
"""How long gangs may take that do not say it, and whose queues do not."""
LOOK_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Ways:
    """How gangs are asked, a way a mode; None: not at all, so that they are deleted at once."""

    annotating: Annotating
    annotates: bool = False
    posting: Posting | None = None


class Saving:
    """The stage of a preemption in which gangs save their work."""

    def __init__(
        self,
        cache: Cache,
        ways: Ways,
        *,
        naming: Naming,
        most_seconds: int = 300,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._ways = ways
        self._naming = naming
        self._most_seconds = most_seconds
        self._may_write = may_write
        self._clock = clock

    def concerns(self, preemption: Preemption) -> bool:
        """Return whether any gang is to be asked."""
        keys = {each.gang for each in preemption.victims}
        return any(self._asks(self._cache.checkpoints.policy_of(key).mode) for key in keys)

    async def save(self, current: PreemptionRun) -> None:
        """Ask all gangs; return when none has time left to answer, or when the run is void."""
        asked = tuple(self._begin(current))
        if not asked or current.void:
            return
        preemptors = [gang.key for gang in current.preemption.gangs]
        until = max(each.deadline for each in asked)
        self._cache.gang_queue.decisions.saving(preemptors, SavesAwaited(len(asked), until))
        try:
            async with anyio.create_task_group() as requests:
                if self._ways.posting is not None:
                    by_http = [e for e in asked if e.policy.mode is CheckpointMode.HTTP]
                    await self._ways.annotating.note(current, by_http)
                    for each in by_http:
                        requests.start_soon(self._ways.posting.ask, each)
                annotated = (e for e in asked if e.policy.mode is CheckpointMode.ANNOTATION)
                await self._ways.annotating.ask(current, annotated)
                await self._over(current, asked)
                requests.cancel_scope.cancel()
        finally:
            self._cache.gang_queue.decisions.saving(preemptors, None)

    def requested(self, pods: Iterable[Pod]) -> set[str]:
        """Return the uids of pods on which a request stands."""
        records = self._cache.checkpoints
        return {pod.uid for pod in pods if records.standing_on(pod) is not None}

    def withdrawals(
        self, current: PreemptionRun, claimant_of: Callable[[str], PreemptionRun]
    ) -> Iterator[Step]:
        """Yield the steps that take requests back, but those that a later run has taken over.

        `claimant_of` tells the run whose victim a pod is now.
        """
        records = self._cache.checkpoints
        for key, request in current.requests.items():
            victims = (each.pod.uid for each in current.preemption.victims if each.gang == key)
            claimants = set(map(claimant_of, victims)) - {current}
            for each in claimants:
                each.requests.setdefault(key, request)
            if not claimants:
                records.withdraw(key, request)
        pods = []
        for uid in sorted(current.asked - current.evicted):
            claimant, pod = claimant_of(uid), self._cache.pod(uid)
            claimant.asked.add(uid)
            if claimant is current and pod is not None and pod.living:
                pods.append(pod)
        for pod in pods:
            if (stands := records.standing_on(pod)) is not None:
                records.withdraw(pod.gang, stands)
        return self._ways.annotating.withdrawals(pods)

    def _begin(self, current: PreemptionRun) -> Iterator[AskedGang]:
        """Yield the gangs to be asked; those that were asked before keep their time."""
        now, records = int(self._clock()), self._cache.checkpoints
        records.take_in(now)
        for key, victims in by_gang(current.preemption.victims).items():
            policy = records.policy_of(key)
            found = (self._cache.pod(each.pod.uid) for each in victims)
            pods = sorted((pod for pod in found if pod is not None and pod.living), key=rank_key)
            if not pods or not self._asks(policy.mode):
                continue
            stands = records.standing(key) or Request(secrets.token_hex(8), now)
            request = stands._replace(at=min(stands.at, now)) if stands.at > now else stands
            seconds = self._seconds(key, policy)
            by = self._naming.preemptor(current.preemption, key.namespace)
            records.ask(key, request, News(None, by=by, seconds=seconds))
            current.requests[key] = request
            yield AskedGang(key, policy, request, request.at + seconds, tuple(pods))

    def _asks(self, mode: CheckpointMode) -> bool:
        if mode is CheckpointMode.HTTP:
            return self._ways.posting is not None
        return mode is CheckpointMode.ANNOTATION and self._ways.annotates

    def _seconds(self, key: GangKey, policy: CheckpointPolicy) -> int:
        """Return how long a gang may take."""
        queues = self._cache.queues.saving(self._cache.queue_of(key)).timeout
        said = (policy.timeout_seconds, queues, TIMEOUT_SECONDS)
        return min(next(each for each in said if each is not None), self._most_seconds)

    async def _over(self, current: PreemptionRun, asked: Sequence[AskedGang]) -> None:
        """Return when it is over for all gangs, or when the run is void."""
        while not current.void:
            if not self._may_write():
                # The replica that leads now finds the requests on the pods.
                current.void = True
                return
            now = int(self._clock())
            self._cache.checkpoints.take_in(now)
            for bind in current.preemption.nominations:
                if not self._is_there(bind.pod):
                    current.fail(MemberGone(bind.pod.key))
                    return
            # All of them are looked at: what came of each is noted when its time is over.
            if not [each for each in asked if not self._is_over(each, now)]:
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _is_over(self, gang: AskedGang, now: int) -> bool:
        """Return whether no answer of a gang is waited for any more."""
        records = self._cache.checkpoints
        if records.outcome_of(gang.key, gang.request.id) is not None:
            return True
        if not any(map(self._is_there, gang.pods)):
            records.withdraw(gang.key, gang.request)
            return True
        if now < gang.deadline:
            return False
        records.gave_up(gang.key, gang.request.id, Outcome.TIMED_OUT)
        return True

    def _is_there(self, pod: Pod) -> bool:
        found = self._cache.pod(pod.uid)
        return found is not None and found.living
