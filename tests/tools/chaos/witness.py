"""What was seen of pods, on a connection of its own, and what in it must never be."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from e2e.support.gang_watcher import GangWatcher
from tools.controlplane import wholeness
from tools.controlplane.cluster import Cluster
from tools.controlplane.wholeness import PodEvent, Spell

ENDED = ("Succeeded", "Failed")
CPU = re.compile(r"-c(\d+)(?:-|$)")


@dataclass(frozen=True)
class Violation:
    """Something that must never be, and when it was seen, on the monotonic clock."""

    at: float
    words: str


class Witness(GangWatcher):
    """A watcher that knows when it saw what, also across lost connections."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace)
        self.moments: list[float] = []

    def _remember(self, event: PodEvent) -> None:
        self.moments.append(time.monotonic())
        super()._remember(event)

    def timed(self) -> list[tuple[float, PodEvent]]:
        """Return all that was seen, with the time of each."""
        record = self._record()
        return list(zip(self.moments, record, strict=False))

    def bindings(self) -> list[float]:
        """Return when pods were first seen on a node."""
        known: set[str] = set()
        found = []
        for at, event in self.timed():
            if event.node and event.uid not in known:
                known.add(event.uid)
                found.append(at)
        return found

    def spells_in_part(self, sizes: Mapping[str, int]) -> list[Spell]:
        """Return the times in which gangs were bound in part that had never been whole before."""
        found = wholeness.spells(self._record(), sizes)
        return [spell for spell in found if not spell.was_complete]

    def was_whole(self, sizes: Mapping[str, int]) -> set[str]:
        """Name the gangs that were bound whole at any time."""
        ever: dict[str, set[str]] = defaultdict(set)
        for event in self._record():
            if event.gang and event.node:
                ever[event.gang].add(event.name)
        return {name for name, size in sizes.items() if len(ever[name]) >= size}


def violations(seen: list[tuple[float, PodEvent]], node_cpu: int) -> list[Violation]:
    """Return pods on two nodes, and nodes with more on them than they have."""
    return [*_bound_twice(seen), *_over_committed(seen, node_cpu)]


def _bound_twice(seen: list[tuple[float, PodEvent]]) -> Iterator[Violation]:
    nodes: dict[str, str] = {}
    for at, event in seen:
        if event.node and nodes.setdefault(event.uid, event.node) != event.node:
            yield Violation(at, f"{event.name} is on {event.node}, and was on {nodes[event.uid]}")


def _over_committed(seen: list[tuple[float, PodEvent]], cpu: int) -> Iterator[Violation]:
    """Yield each node at the moment at which it is given more than it has."""
    there: dict[str, dict[str, int]] = defaultdict(dict)
    place: dict[str, str] = {}
    for at, event in seen:
        if (node := place.pop(event.uid, None)) is not None:
            del there[node][event.uid]
        if not event.bound or event.node is None or event.phase in ENDED:
            continue
        place[event.uid] = event.node
        there[event.node][event.uid] = cpu_of(event.name)
        used = sum(there[event.node].values())
        if used > cpu and node is None:
            yield Violation(at, f"{event.node} has {used} of {cpu} CPUs with {event.name}")


def cpu_of(name: str) -> int:
    """Return what a pod of the workload asks for: it is in its name."""
    found = CPU.search(name)
    assert found, name
    return int(found[1])
