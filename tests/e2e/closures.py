"""Full nodes on which nobody can go alone: every gang has a pod on each of many nodes.

Pod k is on node k mod the number of nodes, so gangs overlap in stretches, and one node is free only
when all gangs of its stretch have gone. Whoever needs whole nodes should take whole stretches.
"""

import time
from collections import Counter
from dataclasses import dataclass

import controlplane
from e2e import preemptions
from e2e.manifests import Manifest, members, pod_group
from e2e.namespaces import Namespace
from e2e.preemptions import LOW

CPUS = 16
MEMBERS = 20
TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Closure:
    """So many nodes that so many gangs fill, and how many whole nodes another gang needs."""

    nodes: int
    gangs: int
    needed: int


@dataclass(frozen=True)
class Outcome:
    """How many members of each gang went, where the preemptor is, and how long all that took."""

    gone: Counter[str]
    places: set[str]
    seconds: float


def play(namespace: Namespace, case: Closure) -> Outcome:
    """Fill the nodes, start the operator, and create the gang that needs room."""
    names = preemptions.full_nodes(namespace.cluster, case.nodes, CPUS)
    namespace.create(*(pod_group(_name(number), MEMBERS) for number in range(case.gangs)))
    namespace.create(*_crowd(names, case.gangs))
    with controlplane.Scheduler(namespace.cluster), namespace.watch() as watcher:
        begun = time.monotonic()
        namespace.create(*preemptions.high("a", case.needed, cpu=CPUS))
        watcher.wait_until(lambda seen: len(seen.bound("a")) == case.needed, TIMEOUT_SECONDS)
        seconds = time.monotonic() - begun
        gone = Counter(event.gang or "" for event in watcher.history if event.gone)
        return Outcome(gone, set(watcher.bound("a").values()), seconds)


def _crowd(nodes: list[str], gangs: int) -> list[Manifest]:
    pods = [
        each
        for number in range(gangs)
        for each in members(_name(number), MEMBERS, priorityClassName=LOW)
    ]
    return [
        preemptions.running_on(nodes[number % len(nodes)], each) for number, each in enumerate(pods)
    ]


def _name(number: int) -> str:
    return f"crowd-{number:03}"
