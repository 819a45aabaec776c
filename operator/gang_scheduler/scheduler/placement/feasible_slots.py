"""How many members of a class the nodes can take: every filter, in one vector operation each."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.policies import CoupledFilter, Profile, RoomFilter
from gang_scheduler.scheduler.trial import Trial

F = TypeVar("F", bound=RoomFilter)
Offer = Callable[[Ask, Trial], IntArray]


def offer_slots(ask: Ask, trial: Trial, profile: Profile) -> IntArray:
    """Return how many pods of a class each node could take beside what is assumed there."""
    filters = (*profile.room_filters, *profile.coupled_filters)
    return _least(ask, trial, profile, (each.slots for each in _concerned(filters, ask, trial)))


def prospects(ask: Ask, trial: Trial, profile: Profile) -> IntArray:
    """Return a bound on the slots, whichever members that the class depends on were placed."""
    alone = (each.slots for each in _concerned(profile.room_filters, ask, trial))
    together = (each.prospects for each in _concerned(profile.coupled_filters, ask, trial))
    return _least(ask, trial, profile, (*alone, *together))


def coupled(ask: Ask, trial: Trial, profile: Profile) -> bool:
    """Tell whether members of a class depend on each other, wherever they are."""
    if ask.pod_affinity is None and ask.storage is None:
        return False
    return _likes_itself(ask, trial, profile) or bool(_coupling(ask, trial, profile))


def at_once(ask: Ask, trial: Trial, profile: Profile) -> Caps | None:
    """Return how many of a coupled class may come at once; None is one in the whole cluster."""
    coupling = _coupling(ask, trial, profile)
    if len(coupling) != 1 or _likes_itself(ask, trial, profile):
        return None
    return coupling[0].at_once(ask, trial)


def fit_if_empty(ask: Ask, trial: Trial, profile: Profile) -> BoolArray:
    """Return the nodes that could take a pod of a class if nobody else were there."""
    request = trial.nodes.vector(ask.requests)
    enough = (trial.nodes.allocatable >= request).all(axis=1)
    fits: BoolArray = np.logical_and(enough, _allowed(ask, trial, profile))
    offered = all(name in trial.nodes.axis for name, amount in ask.requests if amount > 0)
    return fits if offered else np.zeros_like(fits)


def slot_limit(trial: Trial) -> int:
    """Return a bound on slots a node that keeps sums inside 64 bits.

    A pod that asks for nothing has 2**63-1 slots a node.
    """
    return UNLIMITED // max(len(trial.nodes), 1)


def _coupling(ask: Ask, trial: Trial, profile: Profile) -> list[CoupledFilter]:
    concerned = _concerned(profile.coupled_filters, ask, trial)
    return [each for each in concerned if each.coupled(ask, trial)]


def _likes_itself(ask: Ask, trial: Trial, profile: Profile) -> bool:
    """Tell whether pods of the class count when the next one prefers nodes to others."""
    return any(preference.coupled(ask, trial) for _, preference in profile.preferences)


def _concerned(filters: Iterable[F], ask: Ask, trial: Trial) -> Iterator[F]:
    return (each for each in filters if each.concerns(ask, trial))


def _least(ask: Ask, trial: Trial, profile: Profile, offers: Iterable[Offer]) -> IntArray:
    found = (offer(ask, trial) for offer in offers)
    return functools.reduce(np.minimum, found, _allowed(ask, trial, profile))


def _allowed(ask: Ask, trial: Trial, profile: Profile) -> IntArray:
    """Return 0 where a filter of nodes forbids the class, and no limit elsewhere."""

    def compute() -> IntArray:
        verdicts = [each.passes(ask, trial.nodes) for each in profile.node_filters]
        return np.where(np.logical_and.reduce(verdicts), UNLIMITED, 0)

    return trial.nodes.derive(("allowed", ask), compute)
