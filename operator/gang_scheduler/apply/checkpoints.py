"""Checkpoints before an eviction: gangs of a preemption are asked to save their work first.

All gangs are asked at once. The wait for a gang ends when it has answered, when its time is over,
or when it has no pod left that could answer. A gang that does not answer is evicted nevertheless.
"""

import asyncio
import functools
import ipaddress
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

import anyio
import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.conditions import CHECKPOINT_REQUESTED
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.preemption_run import PreemptionRun, Step, StepWriter
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Api, Body, PodAnswer, PodHttp, PodRequest
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode import checkpoints
from gang_scheduler.decode.checkpoints import LEAST_PORT
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.bound_pods import by_gang
from gang_scheduler.model.causes.gangs import MemberGone, SavesAwaited
from gang_scheduler.model.checkpoints import (
    CheckpointMode,
    CheckpointPolicy,
    CheckpointReport,
    Request,
)
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.checkpoints import CheckpointRecords
from gang_scheduler.telemetry.logger import Logger


@dataclass(frozen=True, slots=True)
class AskedGang:
    """A gang with victims in `pods`, in rank order; `deadline` is in seconds since the epoch."""

    key: GangKey
    policy: CheckpointPolicy
    request: Request
    deadline: int
    pods: tuple[Pod, ...]


# Requests to save work are written on the pods that are to be evicted. In annotation mode the pods
# read the annotation. Over HTTP the request is a condition of the pod that is asked, which needs
# no right to patch pods. So a restarted scheduler finds the requests and repeats them with the
# same ids.

REMOVED: Final[Mapping[str, None]] = {
    annotations.CHECKPOINT_REQUESTED_AT: None,
    annotations.CHECKPOINT_REQUEST_ID: None,
}
WITHDRAWN: Final[Body] = {"type": CHECKPOINT_REQUESTED, "status": "False", "reason": "Withdrawn"}


class Annotating:
    """Writes and withdraws requests to save work, as steps of a preemption."""

    def __init__(self, api: Api, records: CheckpointRecords, writer: StepWriter) -> None:
        self._api = api
        self._records = records
        self._writer = writer

    async def ask(self, current: PreemptionRun, gangs: Iterable[AskedGang]) -> None:
        """Write the requests to all gangs at once. A gang that cannot be asked fails."""
        gangs = tuple(gangs)
        refused: dict[str, str] = {}
        steps = [step for gang in gangs for step in self._requests(current, gang, refused)]
        await self._writer.write_all(current, steps)
        for gang in gangs:
            answers = [refused.get(pod.uid, "") for pod in gang.pods]
            if answers and all(answers):
                self._records.gave_up(
                    gang.key, gang.request.id, CheckpointOutcome.FAILED, answers[0]
                )

    async def note(self, current: PreemptionRun, gangs: Iterable[AskedGang]) -> None:
        """Record the requests that are sent over HTTP on the gangs' first members, all at once."""
        steps = [step for gang in gangs for step in self._notes(current, gang)]
        await self._writer.write_all(current, steps)

    def withdrawals(self, pods: Sequence[Pod]) -> Iterator[Step]:
        """Yield the steps that take requests back from pods, whether or not they carry one."""
        # A policy is looked for among all members, so once a gang and not once a pod.
        modes = {key: self._records.policy_of(key).mode for key in {pod.gang for pod in pods}}
        of_annotations = functools.partial(self._api.annotate_pod, annotations=REMOVED)
        noted = functools.partial(self._api.patch_pod_condition, condition=WITHDRAWN)
        for pod in pods:
            by_http = modes[pod.gang] is CheckpointMode.HTTP
            yield Step("withdraw", pod, noted if by_http else of_annotations, optional=True)

    def _notes(self, current: PreemptionRun, gang: AskedGang) -> Iterator[Step]:
        """Yield the step that records a gang's HTTP request, unless it is recorded."""
        first = gang.pods[0]
        if self._records.standing_on(first) == gang.request:
            current.asked.add(first.uid)
            return
        condition = {
            "type": CHECKPOINT_REQUESTED,
            "status": "True",
            "reason": "Preempted",
            "message": gang.request.id,
            "lastTransitionTime": rfc3339(gang.request.at),
        }
        request = functools.partial(self._api.patch_pod_condition, condition=condition)
        yield Step("ask", first, request, begun=current.asked, optional=True)

    def _requests(
        self, current: PreemptionRun, gang: AskedGang, refused: dict[str, str]
    ) -> Iterator[Step]:
        """Yield a step for each pod without the request; `refused` gets errors by uid."""
        written = {
            annotations.CHECKPOINT_REQUESTED_AT: rfc3339(gang.request.at),
            annotations.CHECKPOINT_REQUEST_ID: gang.request.id,
            # Remove an earlier report, which would be mistaken for the answer to this request.
            annotations.CHECKPOINT_DONE_AT: None,
        }

        async def annotate(pod: PodRef) -> None:
            try:
                await self._api.annotate_pod(pod, written)
            except ApiError as error:
                refused[pod.uid] = str(error)
                raise
            refused.pop(pod.uid, None)

        for pod in gang.pods:
            if self._records.standing_on(pod) == gang.request:
                current.asked.add(pod.uid)
            else:
                yield Step("ask", pod, annotate, begun=current.asked, optional=True)


