"""The flavors that a pod is charged in: those of its binding, else by its node."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    Flavor,
    Product,
    QueueKind,
    QueueRef,
    QueueSet,
    ResourceGroup,
)

Labels = Mapping[str, str]
Flavors = tuple[tuple[str, str], ...]
"""Pairs of a resource and its flavor, by resource."""


class _Asked(NamedTuple):
    """What flavors follow from: those that are decided, and the node, where that matters."""

    ref: QueueRef
    decided: Flavors
    node: str


class ChargedFlavors:
    """The flavors of pods by queue and node, each found once while queues and nodes are the same.

    A queue also uses what it has no quota for, and what its tree governs: with flavors of the tree.
    A ClusterQueue does not.
    """

    def __init__(self, queue_set: QueueSet, labels_of: Callable[[str], Labels]) -> None:
        self.queue_set = queue_set
        self._labels_of = labels_of
        self._queues = {each.ref: each for each in queue_set.queues}
        self._flavors = {(each.product, each.name): each for each in queue_set.flavors}
        self._governed = {each: _governed(queue_set, each) for each in Product}
        self._groups: dict[QueueRef, tuple[ResourceGroup, ...]] = {}
        self._known: dict[_Asked, Flavors] = {}

    def of(self, ref: QueueRef, decided: Flavors = (), node: str = "") -> Flavors:
        """Return the flavors of a pod on a node; without a node, the first that the queue has."""
        groups = self._groups_of(ref)
        matters = bool(node) and (bool(decided) or any(len(each.flavors) > 1 for each in groups))
        asked = _Asked(ref, decided, node if matters else "")
        known = self._known.get(asked)
        if known is None:
            known = self._known[asked] = self._found(groups, asked)
        return known

    def node_changed(self) -> None:
        """Forget what follows from the labels of nodes."""
        self._known.clear()

    def _found(self, groups: Iterable[ResourceGroup], asked: _Asked) -> Flavors:
        found = dict(asked.decided)
        for group in groups:
            decided = {each: found[each] for each in group.resources if each in found}
            counts = {
                each: name for each, name in decided.items() if self._counts(name, group, asked)
            }
            flavor = next(iter(counts.values()), None) or self._first(group, asked)
            found.update({**dict.fromkeys(group.resources, flavor), **counts})
        return tuple(sorted(found.items()))

    def _counts(self, name: str, group: ResourceGroup, asked: _Asked) -> bool:
        """Return whether a decided flavor is believed: users may write any on pods that run.

        One that the queue has not, or no more, has no quota: it is, where the node is of that kind.
        """
        flavor = self._flavors.get((asked.ref.product, name))
        if name in group.flavors or flavor is None or not asked.node or not flavor.node_labels:
            return name in group.flavors
        return self._has(asked.ref.product, self._labels_of(asked.node), name)

    def _first(self, group: ResourceGroup, asked: _Asked) -> str:
        """Return the first flavor that has the node; the first of all if none has it."""
        if not asked.node:
            return group.flavors[0]
        labels = self._labels_of(asked.node)
        has_node = partial(self._has, asked.ref.product, labels)
        return next(filter(has_node, group.flavors), group.flavors[0])

    def _has(self, product: Product, labels: Labels, name: str) -> bool:
        flavor = self._flavors.get((product, name), Flavor(product, name))
        return all(labels.get(key) == text for key, text in flavor.node_labels)

    def _groups_of(self, ref: QueueRef) -> tuple[ResourceGroup, ...]:
        if ref not in self._groups:
            queue = self._queues.get(ref)
            own = queue.resource_groups if queue is not None else ()
            own = tuple(each for each in own if each.flavors)
            covered = {resource for each in own for resource in each.resources}
            rest = () if ref.kind is QueueKind.CLUSTER_QUEUE else self._governed[ref.product]
            others = (each for each in rest if covered.isdisjoint(each.resources))
            self._groups[ref] = (*own, *others)
        return self._groups[ref]


def _governed(queue_set: QueueSet, product: Product) -> tuple[ResourceGroup, ...]:
    """Return each resource that queues of a product govern, with the flavors that they have."""
    found: dict[str, set[str]] = {}
    for queue in queue_set.queues:
        if queue.ref.product is product:
            for flavor, resource in queue.quotas:
                found.setdefault(resource, set()).add(flavor)
    return tuple(
        ResourceGroup((resource,), tuple(sorted(flavors, key=_every_node_first)))
        for resource, flavors in sorted(found.items())
    )


def _every_node_first(flavor: str) -> tuple[bool, str]:
    return flavor != DEFAULT_FLAVOR, flavor
