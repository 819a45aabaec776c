"""The request of a group to its queue: possible flavor assignments, or why there is none."""

import functools
import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from gang_scheduler.model.causes.queues import (
    AbovePotential,
    FlavorFault,
    FlavorsUnsuitable,
    UnsuitableFlavor,
)
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import EmptyFlavor
from gang_scheduler.model.pods import Pod, PodClass, VirtualPods, numbers_by
from gang_scheduler.model.queues import (
    Charge,
    FlavorResource,
    Queue,
    QueueRef,
    QueueSet,
    QueueState,
    ResourceGroup,
)
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.records import revised
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, PodSetKey, in_trees
from gang_scheduler.scheduler.quota import promises
from gang_scheduler.scheduler.turns import flavors
from gang_scheduler.scheduler.turns.flavors import Choice, Choices, Confining, FlavorChoices
from gang_scheduler.scheduler.turns.ledger import Ledger

# Flavor assignments for all members of a group, and the charge of each. Members of one class and
# controller are a podset, which gets one flavor for each resource group of the queue.

MOST_OPTIONS: Final = 64
"""At most this many combinations of flavors are judged for one group."""

Amounts = dict[FlavorResource, int]


def podset_of(pod: Pod) -> PodSetKey:
    """Return the podset of a member."""
    return pod.pod_class, pod.owner


def podsets_of(units: Sequence[PlacementUnit]) -> Mapping[PodSetKey, int]:
    """Return how many members of the quorums belong to each podset."""
    if len(units) == 1:
        return units[0].podsets
    counts: Counter[PodSetKey] = Counter()
    for unit in units:
        counts.update(unit.podsets)
    return counts


def podsets_by_number(group: GangGroup) -> Mapping[PodSetKey, int] | None:
    """Return the podsets of a suspended gang that starts whole, without creating its members.

    None for any other group, and if members request to be placed together.
    """
    if len(group.gangs) > 1 or group.topology_request is not None:
        return None
    (gang,) = group.gangs
    pods = gang.pending
    if (
        not isinstance(pods, VirtualPods)
        or gang.roles
        or gang.placed_singly
        or gang.quorum < len(pods)
    ):
        return None
    if any(pod.podset is not None for pod in pods.prototypes):
        return None
    return numbers_by(pods, podset_of)


@dataclass(frozen=True, eq=False)
class FlavorOption:
    """A choice of flavors for each podset. Podsets without a choice can only be surplus."""

    choices: Mapping[PodSetKey, Choice]
    declared: QueueSet

    @property
    def names(self) -> frozenset[str]:
        """The flavors by name."""
        return frozenset(name for each in self.choices.values() for _, name in each.flavors)

    def flavors_of(self, pod: Pod) -> tuple[tuple[str, str], ...]:
        """Return the flavors of a member."""
        choice = self.choices.get(podset_of(pod))
        return choice.flavors if choice else ()

    def charge(self, podsets: Mapping[PodSetKey, int]) -> Amounts:
        """Return the charge of this many members of each podset."""
        charge: Amounts = {}
        for key, number in podsets.items():
            asked = self.declared.charged(key[0].charged)
            for resource, flavor in self.choices[key].flavors if key in self.choices else ():
                of = FlavorResource(flavor, resource)
                charge[of] = charge.get(of, 0) + number * asked.get(resource, 0)
        return charge

    def charge_of(self, pods: Iterable[Pod]) -> Amounts:
        """Return the charge of these members."""
        return self.charge(Counter(podset_of(pod) for pod in pods))

    def units(
        self,
        units: Sequence[PlacementUnit],
        snapshot: Snapshot,
        confined: Confining | None = None,
    ) -> tuple[PlacementUnit, ...] | Problem:
        """Return the units with members that must be on nodes of their flavors.

        The objects stay the same if flavors change nothing. The result is a problem if the topology
        request of a unit is about another topology than its flavors. `confined` is given to make
        each class once for many options.
        """
        if all(choice.is_anywhere for choice in self.choices.values()):
            return tuple(units)
        confined = confined or functools.cache(flavors.confined)
        found = []
        for unit in units:
            sited = self._in_topology(unit, snapshot)
            if isinstance(sited, Problem):
                return sited
            found.append(self._on_labels(sited, confined))
        return tuple(found)

    def _in_topology(self, unit: PlacementUnit, snapshot: Snapshot) -> PlacementUnit | Problem:
        names = {
            self.choices[key].topology
            for key in map(podset_of, unit.members)
            if key in self.choices
        }
        if unit.scope is None or names <= {""}:
            return unit
        trees = [each for each in snapshot.tree_specs if names <= {"", _name(each.name)}]
        return in_trees(unit, trees, snapshot.nodes)

    def _on_labels(self, unit: PlacementUnit, confined: Confining) -> PlacementUnit:
        def member(pod: Pod) -> Pod:
            choice = self.choices.get(podset_of(pod))
            if choice is None or not (choice.labels or choice.tolerations):
                return pod
            there = confined(pod.pod_class, choice.labels, choice.tolerations)
            return revised(pod, pod_class=there)

        if not any(choice.labels or choice.tolerations for choice in self.choices.values()):
            return unit
        parts = (replace(each, members=tuple(map(member, each.members))) for each in unit.parts)
        return replace(unit, parts=tuple(parts))