# HTTP requests to save work go to the first member of a gang and nowhere else. The code that
# answers belongs to a tenant: it may be slow, send anything, or name another address. So the
# scheduler reads only a short answer, waits only briefly, and follows no redirect.

AT_ONCE: Final = 16
"""At most this many requests are under way at once for the gangs of one namespace.

Pods that are slow to answer must not use up the time in which gangs of others may save.
"""
PAUSE_SECONDS: Final = 1.0
SAVED, UNDER_WAY = 200, 202

log = Logger()

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_of_a_pod(address: Address) -> bool:
    """Return whether an address can belong to a pod: no loopback, link-local or multicast."""
    return not (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
    )


class SaveRequests:
    """Asks one member of each gang, over HTTP, to save a checkpoint.

    The request is repeated until the member answers that it has saved.
    """

    def __init__(
        self,
        cache: Cache,
        http: PodHttp,
        *,
        allowed: Callable[[Address], bool] = is_of_a_pod,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._http = http
        self._allowed = allowed
        self._clock = clock
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def ask(self, gang: AskedGang) -> None:
        """Ask a gang until it answers or the request is withdrawn.

        The caller cancels this when the gang's time is over.
        """
        method = "POST"
        while True:
            member = self._cache.pod(gang.pods[0].uid)
            host = self._host_of(member)
            if not host:
                return self._failed(gang, "its first member has no address of its own")
            if gang.policy.port < LEAST_PORT:
                return self._failed(gang, f"its port is not at least {LEAST_PORT}")
            answer = await self._answer(method, host, gang)
            if answer is not None:
                if answer.status == SAVED:
                    return self._saved(gang, answer)
                if answer.status == UNDER_WAY:
                    method = "GET"
                elif answer.status < 500:
                    return self._failed(gang, f"it answered {answer.status}")
            await asyncio.sleep(PAUSE_SECONDS)

    async def _answer(self, method: str, host: str, gang: AskedGang) -> PodAnswer | None:
        """Return the member's answer; None if there was none and the request may be repeated."""
        asked = {"requestId": gang.request.id, "requestedAt": rfc3339(gang.request.at)}
        body = msgspec.json.encode(asked) if method == "POST" else None
        policy, request_id = gang.policy, gang.request.id
        request = PodRequest(method, host, policy.port, policy.path, request_id, body)
        slots = self._slots.setdefault(gang.key.namespace, asyncio.Semaphore(AT_ONCE))
        async with slots:
            try:
                return await self._http.ask(request)
            except OSError as error:
                log.info("checkpoint_unanswered", gang=str(gang.key), error=str(error))
                return None

    def _host_of(self, member: Pod | None) -> str:
        """Return the address of a member; "" if it has none that may be asked."""
        if member is None or not member.living or not member.address:
            return ""
        try:
            address = ipaddress.ip_address(member.address)
        except ValueError:
            return ""
        return str(address) if self._allowed(address) else ""

    def _saved(self, gang: AskedGang, answer: PodAnswer) -> None:
        now = int(self._clock())
        save = checkpoints.of_answer(answer.body, now, gang.request.id)
        if save is None:
            self._failed(gang, "its answer cannot be read")
        else:
            self._cache.checkpoints.answered(gang.key, save, now)

    def _failed(self, gang: AskedGang, why: str) -> None:
        self._cache.checkpoints.gave_up(gang.key, gang.request.id, CheckpointOutcome.FAILED, why)


TIMEOUT_SECONDS: Final = 30
"""The time for saving if neither the gang nor its queue sets one."""
LOOK_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class SaveModes:
    """How gangs are asked to save, by the mode of their policy.

    `annotates`: requests may be written as annotations. `posting` sends requests over HTTP. Gangs
    of a mode that is off are deleted without being asked.
    """

    annotating: Annotating
    annotates: bool = False
    posting: SaveRequests | None = None


class Saving:
    """The stage of a preemption in which gangs save their work."""

    def __init__(
        self,
        cache: Cache,
        save_modes: SaveModes,
        *,
        naming: Naming,
        most_seconds: int = 300,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._save_modes = save_modes
        self._naming = naming
        self._most_seconds = most_seconds
        self._writes = writes
        self._clock = clock

    def concerns(self, preemption: Preemption) -> bool:
        """Return whether any gang is to be asked."""
        keys = {each.gang for each in preemption.victims}
        return any(self._asks(self._cache.checkpoints.policy_of(key).mode) for key in keys)

    async def save(self, current: PreemptionRun) -> None:
        """Ask all gangs; return once no gang has time left to answer, or when the run is void."""
        asked = tuple(self._begin(current))
        if not asked or current.void:
            return
        preemptors = [gang.key for gang in current.preemption.gangs]
        until = max(each.deadline for each in asked)
        self._cache.decisions.saving(preemptors, SavesAwaited(len(asked), until))
        try:
            async with anyio.create_task_group() as requests:
                if self._save_modes.posting is not None:
                    by_http = [e for e in asked if e.policy.mode is CheckpointMode.HTTP]
                    await self._save_modes.annotating.note(current, by_http)
                    for each in by_http:
                        requests.start_soon(self._save_modes.posting.ask, each)
                annotated = (e for e in asked if e.policy.mode is CheckpointMode.ANNOTATION)
                await self._save_modes.annotating.ask(current, annotated)
                await self._over(current, asked)
                requests.cancel_scope.cancel()
        finally:
            self._cache.decisions.saving(preemptors, None)

    def requested(self, pods: Iterable[Pod]) -> set[str]:
        """Return the uids of pods that carry an open request."""
        records = self._cache.checkpoints
        return {pod.uid for pod in pods if records.standing_on(pod) is not None}

    def withdrawals(
        self, current: PreemptionRun, claimant_of: Callable[[str], PreemptionRun]
    ) -> Iterator[Step]:
        """Yield the steps that withdraw requests, except requests that a later run has taken over.

        `claimant_of` returns the run whose victim a pod is now.
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
        return self._save_modes.annotating.withdrawals(pods)

    def _begin(self, current: PreemptionRun) -> Iterator[AskedGang]:
        """Yield the gangs to ask. A gang that was asked before keeps its deadline."""
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
            records.ask(key, request, CheckpointReport(None, by=by, seconds=seconds))
            current.requests[key] = request
            yield AskedGang(key, policy, request, request.at + seconds, tuple(pods))

    def _asks(self, mode: CheckpointMode) -> bool:
        if mode is CheckpointMode.HTTP:
            return self._save_modes.posting is not None
        return mode is CheckpointMode.ANNOTATION and self._save_modes.annotates

    def _seconds(self, key: GangKey, policy: CheckpointPolicy) -> int:
        """Return how many seconds a gang has to save: by its policy, its queue, or the default."""
        queues = self._cache.queues.saving(self._cache.queue_of(key)).timeout
        said = (policy.timeout_seconds, queues, TIMEOUT_SECONDS)
        return min(next(each for each in said if each is not None), self._most_seconds)

    async def _over(self, current: PreemptionRun, asked: Sequence[AskedGang]) -> None:
        """Return once all gangs are done, or when the run is void."""
        while not current.void:
            if not self._writes.allowed():
                # The new leader finds the requests on the pods.
                current.void = True
                return
            now = int(self._clock())
            self._cache.checkpoints.take_in(now)
            for bind in current.preemption.nominations:
                if not self._is_there(bind.pod):
                    current.fail(MemberGone(bind.pod.key))
                    return
            # Check all of them: the outcome of each is noted when its time is over.
            if not [each for each in asked if not self._is_over(each, now)]:
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _is_over(self, gang: AskedGang, now: int) -> bool:
        """Return whether there is no longer a reason to wait for an answer of a gang."""
        records = self._cache.checkpoints
        if records.outcome_of(gang.key, gang.request.id) is not None:
            return True
        if not any(map(self._is_there, gang.pods)):
            records.withdraw(gang.key, gang.request)
            return True
        if now < gang.deadline:
            return False
        records.gave_up(gang.key, gang.request.id, CheckpointOutcome.TIMED_OUT)
        return True

    def _is_there(self, pod: Pod) -> bool:
        found = self._cache.pod(pod.uid)
        return found is not None and found.living
