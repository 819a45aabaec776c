"""The baseline: a scheduler that knows pods and no gangs, like kube-scheduler without plugins.

Each pod gets the fullest node that it fits, in the order of priority and age. If only some pods of
a gang have nodes, they keep them and wait for the others. After `GIVES_UP_SECONDS` they end, as
pods of torchrun do when their peers do not come, and their Job creates them again. There are no
queues, and nothing is evicted.
"""

import bisect
import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.resources import CPU, MEMORY, PODS
from gang_scheduler.replay.jobs import Job
from gang_scheduler.replay.run import Decided, Evicted, Placed
from gang_scheduler.replay.scenarios import GPU_TYPE

GIVES_UP_SECONDS: Final = 1800
Asked = tuple[int, int, int, str]
Entry = tuple[int, int, int, str]
"""A job with waiting pods: its negated priority, its age, a number, and its key."""


class PodByPod:
    """Places one pod after another."""

    def __init__(self, nodes: Sequence[Node], gpu: str, gpu_types: Mapping[str, str]) -> None:
        self._names = [node.name for node in nodes]
        self._rows = {name: row for row, name in enumerate(self._names)}
        amounts = [dict(node.allocatable) for node in nodes]
        columns = (gpu, CPU, MEMORY, PODS)
        self._free = np.array(
            [[each.get(name, 0) for name in columns] for each in amounts], dtype=np.int64
        ).reshape(len(nodes), len(columns))
        self._up = np.ones(len(nodes), dtype=bool)
        self._of_type = {
            name: np.array([node.labels.get(GPU_TYPE) == label for node in nodes], dtype=bool)
            for name, label in gpu_types.items()
        }
        self._line: list[Entry] = []
        self._entries: dict[str, Entry] = {}
        self._waiting: dict[str, list[int]] = {}
        self._placed: dict[str, dict[int, int]] = {}
        self._jobs: dict[str, Job] = {}
        self._gives_up: list[tuple[int, str, int]] = []
        self._holds: dict[str, int] = {}
        self._number = 0
        self._changed = False

    def come(self, job: Job, numbers: Sequence[int], now: int, life: int) -> None:  # noqa: ARG002 - the life of a pod is in no decision.
        """Put pods at the end of the line for their priority."""
        self._number += 1
        entry = self._entries.pop(job.key, None)
        if entry is not None:
            self._line.pop(bisect.bisect_left(self._line, entry))
        entry = (-job.priority, now, self._number, job.key)
        self._entries[job.key] = entry
        bisect.insort(self._line, entry)
        self._jobs[job.key] = job
        self._waiting.setdefault(job.key, []).extend(numbers)
        self._placed.setdefault(job.key, {})
        self._changed = True

    def go(self, job: Job, numbers: Iterable[int]) -> None:
        """Free the nodes of pods."""
        placed, waiting = self._placed[job.key], self._waiting[job.key]
        asked = _amounts(job)
        gone = set(numbers)
        for number in gone & placed.keys():
            self._free[placed.pop(number)] += asked
        waiting[:] = [number for number in waiting if number not in gone]
        if not placed:
            self._holds.pop(job.key, None)
        self._changed = True

    def forget(self, job: Job) -> None:
        """Forget a job."""
        entry = self._entries.pop(job.key, None)
        if entry is not None:
            self._line.pop(bisect.bisect_left(self._line, entry))
        for known in (self._jobs, self._waiting, self._placed, self._holds):
            known.pop(job.key, None)

    def node(self, name: str, *, up: bool, is_open: bool = True) -> None:
        """Note whether a node takes pods."""
        self._up[self._rows[name]] = up and is_open
        self._changed = True

    def cycle(self, now: int) -> Decided:
        """Place the pods that fit; gangs that have held nodes for too long give up."""
        decided = Decided()
        if self._changed:
            self._changed = False
            full: set[Asked] = set()
            for entry in list(self._line):
                self._place(self._jobs[entry[-1]], now, full, decided)
        while self._gives_up and self._gives_up[0][0] <= now:
            moment, key, _ = heapq.heappop(self._gives_up)
            if self._holds.get(key) == moment:
                del self._holds[key]
                decided.evicted.append(Evicted(key, sorted(self._placed[key])))
        return decided

    def next_wake(self, _: int) -> int | None:
        """Return when the next gang will give up."""
        while self._gives_up and self._holds.get(self._gives_up[0][1]) != self._gives_up[0][0]:
            heapq.heappop(self._gives_up)
        return self._gives_up[0][0] if self._gives_up else None

    def _place(self, job: Job, now: int, full: set[Asked], decided: Decided) -> None:
        """Place as many of a job's pods as fit; note requests for which no node has room."""
        shape = (job.gpu, job.cpu, job.memory, job.gpu_type.lower())
        waiting, found = self._waiting[job.key], dict[int, str]()
        asked = _amounts(job)
        while waiting and shape not in full:
            row = self._best(asked, shape[-1])
            if row is None:
                full.add(shape)
                break
            number = waiting.pop(0)
            self._free[row] -= asked
            self._placed[job.key][number] = row
            found[number] = self._names[row]
        if found:
            decided.placed.append(Placed(job.key, found))
        if not waiting:
            entry = self._entries.pop(job.key, None)
            if entry is not None:
                self._line.pop(bisect.bisect_left(self._line, entry))
        if len(self._placed[job.key]) >= job.least:
            self._holds.pop(job.key, None)
        elif found and job.key not in self._holds:
            self._holds[job.key] = now + GIVES_UP_SECONDS
            heapq.heappush(self._gives_up, (now + GIVES_UP_SECONDS, job.key, len(found)))

    def _best(self, asked: "np.ndarray[tuple[int], np.dtype[np.int64]]", kind: str) -> int | None:
        """Return the row of the fullest node that a pod fits; None if there is none."""
        fits = (self._free >= asked).all(axis=1) & self._up
        if kind in self._of_type:
            fits &= self._of_type[kind]
        rows = np.flatnonzero(fits)
        if not len(rows):
            return None
        left = self._free[rows]
        return int(rows[np.lexsort((left[:, 1], left[:, 0]))[0]])


def _amounts(job: Job) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array((job.gpu, job.cpu, job.memory, 1), dtype=np.int64)
