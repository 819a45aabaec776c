"""A preemption on its way: its steps, and how each is written until an answer settles it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from gang_scheduler import telemetry
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.retry import Backoff
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import PodRef

GIVE_UP_SECONDS = 60.0
"""Less than the two minutes after which kube-controller-manager resets a mark."""

PASSING = frozenset({Kind.UNKNOWN, Kind.THROTTLED})
"""What an answer must be for the same request to be worth another try."""
PATCHED = PASSING | {Kind.CONFLICT}
"""The same for a patch, which has no precondition that could fail for good."""
ANOTHER_LIFE = 422
"""What a patch with the uid of an earlier pod is answered: it cannot change the uid."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Step:
    """One write of a stage, and the answers that are `passing`.

    `begun` takes the uid once it may have happened; a `final` step is then finished, whatever
    becomes of the round. `needs_pod`: without the pod the round makes no sense. An `optional` step
    may fail altogether.
    """

    what: str
    pod: Pod
    request: Callable[[PodRef], Awaitable[None]]
    passing: frozenset[Kind] = PATCHED
    begun: set[str] = field(default_factory=set)
    final: bool = False
    needs_pod: bool = False
    optional: bool = False


@dataclass(slots=True, eq=False)
class PreemptionRun:
    """A preemption on its way. One that is `void` goes no further and is taken back.

    `problem` says what went wrong with it, if anything did. `marked` and `evicted` are uids.
    `submitted_at` is the event loop's time, in seconds.
    """

    preemption: Preemption
    submitted_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    earlier: tuple["PreemptionRun", ...] = ()
    void: bool = False
    problem: str = ""
    sent: bool = False
    marked: set[str] = field(default_factory=set)
    evicted: set[str] = field(default_factory=set)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        """The gangs that it makes room for, for people."""
        return ", ".join(str(gang.key) for gang in self.preemption.gangs) or "no gang"

    @property
    def nodes(self) -> dict[str, str]:
        """The nominated nodes by uid."""
        return {bind.pod.uid: bind.node for bind in self.preemption.nominations}

    @property
    def victims(self) -> set[str]:
        """The uids of the victims."""
        return {each.pod.uid for each in self.preemption.victims}

    def covers(self, other: "PreemptionRun") -> bool:
        """Tell whether all that the other one would do is being done."""
        displaced = {pod.uid for pod in self.preemption.displaced}
        return (
            not self.void
            and self.nodes == other.nodes
            and self.victims >= other.victims
            and displaced.issuperset(pod.uid for pod in other.preemption.displaced)
        )

    def fail(self, problem: str) -> None:
        """Give up, for the first reason that there is."""
        self.problem = self.problem or problem
        self.void = True


class StepWriter:
    """Writes the steps of all rounds, so many at once, while `may_write()` says that we lead."""

    def __init__(self, concurrency: int, may_write: Callable[[], bool]) -> None:
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._may_write = may_write

    async def write_all(self, current: PreemptionRun, steps: Sequence[Step]) -> None:
        """Do the steps, some at once, until one fails for good. One task a slot, not one a step."""
        remaining = iter(steps)

        async def work() -> None:
            for step in remaining:
                await self._write(current, step)

        async with asyncio.TaskGroup() as workers:
            for _ in range(min(self._concurrency, len(steps))):
                workers.create_task(work())

    async def _write(self, current: PreemptionRun, step: Step) -> None:
        """Send a request until its answer settles it, or the round is void."""
        pod = PodRef(step.pod.namespace, step.pod.name, step.pod.uid)
        clock = asyncio.get_running_loop().time
        backoff, deadline = Backoff(), clock() + GIVE_UP_SECONDS
        while not current.void or (step.final and pod.uid in step.begun):
            if not self._may_write():
                # Whoever leads now plans anew, from what is written.
                current.void = True
                return
            step.begun.add(pod.uid)
            try:
                async with self._slots:
                    await step.request(pod)
            except ApiError as error:
                telemetry.WRITES.labels(f"pod_{step.what}", error.kind.value).inc()
                if error.kind not in step.passing or clock() >= deadline:
                    self._judge(current, step, error)
                    return
                await backoff.after(error)
            else:
                telemetry.WRITES.labels(f"pod_{step.what}", "written").inc()
                return

    @staticmethod
    def _judge(current: PreemptionRun, step: Step, error: ApiError) -> None:
        """Give a round up for an answer, unless that is as good as the write."""
        gone = error.kind is Kind.GONE or error.status == ANOTHER_LIFE
        # The uid that was asked for is another pod's: no patch would be answered so.
        gone |= error.kind is Kind.CONFLICT and Kind.CONFLICT not in step.passing
        if gone and not step.needs_pod:
            return
        log.warning("preemption_write_failed", what=step.what, pod=step.pod.key, error=str(error))
        if step.final:
            # As if it had never begun: the pod stays, or is seen to leave after all.
            step.begun.discard(step.pod.uid)
        if not step.optional:
            current.fail(f"{step.what} {step.pod.key}: {error}")
