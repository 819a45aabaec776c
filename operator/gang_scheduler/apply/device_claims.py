"""Claims of devices: allocated and reserved for all members of a gang, before any is bound.

The claims of members that start together are written side by side: first the finalizer that keeps
an allocated claim from being deleted, then the allocation and the pods that use it in one update.
If a claim cannot be written, all written claims are withdrawn, so that no gang holds devices
without running.

An attempt that a crash ended is found by its claims: they are reserved for pods that are not
bound. They count as allocated, so the gang is tried with them. If it is not bound soon, they are
withdrawn.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import anyio

from gang_scheduler.api.kinds import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from gang_scheduler.apply.attached_devices import Held, change_of
from gang_scheduler.client import patches
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api, Body
from gang_scheduler.client.writing import RACED, Refusal, Writes
from gang_scheduler.decode import events
from gang_scheduler.decode.devices.objects import decode_claim, encode_allocation
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.causes.gangs import DeviceClaimFailed, NotLeading
from gang_scheduler.model.devices import Allocation, Claim, Consumer, DeviceId
from gang_scheduler.model.extended_resources import ExtendedNeed, spec_of
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.round_robin import Slots
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.devices.device_cache import NO_USER, Unfinished
from gang_scheduler.state.devices.needs import special_key
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

NEEDED: Final = frozenset({RESOURCE_CLAIMS.name, RESOURCE_SLICES.name, DEVICE_CLASSES.name})
WHAT: Final = "device claim"
CONFIRMATION: Final = "device claim read again"
WITHDRAWAL: Final = "device claim withdrawn"
GIVE_UP_SECONDS: Final = 20.0
"""How long a write of a claim is repeated. After that, it is better to plan the gang again."""
WITHDRAW_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 5.0
"""The pause between two searches for the claims that unfinished attempts have left."""
AVOID_SECONDS: Final = 300.0
"""How long a gang gets no device that could not be attached for it."""
UNFINISHED_SECONDS: Final = 20.0
"""How long such claims stay: during this time the scheduler tries the gang with them."""

log = Logger()
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Step:
    """One claim, and its `users` by uid: members, or their native PodGroup.

    `uid` is the uid of the claim. `is_new`: the plan allocates the claim. `is_ours`: this attempt
    has allocated it. `joined` are the uids of users that this attempt added. `pod` is the first
    member. `extended`: the claim stands for these extended resources of its only pod; then
    `may_exist` is true from the first try to create the claim on. `is_leftover`: the claim is only
    to be withdrawn, for users of earlier attempts. `timestamp` is the time of the allocation, the
    same in each try.
    """

    namespace: str
    name: str
    uid: str
    allocation: Allocation
    is_new: bool
    pod: PodRef
    users: dict[str, Consumer] = field(default_factory=dict)
    is_ours: bool = False
    joined: set[str] = field(default_factory=set)
    extended: tuple[ExtendedNeed, ...] = ()
    may_exist: bool = False
    is_leftover: bool = False
    timestamp: str = ""

    @property
    def is_of_group(self) -> bool:
        """Whether the claim is reserved for a native PodGroup."""
        return any(each.is_pod_group for each in self.users.values())

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class DeviceClaims:
    """Writes the device claims of gangs, and withdraws claims that unfinished attempts left.

    `not_served` returns the names of kinds that cannot be read. `clock` is in seconds.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        concurrency: int,
        *,
        not_served: Callable[[], Collection[str]],
        writes: Writes,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._api = api
        self._cache = cache
        self._devices = cache.devices
        self._concurrency = concurrency
        self._slots = Slots(concurrency)
        self._not_served = not_served
        self._writes = writes
        self._clock = clock
        self._seen: dict[tuple[str, str], float] = {}
        self._given_up: dict[str, float] = {}
        self._avoided: dict[GangKey, float] = {}
        self._news = asyncio.Event()

    async def reserve(
        self, binds: Iterable[Bind], as_long_as: Callable[[], bool] = lambda: True
    ) -> Cause | None:
        """Allocate and reserve all claims of members, or none; return the problem, None on success.

        Once `as_long_as()` returns False, nothing more is written.
        """
        binds = list(binds)
        steps = self._steps(binds)
        problems: list[Cause] = []

        def wanted() -> bool:
            return not problems and as_long_as()

        remaining = iter(steps)

        async def work() -> None:
            for step in remaining:
                if not wanted():
                    return
                problem = await self._reserve_one(step, wanted)
                metrics.CLAIM_WRITES.labels("failed" if problem is not None else "reserved").inc()
                if problem is not None:
                    problems.append(problem)

        done = False
        try:
            async with anyio.create_task_group() as workers:
                for _ in range(min(self._concurrency, len(steps))):
                    workers.start_soon(work)
            done = wanted()
        finally:
            if not done:
                # Also if the wait for the claims is cancelled.
                with anyio.CancelScope(shield=True):
                    await self._roll_back(binds, steps)
        return problems[0] if problems else None

    async def confirm(
        self, claims: Collection[Held], as_long_as: Callable[[], bool]
    ) -> Cause | None:
        """Read claims that were reserved some time ago; return why they cannot be used any more."""
        problems: list[Cause] = []

        def wanted() -> bool:
            return not problems and as_long_as()

        async def look(held: Held) -> None:
            problem = await self._confirm_one(held, wanted) if wanted() else None
            if problem is not None:
                problems.append(problem)

        await self._side_by_side(claims, look)
        return problems[0] if problems else None

    async def _confirm_one(self, held: Held, wanted: Callable[[], bool]) -> Cause | None:
        namespace, _, name = held.claim.partition("/")
        change = ""

        async def read() -> None:
            nonlocal change
            async with self._slots.of(namespace):
                found = await self._api.get(RESOURCE_CLAIMS, namespace, name)
            change = change_of(held, decode_claim(found))

        refusal = await self._writes.send(
            *(CONFIRMATION, read), about=namespace, seconds=GIVE_UP_SECONDS, as_long_as=wanted
        )
        if refusal is not None:
            return _cause_of(held.claim, refusal)
        return DeviceClaimFailed(held.claim, change) if change else None

    def give_up(self, binds: Iterable[Bind]) -> None:
        """Withdraw the claims of members that were not bound, unless they are being bound again."""
        given_up = [bind.pod.uid for bind in binds if bind.claims]
        if given_up:
            self._given_up.update(dict.fromkeys(given_up, self._now()))
            self._news.set()

    def avoid(self, gangs: Collection[GangKey], devices: Collection[DeviceId]) -> None:
        """Let gangs use no devices that failed them, for some minutes from now on."""
        if devices:
            self._cache.avoid_devices(gangs, devices)
            self._avoided.update(dict.fromkeys(gangs, self._now()))

    def _end_avoiding(self, now: float) -> None:
        over = [gang for gang, at in self._avoided.items() if now - at >= AVOID_SECONDS]
        for gang in over:
            del self._avoided[gang]
        if over:
            self._cache.use_devices_again(over)

    async def run(self) -> None:
        """Withdraw claims that unfinished attempts left, until cancelled."""
        while True:
            with confined("withdraw", "device claims"):
                self.note_served()
                await self.look()
            with anyio.move_on_after(LOOK_SECONDS):
                await self._news.wait()
            self._news.clear()

    def note_served(self) -> None:
        """Note whether the API server serves all kinds that device claims need."""
        absent = NEEDED.intersection(self._not_served())
        self._cache.serve_devices(served=not absent)

    async def look(self) -> None:
        """Withdraw claims that were reserved some time ago for pods that are still not bound.

        Devices that gangs have avoided for some time count as usable again.
        """
        self._end_avoiding(self._now())
        if not self._writes.allowed():
            # The next leader tries the gangs first.
            self._seen.clear()
            return
        now, seen = self._now(), {}
        # The watch may show later that a claim was allocated.
        for uid in [each for each, at in self._given_up.items() if now - at > UNFINISHED_SECONDS]:
            del self._given_up[uid]
        due: dict[str, list[Unfinished]] = defaultdict(list)
        for each in self._devices.unfinished():
            if any(pod.scheduler not in self._cache.schedulers for pod in each.pods):
                continue
            if each.user == NO_USER and not self._are_refused(each.pods):
                # Devices that no gang waits for stay with their claim.
                continue
            since = self._seen.get((each.claim.uid, each.user), now)
            seen[each.claim.uid, each.user] = since
            is_given_up = any(pod.uid in self._given_up for pod in each.pods)
            if is_given_up or now - since >= UNFINISHED_SECONDS:
                due[each.claim.key].append(each)
        self._seen = seen
        # From here on no plan uses these claims, so none of their pods is bound meanwhile.
        for key in due:
            self._devices.begin_withdrawal(key)
        await self._side_by_side(due.values(), self._withdraw_left)

    def _are_refused(self, pods: Iterable[Pod]) -> bool:
        """Return whether the gang of some of these pods was tried whole, and found no room."""
        infos = (self._cache.gang_queue.infos.get(pod.gang) for pod in pods)
        refusals = (info.verdict.refusal for info in infos if info is not None)
        return any(each is not None and each.reason is Reason.UNSCHEDULABLE for each in refusals)

    async def _withdraw_left(self, left: Sequence[Unfinished]) -> None:
        """Withdraw a claim from those of its users that have no bound pod."""
        claim = left[0].claim
        try:
            is_special = claim.key == special_key(left[0].pods[0])
            unbound = [each for each in left if await self._are_unbound(each.pods)]
            if unbound and (is_special or claim.allocation is not None):
                await self._withdraw(_leftover(unbound, is_special=is_special))
        finally:
            self._devices.end_withdrawal(claim.key)

    async def _are_unbound(self, pods: Iterable[Pod]) -> bool:
        for pod in pods:
            if not await self._is_unbound(pod):
                return False
        return True

    async def _is_unbound(self, pod: Pod) -> bool:
        """Ask the API server: the pod may be bound, and the watch late."""
        try:
            async with self._slots.of(pod.namespace):
                return not await self._api.bound_node(PodRef(pod.namespace, pod.name, pod.uid))
        except ApiError as error:
            return error.kind is Kind.GONE

    def _now(self) -> float:
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def _steps(self, binds: Iterable[Bind]) -> Sequence[_Step]:
        """Return the steps to write: one for each claim, with all members that use it."""
        steps: dict[str, _Step] = {}
        for bind in binds:
            pod = PodRef(bind.pod.namespace, bind.pod.name, bind.pod.uid)
            for each in bind.claims:
                known = self._devices.claims.get(each.claim)
                namespace, _, name = each.claim.partition("/")
                uid = "" if known is None else known.uid
                step = steps.setdefault(
                    each.claim, _Step(namespace, name, uid, each.allocation, is_new=False, pod=pod)
                )
                step.is_new |= each.is_new
                step.extended = each.extended
                user = self._devices.user_of(bind.pod, each)
                step.users[user.uid] = user
        return tuple(steps.values())

    # Writing.

    async def _reserve_one(self, step: _Step, wanted: Callable[[], bool]) -> Cause | None:
        claim = self._devices.claims.get(step.key)

        async def write() -> None:
            nonlocal claim
            known, claim = claim, None
            async with self._slots.of(step.namespace):
                # Only the first try relies on the watch: after any error the claim is read again.
                if step.extended:
                    known = await self._made(step, known)
                if self._devices.is_being_withdrawn(step.key):
                    raise ApiError(409, f"claim {step.key} is being withdrawn")
                await self._allocate(step, await self._current(step, known))
                if step.extended:
                    await self._name(step)

        refusal = await self._writes.send(
            *(WHAT, write),
            passing=RACED,
            about=step.namespace,
            seconds=GIVE_UP_SECONDS,
            as_long_as=wanted,
        )
        return None if refusal is None else _cause_of(step.key, refusal)

    async def _current(self, step: _Step, known: Claim | None) -> Claim:
        """Return the claim to write to, as the watch shows it, or read now.

        If nothing is left to write, no conflict would show that the watch is late.
        """
        is_done = known is not None and known.allocation is not None and not _joining(step, known)
        return await self._read(step) if known is None or is_done else known

    async def _made(self, step: _Step, known: Claim | None) -> Claim:
        """Return the claim for the extended resources of a pod, and create it if it is absent.

        It has the same name in each attempt, so there is never a second one. If one from an earlier
        attempt asks for something else, it is withdrawn.
        """
        if known is None and step.may_exist:
            known = await self._read_if_there(step)
        step.may_exist = True
        if known is None:
            body = patches.claim_for(step.pod, step.extended)
            return decode_claim(await self._api.create(RESOURCE_CLAIMS, step.namespace, body))
        owner = "" if known.owner is None else known.owner.uid
        if owner != step.pod.uid:
            step.may_exist = False
            raise ApiError(422, f"claim {step.key} is not of pod {step.pod.name}")
        if known.spec != spec_of(step.extended) and not known.deleting:
            raise ApiError(422, f"claim {step.key} asks for other devices than pod {step.pod.name}")
        return known

    async def _name(self, step: _Step) -> None:
        """Tell the kubelet which container gets which devices. Raises ApiError."""
        body = patches.naming_claim(step.pod, step.name, step.extended)
        pod = await self._api.patch(
            *(PODS, step.namespace, step.pod.name, body), subresource="status"
        )
        if "extendedResourceClaimStatus" not in (pod.get("status") or {}):
            # The kubelet would start the containers without devices.
            raise ApiError(422, "the API server has feature gate DRAExtendedResource off")

    async def _allocate(self, step: _Step, claim: Claim) -> None:
        """Write the allocation and the users that the plan gives a claim. Raises ApiError."""
        _require_same(step, claim)
        joining = _joining(step, claim)
        if claim.allocation is not None:
            if not claim.allocation.is_same(step.allocation):
                raise ApiError(422, f"claim {step.key} was allocated by another scheduler")
            step.is_ours |= step.is_new and claim.is_marked
            if joining:
                body = patches.reserving_devices(claim, joining)
                step.joined.update(user.uid for user in joining)
                self._note(step, await self._patch_status(step, body))
            return
        if not step.is_new:
            raise ApiError(422, f"claim {step.key} has lost its allocation")
        version = claim.resource_version
        step.timestamp = step.timestamp or _now()
        mark = replace(step.allocation, timestamp=step.timestamp).mark
        # The name of a claim for extended resources tells that it is ours.
        is_ready = patches.CLAIM_FINALIZER in claim.finalizers
        if not (is_ready and (step.extended or claim.mark == mark)):
            body = patches.protecting_claim(claim, mark)
            written = await self._api.patch(RESOURCE_CLAIMS, step.namespace, step.name, body)
            version = written["metadata"]["resourceVersion"]
        allocation = {**encode_allocation(step.allocation), "allocationTimestamp": step.timestamp}
        body = patches.allocating_devices(claim, version, allocation, joining)
        # From here on, the claim may be allocated, even without an answer.
        step.is_ours = True
        step.joined.update(step.users)
        self._note(step, await self._patch_status(step, body))

    def _note(self, step: _Step, written: Body) -> None:
        self._devices.written(step.key, patches.version_of(written), step.allocation)

    async def _patch_status(self, step: _Step, body: Body) -> Body:
        return await self._api.patch(
            *(RESOURCE_CLAIMS, step.namespace, step.name, body), subresource="status"
        )

    async def _read(self, step: _Step) -> Claim:
        return decode_claim(await self._api.get(RESOURCE_CLAIMS, step.namespace, step.name))

    async def _read_if_there(self, step: _Step) -> Claim | None:
        try:
            return await self._read(step)
        except ApiError as error:
            if error.kind is not Kind.GONE:
                raise
            return None

    # Withdrawing.

    async def _roll_back(self, binds: Iterable[Bind], steps: Iterable[_Step]) -> None:
        """Withdraw the claims that this attempt has written, except claims of PodGroups.

        Other pods of a PodGroup may run with its claim by now: `look` checks all of them.
        """
        of_groups = {each.key for each in steps if each.joined and each.is_of_group}
        await self._withdraw_all(each for each in steps if each.key not in of_groups)
        self.give_up(bind for bind in binds if any(each.claim in of_groups for each in bind.claims))

    async def _withdraw_all(self, steps: Iterable[_Step]) -> None:
        held = [each for each in steps if each.joined or each.may_exist]
        await self._side_by_side(held, self._withdraw)

    async def _side_by_side(
        self, items: Collection[T], handle: Callable[[T], Awaitable[None]]
    ) -> None:
        """Handle all items, as many at once as requests may be under way."""
        remaining = iter(items)

        async def work() -> None:
            for each in remaining:
                await handle(each)

        async with anyio.create_task_group() as workers:
            for _ in range(min(self._concurrency, len(items))):
                workers.start_soon(work)

    async def _withdraw(self, step: _Step) -> None:
        """Take our pods out of the users of a claim, and its allocation if no other pod uses it."""
        self._devices.begin_withdrawal(step.key)
        try:
            await self._send_withdrawal(step)
        finally:
            self._devices.end_withdrawal(step.key)

    async def _send_withdrawal(self, step: _Step) -> None:
        is_skipped = False

        async def write() -> None:
            nonlocal is_skipped
            async with self._slots.of(step.namespace):
                claim = await self._read(step)
                if step.is_leftover:
                    # An earlier plan may have begun to bind some of the pods: these keep the claim.
                    step.joined.intersection_update(self._devices.users_left(step.key))
                    is_skipped = not step.joined
                if not is_skipped:
                    take_back = self._delete if step.may_exist else self._take_back
                    self._devices.withdrawn(step.key, await take_back(step, claim))

        refusal = await self._writes.send(
            *(WITHDRAWAL, write), passing=RACED, about=step.namespace, seconds=WITHDRAW_SECONDS
        )
        if is_skipped:
            log.info("device_claim_in_use_again", claim=step.key)
        elif refusal is None:
            metrics.CLAIMS_WITHDRAWN.inc()
            metrics.CLAIM_WRITES.labels("withdrawn").inc()
            log.info("device_claim_withdrawn", claim=step.key)
        elif refusal.kind is Kind.GONE and step.may_exist:
            self._devices.written(step.key, 0, None)
        elif not refusal.is_gone:
            metrics.CLAIM_WRITES.labels("not_withdrawn").inc()
            log.warning("device_claim_not_withdrawn", claim=step.key, error=str(refusal.error))

    async def _delete(self, step: _Step, claim: Claim) -> int:
        """Delete the claim for the extended resources of a pod, with its devices.

        Return the first version in which the watch can show it.
        """
        version = events.number_of(claim.resource_version)
        if claim.owner is not None and claim.owner.uid == step.pod.uid:
            if patches.CLAIM_FINALIZER in claim.finalizers:
                body = patches.unprotecting_claim(claim)
                written = await self._api.patch(RESOURCE_CLAIMS, step.namespace, step.name, body)
                version = patches.version_of(written)
            if not claim.deleting:
                await self._api.delete(RESOURCE_CLAIMS, step.namespace, step.name, claim.uid)
                version += 1
        self._devices.written(step.key, 0, None)
        return version

    async def _take_back(self, step: _Step, claim: Claim) -> int:
        """Return the version in which the watch shows the claim without our users."""
        if claim.uid != step.uid or claim.allocation is None:
            self._devices.written(step.key, 0, None)
            return events.number_of(claim.resource_version)
        others = [each for each in claim.reserved_for if each.uid not in step.joined]
        # Devices that another scheduler allocated stay with the claim, unless the claim is idle:
        # pods that do not exist yet may use them.
        is_idle = step.is_leftover and NO_USER in step.joined
        is_ours = step.is_ours or is_idle or (step.is_leftover and claim.is_marked)
        is_freed = is_ours and not others
        if not is_freed and len(others) == len(claim.reserved_for):
            return events.number_of(claim.resource_version)
        body = patches.withdrawing_devices(claim, None if is_freed else others)
        written = await self._patch_status(step, body)
        left = None if is_freed else claim.allocation
        version = patches.version_of(written)
        self._devices.written(step.key, version, left)
        return version


