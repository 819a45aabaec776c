"""Carries preemptions out: nominates the members, marks all victims, and only then evicts them.

Gangs that ask for it save their work before any pod is marked. Each stage is written completely
before the next one begins, so that no pod is evicted for a plan that cannot be carried out. Every
write may come twice: after a crash between any two writes the plan is made again from the objects,
and writes that are there already are skipped. A run that is given up takes its own writes back.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator

import anyio
from anyio.abc import TaskGroup

from gang_scheduler.apply.checkpoints.grace import GracePeriods
from gang_scheduler.apply.checkpoints.saving import Saving
from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.apply.eviction.orphaned_marks import OrphanedMarks
from gang_scheduler.apply.eviction.preemption_run import PreemptionRun, Step, StepWriter
from gang_scheduler.apply.eviction.stages import Stages
from gang_scheduler.apply.outcomes import Outcomes, PreemptionFailed
from gang_scheduler.apply.workloads import whole_workloads
from gang_scheduler.apply.workloads.whole_workloads import ManagedPods, Suspend
from gang_scheduler.client.port import Api
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.causes.errors import InternalError
from gang_scheduler.model.plan import Plan, Preemption
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

Stage = Callable[[PreemptionRun], Iterator[Step]]

ROUNDS_AT_ONCE = 16
LOOK_SECONDS = 0.5

log = Logger()


async def write_nothing(_: Collection[GangKey]) -> None:
    """Return at once: for evictions that nothing but this process remembers."""


class Evictor:
    """Preempts with bounded concurrency, and only while `may_write()` says that we are the leader.

    A preemption is put into `outcomes` when all its victims are marked, and when it was given up
    and taken back. `remember` writes down what gangs yield to, before any of their pods goes. A
    workload of which all `managed` pods are victims is suspended by `suspend`, which returns
    whether that ends the pods; if not, they are deleted.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        concurrency: int,
        *,
        naming: Naming,
        outcomes: Outcomes,
        grace_periods: GracePeriods,
        saving: Callable[[StepWriter], Saving],
        use_eviction_api: bool = False,
        remember: Callable[[Collection[GangKey]], Awaitable[None]] = write_nothing,
        managed: ManagedPods = whole_workloads.NONE_MANAGED,
        suspend: Suspend = whole_workloads.suspend_nothing,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._writer = StepWriter(concurrency, may_write)
        self._saving = saving(self._writer)
        self._stages = Stages(
            api,
            cache,
            naming=naming,
            outcomes=outcomes,
            grace_periods=grace_periods,
            use_eviction_api=use_eviction_api,
            managed=managed,
            suspend=suspend,
            clock=clock,
        )
        self._remember = remember
        self._outcomes = outcomes
        self._clock = clock
        self._queue: asyncio.Queue[PreemptionRun] = asyncio.Queue()
        self._by_member: dict[str, PreemptionRun] = {}
        self._by_victim: dict[str, PreemptionRun] = {}
        self._orphaned_marks = OrphanedMarks(cache)

    # Called by the loop.

    def is_preempting(self, preemption: Preemption) -> bool:
        """Return whether all that a preemption would do is under way already."""
        made = PreemptionRun(preemption)
        earlier = self._runs_of(_concerned(made))
        return bool(made.nodes) and len(earlier) == 1 and earlier[0].covers(made)

    def submit(self, preemption: Preemption) -> None:
        """Queue the writes of a preemption. The caller counts its nominations and victims.

        Earlier runs for the same members, or for members that are displaced now, are stopped.
        """
        made = PreemptionRun(preemption)
        concerned = _concerned(made)
        made.earlier = (*self._runs_of(concerned), *self._taken_back(made.victims))
        # A run that only displaced one of these pods goes on for its own members.
        replaced = [each for each in made.earlier if not concerned.isdisjoint(each.nodes)]
        self._begin(made)
        for each in replaced:
            self._stop(each)

    def placed(self, uids: Iterable[str]) -> None:
        """Stop the runs for members that have found a place."""
        uids = set(uids)
        for each in self._runs_of(uids):
            if not self._is_over(each) and not uids.isdisjoint(each.nodes):
                self._stop(each)

    def drain_only(self, queues: Collection[QueueRef]) -> None:
        """Stop the runs that drain other queues than these, as far as they evict no pod yet."""
        for each in dict.fromkeys(self._by_victim.values()):
            queue = each.preemption.drained
            if queue is not None and queue not in queues and not each.evicted:
                self._stop(each)

    def settle_leftovers(self, plan: Plan) -> None:
        """Withdraw the marks and requests of an earlier process that no plan of this one needs.

        Called after every cycle.
        """
        found = self._orphaned_marks.settled(plan, int(self._clock()))
        pods = [pod for pod in found if pod.uid not in self._by_victim]
        if pods:
            marked, asked = {pod.uid for pod in pods if pod.marked}, self._saving.requested(pods)
            made = PreemptionRun(Preemption((), ()), void=True, marked=marked, asked=asked)
            self._begin(made)
            for uid in made.told:
                self._by_victim.setdefault(uid, made)

    # Work.

    async def run(self) -> None:
        """Preempt as submitted, until cancelled."""
        async with anyio.create_task_group() as workers:
            workers.start_soon(self._watch, name="victims")
            for number in range(ROUNDS_AT_ONCE):
                workers.start_soon(self._work, workers, name=f"evictor {number}")

    async def drain(self) -> None:
        """Return when all writes of what was submitted are done, but while gangs save their work.

        What these are asked stands on their pods, so that the next leader goes on there.
        """
        await self._queue.join()

    async def _work(self, workers: TaskGroup) -> None:
        while True:
            current = await self._queue.get()
            # Earlier runs were taken from the queue before this one, so they do stop.
            for each in current.earlier:
                await each.stopped.wait()
            current.earlier = ()
            if self._saving.concerns(current.preemption):
                # It may wait for long, and others must not wait for that.
                workers.start_soon(self._run_to_the_end, current, name=current.name)
            else:
                await self._run_to_the_end(current)
            self._queue.task_done()

    async def _run_to_the_end(self, current: PreemptionRun) -> None:
        with confined("preempt", current.name) as step:
            await self._carry_out(current)
        if step.error is not None:
            current.fail(InternalError.of(step.error))
            with confined("take back", current.name):
                await self._take_back(current)
        current.stopped.set()

    async def _carry_out(self, current: PreemptionRun) -> None:
        """Write the stages in their order; take all back if one cannot be written."""
        if not await self._wrote(
            current, self._stages.nominations, self._stages.clearings, self._stages.dry_runs
        ):
            return
        await self._saving.save(current)
        if await self._wrote(current, self._stages.marks):
            await self._note(current)
            if await self._wrote(current, self._stages.evictions):
                current.sent = True
                self._is_over(current)

    async def _wrote(self, current: PreemptionRun, *stages: Stage) -> bool:
        """Write stages in their order; return whether the run goes on, and take it back if not."""
        for stage in stages:
            await self._writer.write_all(current, tuple(stage(current)))
            if current.void:
                await self._take_back(current)
                return False
        return True

    async def _note(self, current: PreemptionRun) -> None:
        """Have it remembered which gangs yield to the preemptor, and what they have saved."""
        keys = set(current.requests)
        if current.preemption.classes:
            current.noted = True
            now = int(self._clock())
            keys |= self._cache.evictions.note(current.preemption, now)
        if keys:
            await self._remember(keys)

    async def _take_back(self, current: PreemptionRun) -> None:
        """Undo the writes that no later run has taken over; no broken gang is left running."""
        self._stop(current)
        if current.noted:
            self._cache.evictions.take_back(current.preemption)
        pods = (self._cache.pod(uid) for uid in self._owned(current))
        unbound = tuple(pod for pod in pods if pod is not None and not pod.node)
        self._cache.clear_nominations([pod.uid for pod in unbound])
        undoing = PreemptionRun(Preemption((), (), displaced=unbound))

        def claimant_of(uid: str) -> PreemptionRun:
            return self._by_victim.get(uid, current)

        steps = (
            *self._stages.clearings(undoing),
            *self._saving.withdrawals(current, claimant_of),
            *self._stages.releases(current, claimant_of),
        )
        await self._writer.write_all(undoing, steps)
        self._forget(current)
        if current.problem is not None:
            metrics.PREEMPTIONS.labels("withdrawn").inc()
            self._outcomes.put(PreemptionFailed(current.preemption, current.problem))

    async def _watch(self) -> None:
        """Note when the last victim of each run is gone."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for each in {*self._by_member.values(), *self._by_victim.values()}:
                with confined("preempt", each.name):
                    self._is_over(each)

    # Runs.

    def _begin(self, made: PreemptionRun) -> None:
        displaced = (pod.uid for pod in made.preemption.displaced)
        self._by_member.update(dict.fromkeys((*made.nodes, *displaced), made))
        self._by_victim.update(dict.fromkeys(made.victims, made))
        # Marks and requests of an earlier run or process are taken over, to be taken back by this
        # run if it fails.
        made.marked |= {
            pod.uid for pod in self._stages.victims(made) if self._stages.is_marked(pod)
        }
        made.asked |= self._saving.requested(self._stages.victims(made))
        self._queue.put_nowait(made)

    def _stop(self, current: PreemptionRun) -> None:
        """Stop a run: pods that it has not begun to evict are no victims any more.

        Except pods that a later run evicts.
        """
        current.void = True
        left = current.victims - current.evicted
        self._cache.victims.spared({uid for uid in left if self._by_victim.get(uid) is current})

    def _runs_of(self, uids: Iterable[str]) -> tuple[PreemptionRun, ...]:
        """Return the runs that write nominations of these pods."""
        found = (self._by_member.get(uid) for uid in uids)
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def _taken_back(self, victims: Iterable[str]) -> Iterator[PreemptionRun]:
        """Yield the runs that take back what they wrote to these pods: that comes first."""
        found = dict.fromkeys(self._by_victim.get(uid) for uid in victims)
        return (each for each in found if each is not None and each.void)

    def _owned(self, current: PreemptionRun) -> list[str]:
        """Return the members that no later run has taken over."""
        return [uid for uid in current.nodes if self._by_member.get(uid) is current]

    def _is_over(self, current: PreemptionRun) -> bool:
        """Return whether all is written and every victim gone; such a run is forgotten."""
        if not current.sent:
            return False
        if not current.void and any(map(self._uses_room, current.victims)):
            return False
        self._forget(current)
        if current.victims and not current.void:
            seconds = asyncio.get_running_loop().time() - current.submitted_at
            metrics.VICTIM_SECONDS.observe(seconds)
        return True

    def _forget(self, current: PreemptionRun) -> None:
        displaced = {pod.uid for pod in current.preemption.displaced}
        self._stages.forget(current.nodes.keys() | displaced)
        for index in (self._by_member, self._by_victim):
            for uid in {*current.nodes, *displaced, *current.victims, *current.told}:
                if index.get(uid) is current:
                    del index[uid]

    def _uses_room(self, uid: str) -> bool:
        found = self._cache.pod(uid)
        return found is not None and not found.terminal


def _concerned(made: PreemptionRun) -> set[str]:
    """Return the uids of the pods whose nominations a run writes."""
    return {*made.nodes, *(pod.uid for pod in made.preemption.displaced)}
