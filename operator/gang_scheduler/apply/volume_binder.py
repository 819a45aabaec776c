"""Claims of placed gangs, settled before any of their pods while the scheduler holds their room.

The scheduler sends all writes for all members at once; then provisioners and the PV controller do
their work. So no gang, and no group of gangs, starts in part because a volume is late, and no
quorum waits for the claims of surplus members.

Devices come last, when all volumes are bound: they are reserved only for pods about to be bound.
If drivers must attach some of them to their nodes first, no member is bound before all are attached
(`attached_devices`).

A claim that fails ends the wait of all members that wait together. As in kube-scheduler, earlier
writes stay: a volume may be under way, and the pod that needs it is then tried only on the node
of the volume.
"""

import asyncio
import enum
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from gang_scheduler.apply.attached_devices import AttachedDevices, Attachment
from gang_scheduler.apply.device_claims import DeviceClaims
from gang_scheduler.apply.outcomes import ClaimsAwaited, Outcomes
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import RACED, Writes
from gang_scheduler.model.causes.gangs import (
    ClaimNotWritten,
    ClaimsUnbound,
    HeldForPodGone,
    HeldNodeGone,
    HoldEnded,
    NotLeading,
    PodsClaimFailed,
)
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.round_robin import Slots
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes, MovedPods
from gang_scheduler.state.volumes.claims import ClaimStep, Stage, Target, target_of
from gang_scheduler.telemetry import metrics

# Members of a plan that wait for claims together, while their room is held.


class Devices(enum.Enum):
    """Whether the members that wait together have their devices."""

    LACKING = enum.auto()
    BEING_WRITTEN = enum.auto()
    BEING_ATTACHED = enum.auto()
    """They are reserved, and drivers prepare some of them for their nodes."""
    BEING_READ = enum.auto()
    """All are attached, and the claims are read once more: the wait may have been long."""
    RESERVED = enum.auto()
    """The members have their devices, or need none."""


@dataclass(slots=True, eq=False)
class ClaimWait:
    """Members that are bound only once all their claims are bound.

    `placed` has one entry per gang. `joins`: the gang does not need these members for its quorum. A
    wait with `after` is settled only after that wait. `unbound` are the uids of members whose
    volumes may still be unbound. Once `unbound` is empty, the `devices` are reserved, which takes
    only writes. `attachment` has the claims with devices that must be attached after that.
    """

    placed: tuple[Placed, ...]
    after: "ClaimWait | None" = None
    joins: bool = False
    unbound: set[str] = field(init=False)
    devices: Devices = field(init=False)
    attachment: Attachment | None = None
    problem: Cause | None = None

    def __post_init__(self) -> None:
        """At first, count all members with claims as unbound, and no devices as theirs."""
        self.unbound = {bind.pod.uid for bind in self.waiting}
        asked = any(bind.claims for bind in self.binds)
        self.devices = Devices.LACKING if asked else Devices.RESERVED

    @property
    def binds(self) -> Iterator[Bind]:
        """The bindings of all members, whether their claims are bound or not."""
        return (bind for placed in self.placed for bind in placed.binds)

    @property
    def waiting(self) -> Iterator[Bind]:
        """The members whose claims are still to be bound."""
        return (bind for bind in self.binds if needs_claims(bind))

    @property
    def keys(self) -> tuple[GangKey, ...]:
        """The keys of the gangs."""
        return tuple(placed.gang.key for placed in self.placed)