def _cause_of(claim: str, refusal: Refusal) -> Cause:
    if refusal.error is None:
        return NotLeading()
    denied = refusal.kind is Kind.DENIED
    return DeviceClaimFailed(claim, str(refusal.error), denied=denied)


def _now() -> str:
    return rfc3339(int(time.time()))


def _leftover(left: Sequence[Unfinished], *, is_special: bool) -> _Step:
    """Return the step that withdraws a claim which an unfinished attempt reserved for these users.

    `is_special`: the claim is for the extended resources of the pod, so a scheduler has made it.
    """
    claim, pod = left[0].claim, left[0].pods[0]
    namespace, _, name = claim.key.partition("/")
    ref = PodRef(pod.namespace, pod.name, pod.uid)
    return _Step(
        *(namespace, name, claim.uid, claim.allocation or Allocation(())),
        is_new=True,
        pod=ref,
        joined={each.user for each in left},
        may_exist=is_special,
        is_leftover=True,
    )


def _joining(step: _Step, claim: Claim) -> list[Consumer]:
    """Return the users of a step for which the claim is not reserved yet."""
    there = {each.uid for each in claim.reserved_for}
    return [user for uid, user in step.users.items() if uid not in there]


def _require_same(step: _Step, claim: Claim) -> None:
    """Raise ApiError if the claim was replaced, or is being deleted."""
    if step.uid and claim.uid != step.uid:
        raise ApiError(404, f"claim {step.key} is another one now")
    step.uid = claim.uid
    if claim.deleting:
        raise ApiError(422, f"claim {step.key} is being deleted")