def options(
    podsets: Mapping[PodSetKey, int],
    choices: Mapping[PodSetKey, Sequence[Choice]],
    declared: QueueSet,
) -> Iterator[tuple[FlavorOption, Amounts]]:
    """Yield the combinations of flavors in the order of the queue, varying the last podset first.

    With each comes its charge. A podset that has only surplus members always gets the first of its
    choices.
    """
    if not all(choices[key] for key, number in podsets.items() if number):
        return
    varied = _varied(podsets, choices)
    same = {key: some[0] for key, some in choices.items() if some and key not in varied}
    charge = FlavorOption(same, declared).charge(podsets)
    combinations = itertools.product(*(choices[key] for key in varied))
    for chosen in itertools.islice(combinations, MOST_OPTIONS):
        others = dict(zip(varied, chosen, strict=True))
        yield (
            FlavorOption({**same, **others}, declared),
            _with_more(charge, FlavorOption(others, declared).charge(varied)),
        )


def _varied(
    podsets: Mapping[PodSetKey, int], choices: Mapping[PodSetKey, Sequence[Choice]]
) -> dict[PodSetKey, int]:
    """Return the last podsets that have all options that are judged; the others never vary."""
    combinations, found = 1, []
    for key, number in reversed(list(podsets.items())):
        if combinations >= MOST_OPTIONS:
            break
        if number and len(choices[key]) > 1:
            combinations *= len(choices[key])
            found.append((key, number))
    return dict(reversed(found))


def _with_more(charge: Amounts, more: Amounts) -> Amounts:
    return {**charge, **{key: charge.get(key, 0) + amount for key, amount in more.items()}}


def _name(tree: str) -> str:
    """Return the name of the object that declares a tree: trees are named by kind and name."""
    return tree.rpartition(" ")[2]


MOST_KINDS: Final = 16_384
"""At most this many kinds of requests are remembered."""


