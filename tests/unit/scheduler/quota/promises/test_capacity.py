"""What the nodes of a flavor have."""

from gang_scheduler.model.nodes import Node, NodeTable
from gang_scheduler.model.queues import Flavor, FlavorResource, Product, QueueSet
from gang_scheduler.model.resources import RequestRules, Transformation
from gang_scheduler.scheduler.quota.promises import capacity, flavor_of
from support.queue_builders import CPU

SPOT = {"kind": "spot"}
NODES = NodeTable(
    [
        Node("a", labels=SPOT, allocatable=(("cpu", 1), ("nvidia.com/gpu", 2))),
        Node("b", allocatable=(("amd.com/gpu", 3), ("cpu", 10))),
        Node("c", labels=SPOT, ready=False, allocatable=(("cpu", 100),)),
        Node("d", labels=SPOT, unschedulable=True, allocatable=(("cpu", 1000),)),
    ]
)
OURS = Flavor(Product.OURS, "spot", (("kind", "spot"),))
KUEUE = Flavor(Product.KUEUE, "spot", (("kind", "none"),))


def of_ours(flavor: str, resource: str) -> int:
    declared = QueueSet(flavors=(KUEUE, OURS))
    return capacity(declared, Product.OURS, FlavorResource(flavor, resource), NODES)


def test_nodes_that_take_no_pods_do_not_count() -> None:
    assert 11 == capacity(QueueSet(), Product.OURS, CPU, NODES)


def test_a_flavor_is_the_nodes_with_its_labels() -> None:
    assert 1 == of_ours("spot", "cpu")
    assert 0 == of_ours("unknown", "cpu")


def test_gpu_is_the_sum_of_all_vendors() -> None:
    assert 5 == of_ours("default", "gpu")
    assert 2 == of_ours("default", "nvidia.com/gpu")
    assert 0 == of_ours("default", "nowhere.com/fpga")


def test_what_nodes_have_counts_as_requests_do() -> None:
    transformations = {"amd.com/gpu": Transformation((("credits", 5),), replaces=True)}
    declared = QueueSet(request_rules=RequestRules(transformations))
    found = [
        capacity(declared, Product.OURS, FlavorResource("default", name), NODES)
        for name in ("credits", "amd.com/gpu", "gpu", "nvidia.com/gpu", "cpu")
    ]

    assert [15, 0, 2, 2, 11] == found


def test_a_product_has_its_own_flavors_first() -> None:
    declared = QueueSet(flavors=(KUEUE, OURS))

    assert OURS is flavor_of(declared, Product.OURS, "spot")
    assert KUEUE is flavor_of(declared, Product.KUEUE, "spot")
    assert flavor_of(declared, Product.VOLCANO, "spot") is None
    assert flavor_of(declared, Product.OURS, "x") is None
