"""In which flavors a pod is charged."""

import pytest

from gang_scheduler.model.queues import Flavor, FlavorResource, Product, Queue, QueueRef, QueueSet
from gang_scheduler.state.queues.charges import ChargedFlavors, Flavors
from support.queue_builders import cluster_queue, cq_ref, queue_ref
from support.queue_clusters import flavored

NODES = {f"n-{kind}": {"kind": kind} for kind in ("spot", "firm", "old")} | {"n-bare": {}}
MEMORY = FlavorResource("default", "memory")


def found(*queues: Queue) -> ChargedFlavors:
    kinds = ("spot", "firm", "old")
    flavors = [Flavor(Product.OURS, each, (("kind", each),)) for each in kinds]
    flavors.append(Flavor(Product.OURS, "everywhere"))
    return ChargedFlavors(QueueSet(queues, tuple(flavors)), lambda name: NODES.get(name, {}))


@pytest.mark.parametrize(
    ("decided", "node", "expected"),
    [
        ((), "", "spot"),
        ((), "n-spot", "spot"),
        ((), "n-firm", "firm"),
        ((), "n-bare", "spot"),
        ((("cpu", "firm"),), "n-spot", "firm"),
        ((("cpu", "old"),), "n-old", "old"),
        ((("cpu", "old"),), "n-firm", "firm"),
        ((("cpu", "old"),), "", "spot"),
        ((("cpu", "gone"),), "n-old", "spot"),
        ((("cpu", "everywhere"),), "n-firm", "firm"),
    ],
)
def test_what_is_decided_comes_before_the_node_if_the_queue_has_it_or_the_node_is_such_a_one(
    decided: Flavors, node: str, expected: str
) -> None:
    flavors = found(flavored("a", "spot", "firm")).of(queue_ref("a"), decided, node)

    assert (("cpu", expected),) == flavors


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        (queue_ref("a"), (("cpu", "spot"), ("memory", "default"))),
        (queue_ref("none"), (("cpu", "spot"), ("memory", "default"))),
        (cq_ref("c"), ()),
    ],
)
def test_a_queue_uses_what_its_tree_governs_also_without_a_quota(
    ref: QueueRef, expected: Flavors
) -> None:
    other = flavored("b")
    other.quotas[MEMORY] = next(iter(flavored("x", "spot").quotas.values()))  # type: ignore[index]
    queues = found(flavored("a", "spot"), other, cluster_queue("c"))

    assert expected == queues.of(ref, (), "n-spot")


def test_flavors_are_found_once_until_nodes_change() -> None:
    queues = found(flavored("a", "spot", "firm"))
    one, two = (queues.of(queue_ref("a"), (), "n-firm") for _ in range(2))
    queues.node_changed()

    assert one is two
    assert one == queues.of(queue_ref("a"), (), "n-firm")
