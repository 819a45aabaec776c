"""Members with a topology request: placed close together, in slices if the request has them.

1. Members that ask the same of a node form a class; nodes offer slots to the class.
2. Slots are added up to the capacity of every domain (`capacity`).
3. Only domains of the layer in which the members must gather, or of a lower layer, are
   candidates.
4. The lowest layer is taken that has a domain with room for all members.
5. Of its domains, the one with the least left over is taken (`one_class`).
6. From there down, the fewest domains are taken at every level (`one_class`).

Members of a unit with bound members join these (`replacements`).
"""

import bisect
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gang_scheduler.model import similar_names, topology_scope
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.plan import Bind, Misfit, Offers, Unlabelled
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.topology import Topology
from gang_scheduler.model.topology_scope import CLOSE_ENOUGH, TopologyScope
from gang_scheduler.scheduler import diagnosis, label_domains
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.placement import anywhere, interdependent
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, RankedMembers
from gang_scheduler.scheduler.placement.tree import one_class, replacements
from gang_scheduler.scheduler.placement.tree.mixed_classes import MOST_ORDERS, MOST_PACKED, Packing
from gang_scheduler.scheduler.placement.tree.one_class import (
    Area,
    ClassMembers,
    ClassSeating,
    Seated,
)
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Placement, Share, Trial, shares

Pack = Callable[[Area], Seated]
"""A way to seat some members in an area."""


def place(
    unit: PlacementUnit,
    at_least: int,
    trial: Trial,
    profile: Profile,
    *,
    within: int | None = None,
    explained: bool = True,
) -> Placement | Misfit:
    """Take room for as many members as the request allows, if at least `at_least` fit; else none.

    Without a request members may be on any node. Fewer than all members are placed only if no
    domain in which they must gather has room for all. `within` is the index of the only domain that
    is allowed; None allows all. A misfit need not be `explained` if its reason is not shown: the
    reason takes longer to find than the misfit.
    """
    scope = unit.scope
    if scope is None:
        return anywhere.place(unit.members, at_least, trial, profile, explained=explained)
    gathering = _Gathering(unit, scope, trial, profile, within)
    with trial.all_or_nothing() as transaction:
        seated = gathering.as_many(at_least) if len(scope.tree.rows) else None
        if seated is not None:
            transaction.commit()
            return _placement(unit.members, seated, scope)
    if gathering.may_be_anywhere:
        return anywhere.place(unit.members, at_least, trial, profile, explained=explained)
    if not explained or (trial.effort.cut_off and not trial.effort.may_work_on()):
        return Misfit(len(trial.nodes), 0, at_least, (), cut_off=trial.effort.cut_off)
    with trial.all_or_nothing():
        return explain_offers(
            gathering.by_class(unit.parts), gathering.area, at_least, trial, profile
        )


