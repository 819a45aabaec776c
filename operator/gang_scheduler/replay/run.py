"""Virtual time: jobs are submitted, start when the scheduler starts them, and end by themselves.

The decisions come from `Decides`: the operator's own code (`operator_cycles`), or the baseline
(`pod_by_pod`). Each instant with events has one cycle after them.
"""

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Final, NamedTuple, Protocol

from gang_scheduler.recording.file_format import GONE, UP, NodeChange
from gang_scheduler.replay.jobs import Job
from gang_scheduler.replay.measures import Life, Measures

LEAVES_SECONDS: Final = 1
"""The seconds after which evicted pods are gone."""
QUIET_SECONDS: Final = 7200
"""When no job works and none is submitted any more, a waiting gang has this long to start."""

FIRST_LOOK_SECONDS: Final = 60
MOST_VAIN: Final = 6
"""Without events, waiting gangs are tried after a minute, then two, up to an hour."""


class Placed(NamedTuple):
    """Pods of a job, by their numbers, that got nodes."""

    job: str
    nodes: Mapping[int, str]


class Evicted(NamedTuple):
    """Pods of a job, by their numbers, that are evicted."""

    job: str
    numbers: Sequence[int]


@dataclass(slots=True)
class Decided:
    """The decisions of one cycle, in order. `promised` has the reserved starts by job key.

    `unsearched`: a search was cut off, and the same try may succeed in the next cycle.
    """

    placed: list[Placed] = field(default_factory=list)
    evicted: list[Evicted] = field(default_factory=list)
    promised: dict[str, int] = field(default_factory=dict)
    unsearched: bool = False

    @property
    def is_vain(self) -> bool:
        """Whether nothing was placed or evicted."""
        return not (self.placed or self.evicted)


class Decides(Protocol):
    """A scheduler in virtual time. Times are in seconds since the epoch."""

    def come(self, job: Job, numbers: Sequence[int], now: int, life: int) -> None:
        """Take in waiting pods of a job; `life` differs each time."""

    def go(self, job: Job, numbers: Iterable[int]) -> None:
        """Forget pods of a job."""

    def forget(self, job: Job) -> None:
        """Forget a job that no longer has pods."""

    def node(self, name: str, *, up: bool, is_open: bool = True) -> None:
        """Take in that a node has failed, or is back; one that is not open takes no more pods."""

    def cycle(self, now: int) -> Decided:
        """Decide once."""

    def next_wake(self, patient_until: int) -> int | None:
        """Return when there is something to decide even without an event; None: never.

        Before `patient_until`, return only times at which something is known to expire.
        """


class Kind(IntEnum):
    """Kinds of events, in the order in which events of one instant are handled."""

    END = auto()
    GONE = auto()
    WITHDRAWN = auto()
    NODE = auto()
    CHANGE = auto()
    """A node is in another state that was recorded."""
    SUBMIT = auto()


class Event(NamedTuple):
    """An event. `version` shows whether the end of a job is outdated."""

    time: int
    kind: Kind
    name: str
    number: int
    version: int = 0
    pods: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """The behaviour of the cluster around the scheduler. Times are in seconds.

    `failures` are the mean time between failures of a node and the time to repair it; None: nodes
    do not fail. `until` is how much time is replayed; None: to the end.
    """

    restart_delay: int = 30
    bind_latency: int = 0
    start_latency: int = 0
    failures: tuple[int, int] | None = None
    seed: int = 0
    until: int | None = None


@dataclass(slots=True)
class Progress:
    """The progress of a job.

    Work is in pod seconds; `saved` is the work left at the last checkpoint.

    `since` is the time up to which the work is counted, `began` the begin of the run.
    """

    job: Job
    life: Life
    left: float
    saved: float
    nodes: dict[int, str] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)
    since: int = 0
    began: int = 0
    lives: int = 0
    comes: int = 0
    version: int = 0

    @property
    def works(self) -> bool:
        """Whether enough pods run."""
        return len(self.nodes) >= self.job.least

    @property
    def is_complete(self) -> bool:
        """Whether a waiting gang has all the pods of a quorum."""
        return not self.works and len(self.nodes) + len(self.waiting) >= self.job.least


Watch = Callable[[int, int, int], None]
"""Called with the virtual time, the number of started jobs, and the number of waiting jobs."""


