"""Binds placed gangs, and settles requests whose answer left the outcome open.

A fixed number of workers takes bindings from one queue, gang after gang, so that gangs of a
namespace complete one by one and no task is made per pod. Namespaces take turns. A denied binding
is queued again later: no other waits for it. Gangs that start together first wait for their unbound
claims (`volume_binder`); then the bindings of their quorums are queued at once.

A binding ends in one of three ways: the pod is on its node; the pod is gone, or on another node; or
the API server refuses. A pod that is not bound is removed from its node in the cache, and planned
again with the rest of its gang. If other members of the gangs that start together are bound, the
pod's room is kept until then: it is nominated to its node, in the memory of this process only.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from gang_scheduler.apply.outcomes import GangBinding, Outcome, Outcomes
from gang_scheduler.apply.volume_binder import (
    ClaimWait,
    ClaimWaits,
    VolumeBinder,
    needs_claims,
    waits_of,
)
from gang_scheduler.client.backoff import Backoff, Denials
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import Writes
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.causes.devices import DeviceNotAttached
from gang_scheduler.model.causes.gangs import ApiAnswer, DeviceClaimFailed, InternalError
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.provisioning import ProvisioningRequest
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.round_robin import TurnsQueue
from gang_scheduler.state import checkpoints
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import plan_annotations
from gang_scheduler.state.gangs.gang_info import GangInfo

BIND_SECONDS = 120.0
"""A binding is retried for this long. Then the gang is planned again: the node may be gone."""
LOOK_SECONDS = 5.0
"""The pause before the API server is asked again for the node of a pod."""
LATE_SECONDS = 4.0
"""A request without an answer may still be carried out for this long: its room stays assumed."""


COUNTED = (Outcome.BOUND, Outcome.LOST)
"""Outcomes after which the node of the pod is known."""
UNBOUND = (Outcome.REFUSED, Outcome.GAVE_UP)
"""Outcomes after which no node of the pod is known."""

Held = tuple[ClaimWaits, Mapping[ClaimWait, list[GangBinding]]]


@dataclass(slots=True, eq=False)
class _Binding:
    """The binding of one pod, over all its attempts.

    `is_open`: the API server did not answer an earlier request. The pod may be bound, even if the
    API server refuses a later attempt.
    """

    of: GangBinding
    bind: Bind
    is_open: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    denials: Denials = field(default_factory=Denials)


class Binder:
    """Binds with bounded concurrency.

    A gang's binding goes to `outcomes` once all its members have an outcome.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        concurrency: int,
        *,
        volume_binder: VolumeBinder,
        outcomes: Outcomes,
        writes: Writes,
    ) -> None:
        self._api = api
        self._cache = cache
        self._concurrency = concurrency
        self._writes = writes
        self._volume_binder = volume_binder
        self._outcomes = outcomes
        self._held: asyncio.Queue[Held] = asyncio.Queue()
        self._queue = TurnsQueue[_Binding](lambda each: each.bind.pod.namespace)
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many bindings wait for a worker."""
        return self._queue.qsize()

    def is_busy(self) -> bool:
        """Return whether bindings wait for a worker."""
        return self.waiting > 0

    def submit(self, together: Sequence[GangBinding]) -> None:
        """Queue the bindings of gangs that start together; unbound claims are bound first.

        The members are assumed on their nodes already.
        """
        placed = [gang_binding.placed for gang_binding in together]
        for gang_binding in together:
            gang_binding.together = together
        if not any(needs_claims(bind) for each in placed for bind in each.binds):
            for gang_binding in together:
                self._enqueue(gang_binding)
            return
        plan_ids = {gang_binding.gang.key: gang_binding.plan_id for gang_binding in together}
        claim_waits = self._volume_binder.begin(waits_of(placed))
        bindings = {wait: _bindings(wait, plan_ids) for wait in claim_waits.waits}
        self._held.put_nowait((claim_waits, bindings))

    async def run(self) -> None:
        """Bind submitted gangs until cancelled."""
        async with anyio.create_task_group() as workers:
            for number in range(self._concurrency):
                workers.start_soon(self._work, name=f"binder {number}")
            while True:
                held = await self._held.get()
                workers.start_soon(self._after_claims, *held)

    def close(self) -> None:
        """Begin no more gangs. The next leader binds all gangs for which no binding was sent."""
        self._closed = True

    async def drain(self) -> None:
        """Return when every gang that was begun has the outcomes of its bindings."""
        await self._queue.join()

    async def _after_claims(
        self, claim_waits: ClaimWaits, bindings: Mapping[ClaimWait, list[GangBinding]]
    ) -> None:
        """Bind the members of each ClaimWait once its claims are bound; none if one fails."""

        def settled(wait: ClaimWait) -> None:
            without = Outcome.WITHOUT_VOLUMES
            of_devices = isinstance(wait.problem, DeviceClaimFailed | DeviceNotAttached)
            if of_devices or not claim_waits.size:
                without = Outcome.WITHOUT_DEVICES
            for gang_binding in bindings[wait]:
                self._claims_settled(gang_binding, wait.problem, without)

        with confined("bind", "claims"):
            await self._volume_binder.bind(claim_waits, settled)

    def _claims_settled(
        self, gang_binding: GangBinding, problem: Cause | None, without: Outcome
    ) -> None:
        if problem is not None:
            gang_binding.problem = problem
            for bind in gang_binding.placed.binds:
                self._settle(gang_binding, bind, without)
        elif not self._closed:
            self._enqueue(gang_binding)

    def _enqueue(self, gang_binding: GangBinding) -> None:
        for bind in gang_binding.placed.binds:
            self._queue.put_nowait(_Binding(gang_binding, bind))

    async def _work(self) -> None:
        while True:
            binding = await self._queue.get()
            gang_binding, bind = binding.of, binding.bind
            if self._closed and not gang_binding.begun:
                self._queue.task_done()
                continue
            gang_binding.begun = True
            outcome: Outcome | None = Outcome.GAVE_UP
            with confined("bind", bind.pod.key) as step:
                outcome = await self._bind(binding)
            if outcome is None:
                self._queue_later(binding)
                continue
            if step.error is not None:
                gang_binding.problem = InternalError.of(step.error)
            with confined("settle", bind.pod.key):
                self._settle(gang_binding, bind, outcome)
            self._queue.task_done()

    def _queue_later(self, binding: _Binding) -> None:
        """Queue a binding again after a pause, so that its worker is free for others."""

        def again() -> None:
            self._queue.put_nowait(binding)
            # Only now, so that `drain` also waits for bindings that pause between attempts.
            self._queue.task_done()

        asyncio.get_running_loop().call_later(binding.backoff.seconds(), again)

    def _settle(self, gang_binding: GangBinding, bind: Bind, outcome: Outcome) -> None:
        gang_binding.outcomes[bind.pod.uid] = outcome
        if outcome not in (*COUNTED, *UNBOUND):
            self._cache.forget(bind.pod.uid)
        if gang_binding.done:
            # Forget all unbound members at once. A member that is forgotten earlier would be
            # planned without the others.
            unbound = [
                each
                for each in gang_binding.placed.binds
                if gang_binding.outcomes[each.pod.uid] in UNBOUND
            ]
            for each in unbound:
                self._keep_room(gang_binding, each)
            self._volume_binder.give_devices_up(unbound)
            self._give_room_up(gang_binding.together)
            self._outcomes.put(gang_binding)

    def _keep_room(self, gang_binding: GangBinding, bind: Bind) -> None:
        """Undo a pod's binding in the cache, but keep its room for it.

        Gangs that start together with its gang may be bound already.
        """
        self._cache.forget(bind.pod.uid)
        pod = self._cache.pod(bind.pod.uid)
        if pod is not None and not pod.nominated:
            gang_binding.kept.append(pod.uid)
            self._cache.nominate([bind])

    def _give_room_up(self, together: Sequence[GangBinding]) -> None:
        """Free the kept room of gangs once it is certain that they are not bound in part."""
        if all(each.done for each in together):
            for each in together:
                if not each.is_in_part:
                    self._cache.clear_nominations(each.kept)
                    each.kept.clear()

    async def _bind(self, binding: _Binding) -> Outcome | None:
        """Return the outcome of a binding; None to try again later."""
        gang_binding, bind = binding.of, binding.bind
        pod = PodRef(bind.pod.namespace, bind.pod.name, bind.pod.uid)
        marks = {
            **plan_annotations.marks_of(gang_binding.placed, gang_binding.plan_id),
            **plan_annotations.charges_of(gang_binding.gang, bind),
            **checkpoints.annotations_of(self._cache.checkpoints, self._info_of(gang_binding)),
            **plan_annotations.bought_by(self._request_of(gang_binding)),
        }
        clock = asyncio.get_running_loop().time
        backoff, deadline = Backoff(), clock() + BIND_SECONDS
        while self._writes.allowed():
            try:
                await self._api.bind(pod, bind.node, marks)
            except ApiError as error:
                gang_binding.problem = ApiAnswer(str(error))
                binding.is_open |= error.kind is Kind.UNKNOWN
                if not self._closed and binding.denials.may_pass(error):
                    return None
                outcome = await self._judge(pod, bind.node, error)
                if outcome is None and clock() >= deadline:
                    outcome = Outcome.GAVE_UP
                if outcome in UNBOUND and binding.is_open:
                    return await self._find_out(pod, bind.node, outcome)
                if outcome is not None:
                    return outcome
                await backoff.after(error, most=deadline - clock())
            else:
                return Outcome.BOUND
        return Outcome.GAVE_UP

    def _info_of(self, gang_binding: GangBinding) -> GangInfo | None:
        return self._cache.gang_queue.infos.get(gang_binding.gang.key)

    def _request_of(self, gang_binding: GangBinding) -> ProvisioningRequest | None:
        """Return the provisioning request that provided the nodes of a gang, if there was one."""
        keys = gang_binding.placed.together or (gang_binding.gang.key,)
        return self._cache.provisioning.provisioned_for(keys)

    async def _judge(self, pod: PodRef, node: str, error: ApiError) -> Outcome | None:
        """Return the outcome for an error; None to try again."""
        match error.kind:
            case Kind.GONE:
                return Outcome.GONE
            case Kind.REFUSED | Kind.DENIED:
                return Outcome.REFUSED
            case Kind.THROTTLED:
                return None
        try:
            outcome = await self._read_back(pod, node)
        except ApiError:
            return None
        if outcome is None and error.kind is Kind.CONFLICT:
            # A conflict on a pod without a node: the pod is being deleted, or has got a gate.
            return Outcome.REFUSED
        return outcome

    async def _find_out(self, pod: PodRef, node: str, otherwise: Outcome) -> Outcome:
        """Ask the API server for the pod's node until it answers: the pod may be there already."""
        await asyncio.sleep(LATE_SECONDS)
        backoff = Backoff(LOOK_SECONDS, LOOK_SECONDS)
        while self._writes.allowed():
            try:
                return await self._read_back(pod, node) or otherwise
            except ApiError as error:
                await backoff.after(error)
        return otherwise

    async def _read_back(self, pod: PodRef, node: str) -> Outcome | None:
        """Read the pod's node; None while it has none. Raises ApiError without an answer."""
        try:
            bound_to = await self._api.bound_node(pod)
        except ApiError as error:
            if error.kind is Kind.GONE:
                return Outcome.GONE
            raise
        if not bound_to:
            return None
        if bound_to == node:
            return Outcome.BOUND
        self._count_at(pod.uid, bound_to)
        return Outcome.LOST

    def _count_at(self, uid: str, node: str) -> None:
        """Assume a pod on the node where it was found: the watch event may come later."""
        self._cache.forget(uid)
        pod = self._cache.pod(uid)
        if pod is not None and not pod.node:
            self._cache.assume(Bind(pod, node))


def _bindings(wait: ClaimWait, plan_ids: Mapping[GangKey, str]) -> list[GangBinding]:
    found = [GangBinding(placed, plan_ids[placed.gang.key], wait.joins) for placed in wait.placed]
    for each in found:
        each.together = found
    return found
