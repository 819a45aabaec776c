"""Placement units: members that share one topology request, or none."""

import functools
import math
import operator
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gang_scheduler.model import topology_scope
from gang_scheduler.model.causes.specs import MultipleDoesNotDivide, MultipleNeedsMore, Requested
from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.layers import TreeSpec
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod, PodClass, one_of_each, rank_key
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import PodSelector
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import Slices, TopologyRequest
from gang_scheduler.model.topology_scope import Sizes, TopologyScope
from gang_scheduler.scheduler import compute_domains

RoleKey = tuple[GangKey, str]
"""A role of a gang. A gang without roles counts as one role, with the name ""."""
PodSetKey = tuple[PodClass, str]
"""Members that are charged in the same flavors: their class and their owners."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedMembers:
    """Members that share one sequence of ranks, in rank order; `bound_members` have a node.

    `sizes` has a slice size for each level of the scope of their unit; empty without a scope.
    `places` say where each role comes in the rank order, if a gang has roles.
    """

    members: Sequence[Pod]
    bound_members: tuple[Pod, ...] = ()
    sizes: Sizes = ()
    places: Mapping[RoleKey, int] = field(default_factory=dict)

    def in_line(self) -> list[Pod]:
        """Return the waiting members and the members on nodes, in rank order."""
        return in_rank_order((*self.members, *self.bound_members), self.places)


@dataclass(frozen=True, eq=False)
class PlacementUnit:
    """Members that are placed together, of one gang or of several.

    `required` are the uids of the quorums of the gangs; other members are surplus. Without a
    `scope` members can be on any node. Members are placed only in multiples of `step`.
    """

    gangs: tuple[Gang, ...]
    parts: tuple[RankedMembers, ...]
    required: frozenset[str]
    scope: TopologyScope | None = None
    topology_request: TopologyRequest | None = None
    step: int = 1

    @functools.cached_property
    def members(self) -> tuple[Pod, ...]:
        """All waiting members, in rank order within each part."""
        return tuple(pod for part in self.parts for pod in part.members)

    @functools.cached_property
    def bound_members(self) -> tuple[Pod, ...]:
        """The members that have a node."""
        return tuple(pod for part in self.parts for pod in part.bound_members)

    @functools.cached_property
    def quorum(self) -> int:
        """How many members come before any surplus."""
        return len(self.required)

    @functools.cached_property
    def at_least(self) -> int:
        """How many quorum members must be placed together; 1 if each member is placed by itself."""
        return min(1, self.quorum) if self.placed_singly else self.quorum

    @property
    def sliced(self) -> bool:
        """Whether some members must share a domain with their neighbours in rank."""
        return any(size > 1 for part in self.parts for size in part.sizes)

    @functools.cached_property
    def placed_singly(self) -> bool:
        """Whether the gangs have started, so that each member is placed by itself."""
        return all(gang.placed_singly for gang in self.gangs)

    @functools.cached_property
    def quorums(self) -> Mapping[RoleKey, int]:
        """How many quorum members each role has: surplus of one role never counts for another."""
        return self.numbers(self.required)

    @functools.cached_property
    def mixed(self) -> bool:
        """Whether the waiting members are of several roles."""
        if len(self.gangs) == 1 and not self.gangs[0].roles:
            return False
        return len(self.gangs) > 1 or len({self.role_key_of[pod.uid] for pod in self.members}) > 1

    @functools.cached_property
    def exchangeable(self) -> bool:
        """Whether any of the members may be placed, whatever their rank.

        This is so unless a role needs a certain number and other roles have members, too.
        """
        if not self.mixed:
            return True
        waits_for = any(pod.uid in self.required for pod in self.members)
        return len(self.gangs) == 1 and not (waits_for and self.elastic)

    def lacks(self, uids: Collection[str]) -> list[str]:
        """Return the uids of quorum members that are still missing, given the members with a place.

        A surplus member with a place counts as a quorum member of its role.
        """
        left = [pod.uid for pod in self.members if pod.uid in self.required and pod.uid not in uids]
        if not left:
            return left
        placed, there = Counter(self.quorums), self.numbers(uids)
        placed.subtract(there)
        missing = []
        for uid in left:
            role = self.role_key_of[uid]
            if placed[role] > 0:
                placed[role] -= 1
                missing.append(uid)
        return missing

    @functools.cached_property
    def elastic(self) -> bool:
        """Whether some of the members are surplus."""
        return any(pod.uid not in self.required for pod in self.members)

    @functools.cached_property
    def classes(self) -> Mapping[PodClass, int]:
        """The number of waiting members of each class."""
        return Counter(pod.pod_class for pod in self.members)

    @functools.cached_property
    def podsets(self) -> Mapping[PodSetKey, int]:
        """The number of quorum members of each podset; 0 for a podset with surplus only."""
        counts = Counter(
            (pod.pod_class, pod.owner) for pod in self.members if pod.uid in self.required
        )
        if self.elastic:
            counts.update({(pod.pod_class, pod.owner): 0 for pod in self.members})
        return counts

    @functools.cached_property
    def gang_of(self) -> Mapping[str, GangKey]:
        """The gang of each waiting member, by uid."""
        return {pod.uid: gang.key for gang in self.gangs for pod in gang.pending}

    @functools.cached_property
    def role_key_of(self) -> Mapping[str, RoleKey]:
        """The role of each waiting member, by uid."""
        return {
            pod.uid: (gang.key, gang.role_of(pod)) for gang in self.gangs for pod in gang.pending
        }

    def numbers(self, uids: Iterable[str]) -> Counter[RoleKey]:
        """Return how many of the members with these uids are of each role."""
        if len(self.gangs) == 1 and not self.gangs[0].roles:
            return Counter({(self.gangs[0].key, ""): sum(1 for _ in uids)})
        return Counter(self.role_key_of[uid] for uid in uids)

    @functools.cached_property
    def gains(self) -> bool:
        """Whether placed pods may make room for the unit: it has an affinity, or is spread."""
        return any(
            pod_class.pod_affinity is not None and pod_class.pod_affinity.gains
            for pod_class in self.classes
        )

    @functools.cached_property
    def depends_on_pods(self) -> bool:
        """Whether it may fit where a unit of its shape does not, because of pods near it."""
        return bool(self.bound_members) or self.gains

    @functools.cached_property
    def approached(self) -> frozenset[PodSelector]:
        """The selectors of pods that make room, or better places, for members."""
        asked = (
            pod_class.pod_affinity.approached
            for pod_class in self.classes
            if pod_class.pod_affinity is not None
        )
        return frozenset(selector for each in asked for selector in each)

    @functools.cached_property
    def shape(self) -> Hashable:
        """A key: units with equal keys and quorums fit or fail alike.

        This does not hold for units with bound members, or with `gains`.
        """
        asked = self.topology_request, tuple(part.sizes for part in self.parts)
        if len(self.classes) == 1:
            return next(iter(self.classes)), asked
        # Members differ, so it also matters which of them form the quorum.
        first = Counter(pod.pod_class for pod in self.members if pod.uid in self.required)
        roles = self._roles_and_classes if self.mixed and self.elastic else None
        return frozenset(self.classes.items()), frozenset(first.items()), asked, roles

    @functools.cached_property
    def sought(self) -> Hashable:
        """What is sought for its quorum, as a key."""
        return self.shape, self.quorum, self.placed_singly

    @functools.cached_property
    def likeness(self) -> Hashable:
        """A key that is equal for units that differ only in the names of gangs, pods and nodes."""
        counted = len(self.members), self.quorum, self.at_least, self.step, self.placed_singly
        if len(self.classes) == len(self.gangs) == len(self.parts) == 1:
            return self.shape, counted
        return self.shape, counted, *self._roles_and_classes

    @functools.cached_property
    def _roles_and_classes(self) -> tuple[Hashable, ...]:
        """The role and the class of each member, with numbers instead of names, for comparison."""
        number: dict[RoleKey, int] = {}
        return tuple(
            tuple(
                (
                    number.setdefault(self.role_key_of[pod.uid], len(number)),
                    pod.pod_class,
                    pod.uid in self.required,
                )
                for pod in part.members
            )
            for part in self.parts
        )

    def only(self, uids: Collection[str]) -> "PlacementUnit":
        """Return the unit with only these waiting members."""
        if all(pod.uid in uids for pod in self.members):
            return self
        parts = (
            replace(part, members=tuple(pod for pod in part.members if pod.uid in uids))
            for part in self.parts
        )
        return replace(self, parts=tuple(parts))

    def by_role(self) -> Iterator["PlacementUnit"]:
        """Yield for each role with quorum members a unit of its members."""
        for role in self.quorums:
            uids = {pod.uid for pod in self.members if self.role_key_of[pod.uid] == role}
            yield replace(self.only(uids), required=self.required & uids)

    def after(self, binds: Iterable[Bind]) -> "PlacementUnit":
        """Return the unit with these members bound, and the rest waiting."""
        nodes = {bind.pod.uid: bind.node for bind in binds}
        return replace(self, parts=tuple(_bound(part, nodes) for part in self.parts))


_QUORUM = operator.attrgetter("quorum")


def with_quorum(units: Iterable[PlacementUnit]) -> tuple[PlacementUnit, ...]:
    """Return the units that have members of a quorum; the others have only surplus."""
    return tuple(filter(_QUORUM, units))


def in_rank_order(pods: Iterable[Pod], places: Mapping[RoleKey, int]) -> list[Pod]:
    """Return members by the places of their roles, then by rank."""
    if not places:
        return sorted(pods, key=rank_key)
    return sorted(pods, key=lambda pod: (place_of(pod, places), rank_key(pod)))


def place_of(pod: Pod, places: Mapping[RoleKey, int]) -> int:
    """Return the place of the role of a pod; 0 for a pod without one."""
    return places.get((pod.gang, pod.role), 0)


def _bound(part: RankedMembers, nodes: Mapping[str, str]) -> RankedMembers:
    placed = (replace(pod, node=nodes[pod.uid]) for pod in part.members if pod.uid in nodes)
    waiting = tuple(pod for pod in part.members if pod.uid not in nodes)
    return replace(part, members=waiting, bound_members=(*part.bound_members, *placed))


# The members of a group are divided into units by their topology requests.


def units_of(group: GangGroup, snapshot: Snapshot) -> tuple[PlacementUnit, ...] | Problem:
    """Return the units of all waiting members, or the problem of a topology request."""
    required = frozenset[str]().union(*[_quorum_of(gang, group) for gang in group.waiting])
    found = []
    for unit in _split(group, required, snapshot.devices):
        sited = in_trees(unit, snapshot.tree_specs, snapshot.nodes)
        if isinstance(sited, Problem):
            return sited
        found.append(sited)
    return tuple(found)


def _quorum_of(gang: Gang, group: GangGroup) -> frozenset[str]:
    """Return the uids of the quorum: the first members in rank.

    If each member is a gang of its own, and other gangs of the group wait for these, one member is
    enough.
    """
    if gang.roles and not gang.each_alone:
        return gang.quorum_among(gang.startable)
    number = min(1, gang.quorum) if gang.each_alone and len(group.waiting) > 1 else gang.quorum
    return _uids(gang.pending[:number])


def _split(group: GangGroup, required: frozenset[str], devices: Devices) -> Iterator[PlacementUnit]:
    if group.topology_request is not None:
        places = _places(group.gangs)
        members = _in_order((pod for gang in group.waiting for pod in gang.startable), places)
        bound_members = _in_order(
            [*group.started, *(pod for gang in group.gangs for pod in gang.bound_members)], places
        )
        yield PlacementUnit(
            group.waiting,
            (RankedMembers(members, bound_members, places=places),),
            required,
            topology_request=_gathered(group.topology_request, members, devices),
        )
        return
    one_each = [pod for gang in group.waiting for pod in one_of_each(gang.pending)]
    if not any(pod.podset for pod in one_each) and not compute_domains.gather(one_each, devices):
        for gang in group.waiting:
            own = required if len(group.waiting) == 1 else required & _uids(gang.pending)
            part = RankedMembers(gang.startable, places=_places([gang]))
            yield PlacementUnit((gang,), (part,), own)
        return
    yield from _podsets(group, required, devices)


def _gathered(
    topology_request: TopologyRequest | None, members: Sequence[Pod], devices: Devices
) -> TopologyRequest | None:
    if not compute_domains.gather(one_of_each(members), devices):
        return topology_request
    return compute_domains.gathered(topology_request, devices)


def _podsets(
    group: GangGroup, required: frozenset[str], devices: Devices
) -> Iterator[PlacementUnit]:
    """Yield a unit for each podset, each named podset group, and each gang's other members.

    Of the other members, those that gather for their ComputeDomain are a unit of their own.
    """
    parts: dict[Hashable, dict[Hashable, list[Pod]]] = {}
    gangs: dict[Hashable, dict[GangKey, Gang]] = {}
    for gang in group.gangs:
        for pod in (*gang.startable, *gang.bound_members):
            unit, part = _podset_of(pod, gang.key, devices)
            parts.setdefault(unit, {}).setdefault(part, []).append(pod)
            gangs.setdefault(unit, {})[gang.key] = gang
    for pod in group.started:
        unit, part = _podset_of(pod, None, devices)
        if unit in parts:
            parts[unit].setdefault(part, []).append(pod)
    places = _places(group.gangs)
    for unit, found in parts.items():
        pods = [pod for part in found.values() for pod in part]
        waiting = [pod for pod in pods if not pod.node]
        if waiting:
            podset = waiting[0].podset
            asked = podset.topology_request if podset is not None else TopologyRequest()
            topology_request = asked.shared if asked.is_set else None
            if not asked.slices:
                topology_request = _gathered(topology_request, waiting, devices)
            yield PlacementUnit(
                gangs=tuple(gang for gang in gangs[unit].values() if gang.pending),
                parts=tuple(_part(part, places) for part in found.values()),
                required=required & _uids(waiting),
                topology_request=topology_request,
            )


def _podset_of(pod: Pod, gang: GangKey | None, devices: Devices) -> tuple[Hashable, Hashable]:
    """Return the key of a pod's unit, and the key of its part of that unit."""
    podset = pod.podset
    gathers = podset is None and compute_domains.gather([pod], devices)
    part = (gang, podset.owner if podset else "", podset, gathers)
    return ("group", podset.group) if podset and podset.group else part, part


