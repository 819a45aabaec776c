"""Carries out preemptions: nominate the members, mark all victims, and only then evict them.

Gangs that want to save their work do so before any pod is marked. Each stage is written completely
before the next begins, so no pod is evicted for a plan that cannot be carried out. Every write may
happen twice. After a crash between two writes, the plan is made again from the objects, and
existing writes are skipped. A run that is given up takes its own writes back.
"""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from typing import Any

import anyio
from anyio.abc import TaskGroup

from gang_scheduler.apply import disruption_target
from gang_scheduler.apply.checkpoints import Saving
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.grace_periods import GracePeriods
from gang_scheduler.apply.orphaned_marks import OrphanedMarks
from gang_scheduler.apply.outcomes import EvictionBegun, Outcomes, PreemptionFailed, VictimsGone
from gang_scheduler.apply.preemption_run import PreemptionRun, Step, StepWriter
from gang_scheduler.apply.workloads import whole_workloads
from gang_scheduler.apply.workloads.replicas import Shrinking
from gang_scheduler.apply.workloads.whole_workloads import ManagedPods, Suspend, WholeWorkloads
from gang_scheduler.client.errors import Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import UNSURE, Writes
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.causes.gangs import InternalError, MemberGone
from gang_scheduler.model.plan import Plan, Preemption
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.round_robin import Slots
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry.logger import Logger

# The steps that each stage of a preemption still has to write at this moment.


