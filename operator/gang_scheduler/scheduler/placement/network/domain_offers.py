"""Why members could not gather: what the domains offer, and what keeps the nodes from more."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gang_scheduler.model import likeness
from gang_scheduler.model.network import topology_scope
from gang_scheduler.model.network.topology import Topology
from gang_scheduler.model.network.topology_scope import CLOSE_ENOUGH
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.plan import Misfit, Offers, Unlabelled
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler import diagnosis, label_domains
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.placement.network.class_seating import (
    Area,
    ClassMembers,
    ClassSeating,
)
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial

MOST_DOMAINS: Final = 10
OF_NO_PLACE: Final = frozenset(
    {
        *("kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type"),
        *("beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type"),
    }
)
"""Labels that say what nodes are, not where."""
ELSEWHERE: Final = "node(s) were not in a domain that could hold the gang"


def explain(
    by_class: Sequence[ClassMembers], area: Area, needs: int, trial: Trial, profile: Profile
) -> Misfit:
    """Return why no domain of the area could take `needs` members. Fills the trial up."""
    if not len(area.tree.rows):
        rejections = ((ELSEWHERE, len(trial.nodes)),)
        missing = _unlabelled(area.tree)
        if missing is not None:
            missing = replace(missing, near=_meant(missing, by_class, needs, area.tree.nodes))
        return Misfit(len(trial.nodes), 0, needs, rejections, unlabelled=missing)
    seats = ClassSeating(trial, profile)
    see_each_other = interdependent.are(
        [class_members.pod_class for class_members in by_class], trial, profile
    )
    offered = _offered(by_class, area, seats, tied=see_each_other)
    # The class of which the smallest fraction has room.
    room = offered.max(axis=1, initial=0) / [len(class_members) for class_members in by_class]
    shortest = by_class[int(np.argmin(room))]
    together = offered.sum(axis=0)
    best = _best_first(area, together)
    nearest = area.inside(area.must, int(best[0])) if len(best) else area
    next_one = shortest
    if see_each_other:
        seats.assume_one_by_one(by_class, area, at_least=0)
    else:
        next_one = _fill(by_class, area, nearest, seats) or shortest
    cut_off = trial.effort.cut_off
    # Each class was counted as if it were alone: together fewer may fit.
    at_most = see_each_other or len(by_class) > 1 or int(together.max(initial=0)) >= needs
    if at_most and not cut_off:
        together = together.clip(max=needs - 1)
    near = np.zeros(len(trial.nodes), dtype=np.bool_)
    near[area.tree.rows[nearest.open]] = True
    found = diagnosis.diagnose(shortest.pod_class, trial, profile, near)
    shortage = found.shortage
    if next_one is not shortest:
        shortage = diagnosis.diagnose(next_one.pod_class, trial, profile, near).shortage
    elsewhere = int((offer_slots(shortest.pod_class, trial, profile) > 0).sum())
    return Misfit(
        nodes=len(trial.nodes),
        fits=int(together.max(initial=0)),
        needs=needs,
        rejections=found.rejections + (((ELSEWHERE, elsewhere),) if elsewhere else ()),
        offers=_offers(by_class, area, together, best),
        cut_off=cut_off,
        shortage=shortage,
        at_most=at_most,
    )


def _unlabelled(tree: Topology) -> Unlabelled | None:
    """Return the topmost layer that the tree needs and no node is in; None if each has nodes.

    Computed once a tree: linear in nodes times their labels.
    """
    tree_spec, nodes = tree.tree_spec, tree.nodes

    def compute() -> Unlabelled | None:
        *upper, _ = (layer.label_keys for layer in tree_spec.layers)
        needed = upper[:-1] if tree_spec.lone_nodes else upper
        node_label = [(tree_spec.node_label,)] if tree_spec.node_label else []
        for keys in node_label + needed:
            if not any(any(nodes.label(key).values) for key in keys):
                return Unlabelled(keys)
        return None

    return nodes.derive(("unlabelled", tree_spec), compute) if len(nodes) else None


def _meant(
    missing: Unlabelled, by_class: Sequence[ClassMembers], needs: int, nodes: NodeTable
) -> str:
    """Return the label that may have been meant: one by which some domain could hold the members.

    On nodes that are empty. The keys of all labels are found once a table.
    """

    def keys() -> list[str]:
        return sorted({key for node in nodes.nodes for key in node.labels} - OF_NO_PLACE)

    known = nodes.derive("keys of labels", keys)
    name = missing.label_keys[0]
    found = likeness.alike_in_part(name, known, _own_part, cutoff=CLOSE_ENOUGH)
    classes = [each.pod_class for each in by_class]
    return next((key for key in found if _could_hold(key, classes, needs, nodes)), "")


def _own_part(key: str) -> str:
    """Return the name of a label without the prefix, which many labels share."""
    return key.rpartition("/")[2]


def _could_hold(key: str, classes: Sequence[PodClass], needs: int, nodes: NodeTable) -> bool:
    """Return whether so many members of the smallest class fit a domain of a label at most."""
    least = np.min([nodes.vector(each.requests) for each in classes], axis=0)
    asked = least > 0
    if not asked.any():
        return True
    slots = (nodes.allocatable[:, asked] // least[asked]).min(axis=1)
    return bool(label_domains.by_domain(nodes.label(key), slots).max(initial=0) >= needs)


def _offered(
    by_class: Sequence[ClassMembers], area: Area, seats: ClassSeating, *, tied: bool
) -> IntArray:
    """Return how many of each class every domain could take, classes by domains."""
    rolled = seats.rolled_at_best if tied else seats.rolled
    return np.array(
        [
            rolled(class_members, area)[area.must].whole.clip(max=len(class_members))
            for class_members in by_class
        ]
    )


def _fill(
    by_class: Sequence[ClassMembers], area: Area, nearest: Area, seats: ClassSeating
) -> ClassMembers | None:
    """Take every place of the area, class by class.

    Return the first class that has too few places left in the part of it that is nearest; None if
    all have enough.
    """
    lacking = None
    for class_members in by_class:
        slots = seats.slots(class_members, area).clip(max=len(class_members))
        places = np.flatnonzero(slots)
        share = Share(class_members.pod_class, area.tree.rows[places], slots[places])
        seats.trial.assume(share)
        if lacking is None and int(slots[nearest.open].sum()) < len(class_members):
            lacking = class_members
    return lacking


def _best_first(area: Area, together: IntArray) -> IntArray:
    """Return the open domains where members must gather, those with most room first."""
    open_to_it = np.flatnonzero(np.add.reduceat(area.open, area.tree.levels[area.must].starts))
    best: IntArray = open_to_it[np.argsort(-together[open_to_it], kind="stable")]
    return best


def _offers(
    by_class: Sequence[ClassMembers], area: Area, together: IntArray, best: IntArray
) -> Offers | None:
    """Return what the domains offer; None if members may be in any domain and are not sliced."""
    tree = area.tree
    layers = [level.layer for level in tree.levels]
    multiples = {
        layers[depth]: class_members.sizes[depth]
        for class_members in by_class
        for depth in topology_scope.sliced_at(class_members.sizes)
    }
    if not area.must and not multiples:
        return None
    shown = best[:MOST_DOMAINS].tolist()
    return Offers(
        best=tuple((tree.domain(area.must, place), int(together[place])) for place in shown),
        more=len(best) - len(shown),
        multiples=tuple(multiples.items()),
    )