def _part(pods: Sequence[Pod], places: Mapping[RoleKey, int]) -> RankedMembers:
    return RankedMembers(
        members=tuple(pod for pod in pods if not pod.node),
        bound_members=tuple(pod for pod in pods if pod.node),
        places=places,
    )


def in_trees(
    unit: PlacementUnit, tree_specs: Sequence[TreeSpec], nodes: NodeTable
) -> PlacementUnit | Problem:
    """Return the unit with the scope that it requests, and the sizes of its slices there."""
    if unit.topology_request is None:
        return unit
    slices = [_slices(unit, part) for part in unit.parts]
    everything = tuple(each for found in slices for each in found)
    asked = replace(unit.topology_request, slices=everything)
    scope = topology_scope.resolve(asked, tree_specs, nodes)
    if isinstance(scope, Problem):
        return _named(scope, unit)
    parts = []
    for part, found in zip(unit.parts, slices, strict=True):
        sizes = topology_scope.sizes_of(found, scope)
        if isinstance(sizes, Problem):
            return _named(sizes, unit)
        parts.append(replace(part, sizes=sizes))
    step = math.lcm(1, *(each.size for each in everything if each.whole))
    return _stepped(replace(unit, parts=tuple(parts), scope=scope, step=step))


def _slices(unit: PlacementUnit, part: RankedMembers) -> tuple[Slices, ...]:
    """Return the slices of a part: from its own podset, else from the unit."""
    podset = next((pod.podset for pod in (*part.members, *part.bound_members) if pod.podset), None)
    own = podset.topology_request.slices if podset is not None else ()
    return own or (unit.topology_request.slices if unit.topology_request else ())


