"""How many members of a class the nodes can take: every filter, in one vector operation each."""

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Trial


def offer_slots(ask: Ask, trial: Trial, profile: Profile) -> IntArray:
    """Return how many pods of a class each node could take beside what is assumed there."""
    slots = profile.room_filters[0].slots(ask, trial)
    for each in profile.room_filters[1:]:
        slots = np.minimum(slots, each.slots(ask, trial))
    allowed: IntArray = np.where(_allowed(ask, trial, profile), slots, 0)
    return allowed


def slot_limit(trial: Trial) -> int:
    """Return a bound on slots a node that keeps sums inside 64 bits.

    A pod that asks for nothing has 2**63-1 slots a node.
    """
    return int(np.iinfo(np.int64).max) // max(len(trial.nodes), 1)


def _allowed(ask: Ask, trial: Trial, profile: Profile) -> BoolArray:
    def compute() -> BoolArray:
        verdicts = [each.passes(ask, trial.nodes) for each in profile.node_filters]
        allowed: BoolArray = np.logical_and.reduce(verdicts)
        return allowed

    return trial.nodes.derive(("allowed", ask), compute)
