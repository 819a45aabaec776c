"""The number of members of a class that each node can take, by vector operations."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.policies import CoupledFilter, OneByOne, Profile, RoomFilter
from gang_scheduler.scheduler.trial import Trial

F = TypeVar("F", bound=RoomFilter)
Offer = Callable[[PodClass, Trial], IntArray]

NODES_A_LOOK: Final = 1_000
"""Offering this many nodes to a class counts as one look; the call itself counts as one more."""
FEW_REQUIREMENTS: Final = 8
REQUIREMENTS_OF_AN_OFFER: Final = 20
"""Beyond a few, this many requirements of a node affinity double the looks of an offer."""


def offer_slots(pod_class: PodClass, trial: Trial, profile: Profile) -> IntArray:
    """Return how many more pods of a class each node could take."""
    filters = (*profile.room_filters, *profile.coupled_filters)
    return _least(
        pod_class, trial, profile, (each.slots for each in _concerned(filters, pod_class, trial))
    )


def most_slots(pod_class: PodClass, trial: Trial, profile: Profile) -> IntArray:
    """Return the most slots that each node can have, wherever other members are placed."""
    alone = (each.slots for each in _concerned(profile.room_filters, pod_class, trial))
    together = (each.most_slots for each in _concerned(profile.coupled_filters, pod_class, trial))
    return _least(pod_class, trial, profile, (*alone, *together))


def coupled(pod_class: PodClass, trial: Trial, profile: Profile) -> bool:
    """Return whether members of a class depend on each other, wherever they are."""
    if pod_class.pod_affinity is None and pod_class.storage is None and not pod_class.devices:
        return False
    return _likes_itself(pod_class, trial, profile) or bool(_coupling(pod_class, trial, profile))


def at_once(pod_class: PodClass, trial: Trial, profile: Profile) -> Caps | None:
    """Return how many members of a class may be placed at once if they depend on each other.

    None if only one may.
    """
    coupling = _coupling(pod_class, trial, profile)
    if len(coupling) != 1 or _likes_itself(pod_class, trial, profile):
        return None
    return coupling[0].at_once(pod_class, trial)


def one_by_one(
    pod_class: PodClass, trial: Trial, profile: Profile
) -> tuple[IntArray, list[OneByOne]] | None:
    """Return slots and filter states to place pods that depend on each other one by one.

    The slots tell how many pods each node could take if they did not depend on each other. The
    filter states are updated after each pod. None if a filter has to look at all nodes again after
    each pod.
    """
    coupling = _coupling(pod_class, trial, profile)
    told = [each.one_by_one(pod_class, trial) for each in coupling]
    found = [each for each in told if each is not None]
    if len(found) < len(coupling):
        return None
    filters = (*profile.room_filters, *profile.coupled_filters)
    alone = (each for each in _concerned(filters, pod_class, trial) if each not in coupling)
    return _least(pod_class, trial, profile, (each.slots for each in alone)), found


def allowed(pod_class: PodClass, trial: Trial, profile: Profile) -> IntArray:
    """Return 0 for nodes that a node filter forbids to the class, and no limit for other nodes."""

    def compute() -> IntArray:
        verdicts = [each.passes(pod_class, trial.nodes) for each in profile.node_filters]
        return np.where(np.logical_and.reduce(verdicts), UNLIMITED, 0)

    return trial.nodes.cached(("allowed", pod_class), compute)


def fit_if_empty(pod_class: PodClass, trial: Trial, profile: Profile) -> BoolArray:
    """Return the nodes that could take a pod of a class if they were empty.

    Nodes that are kept as spare are left out.
    """
    request = trial.nodes.vector(pod_class.requests)
    enough = (trial.nodes.allocatable >= request).all(axis=1)
    fits: BoolArray = np.logical_and(enough, allowed(pod_class, trial, profile))
    if trial.closed is not None:
        fits &= ~trial.closed
    offered = all(name in trial.nodes.axis for name, amount in pod_class.requests if amount > 0)
    return fits if offered else np.zeros_like(fits)


def slot_limit(trial: Trial) -> int:
    """Return a limit of slots for each node, so that sums stay within 64 bits.

    A pod that asks for nothing has 2**63-1 slots on each node.
    """
    return UNLIMITED // max(len(trial.nodes), 1)


def _coupling(pod_class: PodClass, trial: Trial, profile: Profile) -> list[CoupledFilter]:
    concerned = _concerned(profile.coupled_filters, pod_class, trial)
    return [each for each in concerned if each.coupled(pod_class, trial)]


def _likes_itself(pod_class: PodClass, trial: Trial, profile: Profile) -> bool:
    """Return whether pods of the class change the scores of nodes for the next one."""
    return any(preference.coupled(pod_class, trial) for _, preference in profile.preferences)


def _concerned(filters: Iterable[F], pod_class: PodClass, trial: Trial) -> Iterator[F]:
    return (each for each in filters if each.concerns(pod_class, trial))


def _least(
    pod_class: PodClass, trial: Trial, profile: Profile, offers: Iterable[Offer]
) -> IntArray:
    looks = 1 + len(trial.nodes) / NODES_A_LOOK
    if pod_class.affinity is not None:
        more = sum(map(len, pod_class.affinity)) - FEW_REQUIREMENTS
        looks *= 1 + max(more, 0) / REQUIREMENTS_OF_AN_OFFER
    trial.effort.count(looks)
    found = (offer(pod_class, trial) for offer in offers)
    return functools.reduce(np.minimum, found, allowed(pod_class, trial, profile))
