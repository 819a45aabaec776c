"""Carries preemptions out: nominates the members, marks all victims, and only then evicts them.

Each stage is written as a whole before the next one begins, so that nobody is evicted for a plan
that could not be carried out. Every write may come twice: after a crash between any two the plan is
made again from the objects, and what is there already is not written again. What a round leaves
behind when it is given up, it takes back itself.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from gang_scheduler import telemetry
from gang_scheduler.apply import disruption_target
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.orphaned_marks import OrphanedMarks
from gang_scheduler.apply.outcomes import EvictionBegun, Outcomes, PreemptionFailed
from gang_scheduler.apply.preemption_run import PASSING, PreemptionRun, Step, StepWriter
from gang_scheduler.client.errors import Kind
from gang_scheduler.client.port import Api
from gang_scheduler.decode.gangs import membership
from gang_scheduler.internal_errors import confined, in_short
from gang_scheduler.model.plan import Plan, Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.phases import counts_of

ROUNDS_AT_ONCE = 16
LOOK_SECONDS = 0.5


class Evictor:
    """Preempts with bounded concurrency, and only while `may_write()` says that we are the leader.

    When all victims of a preemption are marked, or when one was given up and taken back, `outcomes`
    has it.
    """

    def __init__(
        self,
        api: Api,
        cache: Cache,
        concurrency: int,
        *,
        naming: Naming,
        outcomes: Outcomes,
        use_eviction_api: bool = False,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._cache = cache
        self._writer = StepWriter(concurrency, may_write)
        self._use_eviction_api = use_eviction_api
        self._naming = naming
        self._outcomes = outcomes
        self._clock = clock
        self._queue: asyncio.Queue[PreemptionRun] = asyncio.Queue()
        self._by_member: dict[str, PreemptionRun] = {}
        self._by_victim: dict[str, PreemptionRun] = {}
        # Uids of pods that may show something else than what was written last.
        self._written: set[str] = set()
        self._unmarked: set[str] = set()
        self._orphaned_marks = OrphanedMarks(cache)

    # What the loop says.

    def is_preempting(self, preemption: Preemption) -> bool:
        """Tell whether all that a preemption would do is on its way already."""
        made = PreemptionRun(preemption)
        earlier = self._runs_of(_concerned(made))
        return bool(made.nodes) and len(earlier) == 1 and earlier[0].covers(made)

    def submit(self, preemption: Preemption) -> None:
        """Queue the writes of a preemption. Its nominations and victims are the caller's to count.

        What is on its way for the same members, or for some that are displaced, goes no further.
        """
        made = PreemptionRun(preemption)
        concerned = _concerned(made)
        made.earlier = self._runs_of(concerned)
        # One that only displaced a member has its own members to make room for.
        replaced = [each for each in made.earlier if not concerned.isdisjoint(each.nodes)]
        self._begin(made)
        for each in replaced:
            self._stop(each)

    def placed(self, uids: Iterable[str]) -> None:
        """Stop what is on its way for members that have found a place."""
        uids = set(uids)
        for each in self._runs_of(uids):
            if not self._is_over(each) and not uids.isdisjoint(each.nodes):
                self._stop(each)

    def settle_leftovers(self, plan: Plan) -> None:
        """Withdraw the marks of an earlier life that no plan of this one needs.

        Called after every cycle.
        """
        uids = self._orphaned_marks.settled(plan)
        if uids:
            self._begin(PreemptionRun(Preemption((), ()), void=True, marked=uids))

    # Work.

    async def run(self) -> None:
        """Preempt as submitted, until cancelled."""
        async with asyncio.TaskGroup() as workers:
            workers.create_task(self._watch(), name="victims")
            for number in range(ROUNDS_AT_ONCE):
                workers.create_task(self._work(), name=f"evictor {number}")

    async def drain(self) -> None:
        """Return when all writes of what was submitted are done."""
        await self._queue.join()

    async def _work(self) -> None:
        while True:
            current = await self._queue.get()
            # They were taken from the queue before this one, so they do stop.
            for each in current.earlier:
                await each.stopped.wait()
            current.earlier = ()
            with confined("preempt", current.name) as step:
                await self._carry_out(current)
            if step.error is not None:
                current.fail(in_short(step.error))
                with confined("take back", current.name):
                    await self._take_back(current)
            current.stopped.set()
            self._queue.task_done()

    async def _carry_out(self, current: PreemptionRun) -> None:
        """Go through the stages in their order; take back what was begun if one cannot be done."""
        for stage in (
            self._nominations,
            self._clearings,
            self._dry_runs,
            self._marks,
            self._evictions,
        ):
            await self._writer.write_all(current, tuple(stage(current)))
            if current.void:
                await self._take_back(current)
                return
        current.sent = True
        self._is_over(current)

    async def _take_back(self, current: PreemptionRun) -> None:
        """Undo what no later round has made its own, save that no gang is left with too few."""
        self._stop(current)
        pods = (self._cache.pod(uid) for uid in self._owned(current))
        unbound = tuple(pod for pod in pods if pod is not None and not pod.node)
        self._cache.clear_nominations([pod.uid for pod in unbound])
        undoing = PreemptionRun(Preemption((), (), displaced=unbound))
        steps = (*self._clearings(undoing), *self._releases(current))
        await self._writer.write_all(undoing, steps)
        self._forget(current)
        if current.problem:
            telemetry.PREEMPTIONS.labels("withdrawn").inc()
            self._outcomes.put(PreemptionFailed(current.preemption, current.problem))

    async def _watch(self) -> None:
        """Note when the last victim of each round is gone."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for each in {*self._by_member.values(), *self._by_victim.values()}:
                with confined("preempt", each.name):
                    self._is_over(each)

    # Rounds.

    def _begin(self, made: PreemptionRun) -> None:
        displaced = (pod.uid for pod in made.preemption.displaced)
        self._by_member.update(dict.fromkeys((*made.nodes, *displaced), made))
        self._by_victim.update(dict.fromkeys(made.victims, made))
        # Marks of another round or life are its own to take back from now on.
        made.marked |= {pod.uid for pod in self._victims(made) if self._is_marked(pod)}
        self._queue.put_nowait(made)

    def _stop(self, current: PreemptionRun) -> None:
        """Let a round go no further: pods that it has not begun to evict are victims no more.

        Unless a later round evicts them.
        """
        current.void = True
        left = current.victims - current.evicted
        self._cache.victims.spared({uid for uid in left if self._by_victim.get(uid) is current})

    def _runs_of(self, uids: Iterable[str]) -> tuple[PreemptionRun, ...]:
        """Return the rounds that write nominations of these pods."""
        found = (self._by_member.get(uid) for uid in uids)
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def _owned(self, current: PreemptionRun) -> list[str]:
        """Return the members that no later round has taken over."""
        return [uid for uid in current.nodes if self._by_member.get(uid) is current]

    def _is_over(self, current: PreemptionRun) -> bool:
        """Tell whether all is written and every victim gone; such a round is forgotten."""
        if not current.sent:
            return False
        if not current.void and any(map(self._uses_room, current.victims)):
            return False
        self._forget(current)
        if current.victims and not current.void:
            seconds = asyncio.get_running_loop().time() - current.submitted_at
            telemetry.VICTIM_SECONDS.observe(seconds)
        return True

    def _forget(self, current: PreemptionRun) -> None:
        displaced = {pod.uid for pod in current.preemption.displaced}
        self._written -= current.nodes.keys() | displaced
        for index in (self._by_member, self._by_victim):
            for uid in (*current.nodes, *displaced, *current.victims):
                if index.get(uid) is current:
                    del index[uid]

    # The stages.

    def _nominations(self, current: PreemptionRun) -> Iterator[Step]:
        for bind in current.preemption.nominations:
            pod, node = bind.pod, bind.node
            # What a pod shows may be what we only assume, unless another life of ours wrote it.
            if pod.nominated != node or pod.uid in self._written:
                self._written.add(pod.uid)
                request = functools.partial(self._api.nominate, node=node)
                yield Step("nominate", pod, request, needs_pod=True)

    def _clearings(self, current: PreemptionRun) -> Iterator[Step]:
        clear = functools.partial(self._api.nominate, node="")
        for pod in current.preemption.displaced:
            self._written.add(pod.uid)
            yield Step("clear", pod, clear, optional=True)

    def _dry_runs(self, current: PreemptionRun) -> Iterator[Step]:
        ask = functools.partial(self._api.evict, dry_run=True)
        victims = self._victims(current) if self._use_eviction_api else ()
        return (Step("try_to_evict", pod, ask, PASSING) for pod in victims)

    def _marks(self, current: PreemptionRun) -> Iterator[Step]:
        now = int(self._clock())
        for pod in self._victims(current):
            if self._is_marked(pod):
                current.marked.add(pod.uid)
                continue
            self._unmarked.discard(pod.uid)
            made = disruption_target.mark(current.preemption, pod.namespace, self._naming, now)
            request = functools.partial(self._api.patch_pod_condition, condition=made)
            yield Step("mark", pod, request, begun=current.marked)

    def _evictions(self, current: PreemptionRun) -> Iterator[Step]:
        """Yield nothing when a member is gone: then nobody need go for it."""
        members = (bind.pod for bind in current.preemption.nominations)
        missing = next((pod for pod in members if self._is_gone(pod)), None)
        if missing is not None:
            current.fail(f"pod {missing.key} is gone")
            return
        victims = tuple(self._victims(current))
        if victims:
            telemetry.PREEMPTIONS.labels("carried_out").inc()
            telemetry.VICTIMS.inc(len(victims))
            self._outcomes.put(EvictionBegun(current.preemption))
        for pod in victims:
            yield self._eviction(pod, begun=current.evicted, final=True)

    def _eviction(self, pod: Pod, **how: Any) -> Step:  # noqa: ANN401 - fields of a Step.
        if not self._use_eviction_api:
            return Step("evict", pod, self._api.delete_pod, PASSING, **how)
        # A budget that other evictions have used up meanwhile fills again.
        return Step("evict", pod, self._api.evict, PASSING | {Kind.PROTECTED}, **how)

    def _releases(self, current: PreemptionRun) -> Iterator[Step]:
        """Let those go on who are marked and still there, but not the rest of a broken gang."""
        made = disruption_target.unmark(int(self._clock()))
        unmark = functools.partial(self._api.patch_pod_condition, condition=made)
        for uid in sorted(current.marked - current.evicted):
            pod = self._cache.pod(uid)
            claimant = self._by_victim.get(uid, current)
            claimant.marked.add(uid)
            if pod is None or not pod.living or claimant is not current:
                continue
            if self._is_of_broken_gang(pod, without=current.evicted):
                yield self._eviction(pod, optional=True)
            else:
                self._unmarked.add(uid)
                yield Step("unmark", pod, unmark, optional=True)

    def _is_of_broken_gang(self, pod: Pod, without: Collection[str]) -> bool:
        """Tell whether so many of a pod's gang are gone that it would go on for nothing."""
        info = self._cache.gang_queue.infos.get(membership.gang_of(pod))
        if info is None or pod.uid not in info.members:
            return False
        left = sum(1 for pod in info.bound() if pod.uid not in without)
        return left + counts_of(info).succeeded < info.min_member

    def _victims(self, current: PreemptionRun) -> Iterator[Pod]:
        """Yield the victims as they are now, without those that are leaving or have ended."""
        found = (self._cache.pod(each.pod.uid) for each in current.preemption.victims)
        return (pod for pod in found if pod is not None and pod.living)

    def _is_marked(self, pod: Pod) -> bool:
        """Tell whether a mark stands, as far as we know: what is seen may be older than a write."""
        return pod.marked and pod.uid not in self._unmarked

    def _uses_room(self, uid: str) -> bool:
        found = self._cache.pod(uid)
        return found is not None and not found.terminal

    def _is_gone(self, pod: Pod) -> bool:
        found = self._cache.pod(pod.uid)
        return found is None or not found.living


def _concerned(made: PreemptionRun) -> set[str]:
    """Return the uids of the pods whose nominations a round writes."""
    return {*made.nodes, *(pod.uid for pod in made.preemption.displaced)}