@dataclass(slots=True, eq=False)
class ClaimWaits:
    """The claim waits of gangs that start together. Later waits may come after the first one.

    `open` are the waits that are not settled, and `cause` names the claims they wait for. `moved`
    are the members whose claims may have progressed, `errors` the latest write errors by claim or
    volume, and `wait_of` is the wait of each member with claims, by uid. `size` is the number of
    claims of volumes. `began` is the event loop's time, in seconds. `tasks` end with the waits, and
    `holding` ends all of them after some time.
    """

    waits: tuple[ClaimWait, ...]
    cause: Cause | None = None
    moved: MovedPods = field(default_factory=MovedPods)
    errors: dict[Target, Cause] = field(default_factory=dict)
    open: dict[ClaimWait, None] = field(init=False)
    wait_of: dict[str, ClaimWait] = field(init=False)
    size: int = field(init=False)
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    tasks: TaskGroup | None = None
    holding: anyio.CancelScope | None = None

    def __post_init__(self) -> None:
        """Find the members that have claims, and count the claims."""
        self.open = dict.fromkeys(self.waits)
        waiting = [(bind.pod, wait) for wait in self.waits for bind in wait.waiting]
        self.wait_of = {pod.uid: wait for pod, wait in waiting}
        storages = (pod.pod_class.storage for pod, _ in waiting)
        self.size = sum(len(storage.needs) for storage in storages if storage is not None)

    def start(
        self, task: Callable[["ClaimWaits", ClaimWait], Coroutine[Any, Any, None]], wait: ClaimWait
    ) -> None:
        """Start one more task for a wait; the tasks end with all waits of the set."""
        if self.tasks is not None:
            self.tasks.start_soon(task, self, wait)

    def fail(self, wait: ClaimWait, problem: Cause) -> None:
        """Give up a wait; the first problem becomes its reason."""
        if wait.problem is None:
            wait.problem = problem
            self.moved.put(*wait.unbound)

    def is_ready(self, wait: ClaimWait) -> bool:
        """Return whether all volumes are bound, and any earlier wait is settled."""
        return not wait.unbound and wait.after not in self.open

    def followers(self, wait: ClaimWait) -> tuple[ClaimWait, ...]:
        """Return the waits that come after this one."""
        return self.waits[1:] if wait is self.waits[0] and self.waits[-1].after else ()


def needs_claims(bind: Bind) -> bool:
    """Return whether a member has claims that must be bound before its pod."""
    storage = bind.pod.pod_class.storage
    return bool(bind.claims) or (storage is not None and bool(storage.needs))


def waits_of(together: Sequence[Placed]) -> tuple[ClaimWait, ...]:
    """Return the claim waits of gangs that start together.

    The quorums are one wait. Every other member with claims is a wait of its own, after the
    quorums. In a lone gang whose members may start one by one, no member waits for another one.
    """
    quorums = [_quorum(placed, alone=len(together) == 1) for placed in together]
    begin = [_begins(placed, quorum) for placed, quorum in zip(together, quorums, strict=True)]
    first = ClaimWait(tuple(placed for placed in begin if placed.binds), joins=not any(quorums))
    after = first if any(quorums) else None
    further = [
        ClaimWait((replace(placed, binds=(bind,)),), after, joins=True)
        for placed, quorum in zip(together, quorums, strict=True)
        for bind in placed.binds
        if bind.pod.uid not in quorum and needs_claims(bind)
    ]
    return (first, *further) if first.placed else tuple(further)


def _quorum(placed: Placed, *, alone: bool) -> frozenset[str]:
    """Return the uids of the members of a gang that must start together."""
    gang = placed.gang
    if alone and (gang.placed_singly or gang.quorum <= 1):
        return frozenset()
    return gang.quorum_among(bind.pod for bind in placed.binds)


def _begins(placed: Placed, quorum: Collection[str]) -> Placed:
    """Return the quorum, and all other members that have no claims to wait for."""
    begin = (bind for bind in placed.binds if bind.pod.uid in quorum or not needs_claims(bind))
    return replace(placed, binds=tuple(begin))


HOLD_SECONDS = 600
LOOK_SECONDS = 0.5
"""How often members and nodes are checked. Progress of claims is notified."""
HOLD_MARGIN_SECONDS = 10.0
"""The wait for devices has its own deadline; the time limit for all claims ends this much later."""
QUIET_SECONDS = 5.0
"""Most claims are bound within this time. An Event is sent only if it takes longer."""