def _stepped(unit: PlacementUnit) -> PlacementUnit | Problem:
    """Return the unit with its quorum rounded to whole slices."""
    if unit.step == 1 or unit.bound_members:
        return unit
    members = unit.members
    if not unit.elastic and len(members) % unit.step:
        cause = MultipleDoesNotDivide(unit.step, len(members))
        return _named(Problem(Reason.INVALID_SPEC, cause), unit)
    quorum = -(-unit.quorum // unit.step) * unit.step
    if quorum > len(members):
        return Problem(Reason.WAITING_FOR_MEMBERS, MultipleNeedsMore(len(members), quorum))
    surplus = [pod for pod in members if pod.uid not in unit.required]
    more = _uids(surplus[: quorum - unit.quorum])
    return replace(unit, required=unit.required | more)


def _named(problem: Problem, unit: PlacementUnit) -> Problem:
    """Return the problem, with the field of the topology request."""
    where = unit.topology_request.where if unit.topology_request else ""
    return replace(problem, cause=Requested(where, problem.cause)) if where else problem


def _in_order(pods: Iterable[Pod], places: Mapping[RoleKey, int]) -> tuple[Pod, ...]:
    """Return members of several gangs by rank if all ranks differ, else by gang."""
    listed = tuple(pods)
    ranks = {(place_of(pod, places), pod.rank) for pod in listed if pod.rank}
    if len(ranks) < len(listed):
        return listed
    return tuple(in_rank_order(listed, places))


def _places(gangs: Iterable[Gang]) -> Mapping[RoleKey, int]:
    """Return the places of the roles in the rank order of their gangs."""
    return {(gang.key, role.name): place for gang in gangs for place, role in enumerate(gang.roles)}


def _uids(pods: Iterable[Pod]) -> frozenset[str]:
    return frozenset(pod.uid for pod in pods)
