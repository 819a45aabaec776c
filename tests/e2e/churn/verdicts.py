"""What is seen of queues under churn: evictions, nodes with too much, and what each queue has."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction

from tools.controlplane.wholeness import PodEvent

ENDED = ("Succeeded", "Failed")


def evictions(history: Sequence[PodEvent], jobs: Collection[str]) -> Counter[str]:
    """Return how often each of these Jobs, which exist, lost all of its pods at once."""
    attempts: dict[str, list[set[str]]] = defaultdict(list)
    known: set[str] = set()
    for event in history:
        if event.gang and event.gang in jobs and event.deleting and event.uid not in known:
            known.add(event.uid)
            seen = attempts[event.gang]
            # Members of one attempt have different names.
            if not seen or event.name.rpartition("-")[0] in seen[-1]:
                seen.append(set())
            seen[-1].add(event.name.rpartition("-")[0])
    return Counter({gang: len(those) for gang, those in attempts.items()})


def over_committed(history: Sequence[PodEvent], cpu: int) -> set[str]:
    """Return the nodes that ever had more pods of one CPU than they have CPUs."""
    there: dict[str, set[str]] = defaultdict(set)
    found: set[str] = set()
    for event in history:
        for pods in there.values():
            pods.discard(event.uid)
        if event.bound and event.node and event.phase not in ENDED:
            there[event.node].add(event.uid)
            if len(there[event.node]) > cpu:
                found.add(event.node)
    return found


def bound(states: Mapping[str, PodEvent]) -> Counter[str]:
    """Return how many pods with a node each gang has, without those that end or have ended.

    A pod that was evicted may stay for long, until its Job lets go of it: it holds no room.
    """
    return Counter(each.gang for each in _staying(states) if each.node and each.gang)


def living(states: Mapping[str, PodEvent]) -> Counter[str]:
    """Return how many pods each gang has, with and without a node.

    That is what queues ask for, and not what their Jobs do: after an eviction the Job controller
    waits before it makes pods again, and doubles the 10 s for each of them.
    """
    return Counter(each.gang for each in _staying(states) if each.gang)


def _staying(states: Mapping[str, PodEvent]) -> Iterator[PodEvent]:
    for each in states.values():
        if not (each.gone or each.deleting or each.phase in ENDED):
            yield each


def fair(asked: Mapping[str, int], promised: int, whole: int) -> dict[str, Fraction]:
    """Return how much each queue should have: its promise as far as it asks, and equal parts more.

    A queue that has all it asks for leaves its part to the others.
    """
    shares = {each: Fraction(min(amount, promised)) for each, amount in asked.items()}
    rest = whole - sum(shares.values(), Fraction(0))
    while rest and (short := [each for each in asked if shares[each] < asked[each]]):
        part = rest / len(short)
        for each in short:
            more: Fraction = min(part, asked[each] - shares[each])
            shares[each] += more
            rest -= more
    return shares
