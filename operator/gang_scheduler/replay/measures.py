"""The figures that a replay measures while virtual time passes.

An event takes time linear in queues.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gang_scheduler.replay.jobs import Job

MOST_BUCKETS: Final = 720
"""The time is divided into at most this many parts."""
FIRST_WIDTH: Final = 60
"""The length of a part at first, in seconds."""
NO_QUEUE: Final = "(none)"
Floats = NDArray[np.float64]


@dataclass(slots=True)
class Life:
    """The life of a job. Times are in seconds; None: the job did not get that far.

    `runs` are the times at which it began and stopped. `lost` is work in GPU seconds (or CPU
    seconds) that was done in vain, `domains` how many domains of the lowest layer its pods were in.
    `promised` is the first start that it was promised.
    """

    job: Job
    began: int | None = None
    ended: int | None = None
    withdrawn: bool = False
    evictions: int = 0
    failures: int = 0
    lost: float = 0
    domains: int = 0
    promised: int | None = None
    runs: list[tuple[int, int]] = field(default_factory=list)

    def wait(self, until: int) -> int:
        """Return how long it waited for its first start; if it still waits, until now."""
        end = self.ended if self.ended is not None else until
        return (self.began if self.began is not None else end) - self.job.submit


@dataclass(slots=True)
class Totals:
    """Sums over the time, in GPU seconds (or CPU seconds) unless stated otherwise.

    `idle` was free while a complete gang waited, and `unusable` is the part of it that no waiting
    gang could have used. `unfairness` is the sum of the deviation, and `jain` of Jain's index, each
    over the `contended` seconds in which requests exceeded capacity.
    """

    capacity: float = 0
    used: float = 0
    done: float = 0
    lost_to_evictions: float = 0
    lost_to_failures: float = 0
    running: float = 0
    idle: float = 0
    unusable: float = 0
    contended: float = 0
    unfairness: float = 0
    jain: float = 0
    cycles: int = 0
    wakes: int = 0


class Buckets:
    """Averages over parts of the time. The parts grow longer as time passes."""

    def __init__(self, columns: int) -> None:
        self.width = FIRST_WIDTH
        self._sums: Floats = np.zeros((MOST_BUCKETS, columns))
        self._end = 0

    def add(self, begin: int, end: int, values: Floats) -> None:
        """Add values that were valid from one time to another, in seconds since the begin."""
        while end > self.width * MOST_BUCKETS:
            half = self._sums.reshape(MOST_BUCKETS // 2, 2, -1).sum(axis=1)
            self._sums = np.concatenate([half, np.zeros_like(half)])
            self.width *= 2
        self._end = max(self._end, end)
        first, last = begin // self.width, (end - 1) // self.width
        if first == last:
            self._sums[first] += values * (end - begin)
            return
        self._sums[first] += values * ((first + 1) * self.width - begin)
        self._sums[first + 1 : last] += values * self.width
        self._sums[last] += values * (end - last * self.width)

    def averages(self) -> Floats:
        """Return the averages, a row for each part of the time that has passed."""
        number = -(-self._end // self.width)
        spans = np.full(number, float(self.width))
        if number:
            spans[-1] = self._end - (number - 1) * self.width
        averages: Floats = self._sums[:number] / spans[:, None]
        return averages


class Measures:
    """Counts running and waiting jobs. `by_gpu`: in GPUs, else in CPUs."""

    def __init__(
        self, queues: Sequence[str], nodes: Mapping[str, int], begin: int, *, by_gpu: bool
    ) -> None:
        self.begin = self.now = begin
        self.totals = Totals()
        self.lives: dict[str, Life] = {}
        self.queues = list(queues)
        self.by_gpu = by_gpu
        self.buckets = Buckets(len(queues) + 2)
        self._place = {name: place for place, name in enumerate(queues)}
        self._used = np.zeros(len(queues))
        self._waiting = np.zeros(len(queues))
        self._shapes = Counter[tuple[int, int]]()
        self._rows = {name: row for row, name in enumerate(nodes)}
        self._all = np.array(list(nodes.values()), dtype=np.int64)
        self._free = self._all.copy()
        self._down: set[int] = set()
        self.capacity = int(self._all.sum())
        self._stale = True
        self._fair = (0.0, 1.0)
        self._idle = (0.0, 0.0)

    def amount(self, job: Job) -> int:
        """Return the GPUs of a pod of a job, or its CPUs in thousandths."""
        return job.gpu if self.by_gpu else job.cpu

    def waits(self, job: Job, pods: int, *, complete: int) -> None:
        """Note that this many more pods wait, and `complete` more gangs with all of their pods."""
        each = self.amount(job)
        self._waiting[self._place[job.queue or NO_QUEUE]] += each * pods
        shape = each, job.least
        self._shapes[shape] += complete
        if not self._shapes[shape]:
            del self._shapes[shape]
        self._stale = True

    def takes(self, job: Job, node: str, sign: int) -> None:
        """Note that a pod of a job is on a node, or with a sign of -1 that it has left."""
        each = self.amount(job)
        self._used[self._place[job.queue or NO_QUEUE]] += sign * each
        self._free[self._rows[node]] -= sign * each
        self._stale = True

    @property
    def whole(self) -> int:
        """The capacity of all nodes, absent ones included."""
        return int(self._all.sum())

    def node(self, name: str, *, up: bool) -> None:
        """Note that a node has failed, or is back."""
        row = self._rows[name]
        (self._down.discard if up else self._down.add)(row)
        self.capacity += int(self._all[row]) * (1 if up else -1)
        self._stale = True

    def advance(self, now: int) -> None:
        """Let time pass without any change."""
        seconds = now - self.now
        if seconds <= 0:
            return
        if self._stale:
            self._settle()
        used, waiting = float(self._used.sum()), float(self._waiting.sum())
        totals = self.totals
        totals.capacity += self.capacity * seconds
        totals.used += used * seconds
        totals.idle += self._idle[0] * seconds
        totals.unusable += self._idle[1] * seconds
        if waiting:
            totals.contended += seconds
            totals.unfairness += self._fair[0] * seconds
            totals.jain += self._fair[1] * seconds
        begin, end = self.now - self.begin, now - self.begin
        row = np.concatenate([self._used, [waiting, self._fair[0]]])
        self.buckets.add(begin, end, row)
        self.now = now

    def _settle(self) -> None:
        self._stale = False
        self._fair = fairness(self._used, self._waiting, self.capacity)
        self._idle = 0.0, 0.0
        if self._shapes:
            free = self._free
            if self._down:
                free = free.copy()
                free[list(self._down)] = 0
            self._idle = idle(free, self._shapes)


def idle(free: NDArray[np.int64], shapes: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Return how many GPUs are free, and how many of these no waiting gang could use.

    `shapes` are the GPUs of a pod and the pods of each waiting gang. A gang could use GPUs if all
    its pods find a place. Quotas and other resources are not considered.
    """
    positive = np.maximum(free, 0)
    least = {each: pods for each, pods in sorted(shapes, reverse=True) if each}
    usable = 0
    for each, pods in least.items():
        places = int((positive // each).sum())
        if places >= pods:
            usable = max(usable, places * each)
    whole = float(positive.sum())
    return whole, whole - usable


def fairness(used: Floats, waiting: Floats, capacity: float) -> tuple[float, float]:
    """Return how far queues are from their fair shares, relative to the whole, and Jain's index.

    Shares are equal, but no queue's share exceeds its requests (max-min). The deviation is half of
    the sum over queues, so it is the part of the cluster that the wrong queues use.
    """
    demand = used + waiting
    asks = demand > 0
    if not asks.any() or capacity <= 0:
        return 0.0, 1.0
    fair = max_min(demand[asks], min(capacity, float(demand.sum())))
    has = used[asks]
    deviation = float(np.abs(has - fair).sum()) / 2 / capacity
    parts = has / fair
    square = float((parts * parts).sum())
    jain = float(parts.sum()) ** 2 / (len(parts) * square) if square else 1.0
    return deviation, jain


def max_min(demand: Floats, capacity: float) -> Floats:
    """Return max-min fair shares of a capacity: equal, but none larger than its demand."""
    order = np.argsort(demand, kind="stable")
    shares = np.zeros(len(demand))
    left = capacity
    for done, place in enumerate(order):
        shares[place] = min(float(demand[place]), left / (len(demand) - done))
        left -= shares[place]
    return shares


# Figures of many jobs.


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return how many values there are, their mean, and some quantiles (nearest rank)."""
    if not values:
        return {"jobs": 0, "mean": 0, "p50": 0, "p90": 0, "p99": 0, "max": 0}
    ordered = sorted(values)
    return {
        "jobs": len(ordered),
        "mean": round(sum(ordered) / len(ordered), 3),
        **{f"p{part}": _rounded(quantile(ordered, part / 100)) for part in (50, 90, 99)},
        "max": _rounded(ordered[-1]),
    }


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return the value below which a given part of sorted values is (nearest rank)."""
    return ordered[max(0, -(-int(part * len(ordered) * 1000) // 1000) - 1)]


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else round(value, 3)


SIZES: Final = ((1, "1"), (8, "2-8"), (64, "9-64"), (math.inf, "65+"))
NO_GPU: Final = "0"


def size_of(job: Job) -> str:
    """Return the size group of a job, by its GPUs, or by its pods if it has none."""
    if not job.gpus:
        return NO_GPU
    return next(name for most, name in SIZES if job.gpus <= most)


def grouped(lives: Iterable[Life], until: int) -> dict[str, dict[str, list[int]]]:
    """Return the waits by queue, by size and by priority."""
    found: dict[str, defaultdict[str, list[int]]] = {
        name: defaultdict(list) for name in ("queue", "size", "priority")
    }
    for life in lives:
        job, wait = life.job, life.wait(until)
        found["queue"][job.queue or NO_QUEUE].append(wait)
        found["size"][size_of(job)].append(wait)
        found["priority"][job.priority_class or str(job.priority)].append(wait)
    return {name: dict(groups) for name, groups in found.items()}
