"""Several classes on few nodes: a way to pack them that greedy packing missed."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import exact_packing
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial

MOST_SELECTIONS: Final = 64
"""How many choices of members are tried, where not all members need a place."""


def assume_arranged(
    sizes: Mapping[PodClass, int], rows: IntArray, at_least: int, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for `at_least` members on these nodes, at most `sizes` of each class.

    None if there is no way, or the case is too large to search. Requests and host ports are
    searched exactly, and the result is held against every filter. The shares are in the order of
    classes.
    """
    counts = tuple(sizes.values())
    if not exact_packing.small(len(rows), counts):
        return None
    requests = np.array([trial.nodes.vector(pod_class.requests) for pod_class in sizes])
    for chosen in _selections(counts, at_least, requests, trial.free[rows]):
        found = _packed(dict(zip(sizes, chosen, strict=True)), rows, trial, profile)
        if found is not None:
            return found
        if not trial.effort.may_go_on():
            return None
    return None


def _selections(
    counts: Sequence[int], at_least: int, requests: IntArray, free: IntArray
) -> Iterator[tuple[int, ...]]:
    """Yield how many of each class may be chosen, the smallest requests in all first."""
    if at_least == sum(counts):
        yield tuple(counts)
        return
    parts = (requests / free.clip(min=0).sum(axis=0).clip(min=1)).max(axis=1)
    smallest_first = np.argsort(parts, kind="stable").tolist()
    chosen = choices([counts[each] for each in smallest_first], at_least)
    for ordered in itertools.islice(chosen, MOST_SELECTIONS):
        found = [0] * len(counts)
        for each, number in zip(smallest_first, ordered, strict=True):
            found[each] = number
        yield tuple(found)


def choices(counts: Sequence[int], number: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to choose `number` members of classes, most of the first classes first."""
    if not counts:
        if not number:
            yield ()
        return
    least = max(0, number - sum(counts[1:]))
    for first in range(min(counts[0], number), least - 1, -1):
        for others in choices(counts[1:], number - first):
            yield (first, *others)


def _packed(
    chosen: Mapping[PodClass, int], rows: IntArray, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for exactly the chosen numbers."""
    some = {pod_class: number for pod_class, number in chosen.items() if number}
    requests, ports = (
        [trial.nodes.vector(pod_class.requests) for pod_class in some],
        _shared_ports(some),
    )
    found = exact_packing.pack(
        tuple(some.values()),
        np.array([offer_slots(pod_class, trial, profile)[rows] for pod_class in some]),
        np.hstack([requests, ports]),
        np.hstack([trial.free[rows], np.ones((len(rows), ports.shape[1]), dtype=np.int64)]),
        trial.effort,
    )
    if found is None:
        return None
    columns = dict(zip(some, np.array(found, dtype=np.int64).T, strict=True))
    none = np.zeros(len(rows), dtype=np.int64)
    return _taken(
        {pod_class: columns.get(pod_class, none) for pod_class in chosen}, rows, trial, profile
    )


def _shared_ports(pod_classes: Collection[PodClass]) -> IntArray:
    """Return the host ports that several classes ask for, classes by ports.

    A port counts as a resource of which each node has one. Where a port is taken already, a class
    that asks for it has no slots.
    """
    numbers = Counter(port for pod_class in pod_classes for port in pod_class.host_ports)
    shared = [port for port, number in numbers.items() if number > 1]
    asked = [[int(port in pod_class.host_ports) for port in shared] for pod_class in pod_classes]
    return np.array(asked, dtype=np.int64).reshape(len(pod_classes), len(shared))


def _taken(
    columns: Mapping[PodClass, IntArray], rows: IntArray, trial: Trial, profile: Profile
) -> list[Share] | None:
    shares = []
    with trial.all_or_nothing() as attempt:
        for pod_class, counts in columns.items():
            if (counts > offer_slots(pod_class, trial, profile)[rows]).any():
                return None
            share = Share(pod_class, rows[counts > 0], counts[counts > 0])
            trial.assume(share)
            shares.append(share)
        attempt.commit()
    return shares
