"""What the nodes of a flavor have: those that are ready and not cordoned."""

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    GPU,
    Flavor,
    FlavorResource,
    Product,
    QueueSet,
)


def flavor_of(declared: QueueSet, product: Product, name: str) -> Flavor | None:
    """Return the flavor that queues of a product mean by a name; None where none is declared."""
    found = (flavor for flavor in declared.flavors if flavor.name == name)
    return next((flavor for flavor in found if flavor.product is product), None)


def nodes_of(flavor: Flavor | None, nodes: NodeTable) -> BoolArray:
    """Return the nodes of a flavor; all where there is no flavor. Ready or not."""
    chosen = np.ones(len(nodes), dtype=np.bool_)
    for key, value in flavor.node_labels if flavor else ():
        chosen &= nodes.label(key).matches([value])
    return chosen


def is_empty(flavor: Flavor, nodes: NodeTable) -> bool:
    """Return whether no node is of a flavor; found once for these nodes."""
    key = "is_empty", flavor.node_labels
    return nodes.derive(key, lambda: not nodes_of(flavor, nodes).any())


def capacity(declared: QueueSet, product: Product, key: FlavorResource, nodes: NodeTable) -> int:
    """Return what the nodes of the flavor that take pods can be used for, of one resource.

    It is counted as requests are: what nodes have may count as other resources.
    """
    flavor = flavor_of(declared, product, key.flavor)
    if flavor is None and key.flavor != DEFAULT_FLAVOR:
        return 0
    chosen = nodes_of(flavor, nodes) & nodes.ready & ~nodes.unschedulable
    if declared.request_rules.transformations:
        return _transformed(declared, key.resource, nodes, chosen)
    names = declared.gpu_resources if key.resource == GPU else (key.resource,)
    columns = [nodes.axis[name] for name in names if name in nodes.axis]
    return sum(int(nodes.allocatable[chosen, column].sum()) for column in columns)


def _transformed(declared: QueueSet, resource: str, nodes: NodeTable, chosen: BoolArray) -> int:
    """Return what nodes have of a resource as requests count. Costs a step a kind of node."""
    kinds, numbers = np.unique(nodes.allocatable[chosen], axis=0, return_counts=True)
    found = 0
    for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
        requests = tuple(zip(nodes.resources, kind, strict=True))
        found += number * declared.charged(requests).get(resource, 0)
    return found
