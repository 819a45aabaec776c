"""Jobs that come, run and end on a cluster as in a replay, and a record of what became of them.

This plays users and controllers, not the scheduler: it creates gangs at their times, ends each so
long after its start as it lasts, and creates the pods of an evicted gang again. It knows nothing of
a replay but its jobs and its rules.

Time passes at most `SPEED` times as fast. What a scheduler does before the next thing happens
counts as done at once, as in a replay, whatever the machine took for it.
"""

import heapq
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from e2e.support.namespaces import Namespace
from e2e.support.waiting import until
from gang_scheduler.replay.gangs import Objects
from gang_scheduler.replay.jobs import Job
from gang_scheduler.replay.run import LEAVES_SECONDS
from support.replayed_gangs import stripped
from tools.controlplane.watcher import Watcher
from tools.controlplane.wholeness import PodEvent

SPEED: Final = 20
QUIET_SECONDS: Final = 2.0
"""When nothing has changed for so long, the scheduler has done what it wants to do."""
SETTLES_SECONDS: Final = 120.0
GRACE_SECONDS: Final = 5
ENDS, COMES = range(2)
"""Kinds of what happens to a job; at one time, ends are first."""


class Did(NamedTuple):
    """What a scheduler did with a gang at a time of the replay: its pods, with their nodes."""

    at: int
    what: str
    job: str
    nodes: tuple[tuple[str, str], ...]


@dataclass
class _Gang:
    """A gang on the cluster. `lives` is how often its pods were created."""

    job: Job
    lives: int = 0
    pods: dict[str, str] = field(default_factory=dict)
    """The nodes of the pods of this life, by their uids; empty while they have none."""
    names: dict[str, str] = field(default_factory=dict)
    evicted: bool = False

    @property
    def runs(self) -> bool:
        """Whether all pods have nodes."""
        return len(self.pods) == self.job.pods and all(self.pods.values())


class PlayedJobs:
    """The jobs of a replay on a cluster, of which `watcher` sees all pods."""

    def __init__(
        self,
        namespace: Namespace,
        watcher: Watcher,
        objects: Objects,
        jobs: Iterable[Job],
        restart_delay: int,
    ) -> None:
        self.did: list[Did] = []
        self._namespace = namespace
        self._watcher = watcher
        self._objects = objects
        self._restart_delay = restart_delay
        self._gangs = {job.name: _Gang(job) for job in jobs}
        happens = [(gang.job.submit, COMES, name, 0) for name, gang in self._gangs.items()]
        self._happens: list[tuple[int, int, str, int]] = happens
        heapq.heapify(self._happens)
        self._seen = 0
        self._ended: set[str] = set()

    def run(self) -> list[Did]:
        """Play until all jobs have ended, and return what the scheduler did, in its order."""
        begun, first = time.monotonic(), self._happens[0][0]
        while self._happens:
            at, kind, name, life = heapq.heappop(self._happens)
            gang = self._gangs[name]
            if kind == ENDS and (life != gang.lives or gang.evicted):
                continue
            time.sleep(max(0.0, begun + (at - first) / SPEED - time.monotonic()))
            (self._create if kind == COMES else self._end)(gang)
            self._settle(at)
        return self.did

    def _create(self, gang: _Gang) -> None:
        """Create the pods of a gang. No two gangs are of the same second."""
        self._namespace.wait_for_the_next_second()
        job = gang.job
        if not gang.lives:
            group = self._objects.group(job)
            assert group is not None
            self._namespace.create(stripped(group))
        gang.lives, gang.evicted = gang.lives + 1, False
        gang.pods.clear()
        pods = (self._objects.pod(job, number, 0) for number in range(job.pods))
        self._namespace.create(*(stripped(pod, GRACE_SECONDS) for pod in pods))

    def _end(self, gang: _Gang) -> None:
        self._ended |= gang.pods.keys()
        self._namespace.delete_gangs(gang.job.name)

    def _settle(self, at: int) -> None:
        """Take in what the scheduler does after something happened at a time."""
        until(self._is_quiet, SETTLES_SECONDS)
        history = list(self._watcher.history)
        gone = False
        for event in history[self._seen :]:
            gang = self._gangs[str(event.gang)]
            if event.uid in self._ended:
                continue
            if event.gone:
                gone = True
            self._take(gang, event, at + LEAVES_SECONDS if gone else at)
        self._seen = len(history)
        left = {str(event.gang) for event in self._watcher.states.values()}
        for name, gang in self._gangs.items():
            if gang.evicted and name not in left and gang.pods:
                gang.pods.clear()
                again = at + LEAVES_SECONDS + self._restart_delay
                heapq.heappush(self._happens, (again, COMES, name, gang.lives))

    def _take(self, gang: _Gang, event: PodEvent, at: int) -> None:
        """Take in a change of a pod that its scheduler has made."""
        gang.names[event.uid] = event.name
        if event.deleting or event.gone:
            if not gang.evicted:
                gang.evicted = True
                self._note(at, "evicted", gang)
            return
        had = gang.runs
        gang.pods[event.uid] = event.node or ""
        if gang.runs and not had:
            self._note(at, "placed", gang)
            end = at + (gang.job.duration or 0)
            heapq.heappush(self._happens, (end, ENDS, gang.job.name, gang.lives))

    def _note(self, at: int, what: str, gang: _Gang) -> None:
        nodes = sorted((gang.names[uid], node) for uid, node in gang.pods.items())
        self.did.append(Did(at, what, gang.job.name, tuple(nodes)))

    def _is_quiet(self) -> bool:
        """Return whether nothing changes, and no gang is on its way to run or to be gone."""
        before = len(self._watcher.history)
        if any(_is_under_way(event) for event in self._watcher.states.values()):
            return False
        time.sleep(QUIET_SECONDS)
        return before == len(self._watcher.history)


def _is_under_way(event: PodEvent) -> bool:
    return event.deleting or (event.node is not None and event.phase != "Running")
