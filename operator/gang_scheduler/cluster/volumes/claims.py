"""Binds the claims of a placed gang before any of its pods, while its room is held.

All that must be written is written first, for every member; then provisioners and the PV controller
have their time. So no gang starts in part because a volume came late. What goes wrong with one
claim ends the wait for all. What was written by then stays, as kube-scheduler leaves it: a volume
may be on its way, and whoever needs it is tried on its node alone.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from gang_scheduler import telemetry
from gang_scheduler.cluster.cache import Cache
from gang_scheduler.cluster.errors import ApiError, Kind
from gang_scheduler.cluster.ports import Api
from gang_scheduler.cluster.volumes.claim_promises import Target, target_of
from gang_scheduler.cluster.volumes.claim_steps import ClaimStep, Stage
from gang_scheduler.model.gangs import Gang, Reason
from gang_scheduler.model.plan import Bind, Placed, Refused

HOLD_SECONDS = 600
FIRST_DELAY = 0.1
LAST_DELAY = 5.0
LOOK_SECONDS = 0.5
"""How soon it shows that a member or a node is gone. Of claims we are told."""
QUIET_SECONDS = 5.0
"""Most claims are bound by then, and nobody need have heard of it."""
PASSING = frozenset({Kind.UNKNOWN, Kind.THROTTLED, Kind.CONFLICT})
"""What an answer must be for another try: each reads the object anew."""


@dataclass(slots=True, eq=False)
class Hold:
    """A gang whose room is held. `binds` are those of its members that have claims to be bound.

    `began` is the event loop's time.
    """

    placed: Placed
    binds: tuple[Bind, ...]
    problem: str = ""
    words: str = ""
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    @property
    def size(self) -> int:
        """How many claims are to be bound."""
        storages = (bind.pod.ask.storage for bind in self.binds)
        return sum(len(storage.needs) for storage in storages if storage is not None)

    def fail(self, problem: str) -> None:
        """Give up, for the first reason that there is."""
        self.problem = self.problem or problem


class Claims:
    """Binds claims while `may_write()` says that we are the leader, for at most `hold_seconds`.

    `tell` is called with a gang and what it waits for, when that takes longer than usual.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        concurrency: int,
        *,
        hold_seconds: float = HOLD_SECONDS,
        may_write: Callable[[], bool] = lambda: True,
        tell: Callable[[Gang, str], None] = lambda *_: None,
    ) -> None:
        self._api = api
        self._cache = cache
        self._book = cache.volumes
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._hold_seconds = hold_seconds
        self._may_write = may_write
        self._tell = tell
        self._holds: dict[str, Hold] = {}
        self._book.on_progress = self._moved

    def unbound(self, placed: Placed) -> tuple[Bind, ...]:
        """Return the binds that must wait for claims: none in a gang without volumes."""
        asks = ((bind, bind.pod.ask.storage) for bind in placed.binds)
        return tuple(bind for bind, storage in asks if storage is not None and storage.needs)

    async def bind(self, placed: Placed, binds: tuple[Bind, ...]) -> str:
        """Return when all claims of these binds are bound; or else why they cannot be."""
        hold = Hold(placed, binds)
        uids = [bind.pod.uid for bind in binds]
        self._holds.update(dict.fromkeys(uids, hold))
        try:
            async with asyncio.timeout(self._hold_seconds):
                await self._write_all(hold)
                await self._wait(hold)
        except TimeoutError:
            hold.fail(f"given up after {self._hold_seconds:g} s: {hold.words}")
        finally:
            for uid in uids:
                del self._holds[uid]
            self._cache.gangs.let_go(placed.gang.key)
        if not hold.problem:
            telemetry.CLAIMS_SECONDS.observe(asyncio.get_running_loop().time() - hold.began)
        return hold.problem

    # Writing.

    async def _write_all(self, hold: Hold) -> None:
        """Do all steps, some at once, until one fails for good. One task a slot, not one a step."""
        steps: dict[Target, ClaimStep] = {}
        for bind in hold.binds:
            for step in self._book.steps(bind.pod.uid):
                # A claim that several members use is given the node of the first.
                steps.setdefault(target_of(step), step)
        remaining = iter(steps.values())

        async def work() -> None:
            for step in remaining:
                await self._write(hold, step)

        async with asyncio.TaskGroup() as workers:
            for _ in range(min(self._concurrency, len(steps))):
                workers.create_task(work())

    async def _write(self, hold: Hold, step: ClaimStep) -> None:
        """Send a request until its answer settles it, or the hold has failed."""
        what = "volume" if step.volume else "claim"
        delay = FIRST_DELAY
        while self._leads(hold) and not hold.problem:
            try:
                async with self._slots:
                    version = await self._send(step)
            except ApiError as error:
                telemetry.WRITES.labels(what, error.kind.value).inc()
                hold.words = f"{_target(step)} cannot be written: {error}"
                if error.kind not in PASSING:
                    hold.fail(hold.words)
                if not self._goes_on(hold):
                    return
                await asyncio.sleep(max(delay, error.retry_after))
                delay = min(delay * 2, LAST_DELAY)
            else:
                telemetry.WRITES.labels(what, "written").inc()
                self._book.written(step, version)
                return

    async def _send(self, step: ClaimStep) -> int:
        if step.volume is None:
            return await self._api.select_node(step.claim, step.node)
        return await self._api.reserve(step.volume, step.claim)

    # Waiting.

    def _moved(self, uid: str) -> None:
        hold = self._holds.get(uid)
        if hold is not None:
            hold.moved.set()

    async def _wait(self, hold: Hold) -> None:
        """Return when all claims are bound, or the hold has failed."""
        while self._goes_on(hold) and not self._all_bound(hold):
            with suppress(TimeoutError):
                await asyncio.wait_for(hold.moved.wait(), LOOK_SECONDS)
            hold.moved.clear()

    def _leads(self, hold: Hold) -> bool:
        if not self._may_write():
            hold.fail("this replica does not lead any more")
            return False
        return True

    def _goes_on(self, hold: Hold) -> bool:
        """Tell whether there still is what the room is held for. Linear in members."""
        self._leads(hold)
        for bind in hold.placed.binds:
            pod = self._cache.pod(bind.pod.uid)
            if pod is None or not pod.living:
                hold.fail(f"pod {bind.pod.key} is gone, for whom room was held")
            elif bind.node not in self._cache.room.table().rows:
                hold.fail(f"node {bind.node} is gone, where room was held")
        return not hold.problem

    def _all_bound(self, hold: Hold) -> bool:
        found = [self._book.progress(bind.pod.uid) for bind in hold.binds]
        for bind, progress in zip(hold.binds, found, strict=True):
            if progress.stage is Stage.FAILED:
                hold.fail(f"claims of pod {bind.pod.key}: {progress.problem}")
        self._say(hold, [claim for progress in found for claim in progress.waiting])
        return all(progress.stage is Stage.BOUND for progress in found)

    def _say(self, hold: Hold, waiting: list[str]) -> None:
        """Let people know what is waited for: in the status at once, in Events if it lasts."""
        if not waiting:
            return
        hold.words = _words(waiting, hold.size)
        gang, pods = hold.placed.gang, tuple(bind.pod for bind in hold.placed.binds)
        refusal = Refused(gang, Reason.WAITING_FOR_VOLUMES, pods, detail=hold.words)
        self._cache.gangs.held(refusal)
        if asyncio.get_running_loop().time() - hold.began >= QUIET_SECONDS:
            self._tell(gang, hold.words)


def _words(waiting: list[str], of: int) -> str:
    more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
    claims = "a claim is" if of == 1 else f"{len(waiting)} of {of} claims are"
    return f"{claims} not bound yet: {waiting[0]}{more}"


def _target(step: ClaimStep) -> str:
    if step.volume is None:
        return f"node {step.node} for claim {step.claim.key}"
    return f"volume {step.volume.name} for claim {step.claim.key}"