class VolumeBinder:
    """Binds claims, for at most `hold_seconds`.

    If it takes longer than usual, the claims that a gang waits for go to `outcomes`.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        concurrency: int,
        *,
        device_claims: DeviceClaims,
        attached_devices: AttachedDevices,
        outcomes: Outcomes,
        changes: Changes,
        hold_seconds: float = HOLD_SECONDS,
        writes: Writes,
    ) -> None:
        self._api = api
        self._cache = cache
        self._volumes = cache.volumes
        self._concurrency = concurrency
        self._slots = Slots(concurrency)
        self._device_claims = device_claims
        self._attached_devices = attached_devices
        self._hold_seconds = hold_seconds
        self._writes = writes
        self._outcomes = outcomes
        self._waits = changes.waits_for_claims

    def begin(self, waits: tuple[ClaimWait, ...]) -> ClaimWaits:
        """Register the waits at once, so that no plan places the same gangs again."""
        claim_waits = ClaimWaits(waits)
        self._waits.update(dict.fromkeys(claim_waits.wait_of, claim_waits.moved))
        for wait in waits:
            for key in wait.keys:
                self._cache.decisions.hold(key, joins=wait.joins)
        return claim_waits

    async def bind(self, claim_waits: ClaimWaits, settled: Callable[[ClaimWait], None]) -> None:
        """Bind the claims; pass each wait to `settled` once its claims are bound or fail."""
        try:
            with anyio.move_on_after(self._hold_seconds) as holding:
                async with anyio.create_task_group() as tasks:
                    claim_waits.tasks, claim_waits.holding = tasks, holding
                    tasks.start_soon(self._write_all, claim_waits)
                    await self._wait(claim_waits, settled)
            if holding.cancelled_caught:
                self._give_up(claim_waits, settled)
        finally:
            for uid in claim_waits.wait_of:
                # A member that was given up and planned again may be in another wait set by now.
                if self._waits.get(uid) is claim_waits.moved:
                    del self._waits[uid]

    def give_devices_up(self, binds: Iterable[Bind]) -> None:
        """Withdraw the devices of members that were not bound after all."""
        self._device_claims.give_up(binds)

    def _give_up(self, claim_waits: ClaimWaits, settled: Callable[[ClaimWait], None]) -> None:
        for wait in claim_waits.open:
            wait.problem = HoldEnded(self._hold_seconds, claim_waits.cause)
        self._settle(claim_waits, list(claim_waits.open), settled)

    # Writing.

    async def _write_all(self, claim_waits: ClaimWaits) -> None:
        """Write all steps, some at once.

        Uses one task for each slot, not for each step.
        """
        steps: dict[Target, ClaimStep] = {}
        users: dict[Target, list[ClaimWait]] = defaultdict(list)
        for uid, wait in claim_waits.wait_of.items():
            for step in self._volumes.steps(uid):
                # A claim that several members use gets the node of the first one.
                steps.setdefault(target_of(step), step)
                users[target_of(step)].append(wait)
        remaining = iter(steps.items())

        async def work() -> None:
            for target, step in remaining:
                await self._write(claim_waits, users[target], step)

        async with anyio.create_task_group() as workers:
            for _ in range(min(self._concurrency, len(steps))):
                workers.start_soon(work)

    async def _write(
        self, claim_waits: ClaimWaits, users: list[ClaimWait], step: ClaimStep
    ) -> None:
        """Repeat a request until it is done or has failed, or no open wait needs it any more."""
        target = target_of(step)

        async def write() -> None:
            # Each try reads the object again, so that a conflict passes.
            try:
                async with self._slots.of(step.claim.namespace):
                    version = await self._send(step)
            except ApiError as error:
                claim_waits.errors[target] = _not_written(step, error)
                raise
            claim_waits.errors.pop(target, None)
            self._volumes.written(step, version)

        refusal = await self._writes.send(
            *("volume" if step.volume else "claim", write),
            passing=RACED,
            about=step.claim.namespace,
            seconds=math.inf,
            as_long_as=lambda: not claim_waits.open.keys().isdisjoint(users),
        )
        if refusal is not None and refusal.error is not None:
            del claim_waits.errors[target]
            for wait in users:
                claim_waits.fail(wait, _not_written(step, refusal.error))

    async def _send(self, step: ClaimStep) -> int:
        if step.volume is None:
            return await self._api.select_node(step.claim, step.node)
        return await self._api.reserve(step.volume, step.claim)

    # Waiting.

    async def _wait(self, claim_waits: ClaimWaits, settled: Callable[[ClaimWait], None]) -> None:
        """Return when all waits are settled.

        Members whose claims changed are checked right away, all members every LOOK_SECONDS.
        """
        clock = asyncio.get_running_loop().time
        look_at = clock()
        while claim_waits.open:
            if clock() >= look_at:
                self._look(claim_waits)
                self._settle(claim_waits, list(claim_waits.open), settled)
                self._report_claims(claim_waits)
                look_at = clock() + LOOK_SECONDS
            else:
                self._settle(claim_waits, self._look_at_moved(claim_waits), settled)
            with anyio.move_on_after(look_at - clock()):
                await claim_waits.moved.news.wait()

    def _look(self, claim_waits: ClaimWaits) -> None:
        """Check the members and nodes of all open waits, and which claims are bound."""
        claim_waits.moved.take_all()
        for wait in claim_waits.open:
            self._check(claim_waits, wait)
            for bind in wait.waiting:
                self._look_at(claim_waits, wait, bind.pod)
            self._look_at_devices(claim_waits, wait)

    def _check(self, claim_waits: ClaimWaits, wait: ClaimWait) -> None:
        """Fail a wait if a member or a node of it is gone. Linear in members."""
        if not self._writes.allowed():
            claim_waits.fail(wait, NotLeading())
        nodes = self._cache.node_usage.table().rows
        for bind in wait.binds:
            pod = self._cache.pod(bind.pod.uid)
            if pod is None or not pod.living:
                claim_waits.fail(wait, HeldForPodGone(bind.pod.key))
            elif bind.node not in nodes:
                claim_waits.fail(wait, HeldNodeGone(bind.node))

    def _look_at_moved(self, claim_waits: ClaimWaits) -> Iterable[ClaimWait]:
        """Check members whose claims may have progressed; return the waits of these members."""
        moved = claim_waits.moved.take_all()
        waits = dict.fromkeys(claim_waits.wait_of[uid] for uid in moved)
        for uid in moved:
            wait = claim_waits.wait_of[uid]
            pod = self._cache.pod(uid)
            if pod is not None and uid in wait.unbound:
                self._look_at(claim_waits, wait, pod)
        for wait in waits:
            self._look_at_devices(claim_waits, wait)
        return waits

    def _look_at_devices(self, claim_waits: ClaimWaits, wait: ClaimWait) -> None:
        """End the wait for devices that must be attached, if they are, or cannot be."""
        if wait.devices is not Devices.BEING_ATTACHED or wait.attachment is None or wait.problem:
            return
        failed = self._attached_devices.failed(wait.attachment)
        if failed is not None:
            self._device_claims.avoid(wait.keys, failed.devices)
            claim_waits.fail(wait, failed.cause)
        elif self._attached_devices.awaited(wait.attachment) is None:
            wait.devices = Devices.BEING_READ
            claim_waits.start(self._confirm, wait)

    def _look_at(self, claim_waits: ClaimWaits, wait: ClaimWait, pod: Pod) -> None:
        progress = self._volumes.progress(pod.uid)
        if progress.problem is not None:
            claim_waits.fail(wait, PodsClaimFailed(pod.key, progress.problem))
        elif progress.stage is Stage.BOUND:
            wait.unbound.discard(pod.uid)
        else:
            wait.unbound.add(pod.uid)

    def _settle(
        self,
        claim_waits: ClaimWaits,
        waits: Iterable[ClaimWait],
        settled: Callable[[ClaimWait], None],
    ) -> None:
        """Pass waits that are bound or have failed to `settled`, then their followers."""
        for wait in waits:
            if wait.after is not None and wait.after.problem:
                wait.problem = wait.problem or wait.after.problem
            if wait not in claim_waits.open or not (wait.problem or claim_waits.is_ready(wait)):
                continue
            self._check(claim_waits, wait)
            if not wait.problem and wait.devices is Devices.LACKING:
                wait.devices = Devices.BEING_WRITTEN
                claim_waits.start(self._reserve, wait)
            if wait.devices in (Devices.BEING_WRITTEN, Devices.BEING_READ):
                continue
            if wait.devices is Devices.BEING_ATTACHED and not wait.problem:
                continue
            if wait.problem and wait.devices is not Devices.LACKING:
                self._device_claims.give_up(wait.binds)
            del claim_waits.open[wait]
            for key in wait.keys:
                self._cache.decisions.let_go(key, joins=wait.joins)
            if not wait.problem and claim_waits.size:
                metrics.CLAIMS_SECONDS.observe(
                    asyncio.get_running_loop().time() - claim_waits.began
                )
            settled(wait)
            self._settle(claim_waits, claim_waits.followers(wait), settled)

    async def _reserve(self, claim_waits: ClaimWaits, wait: ClaimWait) -> None:
        """Reserve the devices of all members of a wait; on failure, no member keeps any."""
        try:
            problem = await self._device_claims.reserve(wait.binds, lambda: wait.problem is None)
            if problem is not None:
                claim_waits.fail(wait, problem)
            elif wait.problem is None:
                self._reserved(claim_waits, wait)
        finally:
            if wait.devices is Devices.BEING_WRITTEN:
                wait.devices = Devices.LACKING
            claim_waits.moved.put(*(bind.pod.uid for bind in wait.waiting))

    async def _confirm(self, claim_waits: ClaimWaits, wait: ClaimWait) -> None:
        """Let the members be bound if their claims are still as they were reserved."""
        try:
            claims = wait.attachment.claims if wait.attachment is not None else ()
            problem = await self._device_claims.confirm(claims, lambda: wait.problem is None)
            if problem is not None:
                claim_waits.fail(wait, problem)
        finally:
            wait.devices = Devices.RESERVED
            claim_waits.moved.put(*(bind.pod.uid for bind in wait.waiting))

    def _reserved(self, claim_waits: ClaimWaits, wait: ClaimWait) -> None:
        """Let the members be bound, or wait until their devices are attached."""
        wait.devices = Devices.RESERVED
        wait.attachment = self._attached_devices.begin(wait.binds)
        if wait.attachment is not None:
            wait.devices = Devices.BEING_ATTACHED
            if claim_waits.holding is not None:
                # The time for devices ends the wait, not the time for volumes.
                ends = wait.attachment.until + HOLD_MARGIN_SECONDS
                claim_waits.holding.deadline = max(claim_waits.holding.deadline, ends)

    def _report_claims(self, claim_waits: ClaimWaits) -> None:
        """Report the claims that gangs wait for: immediately in the status, later in Events."""
        lasts = asyncio.get_running_loop().time() - claim_waits.began >= QUIET_SECONDS
        for wait in claim_waits.open:
            if wait.devices is Devices.BEING_ATTACHED and wait.attachment is not None:
                devices = self._attached_devices.awaited(wait.attachment)
                if devices is not None:
                    claim_waits.cause = devices
                    self._say_of([wait], Reason.WAITING_FOR_DEVICES, devices, lasts=lasts)
        uids = (bind.pod.uid for wait in claim_waits.open for bind in wait.waiting)
        waiting = [claim for uid in uids for claim in self._volumes.progress(uid).waiting]
        if not waiting:
            return
        unbound = ClaimsUnbound(len(waiting), claim_waits.size, waiting[0])
        cause = claim_waits.cause = next(iter(claim_waits.errors.values()), unbound)
        waits = [each for each in claim_waits.open if each.devices is not Devices.BEING_ATTACHED]
        self._say_of(waits, Reason.WAITING_FOR_VOLUMES, cause, lasts=lasts)

    def _say_of(
        self, waits: Iterable[ClaimWait], reason: Reason, cause: Cause, *, lasts: bool
    ) -> None:
        for gang, pods in _waits(waits):
            self._cache.decisions.held(Refused(gang, reason, pods, cause=cause))
            if lasts:
                self._outcomes.put(ClaimsAwaited(gang, reason, cause))


def _not_written(step: ClaimStep, error: ApiError) -> Cause:
    volume = step.volume.name if step.volume is not None else ""
    return ClaimNotWritten(step.claim.key, step.node, volume, str(error))


def _waits(waits: Iterable[ClaimWait]) -> Iterator[tuple[Gang, tuple[Pod, ...]]]:
    """Return each gang of these waits, with its members that wait."""
    found: dict[GangKey, tuple[Gang, list[Pod]]] = {}
    for placed in (placed for wait in waits for placed in wait.placed):
        _, pods = found.setdefault(placed.gang.key, (placed.gang, []))
        pods += (bind.pod for bind in placed.binds)
    return ((gang, tuple(pods)) for gang, pods in found.values())
