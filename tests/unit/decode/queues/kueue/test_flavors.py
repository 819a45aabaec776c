"""ResourceFlavors."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.queues import kueue
from gang_scheduler.decode.queues.declared import DeclaredFlavor
from gang_scheduler.model.nodes import Taint, Toleration
from gang_scheduler.model.queues import Product


def read(**spec: Any) -> DeclaredFlavor:
    body = {"metadata": {"name": "spot", "uid": "u"}, "spec": spec}
    return kueue.flavor_of(Product.KUEUE)(body)


def test_a_flavor_without_labels_is_every_node() -> None:
    flavor = read().flavor

    assert (Product.KUEUE, "spot", ()) == (flavor.product, flavor.name, flavor.node_labels)


def test_labels_taints_tolerations_and_the_topology_are_read() -> None:
    found = read(
        nodeLabels={"b": "2", "a": "1"},
        nodeTaints=[{"key": "spot", "value": "yes", "effect": "NoSchedule"}],
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        topologyName="default",
    ).flavor

    assert (("a", "1"), ("b", "2")) == found.node_labels
    assert (Taint("spot", "yes", "NoSchedule"),) == found.node_taints
    assert (Toleration("gpu", "Exists"),) == found.tolerations
    assert "default" == found.topology


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"nodeLabels": {"a": 1}}, r"spec.nodeLabels\[a\] must be a string, not 1"),
        ({"nodeTaints": [{"value": "x"}]}, r"spec.nodeTaints\[0\] .*`key`"),
        ({"topologyName": 1}, "spec.topologyName must be a string, not 1"),
    ],
)
def test_what_cannot_be_read_is_refused_by_field_and_value(
    spec: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidField, match=words):
        read(**spec)
