"""Binds the claims of placed gangs before any of their pods, while their room is held.

All that must be written is written at once, for every member; then provisioners and the PV
controller have their time. So no gang starts in part because a volume came late, nor a group of
gangs, and no quorum waits for the claims of others. What goes wrong with one claim ends the wait
for all who wait together. What was written by then stays, as kube-scheduler leaves it: a volume
may be on its way, and whoever needs it is tried on its node alone.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from gang_scheduler import telemetry
from gang_scheduler.apply.claim_waits import Hold, Share
from gang_scheduler.apply.outcomes import Outcomes, VolumesAwaited
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.client.retry import Backoff
from gang_scheduler.model.gangs import Gang, GangKey, Reason
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.volumes.assume_cache import Target, target_of
from gang_scheduler.state.volumes.claim_steps import ClaimStep, Stage

HOLD_SECONDS = 600
LOOK_SECONDS = 0.5
"""How soon it shows that a member or a node is gone. Of claims we are told."""
QUIET_SECONDS = 5.0
"""Most claims are bound by then, and nobody need have heard of it."""
PASSING = frozenset({Kind.UNKNOWN, Kind.THROTTLED, Kind.CONFLICT})
"""What an answer must be for another try: each reads the object anew."""


class Claims:
    """Binds claims while `may_write()` says that we are the leader, for at most `hold_seconds`.

    What a gang waits for goes to `outcomes` when that takes longer than usual.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        concurrency: int,
        *,
        outcomes: Outcomes,
        hold_seconds: float = HOLD_SECONDS,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._api = api
        self._cache = cache
        self._volumes = cache.volumes
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._hold_seconds = hold_seconds
        self._may_write = may_write
        self._outcomes = outcomes
        self._holds: dict[str, Hold] = {}
        self._volumes.on_progress = self._moved

    def begin(self, shares: tuple[Share, ...]) -> Hold:
        """Note at once who is held, so that nobody is planned beside them."""
        hold = Hold(shares)
        self._holds.update(dict.fromkeys(hold.share_of, hold))
        for share in shares:
            for key in share.keys:
                self._cache.gang_queue.hold(key, joins=share.joins)
        return hold

    async def bind(self, hold: Hold, settled: Callable[[Share], None]) -> None:
        """Hand over each share when all of its claims are bound, or why they cannot be."""
        try:
            async with asyncio.timeout(self._hold_seconds), asyncio.TaskGroup() as tasks:
                tasks.create_task(self._write_all(hold))
                await self._wait(hold, settled)
        except TimeoutError:
            for share in hold.open:
                share.problem = f"given up after {self._hold_seconds:g} s: {hold.words}"
            self._settle(hold, list(hold.open), settled)
        finally:
            for uid in hold.share_of:
                # Given up and planned anew, a member may be in another hold by now.
                if self._holds.get(uid) is hold:
                    del self._holds[uid]

    # Writing.

    async def _write_all(self, hold: Hold) -> None:
        """Do all steps, some at once. One task a slot, not one a step."""
        steps: dict[Target, ClaimStep] = {}
        users: dict[Target, list[Share]] = defaultdict(list)
        for uid, share in hold.share_of.items():
            for step in self._volumes.steps(uid):
                # A claim that several members use is given the node of the first.
                steps.setdefault(target_of(step), step)
                users[target_of(step)].append(share)
        remaining = iter(steps.items())

        async def work() -> None:
            for target, step in remaining:
                await self._write(hold, users[target], step)

        async with asyncio.TaskGroup() as workers:
            for _ in range(min(self._concurrency, len(steps))):
                workers.create_task(work())

    async def _write(self, hold: Hold, users: list[Share], step: ClaimStep) -> None:
        """Send a request until its answer settles it, or nobody waits for it any more."""
        what = "volume" if step.volume else "claim"
        backoff = Backoff()
        while self._may_write() and not hold.open.keys().isdisjoint(users):
            try:
                async with self._slots:
                    version = await self._send(step)
            except ApiError as error:
                telemetry.WRITES.labels(what, error.kind.value).inc()
                problem = f"{_target(step)} cannot be written: {error}"
                if error.kind not in PASSING:
                    for share in users:
                        hold.fail(share, problem)
                    return
                hold.errors[target_of(step)] = problem
                await backoff.after(error)
            else:
                telemetry.WRITES.labels(what, "written").inc()
                hold.errors.pop(target_of(step), None)
                self._volumes.written(step, version)
                return

    async def _send(self, step: ClaimStep) -> int:
        if step.volume is None:
            return await self._api.select_node(step.claim, step.node)
        return await self._api.reserve(step.volume, step.claim)

    # Waiting.

    def _moved(self, uid: str) -> None:
        hold = self._holds.get(uid)
        if hold is not None:
            hold.move(uid)

    async def _wait(self, hold: Hold, settled: Callable[[Share], None]) -> None:
        """Return when all shares are settled. What moves is looked at at once, all in turns."""
        clock = asyncio.get_running_loop().time
        look_at = clock()
        while hold.open:
            hold.news.clear()
            if clock() >= look_at:
                self._look(hold)
                self._settle(hold, list(hold.open), settled)
                self._say(hold)
                look_at = clock() + LOOK_SECONDS
            else:
                self._settle(hold, self._look_at_moved(hold), settled)
            with suppress(TimeoutError):
                await asyncio.wait_for(hold.news.wait(), look_at - clock())

    def _look(self, hold: Hold) -> None:
        """See whether there still is what room is held for, and what is bound of it."""
        hold.moved.clear()
        for share in hold.open:
            self._check(hold, share)
            for bind in share.waiting:
                self._look_at(hold, share, bind.pod)

    def _check(self, hold: Hold, share: Share) -> None:
        """Fail a share if there is no longer what its room is held for. Linear in members."""
        if not self._may_write():
            hold.fail(share, "this replica does not lead any more")
        nodes = self._cache.node_usage.table().rows
        for bind in share.binds:
            pod = self._cache.pod(bind.pod.uid)
            if pod is None or not pod.living:
                hold.fail(share, f"pod {bind.pod.key} is gone, for whom room was held")
            elif bind.node not in nodes:
                hold.fail(share, f"node {bind.node} is gone, where room was held")

    def _look_at_moved(self, hold: Hold) -> Iterable[Share]:
        """See how far those have come that have moved, and return their shares."""
        moved, hold.moved = hold.moved, set()
        shares = dict.fromkeys(hold.share_of[uid] for uid in moved)
        for uid in moved:
            share = hold.share_of[uid]
            pod = self._cache.pod(uid)
            if pod is not None and uid in share.unbound:
                self._look_at(hold, share, pod)
        return shares

    def _look_at(self, hold: Hold, share: Share, pod: Pod) -> None:
        progress = self._volumes.progress(pod.uid)
        if progress.stage is Stage.FAILED:
            hold.fail(share, f"claims of pod {pod.key}: {progress.problem}")
        elif progress.stage is Stage.BOUND:
            share.unbound.discard(pod.uid)
        else:
            share.unbound.add(pod.uid)

    def _settle(
        self, hold: Hold, shares: Iterable[Share], settled: Callable[[Share], None]
    ) -> None:
        """Hand over those of the shares that have nothing more to wait for."""
        for share in shares:
            if share.after is not None and share.after.problem:
                share.problem = share.problem or share.after.problem
            if share not in hold.open or not (share.problem or hold.is_ready(share)):
                continue
            self._check(hold, share)
            del hold.open[share]
            for key in share.keys:
                self._cache.gang_queue.let_go(key, joins=share.joins)
            if not share.problem:
                telemetry.CLAIMS_SECONDS.observe(asyncio.get_running_loop().time() - hold.began)
            settled(share)
            self._settle(hold, hold.followers(share), settled)

    def _say(self, hold: Hold) -> None:
        """Let people know what is waited for: in the status at once, in Events if it lasts."""
        uids = (bind.pod.uid for share in hold.open for bind in share.waiting)
        waiting = [claim for uid in uids for claim in self._volumes.progress(uid).waiting]
        if not waiting:
            return
        hold.words = next(iter(hold.errors.values()), "") or _words(waiting, hold.size)
        lasts = asyncio.get_running_loop().time() - hold.began >= QUIET_SECONDS
        for gang, pods in _held(hold.open):
            refusal = Refused(gang, Reason.WAITING_FOR_VOLUMES, pods, detail=hold.words)
            self._cache.gang_queue.held(refusal)
            if lasts:
                self._outcomes.put(VolumesAwaited(gang, hold.words))


def _held(shares: Iterable[Share]) -> Iterator[tuple[Gang, tuple[Pod, ...]]]:
    """Yield each gang of these shares with its members in them."""
    found: dict[GangKey, tuple[Gang, list[Pod]]] = {}
    for placed in (placed for share in shares for placed in share.placed):
        _, pods = found.setdefault(placed.gang.key, (placed.gang, []))
        pods += (bind.pod for bind in placed.binds)
    return ((gang, tuple(pods)) for gang, pods in found.values())


def _words(waiting: list[str], of: int) -> str:
    more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
    claims = "a claim is" if of == 1 else f"{len(waiting)} of {of} claims are"
    return f"{claims} not bound yet: {waiting[0]}{more}"


def _target(step: ClaimStep) -> str:
    if step.volume is None:
        return f"node {step.node} for claim {step.claim.key}"
    return f"volume {step.volume.name} for claim {step.claim.key}"
