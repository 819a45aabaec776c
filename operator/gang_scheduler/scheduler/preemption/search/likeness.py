"""Domains that are alike in all that counts: the first one stands for all."""

from collections.abc import Hashable, Iterable

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.potential_victims import PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import Preemptor
from gang_scheduler.scheduler.preemption.search.candidates import Candidate

Traits = tuple[object, ...]
"""What counts of one pod: what it uses, and what its gang costs."""


def likeness_of(
    candidate: Candidate, preemptor: Preemptor, potential: PotentialVictims
) -> Hashable | None:
    """Return a key that only domains share that are alike, node by node in some order.

    None if anything but resources counts, or gangs are elastic. Domains that are alike may get
    different keys: of pods with equal traits the order of names decides which gangs correspond.
    """
    places = np.flatnonzero(potential.on_nodes(candidate.rows))
    if candidate.place is None or not preemptor.is_plain or potential.elastic[places].any():
        return None
    there: dict[int, list[tuple[Traits, BoundPod]]] = {
        row: [] for row in np.flatnonzero(candidate.rows).tolist()
    }
    for place in places.tolist():
        each = potential.bound_pods[place]
        there[int(potential.rows[place])].append((_traits(each, potential), each))
    nodes = []
    for row, held in there.items():
        room = preemptor.trial.free[row].tobytes(), preemptor.open_to[:, row].tobytes()
        held.sort(key=lambda each: each[0] if potential.judge is None else str(each[0]))
        nodes.append(((room, tuple(traits for traits, _ in held)), [t.gang for _, t in held]))
    nodes.sort(key=lambda each: each[0] if potential.judge is None else (each[0][0], str(each[0])))
    gangs = _numbered(gang for _, some in nodes for gang in some)
    return tuple(traits for traits, _ in nodes), gangs


def _traits(bound_pod: BoundPod, potential: PotentialVictims) -> Traits:
    whole = potential.costs.unit_of(bound_pod)
    cost = whole.going, whole.highest_priority, whole.unprotected, whole.lost_work
    guards = tuple(sorted(whole.covered.items())), whole.overlapping
    traits = bound_pod.pod.pod_class.requests, len(whole), cost, guards
    judge = potential.judge
    return traits if judge is None else (*traits, *judge.traits(whole))


def _numbered(gangs: Iterable[GangKey]) -> tuple[int, ...]:
    """Return gangs by number, in the order in which they come."""
    numbers: dict[GangKey, int] = {}
    return tuple(numbers.setdefault(each, len(numbers)) for each in gangs)
