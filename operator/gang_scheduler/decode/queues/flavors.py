"""ResourceFlavors: sets of nodes. Kueue's and ours have the same shape."""

from collections.abc import Callable, Mapping
from typing import Any

from gang_scheduler.decode import fields
from gang_scheduler.decode.queues.declared import DeclaredFlavor
from gang_scheduler.model.nodes import Taint
from gang_scheduler.model.pods import Toleration
from gang_scheduler.model.queues import Flavor, Product
from gang_scheduler.wire.queues.flavors import ResourceFlavor


def of(product: Product) -> Callable[[Mapping[str, Any]], DeclaredFlavor]:
    """Return what reads the ResourceFlavors of a product. That raises InvalidField."""

    def read(body: Mapping[str, Any]) -> DeclaredFlavor:
        source = fields.read(body, ResourceFlavor)
        return DeclaredFlavor(source.metadata.uid, _flavor(product, source))

    return read


def _flavor(product: Product, source: ResourceFlavor) -> Flavor:
    spec = source.spec
    return Flavor(
        product=product,
        name=source.metadata.name,
        node_labels=tuple(sorted(spec.node_labels.items())),
        node_taints=tuple(Taint(each.key, each.value, each.effect) for each in spec.node_taints),
        tolerations=tuple(
            Toleration(each.key, each.operator or "Equal", each.value, each.effect)
            for each in spec.tolerations
        ),
        topology=spec.topology_name,
    )
