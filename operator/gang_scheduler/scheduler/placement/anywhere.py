"""Members of a gang without a topology request: all that are needed are placed, or none.

Members that ask the same of a node form a class. A class is filtered once, and its members are
placed in one vector operation, so the cost is per class and not per pod.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import ABSENT, IntArray
from gang_scheduler.model.plan import Bind, Misfit
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.placement import interdependent, packing, positions, scoring
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots, slot_limit
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Placement, Share, Trial, merged, number_in, shares

_class_of = attrgetter("pod_class")


def place(
    members: Sequence[Pod],
    at_least: int,
    trial: Trial,
    profile: Profile,
    *,
    explained: bool = True,
) -> Placement | Misfit:
    """Take room for as many members as fit, if at least `at_least` fit; else change nothing.

    `members` are in rank order. Neighbours in rank get neighbouring nodes within their class. A
    misfit need not be `explained` if its reason is not shown.
    """
    sizes = _sizes(members)
    too_often = len(sizes) > 1 and _select_each_other_too_often(sizes, trial)
    with trial.all_or_nothing() as attempt:
        shares, unplaced = ([], list(sizes)) if too_often else _assume(sizes, trial, profile)
        placed = number_in(shares)
        if placed >= at_least:
            attempt.commit()
            return Placement(_binds(members, shares, trial), tuple(shares))
        found = diagnosis.diagnose(unplaced[0], trial, profile) if explained else None
    parts = (members[:at_least], members) if at_least < len(members) else (members,)
    for some in () if too_often else parts:
        arranged = _arranged(some, at_least, trial, profile)
        if arranged is not None:
            return Placement(_binds(some, arranged, trial), tuple(arranged))
    return Misfit(
        nodes=len(trial.nodes),
        fits=placed,
        needs=at_least,
        rejections=found.rejections if found else (),
        cut_off=trial.effort.cut_off,
        shortage=found.shortage if found else None,
    )


def place_on(binds: tuple[Bind, ...], trial: Trial, profile: Profile) -> Placement | None:
    """Take room for members on given nodes, if all of it is free; else change nothing."""
    rows = trial.nodes.rows
    if any(bind.node not in rows for bind in binds):
        return None
    taken = shares((bind.pod.pod_class, rows[bind.node]) for bind in binds)
    left = taken
    if interdependent.depend_on_each_other([share.pod_class for share in taken], trial, profile):
        left = [
            share for bind in binds for share in shares([(bind.pod.pod_class, rows[bind.node])])
        ]
    with trial.all_or_nothing() as attempt:
        while left:
            # A member that does not fit yet may fit once other members are placed beside it.
            blocked = [share for share in left if not _assume_if_free(share, trial, profile)]
            if len(blocked) == len(left):
                return None
            left = blocked
        attempt.commit()
    return Placement(binds, tuple(taken))


def release(placement: Placement, trial: Trial) -> None:
    """Free the room that a placement took."""
    trial.release(*placement.shares)


def assume_again(placement: Placement, trial: Trial) -> None:
    """Take the room of a placement again, after `release`."""
    trial.assume(*placement.shares)


def joined(members: Sequence[Pod], first: Placement, second: Placement) -> Placement:
    """Return two placements of different members as one, in the members' order."""
    binds = {bind.pod.uid: bind for bind in (*first.binds, *second.binds)}
    ordered = tuple(binds[pod.uid] for pod in members if pod.uid in binds)
    return Placement(ordered, (*first.shares, *second.shares))


def _assume_if_free(share: Share, trial: Trial, profile: Profile) -> bool:
    if (offer_slots(share.pod_class, trial, profile)[share.rows] < share.counts).any():
        return False
    trial.assume(share)
    return True