class _Gathering:
    """One unit, and the area where its members may go."""

    def __init__(
        self,
        unit: PlacementUnit,
        scope: TopologyScope,
        trial: Trial,
        profile: Profile,
        within: int | None,
    ) -> None:
        self._unit = unit
        self._trial = trial
        self._seating = ClassSeating(trial, profile)
        self._packing = Packing(self._seating)
        pod_classes = {pod.pod_class for pod in unit.members}
        self._tied = interdependent.depend_on_each_other(pod_classes, trial, profile)
        tree = scope.tree
        everywhere = Area(tree, np.ones(len(tree.rows), dtype=np.bool_), scope.must, scope.prefer)
        self._home = replacements.home_of(unit.bound_members, scope)
        self.area = everywhere
        confined = self._home if within is None else within
        if confined is not None:
            self.area = replace(everywhere, open=everywhere.inside(scope.must, confined).open)
        # A preference never keeps a gang waiting, even if nodes lack the labels.
        self.may_be_anywhere = (
            within is None and scope.must == 0 and len(tree.outside) > 0 and not unit.sliced
        )

    def as_many(self, at_least: int) -> Seated | None:
        """Take room for all members, or for as many as fit if at least `at_least` do."""
        if self._home is not None:
            return self._beside_bound_members(at_least)
        step = self._unit.step
        in_order = self._needed_first()
        numbers = range(at_least, len(in_order) + 1, step)
        seated = self._seat(in_order[: numbers[-1]])
        if seated is not None or len(numbers) == 1:
            return seated
        # If a number of members fits, every smaller number fits.
        too_many = bisect.bisect_left(numbers, x=True, key=lambda n: not self._fits(in_order[:n]))
        # Without time to find the most that fit, the fewest are tried in any case.
        is_known = bool(too_many) or self._trial.effort.may_work_on()
        number = numbers[too_many - 1] if too_many else 0 if is_known else at_least
        # If members differ, other members may fit where the first members in rank do not.
        others = self._any(max(at_least, number + 1))
        return others or (self._seat(in_order[:number]) if number else None)

    def by_class(self, parts: Sequence[RankedMembers]) -> list[ClassMembers]:
        """Group the members of parts by class and slice sizes."""
        return one_class.by_class(parts, self.area.tree)

    def _needed_first(self) -> list[Pod]:
        members = self._unit.members
        return sorted(members, key=lambda pod: pod.uid not in self._unit.required)

    def _fits(self, members: Sequence[Pod]) -> bool:
        """Return whether members fit; False once the search has done the work of a cycle."""
        if not self._trial.effort.may_work_on():
            return False
        with self._trial.all_or_nothing():
            return self._seat(members) is not None

    def _seat(self, members: Iterable[Pod]) -> Seated | None:
        return self._seat_parts(self._unit.only({pod.uid for pod in members}).parts, self.area)

    def _seat_parts(self, parts: Sequence[RankedMembers], area: Area) -> Seated | None:
        waiting = [part for part in parts if part.members]
        if any(self._has_differing_slices(part) for part in waiting):
            return self._seat_slice_by_slice(waiting, area)
        return self._packing.seat(self.by_class(waiting), area)

    def _has_differing_slices(self, part: RankedMembers) -> bool:
        """Return whether sliced members cannot be seated as one class.

        Their classes differ, or they depend on each other.
        """
        pod_classes = {pod.pod_class for pod in part.members}
        return part.sizes[0] > 1 and (len(pod_classes) > 1 or self._tied)

    def _seat_slice_by_slice(self, parts: Sequence[RankedMembers], area: Area) -> Seated | None:
        """Seat slices one after another, each like a gang of its own: their members differ."""
        if not self._trial.effort.may_begin():
            return None
        unsliced = (1,) * len(area.tree.levels)
        # The slices need at least this much: each must also be in one domain, which takes more.
        alone = self.by_class([replace(part, sizes=unsliced) for part in parts])
        self._trial.effort.spend(looks(len(self._trial.nodes), len(alone)))
        for depth, domain in self._packing.domains_at_best(alone, area):
            self._trial.effort.spend(looks(len(self._trial.nodes)))
            with self._trial.all_or_nothing() as transaction:
                seated = self._seat_slices(parts, area.inside(depth, domain))
                if seated is not None:
                    transaction.commit()
                    return seated
        return None

    def _seat_slices(self, parts: Sequence[RankedMembers], area: Area) -> Seated | None:
        alike = [part for part in parts if not self._has_differing_slices(part)]
        others = [(alike, area)] if alike else []
        differing = (part for part in parts if self._has_differing_slices(part))
        slices = [each for part in differing for each in _slices_of(part, area)]
        seated: Seated = {}
        # Slices have the least choice and come first, unless they depend on other members.
        for some, where in (*others, *slices) if self._tied else (*slices, *others):
            if seated and not self._trial.effort.may_work_on():
                return None
            found = self._seat_parts(some, where)
            if found is None:
                return None
            seated |= found
        return seated

    def _beside_bound_members(self, at_least: int) -> Seated | None:
        members = self._needed_first()
        for number in dict.fromkeys((len(members), at_least)):
            # Members that are placed one by one may stand in each other's way.
            seated = self._one_by_one(number) or self._unless_sliced(members[:number])
            if seated is not None:
                return seated
        return None

    def _one_by_one(self, at_least: int) -> Seated | None:
        with self._trial.all_or_nothing() as transaction:
            seated = replacements.seat(
                self._unit, at_least, self.area, self._seating, self._seat_parts
            )
            if seated is not None:
                transaction.commit()
            return seated

    def _unless_sliced(self, members: Sequence[Pod]) -> Seated | None:
        if any(part.sizes[0] > 1 for part in self._unit.parts):
            return None
        return self._seat(members) if members else {}

    def _any(self, at_least: int) -> Seated | None:
        """Take room for as many members of several classes as possible, in any rank order."""
        by_class = self.by_class(self._unit.parts)
        if len(by_class) == 1 or self._unit.step > 1 or not self._unit.exchangeable:
            return None
        if self._tied:
            return None
        depth = self.area.must
        offers = [
            self._seating.rolled(each, self.area)[depth].whole.clip(max=len(each))
            for each in by_class
        ]
        together = np.sum(offers, axis=0)
        best, most = None, at_least - 1
        for domain in np.argsort(-together, kind="stable")[:MOST_PACKED].tolist():
            effort = self._trial.effort
            if int(together[domain]) <= most or not (effort.may_go_on() and effort.may_work_on()):
                break
            area = self.area.inside(depth, domain)
            for pack in self._ways_to_pack(by_class, most + 1):
                number = self._try(pack, area)
                if number > most:
                    best, most = (pack, area), number
        return None if best is None else best[0](best[1])

    def _ways_to_pack(self, by_class: Sequence[ClassMembers], at_least: int) -> Iterator[Pack]:
        """Yield ways to seat as many members as fit: in several orders, and by exact search."""
        for order in itertools.islice(itertools.permutations(by_class), MOST_ORDERS):
            yield functools.partial(self._most_of_each, order)
        yield lambda area: self._packing.seat_exactly(by_class, area, at_least) or {}

    def _try(self, pack: Pack, area: Area) -> int:
        with self._trial.all_or_nothing():
            return len(pack(area))

    def _most_of_each(self, by_class: Sequence[ClassMembers], area: Area) -> Seated:
        seated: Seated = {}
        for class_members in by_class:
            self._trial.effort.spend(looks(len(self._trial.nodes)))
            number = min(
                len(class_members), int(self._seating.rolled(class_members, area)[0].whole[0])
            )
            if number:
                some = replace(class_members, members=class_members.members[:number])
                seated |= self._seating.seat(some, area) or {}
        return seated


