"""Several classes on few nodes: the way to pack them that greedy packing missed."""

from collections.abc import Mapping

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.placement import exact
from gang_scheduler.scheduler.placement.offers import offer_slots
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Share, Trial


def take(
    sizes: Mapping[Ask, int], rows: IntArray, at_least: int, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for `at_least` members on these nodes, so many of each class at the most.

    None where that cannot be, or is too large to be searched. What requests allow is searched
    exactly, and what is found is held against every filter.
    """
    counts = tuple(sizes.values())
    if not exact.small(len(rows), counts):
        return None
    found = exact.pack(
        counts,
        np.array([offer_slots(ask, trial, profile)[rows] for ask in sizes]),
        np.array([trial.nodes.vector(ask.requests) for ask in sizes]),
        trial.free[rows],
        at_least,
    )
    if found is None:
        return None
    columns = np.array(found, dtype=np.int64).T
    return _taken(dict(zip(sizes, columns, strict=True)), rows, trial, profile)


def _taken(
    columns: Mapping[Ask, IntArray], rows: IntArray, trial: Trial, profile: Profile
) -> list[Share] | None:
    shares = []
    with trial.all_or_nothing() as attempt:
        for ask, counts in columns.items():
            if (counts > offer_slots(ask, trial, profile)[rows]).any():
                return None
            share = Share(ask, rows[counts > 0], counts[counts > 0])
            trial.take(share)
            shares.append(share)
        attempt.keep()
    return shares
