"""Full nodes on which no gang can be evicted alone: every gang has a pod on each of many nodes.

Pod k is on node k mod the number of nodes, so gangs overlap in stretches, and one node is free only
when all gangs of its stretch have gone. A gang that needs whole nodes should take whole stretches.
"""

import time
from collections import Counter
from dataclasses import dataclass

from e2e.support import preemption
from e2e.support.manifests import members, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.preemption import LOW
from tools import controlplane

CPUS = 16
MEMBERS = 20
TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class OverlappingGangs:
    """So many nodes that so many gangs fill, and how many whole nodes another gang needs.

    Each node has `cpus`, and each gang of the crowd so many `members` of one CPU.
    """

    nodes: int
    gangs: int
    needed: int
    cpus: int = CPUS
    members: int = MEMBERS


@dataclass(frozen=True)
class Outcome:
    """How many members of each gang went, where the preemptor is, and how long all that took."""

    gone: Counter[str]
    places: set[str]
    seconds: float


def play(namespace: Namespace, case: OverlappingGangs) -> Outcome:
    """Fill the nodes, start the operator, and create the gang that needs room."""
    fill(namespace, case, preemption.full_nodes(namespace.cluster, case.nodes, case.cpus))
    with controlplane.Scheduler(namespace.cluster), namespace.watch() as watcher:
        begun = time.monotonic()
        namespace.create(*preemption.high("a", case.needed, cpu=case.cpus))
        watcher.wait_until(lambda seen: len(seen.bound("a")) == case.needed, TIMEOUT_SECONDS)
        seconds = time.monotonic() - begun
        gone = Counter(event.gang or "" for event in watcher.history if event.gone)
        return Outcome(gone, set(watcher.bound("a").values()), seconds)


def fill(namespace: Namespace, case: OverlappingGangs, nodes: list[str]) -> None:
    """Create the crowd on these nodes."""
    groups = [_name(number) for number in range(case.gangs)]
    namespace.create(*(pod_group(name, case.members) for name in groups))
    pods = (each for name in groups for each in members(name, case.members, priorityClassName=LOW))
    namespace.create(
        *(
            preemption.running_on(nodes[number % len(nodes)], each)
            for number, each in enumerate(pods)
        )
    )


def _name(number: int) -> str:
    return f"crowd-{number:03}"