class _Groups(NamedTuple):
    """The resource groups of queues, and a number that identifies them."""

    number: int
    groups: tuple[ResourceGroup, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FlavorAssignment:
    """A flavor option for units of a group, and the charge of their quorums."""

    option: FlavorOption
    charge: Charge
    units: tuple[PlacementUnit, ...]


@dataclass(frozen=True, eq=False)
class Request:
    """A group that can be tried, with its assignments in the order of the queue's flavors.

    `holds` quota: a gang of the group runs or is nominated. `placed_singly`: the quota of each
    member may be freed on its own, not all at once.
    """

    group: GangGroup
    queue: Queue
    units: tuple[PlacementUnit, ...]
    assignments: tuple[FlavorAssignment, ...]
    holds: bool = False
    nominated: bool = False
    placed_singly: bool = False

    @property
    def ref(self) -> QueueRef:
        """The queue that is asked."""
        return self.queue.ref

    @functools.cached_property
    def kind(self) -> object:
        """A key that requests share if they lack the same quota and evictions may free the same.

        They may still differ in whether they may evict gangs that are newer than the group.
        """
        charges = (frozenset(assignment.charge.items()) for assignment in self.assignments)
        return _kind(self.ref, self.group.queue_priority, self.group.priority, *charges)


@functools.lru_cache(MOST_KINDS)
def _kind(*parts: Hashable) -> object:  # noqa: ARG001 - they are the key.
    # Requests with equal parts share one object: comparing objects costs a tenth of comparing
    # parts.
    return object()


class Requests:
    """Makes the requests of one cycle."""

    def __init__(self, snapshot: Snapshot, state: QueueState, ledger: Ledger) -> None:
        self._snapshot = snapshot
        self._ledger = ledger
        self._choices = FlavorChoices(state.declared)
        self.confined: Confining = functools.cache(flavors.confined)
        self._declared = state.declared
        self._enforced = state.declared.enforced
        self._groups: dict[QueueRef, _Groups] = {}
        self._alike: dict[tuple[ResourceGroup, ...], _Groups] = {}
        self._selections: dict[PodClass, int] = {}
        self._kinds: dict[tuple[object, ...], int] = {}
        self._found: dict[tuple[object, ...], Choices] = {}
        self.judged = 0
        """For how many combinations of flavors a charge was computed, for all groups together."""

    def request_of(
        self,
        group: GangGroup,
        queue: Queue,
        units: tuple[PlacementUnit, ...],
        *,
        holds: bool,
        nominated: bool,
    ) -> Request | Problem:
        """Return the request of a group, or why it can never be met.

        Computed once for a group until its units, the queues or the nodes change.
        """
        basis = (units, self._declared, self._snapshot.nodes, self._snapshot.tree_specs)
        placed_singly = all(unit.placed_singly for unit in units)
        make = functools.partial(
            self._assignments, group, queue, units, placed_singly=placed_singly
        )
        assignments = group.cached("ways", basis, lambda: make(podsets_of(units)))
        if isinstance(assignments, Problem):
            return assignments
        return Request(group, queue, units, assignments, holds, nominated, placed_singly)

    def without_members(self, group: GangGroup, queue: Queue) -> Request | Problem | None:
        """Return the request of a suspended group without creating its members, or its problem.

        None if its members must be known.
        """
        podsets = podsets_by_number(group)
        if podsets is None:
            return None
        found = self._choices_of_podsets(group, queue, podsets).values()
        if any(choice.topology for choices, _ in found for choice in choices):
            return None
        assignments = self._assignments(group, queue, (), podsets, placed_singly=False)
        return (
            assignments
            if isinstance(assignments, Problem)
            else Request(group, queue, (), assignments)
        )

    def _assignments(
        self,
        group: GangGroup,
        queue: Queue,
        units: tuple[PlacementUnit, ...],
        podsets: Mapping[PodSetKey, int],
        *,
        placed_singly: bool,
    ) -> tuple[FlavorAssignment, ...] | Problem:
        found = self._choices_of_podsets(group, queue, podsets)
        enforced = queue.ref.product in self._declared.enforced
        problem = self._never(group, queue, podsets, found)
        if problem is not None and enforced:
            return problem
        choices = {key: some for key, (some, _) in found.items()}
        distinct = {id(some): some for some in choices.values()}.values()
        has_topology = any(choice.topology for some in distinct for choice in some)
        judged = list(options(podsets, choices, self._declared))
        self.judged += len(judged)
        assignments = [
            FlavorAssignment(option, charge, units)
            for option, charge in judged
            if not has_topology or self._is_in_topology(option, units)
        ]
        if not (assignments or enforced):
            # Another controller enforces the quota of this queue, and has admitted the members.
            assignments = [FlavorAssignment(FlavorOption({}, self._declared), {}, units)]
        if not assignments:
            return _unsuitable(group, queue, _elsewhere(choices))
        possible = tuple(
            each for each in assignments if placed_singly or self._is_possible(queue, each)
        )
        if not possible:
            return self._potential_exceeded(queue, assignments[0])
        return possible

    def empty_flavors(
        self, request: Request, assignment: FlavorAssignment
    ) -> tuple[EmptyFlavor, ...]:
        """Return the flavors of an assignment that no node has."""
        product = request.ref.product
        found = (self._choices.flavor(product, name) for name in sorted(assignment.option.names))
        return tuple(
            EmptyFlavor(each.name, each.node_labels)
            for each in found
            if each is not None and promises.is_empty(each, self._snapshot.nodes)
        )

    def charge_of_nominated(self, request: Request, nominations: Sequence[Nominated]) -> Charge:
        """Return the charge of nominated members, in the first flavors of their nodes."""
        charge: dict[FlavorResource, int] = {}
        for each in nominations:
            found = (
                assignment.option
                for assignment in request.assignments
                if self.is_of(assignment.option, each.pod, each.pod.nominated)
            )
            option = next(found, request.assignments[0].option)
            for fr, amount in option.charge_of([each.pod]).items():
                charge[fr] = charge.get(fr, 0) + amount
        return charge

    def is_of(self, option: FlavorOption, pod: Pod, node: str) -> bool:
        """Return whether a node belongs to the flavors that an option has for a member."""
        row = self._snapshot.nodes.rows.get(node)
        choice = option.choices.get(podset_of(pod))
        if row is None or choice is None:
            return False
        labels = self._snapshot.nodes.nodes[row].labels
        return all(labels.get(key) == value for key, value in choice.labels)

    def _choices_of_podsets(
        self, group: GangGroup, queue: Queue, podsets: Iterable[PodSetKey]
    ) -> dict[PodSetKey, Choices]:
        kept = frozenset(pair for gang in group.gangs for pair in gang.flavors)
        edited = group.editable
        return {key: self._choices_of_class(queue, key, kept, edited=edited) for key in podsets}

    def _choices_of_class(
        self, queue: Queue, key: PodSetKey, kept: frozenset[tuple[str, str]], *, edited: bool
    ) -> Choices:
        """Return the choices of a class. Classes that differ in nothing relevant share them."""
        product, groups, pod_class = queue.ref.product, self._groups_of(queue), key[0]
        known = (product, groups.number, self._selection(pod_class), kept, edited)
        if known not in self._found:
            self._found[known] = self._choices.choices(
                product, groups.groups, pod_class, kept, edited=edited
            )
        return self._found[known]

    def _selection(self, pod_class: PodClass) -> int:
        """Return a number that classes share if no flavor can tell them apart.

        A class knows its hash, and its selectors do not: those can be long.
        """
        known = self._selections.get(pod_class)
        if known is None:
            selects = (pod_class.node_selector, pod_class.affinity, pod_class.tolerations)
            asked = frozenset(self._declared.charged(pod_class.charged))
            known = self._kinds.setdefault((selects, asked), len(self._kinds))
            self._selections[pod_class] = known
        return known

    def _groups_of(self, queue: Queue) -> _Groups:
        """Return the resource groups of a queue, as one object for queues with equal groups.

        Most queues of a cluster differ only in their quota.
        """
        known = self._groups.get(queue.ref)
        if known is None:
            governed = self._ledger.forest.governed(queue.ref)
            groups = flavors.groups_of(queue, governed, self._declared.gpu_resources)
            known = self._alike.setdefault(groups, _Groups(len(self._alike), groups))
            self._groups[queue.ref] = known
        return known

    def _never(
        self,
        group: GangGroup,
        queue: Queue,
        podsets: Mapping[PodSetKey, int],
        found: Mapping[PodSetKey, Choices],
    ) -> Problem | None:
        """Return why no flavor is possible for a podset of the quorums, if so."""
        needed = [key for key, number in podsets.items() if number]
        for key in needed:
            choices, unsuitable = found[key]
            if not choices:
                return _unsuitable(group, queue, unsuitable, key)
        for key in needed:
            asked = self._declared.charged(key[0].charged)
            # Like Kueue, this counts the pod template without requests that an operator adds to
            # pods later.
            wanted = {name: asked[name] for name in asked if name not in key[0].unasked}
            missing = next(flavors.uncovered(queue, wanted), None)
            if missing is not None:
                amount = sum(
                    self._declared.charged(each[0].charged).get(missing, 0) * number
                    for each, number in podsets.items()
                )
                cause = AbovePotential(queue.ref.name, flavors.UNCOVERED, missing, amount, 0)
                return Problem(Reason.QUOTA_EXCEEDED, cause)
        return None

    def _is_in_topology(self, option: FlavorOption, units: Sequence[PlacementUnit]) -> bool:
        names = any(choice.topology for choice in option.choices.values())
        return not names or not isinstance(
            option.units(units, self._snapshot, self.confined), Problem
        )

    def _is_possible(self, queue: Queue, assignment: FlavorAssignment) -> bool:
        return self._ledger.exceeds_potential(queue.ref, assignment.charge) is None

    def _potential_exceeded(self, queue: Queue, assignment: FlavorAssignment) -> Problem:
        short = self._ledger.exceeds_potential(queue.ref, assignment.charge)
        if short is None:
            raise AssertionError(assignment)
        cause = AbovePotential(queue.ref.name, *short.key, short.asked, short.available)
        return Problem(Reason.QUOTA_EXCEEDED, cause)


def _unsuitable(
    group: GangGroup,
    queue: Queue,
    found: tuple[UnsuitableFlavor, ...],
    key: PodSetKey | None = None,
) -> Problem:
    pods = [pod for gang in group.waiting for pod in gang.pending]
    pod = next((each for each in pods if key in (None, podset_of(each))), pods[0])
    return Problem(Reason.ADMISSION_DENIED, FlavorsUnsuitable(queue.ref.name, pod.key, found))


def _elsewhere(
    choices: Mapping[PodSetKey, Sequence[Choice]],
) -> tuple[UnsuitableFlavor, ...]:
    """Return the flavors that have a topology as unsuitable: it is not the requested topology."""
    found = (choice for some in choices.values() for choice in some if choice.topology)
    names = dict.fromkeys(name for choice in found for _, name in choice.flavors)
    return tuple(UnsuitableFlavor(name, FlavorFault.OTHER_TOPOLOGY) for name in names)
