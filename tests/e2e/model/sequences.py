"""One random sequence of changes, made on the API server and in the model at once.

A step is a few changes to gangs that have nothing to do with each other. After each step a pod of
its own, the fence, is created: when it is bound, the scheduler has had a cycle since the changes,
and what it binds then must be what the model binds.
"""

import random
import time
from contextlib import ExitStack

from e2e.model import manifests
from e2e.model.changes import Changes
from e2e.model.rules import Name, World
from e2e.model.writes import NOW, Writes, path_of
from tools import controlplane
from tools.controlplane import access, nodes

AMPLE = 100
TIGHT = (3, 8)
SETTLE_SECONDS = 20.0
QUIET_SECONDS = 1.0
POLL_SECONDS = 0.02
FENCE = {"e2e": "fence"}


class MismatchError(AssertionError):
    """The scheduler and the model differ."""


class RandomSequence:
    """Everything of one seed."""

    def __init__(self, cluster: controlplane.Cluster, seed: int) -> None:
        self.seed = seed
        self.story: list[str] = []
        self._cluster = cluster
        self._dice = random.Random(seed)  # noqa: S311 - repeatable is the point.
        self._tight = self._dice.random() < 0.4
        slots = self._dice.randint(*TIGHT) if self._tight else AMPLE
        self.world = World(slots)
        two = not self._tight and self._dice.random() < 0.5
        self.namespaces = [f"s{seed}", *([f"s{seed}-b"] if two else [])]
        self._node = {"e2e": f"s{seed}"}

    def run(self, steps: int) -> None:
        """Run the sequence. Raises MismatchError with the whole story."""
        with ExitStack() as stack:
            self._client = stack.enter_context(access.Client(self._cluster.access))
            self._writes = Writes(self._client, self._node)
            self._changes = Changes(
                *(self._dice, self.world, self.namespaces, self._writes), tight=self._tight
            )
            self._prepare()
            watchers = {
                each: stack.enter_context(controlplane.Watcher(self._cluster, each))
                for each in self.namespaces
            }
            self._watchers = watchers
            try:
                for _ in range(steps):
                    self._step()
                self._stays()
                self._never_was_in_part()
            except Exception as error:
                raise MismatchError(self._told(error)) from error
            finally:
                self._clean_up()

    # Steps.

    def _step(self) -> None:
        for made in self._changes.step():
            self.story.append(made)
        self._settles()

    def _settles(self) -> None:
        self.world.settle()
        self._fence()
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.world.counts() != self._counts():
            if time.monotonic() > deadline:
                raise AssertionError(self._difference())
            time.sleep(POLL_SECONDS)
        self._adopt()
        self.story.append(f"  -> {_plain(self.world.counts())}")

    def _stays(self) -> None:
        time.sleep(QUIET_SECONDS)
        self._fence()
        assert self.world.counts() == self._counts(), self._difference()

    def _never_was_in_part(self) -> None:
        """Whole gangs may lose members; and a member that moves in was bound elsewhere."""
        for namespace, watcher in self._watchers.items():
            minimums = {
                label: minimum
                for (where, _, label), minimum in self._labelled().items()
                if where == namespace and f"{namespace}/{label}" not in self._changes.moved_into
            }
            found = watcher.partial_gangs(minimums)
            assert [] == [str(each) for each in found if not each.was_complete]

    def _labelled(self) -> dict[tuple[str, str, str], int]:
        keys = (key.partition("/") for key in self._writes.minimums)
        return {key: self._writes.minimums["".join(key)] for key in keys}

    def _fence(self) -> None:
        for namespace in self.namespaces:
            name = f"fence-{self._writes.number()}"
            self._writes.create(namespace, "pods", manifests.pod(name, FENCE, 0))
            watcher = self._watchers[namespace]
            deadline = time.monotonic() + SETTLE_SECONDS
            while not (found := watcher.states.get(name)) or not found.node:
                self._cluster.processes.check()
                assert time.monotonic() < deadline, f"{name} was never bound"
                time.sleep(POLL_SECONDS)

    def _counts(self) -> dict[Name, int]:
        bound = self._bound()
        counts = {
            name: sum(pod.uid in bound for pod in gang.pods)
            for name, gang in self.world.gangs.items()
        }
        return {name: count for name, count in counts.items() if count}

    def _bound(self) -> set[str]:
        return {
            event.uid
            for watcher in self._watchers.values()
            for event in watcher.states.values()
            if event.node
        }

    def _adopt(self) -> None:
        """Which of several equal members is bound is the scheduler's choice."""
        bound = self._bound()
        for gang in self.world.gangs.values():
            for pod in gang.pods:
                pod.bound = pod.uid in bound
        self.world.remember()

    def _prepare(self) -> None:
        for each in self.namespaces:
            self._client.request("POST", "/api/v1/namespaces", {"metadata": {"name": each}}).check()
        node = nodes.manifest(
            self._node["e2e"],
            {**self._node, "type": "by-hand"},
            {"cpu": str(self.world.slots), "memory": "64Gi", "pods": "110"},
        )
        self._client.request("POST", "/api/v1/nodes", node).check()

    def _clean_up(self) -> None:
        for each in self.namespaces:
            self._client.request("DELETE", path_of(each, "pods"), NOW)
            self._client.request("DELETE", f"/api/v1/namespaces/{each}")
        self._client.request("DELETE", f"/api/v1/nodes/{self._node['e2e']}")

    # Words.

    def _difference(self) -> str:
        expected, actual = _plain(self.world.counts()), _plain(self._counts())
        return f"bound members: the model has {expected}, the cluster {actual}"

    def _told(self, error: Exception) -> str:
        tight = f"{self.world.slots} slots"
        return "\n".join(
            (f"seed {self.seed}, {tight}", *self.story, f"{type(error).__name__}: {error}")
        )


def _plain(counts: dict[Name, int]) -> dict[str, int]:
    return {f"{name.namespace}/{name.name}": count for name, count in sorted(counts.items())}