class Stages:
    """Makes the steps of each stage from the objects in the cache, and from earlier writes.

    A write that is already on an object is not repeated: after a crash, or in a later run for the
    same pods, only missing writes are made.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        *,
        naming: Naming,
        outcomes: Outcomes,
        grace_periods: GracePeriods,
        use_eviction_api: bool,
        managed: ManagedPods,
        suspend: Suspend,
        shrinking: Shrinking | None,
        clock: Callable[[], float],
    ) -> None:
        self._api = api
        self._cache = cache
        self._shrinking = shrinking
        self._naming = naming
        self._outcomes = outcomes
        self._grace_periods = grace_periods
        self._use_eviction_api = use_eviction_api
        self._whole_workloads = WholeWorkloads(managed, suspend, self._eviction)
        self._clock = clock
        # Uids of pods whose nominations in the cache may differ from the last write.
        self._written: set[str] = set()
        self._unmarked: set[str] = set()

    def forget(self, uids: Iterable[str]) -> None:
        """Forget written nominations that are in the cache now.

        Also forget that marks were removed from pods which are gone.
        """
        self._written.difference_update(uids)
        self._unmarked = {uid for uid in self._unmarked if self._cache.pod(uid) is not None}

    def may_wait(self, current: PreemptionRun) -> bool:
        """Return whether a controller is given time to end victims before they are deleted."""
        keys = {each.gang for each in current.preemption.victims}
        return self._shrinking is not None and self._shrinking.concerns(keys)

    def nominations(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the steps that reserve the room of the members."""
        for bind in current.preemption.nominations:
            pod, node = bind.pod, bind.node
            if pod.virtual:
                continue  # Its pod does not exist yet, so its room is kept only in the state.
            # The nomination in the cache is from the API server, unless this process wrote one.
            if pod.nominated != node or pod.uid in self._written:
                self._written.add(pod.uid)
                request = functools.partial(self._api.nominate, node=node)
                yield Step("nominate", pod, request, needs_pod=True)

    def clearings(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the steps that take back the nominations of displaced pods."""
        clear = functools.partial(self._api.nominate, node="")
        for pod in current.preemption.displaced:
            if pod.virtual:
                continue
            self._written.add(pod.uid)
            yield Step("clear", pod, clear, optional=True)

    def dry_runs(self, current: PreemptionRun) -> Iterator[Step]:
        """Return dry runs of the evictions; none if PodDisruptionBudgets do not count."""
        ask = functools.partial(self._api.evict, dry_run=True)
        victims = self.victims(current) if self._use_eviction_api else ()
        return (Step("try_to_evict", pod, ask, UNSURE) for pod in victims)

    def marks(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the steps that mark the victims."""
        now = int(self._clock())
        for pod in self.victims(current):
            if self.is_marked(pod):
                current.marked.add(pod.uid)
                continue
            self._unmarked.discard(pod.uid)
            made = disruption_target.mark(current.preemption, pod.namespace, self._naming, now)
            # The cache may be behind: a victim that leaves or has ended gives its room anyway.
            request = functools.partial(
                self._api.patch_pod_condition, condition=made, if_alive=pod.living
            )
            yield Step("mark", pod, request, begun=current.marked, gone=current.left)

    def evictions(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield the evictions; none if a member is gone, since its room is no longer needed."""
        members = (bind.pod for bind in current.preemption.nominations)
        missing = next((pod for pod in members if self._is_gone(pod)), None)
        if missing is not None:
            current.fail(MemberGone(missing.key))
            return
        victims = tuple(self.victims(current))
        if victims:
            self._outcomes.put(EvictionBegun(current.preemption, len(victims)))
        # Uids of victims that end with their suspended or smaller workload, without a deletion.
        ended: set[str] = set()
        for step in self._whole_workloads.suspensions(victims, current.evicted):
            ended |= {step.pod.uid, *step.also_ended}
            yield step
        left = [pod for pod in victims if pod.uid not in ended]
        if self._shrinking is not None:
            for step in self._shrinking.steps(left, current.evicted, self._eviction):
                ended |= {step.pod.uid, *step.also_ended}
                yield step
        for pod in left:
            if pod.uid not in ended:
                yield self._eviction(pod, begun=current.evicted, final=True)

    def _eviction(self, pod: Pod, **how: Any) -> Step:  # noqa: ANN401 - fields of a Step.
        by_budgets, grace_seconds = self._use_eviction_api, self._grace_periods.of(pod)
        evict = self._api.evict if by_budgets else self._api.delete_pod
        request = functools.partial(evict, grace_seconds=grace_seconds)
        # If other evictions have used up a budget meanwhile, it allows evictions again later.
        passing = UNSURE | {Kind.PROTECTED} if by_budgets else UNSURE
        return Step("evict", pod, request, passing, **how)

    def releases(
        self, current: PreemptionRun, claimant_of: Callable[[str], PreemptionRun]
    ) -> Iterator[Step]:
        """Yield the steps that unmark victims, and that evict the rest of a broken gang.

        `claimant_of` returns the run whose victim a pod is now, by its uid.
        """
        made = disruption_target.unmark(int(self._clock()))
        unmark = functools.partial(self._api.patch_pod_condition, condition=made)
        for uid in sorted(current.marked - current.evicted - current.left):
            pod = self._cache.pod(uid)
            claimant = claimant_of(uid)
            claimant.marked.add(uid)
            if pod is None or not pod.living or claimant is not current:
                continue
            if self._is_of_broken_gang(pod, current):
                yield self._eviction(pod, optional=True)
            else:
                self._unmarked.add(uid)
                yield Step("unmark", pod, unmark, optional=True)

    def _is_of_broken_gang(self, pod: Pod, current: PreemptionRun) -> bool:
        """Return whether evictions have left a pod's gang below its minMember.

        Evictions of an earlier process are not known: after a restart, any cause counts except
        failed nodes.
        """
        info = self._cache.gang_queue.infos.get(pod.gang)
        if info is None or pod.uid not in info.observed.members:
            return False
        degraded = self._cache.degraded.of(pod.gang, int(self._clock()))
        victims = (each for each in current.preemption.victims if each.gang == pod.gang)
        if degraded and degraded.nodes and not any(e.pod.uid in current.evicted for e in victims):
            return False
        ended = (each for each in info.attempt.ended() if each.phase is PodPhase.SUCCEEDED)
        left = [each for each in info.observed.bound() if each.uid not in current.evicted]
        return not info.observed.has_quorum([*left, *ended])

    def victims(self, current: PreemptionRun) -> Iterator[Pod]:
        """Yield the victims as they are now, except victims that are leaving or have ended.

        A victim that was chosen because it was leaving too late counts until it leaves sooner.
        """
        for each in current.preemption.victims:
            pod = None if each.pod.uid in current.left else self._cache.pod(each.pod.uid)
            if pod is not None and (pod.living or _ends_late(each, pod)):
                yield pod

    def is_marked(self, pod: Pod) -> bool:
        """Return whether a pod is marked; the cache may not have seen a mark's removal yet."""
        return pod.marked_as_victim and pod.uid not in self._unmarked

    def _is_gone(self, pod: Pod) -> bool:
        found = self._cache.pod(pod.uid)
        return found is None or not found.living


def _ends_late(victim: BoundPod, pod: Pod) -> bool:
    """Return whether a pod that was leaving when it was chosen still leaves as late."""
    return victim.ends_late and not pod.terminal and pod.gone_by == victim.pod.gone_by


Stage = Callable[[PreemptionRun], Iterator[Step]]

ROUNDS_AT_ONCE = 16
LONGEST_TURN_SECONDS = 2.0
"""How long a run may keep others waiting: a write to a pod of users may be refused for a minute."""
LOOK_SECONDS = 0.5

log = Logger()


async def write_nothing(_: Collection[GangKey]) -> None:
    """Do nothing: only this process remembers to which gang an evicted gang yields."""


class Evictor:
    """Preempts with bounded concurrency.

    A preemption goes to `outcomes` when all its victims are marked, and when it was given up and
    taken back. Before any pod of a gang is deleted, `remember` writes to which gang it yields. If
    all `managed` pods of a workload are victims, `suspend` suspends the workload and returns
    whether that ends the pods; if not, they are deleted. `shrinking` lowers the numbers of replicas
    of workloads that lose only some of their pods.
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
        shrinking: Shrinking | None = None,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._writer = StepWriter(concurrency, writes)
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
            shrinking=shrinking,
            clock=clock,
        )
        self._remember = remember
        self._outcomes = outcomes
        self._clock = clock
        self._queue: asyncio.Queue[PreemptionRun] = asyncio.Queue()
        self._turns = Slots(ROUNDS_AT_ONCE)
        self._by_member: dict[str, PreemptionRun] = {}
        self._by_victim: dict[str, PreemptionRun] = {}
        self._orphaned_marks = OrphanedMarks(cache)

    # Called by the loop.

    def is_preempting(self, preemption: Preemption) -> bool:
        """Return whether a run already does everything that a preemption would do."""
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
        # A run that merely displaced one of these pods continues for its own members.
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
        """Stop the runs for queues that are no longer drained, if they have evicted no pod yet."""
        for each in dict.fromkeys(self._by_victim.values()):
            queue = each.preemption.drained
            if queue is not None and queue not in queues and not each.evicted:
                self._stop(each)

    def withdraw_orphaned_marks(self, plan: Plan) -> None:
        """Withdraw marks and requests to save from an earlier process that no plan needs.

        Called after every cycle.
        """
        found = self._orphaned_marks.settled(plan, int(self._clock()))
        pods = [pod for pod in found if pod.uid not in self._by_victim]
        if pods:
            marked, asked = (
                {pod.uid for pod in pods if pod.marked_as_victim},
                self._saving.requested(pods),
            )
            made = PreemptionRun(Preemption((), ()), void=True, marked=marked, asked=asked)
            self._begin(made)
            for uid in made.notified:
                self._by_victim.setdefault(uid, made)

    # Work.

    async def run(self) -> None:
        """Preempt as submitted, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, name="victims")
            while True:
                current = await self._queue.get()
                tasks.start_soon(self._carry_out_in_turn, current, tasks, name=current.name)

    async def drain(self) -> None:
        """Return when all submitted writes are done. Does not wait while gangs save their work.

        Requests to save are on the pods, so the next leader continues from there.
        """
        await self._queue.join()

    async def _carry_out_in_turn(self, current: PreemptionRun, tasks: TaskGroup) -> None:
        """Carry out a run as soon as earlier ones for the same pods have stopped.

        Namespaces take turns. A run that takes long gives its place to another one.
        """
        for each in current.earlier:
            await each.stopped.wait()
        current.earlier = ()
        if self._saving.concerns(current.preemption) or self._stages.may_wait(current):
            # It waits for gangs, and others must not wait for it.
            self._queue.task_done()
            await self._run_to_the_end(current)
            return
        async with self._turns.of(current.namespace):
            tasks.start_soon(self._run_to_the_end, current, name=current.name)
            with anyio.move_on_after(LONGEST_TURN_SECONDS):
                await current.stopped.wait()
        await current.stopped.wait()
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
        """Write the stages in order; if a stage fails, take the writes of all stages back."""
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
        """Write stages in their order; return whether the run continues, and undo it if not."""
        for stage in stages:
            await self._writer.write_all(current, tuple(stage(current)))
            if current.void:
                await self._take_back(current)
                return False
        return True

    async def _note(self, current: PreemptionRun) -> None:
        """Have `remember` write which gangs yield to the preemptor, and their checkpoints."""
        keys = set(current.requests)
        if current.preemption.classes:
            current.noted = True
            now = int(self._clock())
            keys |= self._cache.evictions.note(current.preemption, now)
        if keys:
            await self._remember(keys)

    async def _take_back(self, current: PreemptionRun) -> None:
        """Undo all writes that no later run has taken over; leave no broken gang running."""
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
        # This run takes over marks and requests of an earlier run or process; if it fails, it takes
        # them back.
        made.marked |= {
            pod.uid for pod in self._stages.victims(made) if self._stages.is_marked(pod)
        }
        made.asked |= self._saving.requested(self._stages.victims(made))
        self._queue.put_nowait(made)

    def _stop(self, current: PreemptionRun) -> None:
        """Stop a run: its pods are no longer victims.

        Exceptions are pods whose eviction has begun, and pods that a later run evicts.
        """
        current.void = True
        left = current.victims - current.evicted
        self._cache.victims.spared({uid for uid in left if self._by_victim.get(uid) is current})

    def _runs_of(self, uids: Iterable[str]) -> tuple[PreemptionRun, ...]:
        """Return the runs that write nominations of these pods."""
        found = (self._by_member.get(uid) for uid in uids)
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def _taken_back(self, victims: Iterable[str]) -> Iterator[PreemptionRun]:
        """Yield the runs that still have to take back their writes to these pods."""
        found = dict.fromkeys(self._by_victim.get(uid) for uid in victims)
        return (each for each in found if each is not None and each.void)

    def _owned(self, current: PreemptionRun) -> list[str]:
        """Return the members that no later run has taken over."""
        return [uid for uid in current.nodes if self._by_member.get(uid) is current]

    def _is_over(self, current: PreemptionRun) -> bool:
        """Return whether all steps are written and every victim is gone; forget such a run."""
        if not current.sent:
            return False
        if not current.void and any(map(self._uses_room, current.victims)):
            return False
        self._forget(current)
        if current.victims and not current.void:
            seconds = asyncio.get_running_loop().time() - current.submitted_at
            self._outcomes.put(VictimsGone(current.preemption.gangs, seconds))
        return True

    def _forget(self, current: PreemptionRun) -> None:
        displaced = {pod.uid for pod in current.preemption.displaced}
        self._stages.forget(current.nodes.keys() | displaced)
        for index in (self._by_member, self._by_victim):
            for uid in {*current.nodes, *displaced, *current.victims, *current.notified}:
                if index.get(uid) is current:
                    del index[uid]

    def _uses_room(self, uid: str) -> bool:
        found = self._cache.pod(uid)
        return found is not None and not found.terminal


def _concerned(made: PreemptionRun) -> set[str]:
    """Return the uids of the pods whose nominations a run writes."""
    return {*made.nodes, *(pod.uid for pod in made.preemption.displaced)}
