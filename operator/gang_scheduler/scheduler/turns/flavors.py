"""The flavors that members of one class can have in a queue, in the order of the queue.

A flavor is judged by its own labels and taints. Placement later looks at the labels of the nodes.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.model.causes.queues import FlavorFault, UnsuitableFlavor
from gang_scheduler.model.nodes import Node, NodeTable, Toleration
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    GPU,
    Flavor,
    FlavorResource,
    Product,
    Queue,
    QueueSet,
    ResourceGroup,
)
from gang_scheduler.model.resources import is_device_capacity
from gang_scheduler.scheduler.filters import node_affinity, taints

Labels = tuple[tuple[str, str], ...]
UNCOVERED: Final = ""
"""Stands for the flavor of a resource that a ClusterQueue does not cover."""
PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class Choice:
    """The flavors of members of one class, as pairs of a resource and its flavor, by resource.

    Members are placed on nodes with all of `labels`, and get the `tolerations`. `topology` names
    the tree that their topology request must use, if they have one.
    """

    flavors: tuple[tuple[str, str], ...] = ()
    labels: Labels = ()
    topology: str = ""
    tolerations: tuple[Toleration, ...] = ()

    @property
    def is_anywhere(self) -> bool:
        """Whether the flavors do not limit the nodes of members."""
        return not (self.labels or self.topology or self.tolerations)


Choices = tuple[tuple[Choice, ...], tuple[UnsuitableFlavor, ...]]
"""The choices in the order of the queue, and the flavors that do not suit."""

Confining = Callable[[PodClass, Labels, tuple[Toleration, ...]], PodClass]
"""`confined`, or a function that remembers its results."""


class FlavorChoices:
    """The flavors of one cycle, and which of them members of a class can have in a queue."""

    def __init__(self, declared: QueueSet) -> None:
        self._declared = declared
        self._flavors = {(each.product, each.name): each for each in declared.flavors}
        self._by_name = {each.name: each for each in reversed(declared.flavors)}

    def flavor(self, product: Product, name: str) -> Flavor | None:
        """Return the flavor of that name: the product's own, else another product's."""
        found = self._flavors.get((product, name)) or self._by_name.get(name)
        if found is None and name == DEFAULT_FLAVOR and product is not Product.KUEUE:
            return Flavor(product, name)
        return found

    def choices(
        self,
        product: Product,
        groups: Sequence[ResourceGroup],
        pod_class: PodClass,
        kept: Collection[tuple[str, str]] = (),
        *,
        edited: bool = False,
    ) -> Choices:
        """Return the choices of a class.

        `kept` are the flavors of other members of the gang, by resource: no others are allowed.
        `edited`: members get the tolerations of their flavors.
        """
        asked = self._declared.charged(pod_class.charged)
        unsuitable: dict[UnsuitableFlavor, None] = {}
        of_groups = []
        for group in groups:
            resources = tuple(name for name in group.resources if asked.get(name))
            if resources:
                suited = self._suited(product, group, pod_class, unsuitable, edited=edited)
                keeping = _keeping(suited, resources, kept)
                of_groups.append([(resources, flavor) for flavor in keeping])
        found = (_joined(each, edited=edited) for each in itertools.product(*of_groups))
        return tuple(each for each in found if each is not None), tuple(unsuitable)

    def _suited(
        self,
        product: Product,
        group: ResourceGroup,
        pod_class: PodClass,
        unsuitable: dict[UnsuitableFlavor, None],
        *,
        edited: bool,
    ) -> list[Flavor]:
        """Return the flavors of a group that suit a class, and note the others."""
        flavors = [(name, self.flavor(product, name)) for name in group.flavors]
        keys = {key for _, each in flavors if each for key, _ in each.node_labels}
        suited = []
        for name, flavor in flavors:
            fault = _fault(name, flavor, pod_class, keys, edited=edited)
            if fault is not None:
                unsuitable[fault] = None
            elif flavor is not None:
                suited.append(flavor)
        return suited


def groups_of(
    queue: Queue, governed: Iterable[FlavorResource], gpu_resources: Collection[str]
) -> tuple[ResourceGroup, ...]:
    """Return the resource groups of a leaf, and groups of other resources with a quota in its tree.

    A Kueue ClusterQueue has only the groups that it declares.
    """
    if queue.ref.product is Product.KUEUE:
        return queue.resource_groups
    covered = {name for group in queue.resource_groups for name in group.resources}
    if GPU in covered:
        covered.update(gpu_resources)
    elif not covered.isdisjoint(gpu_resources):
        covered.add(GPU)
    flavors: dict[str, list[str]] = {}
    for flavor, resource in sorted(governed):
        if resource not in covered:
            flavors.setdefault(resource, []).append(flavor)
    resources: dict[tuple[str, ...], list[str]] = {}
    for resource, names in flavors.items():
        resources.setdefault(tuple(names), []).append(resource)
    others = (ResourceGroup(tuple(some), names) for names, some in resources.items())
    return (*queue.resource_groups, *others)


def uncovered(queue: Queue, asked: Mapping[str, int]) -> Iterator[str]:
    """Yield the resources that a ClusterQueue does not cover, so that it can never provide them."""
    if queue.ref.product is Product.KUEUE:
        covered = {name for group in queue.resource_groups for name in group.resources}
        # Capacities of devices count only for queues that have them.
        counted = (name for name in asked if not is_device_capacity(name))
        yield from (name for name in counted if name not in covered and name not in (PODS, GPU))


def confined(
    pod_class: PodClass, labels: Labels, tolerations: tuple[Toleration, ...] = ()
) -> PodClass:
    """Return a pod class that is also confined to nodes with these labels.

    The tolerations are added to its own.
    """
    selector = tuple(sorted({*pod_class.node_selector, *labels}))
    together = tuple(dict.fromkeys((*pod_class.tolerations, *tolerations)))
    return replace(pod_class, node_selector=selector, tolerations=together)


def _keeping(
    flavors: Sequence[Flavor], resources: Sequence[str], kept: Collection[tuple[str, str]]
) -> list[Flavor]:
    """Return the flavors that members have for these resources; all if members have none yet."""
    had = {flavor for resource, flavor in kept if resource in resources}
    return [each for each in flavors if not had or each.name in had]


def _joined(parts: Iterable[tuple[tuple[str, ...], Flavor]], *, edited: bool) -> Choice | None:
    """Return one flavor for each group as a choice; None if no node can be of all of them."""
    flavors: dict[str, str] = {}
    labels: dict[str, str] = {}
    topologies = set()
    tolerations: dict[Toleration, None] = {}
    for resources, flavor in parts:
        tolerations.update(dict.fromkeys(flavor.tolerations if edited else ()))
        flavors.update(dict.fromkeys(resources, flavor.name))
        for key, value in flavor.node_labels:
            if labels.setdefault(key, value) != value:
                return None
        topologies.update([flavor.topology] if flavor.topology else [])
    if len(topologies) > 1:
        return None
    of_all = tuple(sorted(labels.items()))
    topology = next(iter(topologies), "")
    return Choice(tuple(sorted(flavors.items())), of_all, topology, tuple(tolerations))


def _fault(
    name: str,
    flavor: Flavor | None,
    pod_class: PodClass,
    keys: Collection[str],
    *,
    edited: bool,
) -> UnsuitableFlavor | None:
    if flavor is None:
        return UnsuitableFlavor(name, FlavorFault.NOT_DECLARED)
    if not _is_selected(flavor, pod_class, keys):
        return UnsuitableFlavor(name, FlavorFault.LABELS_DIFFER)
    for taint in flavor.node_taints:
        if taint.effect in taints.HARD and not taints.tolerated(pod_class.tolerations, taint):
            own = taints.tolerated(flavor.tolerations, taint)
            if own and edited:
                continue
            fault = FlavorFault.TOLERATION_NOT_ADDED if own else FlavorFault.TAINT_NOT_TOLERATED
            return UnsuitableFlavor(name, fault, f"{taint.key}={taint.value}:{taint.effect}")
    return None


def _is_selected(flavor: Flavor, pod_class: PodClass, keys: Collection[str]) -> bool:
    """Return whether the selectors of a class allow a flavor, as far as they are about `keys`."""
    if not keys or not (pod_class.node_selector or pod_class.affinity):
        return True
    terms = pod_class.affinity
    if terms is not None:
        about = [tuple(r for r in term if r.key in keys and not r.on_field) for term in terms]
        # A term without a requirement of this kind can be met in any flavor.
        terms = tuple(about) if all(about) else None
    selector = tuple(pair for pair in pod_class.node_selector if pair[0] in keys)
    alone = NodeTable([Node("", labels=dict(flavor.node_labels))])
    return bool(node_affinity.passes(PodClass(node_selector=selector, affinity=terms), alone)[0])