def _slices_of(part: RankedMembers, area: Area) -> Iterator[tuple[list[RankedMembers], Area]]:
    """Yield each outermost slice of a part, like a gang, and the area where it must gather."""
    depth, sizes = topology_scope.sliced_at(part.sizes)[0], topology_scope.inner_sizes(part.sizes)
    for start in range(0, len(part.members), part.sizes[0]):
        members = part.members[start : start + part.sizes[0]]
        yield [RankedMembers(members, sizes=sizes)], replace(area, must=depth)


def _placement(members: Sequence[Pod], seated: Seated, scope: TopologyScope) -> Placement:
    """Return the placement of seated members, in rank order."""
    rows = scope.tree.rows
    nodes = scope.tree.nodes.nodes
    placed = [(pod, int(rows[seated[pod.uid]])) for pod in members if pod.uid in seated]
    binds = tuple(Bind(pod, nodes[row].name) for pod, row in placed)
    return Placement(binds, tuple(shares((pod.pod_class, row) for pod, row in placed)))


# Explain why members could not gather: how many each domain could take, and why nodes take no
# more.

MOST_DOMAINS: Final = 10
OF_NO_PLACE: Final = frozenset(
    {
        *("kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type"),
        *("beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type"),
    }
)
"""Labels that describe the kind of a node, not its location."""
ELSEWHERE: Final = "node(s) were not in a domain that could hold the gang"


def explain_offers(
    by_class: Sequence[ClassMembers], area: Area, needs: int, trial: Trial, profile: Profile
) -> Misfit:
    """Return the reason why no domain of the area takes `needs` members.

    Takes all room of the area on the trial, which the caller must undo.
    """
    if not len(area.tree.rows):
        rejections = ((ELSEWHERE, len(trial.nodes)),)
        missing = _unlabelled(area.tree)
        if missing is not None:
            missing = replace(missing, near=_similar(missing, by_class, needs, area.tree.nodes))
        return Misfit(len(trial.nodes), 0, needs, rejections, unlabelled=missing)
    seats = ClassSeating(trial, profile)
    see_each_other = interdependent.depend_on_each_other(
        [class_members.pod_class for class_members in by_class], trial, profile
    )
    offered = _offered(by_class, area, seats, tied=see_each_other)
    # The class with the smallest fraction of its members placed.
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
    """Return the topmost layer of the tree whose label is on no node; None if there is none.

    Computed once for each tree: linear in nodes times their labels.
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

    return nodes.cached(("unlabelled", tree_spec), compute) if len(nodes) else None


def _similar(
    missing: Unlabelled, by_class: Sequence[ClassMembers], needs: int, nodes: NodeTable
) -> str:
    """Return the label that the user may have meant, if one of its domains could hold the members.

    "" without such a label. Nodes count as if they were empty. The keys of all labels are collected
    once per node table.
    """

    def keys() -> list[str]:
        return sorted({key for node in nodes.nodes for key in node.labels} - OF_NO_PLACE)

    known = nodes.cached("keys of labels", keys)
    name = missing.label_keys[0]
    found = similar_names.alike_in_part(name, known, _own_part, cutoff=CLOSE_ENOUGH)
    classes = [each.pod_class for each in by_class]
    return next((key for key in found if _could_hold(key, classes, needs, nodes)), "")


def _own_part(key: str) -> str:
    """Return the name of a label without its prefix, since many labels share a prefix."""
    return key.rpartition("/")[2]


def _could_hold(key: str, classes: Sequence[PodClass], needs: int, nodes: NodeTable) -> bool:
    """Return whether a domain of a label could hold this many members of the smallest class."""
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

    Return the first class that has too few places in `nearest`, the domain with the most room; None
    if all classes have enough there.
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
    """Return the open domains where members may gather, ordered by room, most room first."""
    open_to_it = np.flatnonzero(np.add.reduceat(area.open, area.tree.levels[area.must].starts))
    best: IntArray = open_to_it[np.argsort(-together[open_to_it], kind="stable")]
    return best


def _offers(
    by_class: Sequence[ClassMembers], area: Area, together: IntArray, best: IntArray
) -> Offers | None:
    """Return how many members the best domains take; None without a required layer or slices."""
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