class Replay:
    """One policy, in virtual time. `complete` once everything requested was replayed."""

    def __init__(
        self,
        jobs: Sequence[Job],
        decides: Decides,
        measures: Measures,
        rules: Rules,
        *,
        domain_of: Callable[[Iterable[str]], int] = lambda _: 0,
        watch: Watch = lambda *_: None,
        nodes: Sequence[str] = (),
        changes: Sequence[NodeChange] = (),
    ) -> None:
        self.measures = measures
        self.now = measures.begin
        self.complete = False
        self.started = 0
        self.log: list[tuple[int, str, str, Mapping[int, str]]] | None = None
        """If it is a list, it collects every start and eviction, for tests."""
        self._decides = decides
        self._rules = rules
        self._domain_of = domain_of
        self._watch = watch
        self._numbers = itertools.count()
        self._events: list[Event] = []
        self._states: dict[str, Progress] = {}
        self._jobs = {job.key: job for job in jobs}
        self._waiting: set[str] = set()
        self._on: defaultdict[str, set[str]] = defaultdict(set)
        self._unfinished = self._to_come = len(jobs)
        self._working = 0
        self._stopped = False
        self._vain = 0
        self._soon = False
        self._progress_at = self.now
        self._end = None if rules.until is None else measures.begin + rules.until
        self._dice = random.Random(rules.seed)  # noqa: S311 - the same seed, the same failures.
        for job in jobs:
            self._put(job.submit, Kind.SUBMIT, job.key)
            if job.withdrawn is not None:
                self._put(job.withdrawn, Kind.WITHDRAWN, job.key)
        self._changes, self._down = changes, set[str]()
        if rules.failures is None:
            for number, change in enumerate(changes):
                if change.name in nodes:
                    at = max(self.now, change.at)
                    self._put(at, Kind.CHANGE, change.name, number)
        else:
            for name in nodes:
                self._put(self.now + self._lasts(rules.failures[0]), Kind.NODE, name)

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    def run(self) -> None:
        """Let time pass until no event is left, or until the requested end."""
        end = self._end
        while self._unfinished:
            if self._stopped:
                return
            moment, happens = self._next()
            if moment is None or (end is not None and moment > end):
                break
            if self._is_quiet and moment > self._progress_at + QUIET_SECONDS:
                break  # Nothing has started for long: the waiting jobs will not start.
            self.measures.advance(moment)
            self.now = moment
            for event in self._due():
                self._take(event)
            if self._waiting:
                self.measures.totals.cycles += 1
                self.measures.totals.wakes += not happens
                decided = self._decides.cycle(moment)
                is_vain = not happens and decided.is_vain
                self._vain = min(self._vain + 1, MOST_VAIN) if is_vain else 0
                self._soon = decided.unsearched and not self._vain
                self._apply(decided)
            self._watch(self.now, self.started, len(self._waiting))
        else:
            self.complete = True
            return
        self.complete = True
        if end is not None:
            self.measures.advance(end)
            self.now = max(self.now, end)

    def stop(self) -> None:
        """Stop before the next instant; the replay is then not complete."""
        self._stopped = True

    def close(self) -> None:
        """Count the work of jobs that have not ended. Not `complete` after an interruption."""
        for state in self._states.values():
            if state.works:
                self._count(state)
                state.life.runs.append((state.began, self.now))
            # An evicted gang that waits keeps the work that its checkpoints saved.
            if state.works or state.job.duration is not None:
                self.measures.totals.running += self._done(state) * self._each(state)

    @property
    def _is_quiet(self) -> bool:
        """Whether no job works that will end, and no new job will be submitted."""
        return not self._working and self._to_come == 0

    def _next(self) -> tuple[int | None, bool]:
        """Return the next instant, and whether there is an event at it."""
        first = self._events[0].time if self._events else None
        patient_until = 0 if self._soon else self.now + (FIRST_LOOK_SECONDS << self._vain)
        wake = self._decides.next_wake(patient_until) if self._waiting else None
        if wake is not None:
            wake = max(wake, self.now + 1)
            if first is None or wake < first:
                return wake, False
        return first, True

    def _due(self) -> Iterator[Event]:
        while self._events and self._events[0].time <= self.now:
            yield heapq.heappop(self._events)

    def _put(
        self, time: int, kind: Kind, name: str, version: int = 0, pods: Iterable[int] = ()
    ) -> None:
        event = Event(time, kind, name, next(self._numbers), version, tuple(pods))
        heapq.heappush(self._events, event)

    # Events.

    def _take(self, event: Event) -> None:
        if event.kind in (Kind.NODE, Kind.CHANGE):
            self._node(event)
            return
        state = self._states.get(event.name)
        if event.kind is Kind.SUBMIT:
            if event.pods:
                if state is not None and state.lives == event.version:
                    self._come(state, event.pods)
            else:
                self._submit(self._jobs[event.name])
        elif state is None:
            return
        elif event.kind is Kind.WITHDRAWN:
            self._finish(state, withdrawn=True)
        elif event.kind is Kind.END:
            if event.version == state.version and state.works:
                self._finish(state, withdrawn=False)
        elif event.version == state.lives:
            self._lose(state, event.pods, failed=False)

    def _submit(self, job: Job) -> None:
        life = Life(job)
        work = float("inf") if job.duration is None else float(job.pods * job.duration)
        state = Progress(job, life, work, work)
        self.measures.lives[job.key] = life
        self._states[job.key] = state
        self._to_come -= 1
        self._progress_at = self.now
        self._come(state, range(job.pods))

    def _come(self, state: Progress, numbers: Sequence[int]) -> None:
        with self._changing(state):
            state.waiting.update(numbers)
        self._decides.come(state.job, numbers, self.now, state.comes)
        state.comes += 1

    def _finish(self, state: Progress, *, withdrawn: bool) -> None:
        job, life = state.job, state.life
        self._count(state)
        self._progress_at = self.now
        if state.works:
            self._working -= job.duration is not None
            life.runs.append((state.began, self.now))
            self.measures.totals.done += self._done(state) * self._each(state)
        life.ended, life.withdrawn = self.now, withdrawn
        numbers = [*state.nodes, *state.waiting]
        with self._changing(state):
            self._off(state, list(state.nodes))
            state.waiting.clear()
        self._decides.go(job, numbers)
        self._decides.forget(job)
        del self._states[job.key]
        self._unfinished -= 1

    def _lose(self, state: Progress, numbers: Iterable[int], *, failed: bool) -> None:
        """Remove running pods: the gang keeps running if it can, otherwise it starts again."""
        gone = [number for number in numbers if number in state.nodes]
        if not gone:
            return
        job = state.job
        was_working = state.works
        self._count(state)
        goes_on = len(state.nodes) - len(gone) >= job.least
        if not goes_on:
            if was_working:
                self._stop(state, failed=failed)
            gone = [*state.nodes, *state.waiting]
        with self._changing(state):
            self._off(state, [number for number in gone if number in state.nodes])
            state.waiting.difference_update(gone)
        self._decides.go(job, gone)
        state.version += 1
        if goes_on:
            self._plan_end(state)
        else:
            state.lives += 1
        delay = max(1, self._rules.restart_delay)
        self._put(self.now + delay, Kind.SUBMIT, job.key, state.lives, sorted(gone))

    def _stop(self, state: Progress, *, failed: bool) -> None:
        """Note the work that a stopped gang loses."""
        lost = max(0.0, state.saved - state.left) * self._each(state)
        if state.job.duration is None:
            lost = self._ran(state) * self._each(state)
        life, totals = state.life, self.measures.totals
        self._working -= state.job.duration is not None
        life.lost += lost
        life.runs.append((state.began, self.now))
        if failed:
            life.failures += 1
            totals.lost_to_failures += lost
        else:
            life.evictions += 1
            totals.lost_to_evictions += lost
        state.left = state.saved

    def _ran(self, state: Progress) -> float:
        return len(state.nodes) * float(max(0, self.now - state.began))

    def _node(self, event: Event) -> None:
        if event.kind is Kind.CHANGE:
            self._change(self._changes[event.version])
            return
        mean, repair = self._rules.failures or (0, 0)
        up = event.version == 1
        self.measures.node(event.name, up=up)
        self._decides.node(event.name, up=up)
        if up:
            self._put(self.now + self._lasts(mean), Kind.NODE, event.name)
            return
        self._lose_all_on(event.name)
        self._put(self.now + self._lasts(repair), Kind.NODE, event.name, 1)

    def _change(self, change: NodeChange) -> None:
        """Let a node be in the state that was recorded."""
        up = change.state != GONE
        if up is (change.name in self._down):
            self.measures.node(change.name, up=up)
        (self._down.discard if up else self._down.add)(change.name)
        self._decides.node(change.name, up=up, is_open=change.state == UP)
        if not up:
            self._lose_all_on(change.name)

    def _lose_all_on(self, node: str) -> None:
        """Let the pods on a node be gone."""
        for key in sorted(self._on[node]):
            state = self._states[key]
            numbers = [number for number, name in state.nodes.items() if name == node]
            self._lose(state, numbers, failed=True)

    def _lasts(self, mean: float) -> int:
        return max(1, round(self._dice.expovariate(1 / mean)))

    # Decisions.

    def _apply(self, decided: Decided) -> None:
        """Carry out the decisions of a cycle."""
        for placed in decided.placed:
            self._place(self._states[placed.job], placed.nodes)
        for evicted in decided.evicted:
            state = self._states[evicted.job]
            if self.log is not None:
                where = {number: state.nodes[number] for number in evicted.numbers}
                self.log.append((self.now, "evicted", evicted.job, where))
            at = self.now + LEAVES_SECONDS
            self._put(at, Kind.GONE, evicted.job, state.lives, sorted(evicted.numbers))
        for key, start in decided.promised.items():
            life = self.measures.lives[key]
            if life.promised is None:
                life.promised = start

    def _place(self, state: Progress, nodes: Mapping[int, str]) -> None:
        self._count(state)
        worked = state.works
        with self._changing(state):
            state.waiting.difference_update(nodes)
            state.nodes.update(nodes)
            for node in nodes.values():
                self._on[node].add(state.job.key)
                self.measures.takes(state.job, node, 1)
        if self.log is not None:
            self.log.append((self.now, "placed", state.job.key, dict(nodes)))
        if not state.works:
            return
        if not worked:
            latency = self._rules.bind_latency + self._rules.start_latency
            state.began = state.since = self.now + latency
            self._working += state.job.duration is not None
            self._progress_at = self.now
            if state.life.began is None:
                state.life.began = self.now
                self.started += 1
                state.life.domains = self._domain_of(state.nodes.values())
        state.version += 1
        self._plan_end(state)

    def _plan_end(self, state: Progress) -> None:
        if state.job.duration is None:
            return
        seconds = -(-state.left // len(state.nodes))
        at = max(state.since, self.now) + max(1, int(seconds))
        self._put(at, Kind.END, state.job.key, state.version)

    def _count(self, state: Progress) -> None:
        """Count the work since the last count, and the part saved by a checkpoint."""
        if not state.works or self.now <= state.since:
            return
        number, job = len(state.nodes), state.job
        before, since = state.left, state.since
        state.left = max(0.0, before - number * (self.now - since))
        state.since = self.now
        if job.checkpoint:
            last = state.began + (self.now - state.began) // job.checkpoint * job.checkpoint
            if last > since or (last == since and last > state.began):
                state.saved = max(0.0, before - number * (last - since))

    def _done(self, state: Progress) -> float:
        """Return the work done and not lost; for a job without an end, the work of this run."""
        if state.job.duration is None:
            return self._ran(state)
        return float(state.job.pods * state.job.duration) - state.left

    def _each(self, state: Progress) -> int:
        return self.measures.amount(state.job)

    def _off(self, state: Progress, numbers: Iterable[int]) -> None:
        """Take pods from their nodes."""
        key = state.job.key
        left = [state.nodes.pop(number) for number in numbers]
        for node in left:
            self.measures.takes(state.job, node, -1)
        still = set(state.nodes.values())
        for node in set(left) - still:
            self._on[node].discard(key)
            if not self._on[node]:
                del self._on[node]

    def _changing(self, state: Progress) -> "_Changing":
        return _Changing(self, state)

    def settled(self, state: Progress, waited: int, *, was_complete: bool) -> None:
        """Note how many more pods of a job wait, and whether its gang waits as a whole."""
        complete = int(state.is_complete) - int(was_complete)
        more = len(state.waiting) - waited
        if complete or more:
            self.measures.waits(state.job, more, complete=complete)
        if state.waiting:
            self._waiting.add(state.job.key)
        else:
            self._waiting.discard(state.job.key)


class _Changing:
    """Reports changes of a job's waiting pods to the measures."""

    __slots__ = ("_complete", "_replay", "_state", "_waited")

    def __init__(self, replay: Replay, state: Progress) -> None:
        self._replay, self._state = replay, state
        self._waited, self._complete = len(state.waiting), state.is_complete

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._replay.settled(self._state, self._waited, was_complete=self._complete)
