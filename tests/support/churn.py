"""A cluster in simulated time: gangs come, start when the scheduler says so, and end by themselves.

Those that are evicted are gone at once, and wait again.
Whole cycles through the cache, with a clock instead of a wait: no API server, nothing written.
"""

import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler import from_settings
from gang_scheduler.api.kinds import GVR, POD_GROUPS
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Placed, Plan, Preemption
from gang_scheduler.model.pods import PodPhase
from gang_scheduler.model.queues import Queue
from gang_scheduler.model.refs import QueueName, QueueNameKind, QueueRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Change, Changes
from support import applying, builders, cache_feeding

EPOCH: Final = 1_767_225_600
"""When it all begins; what is told of times is from then on."""
KIND: Final = GVR("py-gang-scheduler.io", "v1alpha1", "queues")


@dataclass(frozen=True)
class Job:
    """A gang of equal pods: when it comes, how long it runs, and how long it says it will.

    Times are in seconds.
    """

    name: str
    arrives: int
    pods: int
    cpu: int
    runs: int
    declared: int | None = None
    queue: str = "batch"
    priority: int = 0
    namespace: str = builders.NAMESPACE


class _Writes(applying.WritesNothing):
    """Confirms bindings at once, and notes evictions."""

    def __init__(self, churn: "Churn") -> None:
        self._churn = churn

    def bind(self, together: Sequence[Placed]) -> None:
        """Let the members run, and their gangs end in time."""
        for placed in together:
            self._churn.started(placed)

    def preempt(self, preemption: Preemption) -> None:
        """Note which gangs go, and that they yield."""
        self._churn.evicted(preemption)


class Churn:
    """The cluster, at `now`. `starts` is when each gang has started."""

    def __init__(self, given: Policy, nodes: Iterable[Node], queues: Iterable[Queue]) -> None:
        self.cache: Cache = from_settings.cache(given, Changes())
        self.cache.gang_queue.expect_nothing()
        self.now = 0
        self.starts: dict[str, int] = {}
        self.running: dict[str, Job] = {}
        self._profile = from_settings.profile(given)
        self._jobs: dict[str, Job] = {}
        self._events: list[tuple[int, int, str]] = []
        self._going: list[str] = []
        self.evictions = 0
        self._ids = itertools.count()
        for node in nodes:
            self.cache.upsert(self.cache.node_store, node)
        for queue in queues:
            named = replace(queue, uid=queue.ref.name)
            self.cache.queues.upsert(DeclaredQueue(named, KIND))
        self.cache._note(Change.QUEUES_CHANGED)

    def submit(self, job: Job) -> None:
        """Let a gang come when its time has come."""
        self._jobs[job.name] = job
        heapq.heappush(self._events, (job.arrives, next(self._ids), job.name))

    def withdraw(self, names: Iterable[str]) -> None:
        """Let gangs be gone that have not started, or never come."""
        gone = {name for name in names if name not in self.starts}
        self._events = [each for each in self._events if each[2] not in gone]
        heapq.heapify(self._events)
        for name in gone:
            self._end(self._jobs[name])

    def advance(self) -> Plan | None:
        """Go on to the next moment at which anything happens, and make a cycle; None at the end."""
        wakes = self.cache.gang_queue.next_retry()
        moments = [self._events[0][0]] if self._events else []
        if self._going:
            moments = [self.now]
        if not moments:
            return None
        for name in self._take_going():
            self._remove_pods(self.running.pop(name))
            self._come(self._jobs[name])
        if wakes is not None and self.now < wakes - EPOCH:
            moments.append(wakes - EPOCH)
        self.now = max(self.now, min(moments))
        while self._events and self._events[0][0] <= self.now:
            moment, _, name = heapq.heappop(self._events)
            if name not in self.starts:
                self._come(self._jobs[name])
            elif name in self.running and moment == self.starts[name] + self._jobs[name].runs:
                self._end(self.running.pop(name))
        plan = schedule(self.cache.snapshot(EPOCH + self.now), self._profile)
        applying.take_in(self.cache, plan, EPOCH + self.now, _Writes(self))
        return plan

    def promised(self, plan: Plan) -> dict[str, int | None]:
        """Return the starts that gangs are promised, by name."""
        starts = {each.gangs[0].key.name: each.start for each in plan.reservations}
        return {name: None if at is None else at - EPOCH for name, at in starts.items()}

    def started(self, placed: Placed) -> None:
        """Note that a gang runs from now on."""
        for bind in placed.binds:
            pod, at = bind.pod, EPOCH + self.now
            running = replace(pod, node=bind.node, phase=PodPhase.RUNNING, started_at=at)
            self.cache.upsert_pod(running)
        job = self._jobs[placed.gang.key.name]
        self.starts[job.name], self.running[job.name] = self.now, job
        heapq.heappush(self._events, (self.now + job.runs, next(self._ids), job.name))

    def evicted(self, preemption: Preemption) -> None:
        """Note gangs that go before the next cycle."""
        self.cache.evictions.note(preemption, EPOCH + self.now)
        names = {each.gang.name for each in preemption.victims}
        self._going += sorted(names)
        self.evictions += len(names)

    def _take_going(self) -> list[str]:
        going, self._going = self._going, []
        return going

    def declare(self, name: str, seconds: int) -> None:
        """Let a gang say that it runs for this long."""
        self._jobs[name] = replace(self._jobs[name], declared=seconds)
        self._describe(self._jobs[name])

    def _come(self, job: Job) -> None:
        self._describe(job)
        for number in range(job.pods):
            self.cache.upsert_pod(
                builders.pod(
                    f"{job.name}-{number}",
                    gang=job.name,
                    namespace=job.namespace,
                    cpu=job.cpu,
                    priority=job.priority,
                    created_at=EPOCH + job.arrives,
                )
            )

    def _describe(self, job: Job) -> None:
        request = QueueRequest((QueueName(QueueNameKind.QUEUE, job.queue),))
        lasts = None if job.declared is None else RunTime(expected=job.declared)
        spec = replace(
            builders.gang_spec(
                *(job.name, job.pods), namespace=job.namespace, created_at=EPOCH + job.arrives
            ),
            queue_request=request,
            run_time=lasts,
        )
        cache_feeding.upsert_gang_specs(self.cache, POD_GROUPS.group, spec.uid, [spec])

    def _remove_pods(self, job: Job) -> None:
        for number in range(job.pods):
            self.cache.delete_pod(f"uid-{job.name}-{number}")

    def _end(self, job: Job) -> None:
        self._remove_pods(job)
        cache_feeding.delete_gang_specs(self.cache, POD_GROUPS.group, f"uid-{job.name}")