def _arranged(
    members: Sequence[Pod], at_least: int, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for members of several classes: easiest class first, or by an exact search.

    None if neither places `at_least` members.
    """
    sizes = _sizes(members)
    if len(sizes) == 1:
        return None
    if interdependent.depend_on_each_other(sizes, trial, profile):
        return None
    if at_least < len(members):
        with trial.all_or_nothing() as attempt:
            shares, _ = _assume_by_class(sizes, trial, profile, easiest_first=True)
            if number_in(shares) >= at_least:
                attempt.commit()
                return shares
    if not packing.are_few(sizes.values()):
        return None
    slots = np.array([offer_slots(pod_class, trial, profile) for pod_class in sizes])
    rows = np.flatnonzero(slots.any(axis=0))
    return packing.assume_arranged(sizes, rows, at_least, trial, profile)


MOST_TERMS: Final = 200_000
"""A gang is not placed if its members have more terms than this that select its own members.

Each placed member is compared with all terms of others that select it: 800 members that all keep
away from each other, each by a term of its own, would take over two seconds.
"""


def _select_each_other_too_often(sizes: Collection[PodClass], trial: Trial) -> bool:
    """Return whether placing these takes too long; if so, note that the search was cut off.

    Only terms of the members count, so pods of others cannot keep a gang from its place.
    """
    if sum(len(each.selected_by) for each in sizes) <= MOST_TERMS:
        return False
    own = frozenset(
        selector
        for each in sizes
        if each.pod_affinity is not None
        for selector in each.pod_affinity.selectors
    )
    if sum(len(own & each.selected_by) for each in sizes) <= MOST_TERMS:
        return False
    trial.effort.cut()
    return True


def _sizes(members: Sequence[Pod]) -> dict[PodClass, int]:
    """Return the number of members of each class, in the order of their first members."""
    # Looking up a class is slow, and most equal classes are the same object.
    numbers = Counter(map(id, map(_class_of, members)))
    sizes: dict[PodClass, int] = {}
    for pod_class in {id(each): each for each in map(_class_of, members)}.values():
        sizes[pod_class] = sizes.get(pod_class, 0) + numbers[id(pod_class)]
    return sizes


def _assume(
    sizes: dict[PodClass, int], trial: Trial, profile: Profile
) -> tuple[list[Share], list[PodClass]]:
    """Take room for all members that fit, class by class; also return the classes left."""
    if not interdependent.depend_on_each_other(sizes, trial, profile):
        return _assume_by_class(sizes, trial, profile)
    found = interdependent.assume_interdependent(sizes, 0, None, trial, profile)
    taken = merged(found)
    placed = {share.pod_class: int(share.counts.sum()) for share in taken}
    return taken, [pod_class for pod_class in sizes if placed.get(pod_class, 0) < sizes[pod_class]]


def _assume_by_class(
    sizes: dict[PodClass, int], trial: Trial, profile: Profile, *, easiest_first: bool = False
) -> tuple[list[Share], list[PodClass]]:
    shares, unplaced = [], []
    order = _hardest_first(sizes, trial, profile)
    for pod_class in reversed(order) if easiest_first else order:
        slots = offer_slots(pod_class, trial, profile)
        count = min(sizes[pod_class], _total(slots, sizes[pod_class]))
        if count < sizes[pod_class]:
            unplaced.append(pod_class)
        if count:
            share = scoring.fill(pod_class, slots, count, trial, profile)
            trial.assume(share)
            shares.append(share)
    return shares, unplaced


def _hardest_first(sizes: dict[PodClass, int], trial: Trial, profile: Profile) -> list[PodClass]:
    """Order classes by how many of their pods fit, the fewest first: they have the least choice.

    Ties are broken by requests, then by the order of first members.
    """
    if len(sizes) == 1:
        return list(sizes)
    room = {
        pod_class: _total(offer_slots(pod_class, trial, profile), slot_limit(trial))
        for pod_class in sizes
    }
    return sorted(sizes, key=lambda pod_class: (room[pod_class], pod_class.requests))


def _total(slots: IntArray, limit: int) -> int:
    # A pod that asks for nothing has 2**63-1 slots on each node: clip before the sum.
    return int(np.minimum(slots, limit).sum())


def _binds(members: Sequence[Pod], shares: Sequence[Share], trial: Trial) -> tuple[Bind, ...]:
    """Hand each class's nodes, in order, to its members in rank order."""
    nodes = trial.nodes.nodes
    rows = {share.pod_class: iter(_rows_in_order(share)) for share in shares}
    return tuple(
        Bind(pod, nodes[row].name)
        for pod_class, run in itertools.groupby(members, key=_class_of)
        # The run comes first in zip: where it ends, no node is taken from the iterator and lost.
        for pod, row in zip(run, rows.get(pod_class, ()), strict=False)
    )


def _rows_in_order(share: Share) -> list[int]:
    order = np.argsort(share.rows, kind="stable")
    rows: list[int] = np.repeat(share.rows[order], share.counts[order]).tolist()
    return rows


# A gang is placed on its nominated nodes only if all members fit there.


def place_nominated(
    units: Sequence[PlacementUnit], nominations: Sequence[Nominated], trial: Trial, profile: Profile
) -> dict[PlacementUnit, Placement] | None:
    """Take room for the quorums on their nominated nodes, if all of it is free.

    The topology requests of the units must hold, too: labels may have changed since the nomination,
    or replacements of bound members may be elsewhere.
    """
    nodes = {each.pod.uid: each.pod.nominated for each in nominations}
    if not nodes or any(unit.required - nodes.keys() for unit in units):
        return None
    placements = {}
    with trial.all_or_nothing() as attempt:
        for unit in units:
            needed = unit.only(unit.required).members
            binds = tuple(Bind(pod, nodes[pod.uid]) for pod in needed)
            placement = place_on(binds, trial, profile)
            if placement is None or not _gathers(unit, binds):
                return None
            placements[unit] = placement
        attempt.commit()
    return placements


def _gathers(unit: PlacementUnit, binds: Sequence[Bind]) -> bool:
    """Return whether these members and the bound members meet the topology requests."""
    scope = unit.scope
    if scope is None:
        return True
    together = unit.after(binds)
    places = positions.places_of(together.bound_members, scope.tree)
    domains = np.unique(scope.tree.levels[scope.must].at(places[places != ABSENT]))
    if scope.must and (len(domains) > 1 or (places == ABSENT).any()):
        return False
    return all(positions.slices_hold(part, scope.tree) for part in together.parts)
