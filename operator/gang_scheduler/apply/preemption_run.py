"""A preemption under way: its steps, and the writing of each until an answer settles it."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio

from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.writing import GIVE_UP_SECONDS, RACED, Writes
from gang_scheduler.model.causes.gangs import StepFailed
from gang_scheduler.model.checkpoints import Request
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.round_robin import Slots
from gang_scheduler.telemetry.logger import Logger

ANOTHER_LIFE = 422
"""The status of a patch with the uid of an earlier pod: no patch can change a uid."""

log = Logger()


@dataclass(frozen=True, slots=True)
class Step:
    """One write of a stage.

    An answer of a kind in `passing` lets the write be repeated. Before the first request, `begun`
    gets the uid of the pod, and of the pods that the same write ends (`also_ended`). A `final` step
    is finished once it has begun, even if the run is stopped. `needs_pod`: the run fails if the pod
    is gone; else its uid goes to `gone`. An `optional` step may fail.
    """

    what: str
    pod: Pod
    request: Callable[[PodRef], Awaitable[None]]
    passing: frozenset[Kind] = RACED
    begun: set[str] = field(default_factory=set)
    final: bool = False
    needs_pod: bool = False
    optional: bool = False
    also_ended: frozenset[str] = frozenset()
    gone: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class PreemptionRun:
    """A preemption under way. A `void` run is stopped and taken back.

    `problem` says why it failed, if it did. `noted`: the cache knows which gangs yielded to the
    preemptor, until the run is taken back. `asked`, `marked` and `evicted` are uids of pods that
    were asked to save, marked, and deleted; `left` are those of victims that were leaving or had
    ended when they were to be marked. `requests` are the open requests to save, by gang.
    `submitted_at` is the event loop's time, in seconds.
    """

    preemption: Preemption
    submitted_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    earlier: tuple["PreemptionRun", ...] = ()
    void: bool = False
    problem: Cause | None = None
    sent: bool = False
    noted: bool = False
    requests: dict[GangKey, Request] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    marked: set[str] = field(default_factory=set)
    evicted: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        """The gangs that the run makes room for, for logs."""
        return ", ".join(str(gang.key) for gang in self.preemption.gangs) or "no gang"

    @property
    def namespace(self) -> str:
        """The namespace of the gangs that the run makes room for, or of the pods that it writes."""
        preemption = self.preemption
        gangs = (gang.key.namespace for gang in preemption.gangs)
        victims = (victim.pod.namespace for victim in preemption.victims)
        displaced = (pod.namespace for pod in preemption.displaced)
        return next(itertools.chain(gangs, victims, displaced), "")

    @property
    def nodes(self) -> dict[str, str]:
        """The nominated nodes by uid."""
        return {bind.pod.uid: bind.node for bind in self.preemption.nominations}

    @property
    def victims(self) -> set[str]:
        """The uids of the victims."""
        return {each.pod.uid for each in self.preemption.victims}

    @property
    def notified(self) -> set[str]:
        """The uids of the pods that were asked to save, or marked."""
        return self.asked | self.marked

    def covers(self, other: "PreemptionRun") -> bool:
        """Return whether this run does everything that the other one would do."""
        displaced = {pod.uid for pod in self.preemption.displaced}
        return (
            not self.void
            and self.nodes == other.nodes
            and self.victims >= other.victims
            and displaced.issuperset(pod.uid for pod in other.preemption.displaced)
        )

    def fail(self, problem: Cause) -> None:
        """Give up; the first problem is the reason."""
        self.problem = self.problem or problem
        self.void = True


class StepWriter:
    """Writes the steps of all runs, a bounded number at once."""

    def __init__(self, concurrency: int, writes: Writes) -> None:
        self._concurrency = concurrency
        self._slots = Slots(concurrency)
        self._writes = writes

    async def write_all(self, current: PreemptionRun, steps: Sequence[Step]) -> None:
        """Write the steps, some at once, until one fails for good.

        Uses one task for each slot, not for each step.
        """
        remaining = iter(steps)

        async def work() -> None:
            for step in remaining:
                await self._write(current, step)

        async with anyio.create_task_group() as workers:
            for _ in range(min(self._concurrency, len(steps))):
                workers.start_soon(work)

    async def _write(self, current: PreemptionRun, step: Step) -> None:
        """Send a request until its answer settles it, or the run is void."""
        pod = PodRef(step.pod.namespace, step.pod.name, step.pod.uid)

        async def write() -> None:
            step.begun.update((pod.uid, *step.also_ended))
            async with self._slots.of(pod.namespace):
                await step.request(pod)

        refusal = await self._writes.send(
            *(f"pod_{step.what}", write),
            passing=step.passing,
            about=pod.namespace,
            seconds=GIVE_UP_SECONDS,
            as_long_as=lambda: not current.void or (step.final and pod.uid in step.begun),
        )
        if refusal is None:
            return
        if refusal.error is None:
            # The replica that leads now plans again, starting from the writes that were made.
            current.void = True
            return
        self._judge(current, step, refusal.error)

    @staticmethod
    def _judge(current: PreemptionRun, step: Step, error: ApiError) -> None:
        """Give up a run because of an answer, unless the answer means that the write is there."""
        gone = error.kind is Kind.GONE or error.status == ANOTHER_LIFE
        # A precondition failed: the name now belongs to another pod, with another uid.
        gone |= error.kind is Kind.CONFLICT and Kind.CONFLICT not in step.passing
        if gone and not step.needs_pod:
            step.gone.add(step.pod.uid)
            return
        log.warning("preemption_write_failed", what=step.what, pod=step.pod.key, error=str(error))
        if step.final:
            # The step counts as never begun: the pod stays, or the watch shows that it leaves.
            step.begun.difference_update((step.pod.uid, *step.also_ended))
        if not step.optional:
            current.fail(StepFailed(step.what, step.pod.key, str(error)))
