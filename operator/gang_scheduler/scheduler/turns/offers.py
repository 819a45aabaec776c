"""The ways to give flavors to all members of a group, and what each way charges.

Members of one class and controller are a podset: one flavor for each resource group of the queue.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Pod, PodClass, Toleration
from gang_scheduler.model.problems import Problem
from gang_scheduler.model.queues import FlavorResource, QueueSet
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.virtual_pods import VirtualPods, numbers_by
from gang_scheduler.scheduler.turns import flavors
from gang_scheduler.scheduler.turns.flavors import Choice, Labels
from gang_scheduler.scheduler.units.division import in_trees
from gang_scheduler.scheduler.units.placement_units import PlacementUnit, PodSetKey

MOST_OFFERS: Final = 64
"""How many combinations of flavors are judged for one group."""

Amounts = dict[FlavorResource, int]


def podset_of(pod: Pod) -> PodSetKey:
    """Return the podset of a member."""
    return pod.pod_class, pod.owner


def podsets_of(units: Sequence[PlacementUnit]) -> Mapping[PodSetKey, int]:
    """Return how many members of the quorums are of each podset."""
    if len(units) == 1:
        return units[0].podsets
    counts: Counter[PodSetKey] = Counter()
    for unit in units:
        counts.update(unit.podsets)
    return counts


def podsets_by_number(group: GangGroup) -> Mapping[PodSetKey, int] | None:
    """Return the same of a suspended gang that starts whole, without making its members.

    None for any other group, and where members ask to be placed together.
    """
    if len(group.gangs) > 1 or group.topology_request is not None:
        return None
    (gang,) = group.gangs
    pods = gang.pending
    if not isinstance(pods, VirtualPods) or gang.roles or gang.singly or gang.quorum < len(pods):
        return None
    if any(pod.podset is not None for pod in pods.prototypes):
        return None
    return numbers_by(pods, podset_of)


@dataclass(frozen=True, eq=False)
class Offer:
    """One way: the choice of each podset. Podsets without a choice can only be surplus."""

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
        """Return what so many members of podsets are charged together."""
        charge: Amounts = {}
        for key, number in podsets.items():
            asked = self.declared.charged(key[0].requests)
            for resource, flavor in self.choices[key].flavors if key in self.choices else ():
                of = FlavorResource(flavor, resource)
                charge[of] = charge.get(of, 0) + number * asked.get(resource, 0)
        return charge

    def charge_of(self, pods: Iterable[Pod]) -> Amounts:
        """Return what members are charged together."""
        return self.charge(Counter(podset_of(pod) for pod in pods))

    def units(
        self, units: Sequence[PlacementUnit], snapshot: Snapshot
    ) -> tuple[PlacementUnit, ...] | Problem:
        """Return the units with members that must be on nodes of their flavors.

        The same objects where flavors change nothing. A problem: the topology request of a unit is
        about another topology than the one of its flavors.
        """
        if all(choice.is_anywhere for choice in self.choices.values()):
            return tuple(units)
        found = []
        for unit in units:
            sited = self._in_topology(unit, snapshot)
            if isinstance(sited, Problem):
                return sited
            found.append(self._on_labels(sited))
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

    def _on_labels(self, unit: PlacementUnit) -> PlacementUnit:
        confined: dict[tuple[PodClass, Labels, tuple[Toleration, ...]], PodClass] = {}

        def member(pod: Pod) -> Pod:
            choice = self.choices.get(podset_of(pod))
            if choice is None or not (choice.labels or choice.tolerations):
                return pod
            key = pod.pod_class, choice.labels, choice.tolerations
            if key not in confined:
                confined[key] = flavors.confined(*key)
            return replace(pod, pod_class=confined[key])

        if not any(choice.labels or choice.tolerations for choice in self.choices.values()):
            return unit
        parts = (replace(each, members=tuple(map(member, each.members))) for each in unit.parts)
        return replace(unit, parts=tuple(parts))


def offers(
    podsets: Mapping[PodSetKey, int],
    choices: Mapping[PodSetKey, Sequence[Choice]],
    declared: QueueSet,
) -> Iterator[Offer]:
    """Yield the combinations in the order of the choices, those of the first podset first.

    What can only be surplus has the first of its choices.
    """
    needed = [key for key, number in podsets.items() if number]
    spare = {key: some[0] for key, some in choices.items() if some and not podsets[key]}
    combinations = itertools.product(*(choices[key] for key in needed))
    for chosen in itertools.islice(combinations, MOST_OFFERS):
        yield Offer({**spare, **dict(zip(needed, chosen, strict=True))}, declared)


def _name(tree: str) -> str:
    """Return the name of the object that a tree is from: trees are called by kind and name."""
    return tree.rpartition(" ")[2]
