"""The set of queues in force: one object until something changes."""

from fractions import Fraction
from typing import Any

from gang_scheduler.decode.queues import kueue, ours
from gang_scheduler.decode.queues.declared import DeclaredFlavor, DeclaredQueue
from gang_scheduler.model.api_words import Fairness, QueueNamespaces
from gang_scheduler.model.queues import Product, Queue, QueueKind, QueueSet
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.rules import QueueRules
from gang_scheduler.state.queues.declared import DeclaredQueues


def queue(name: str = "a", status: Any = None, **spec: Any) -> DeclaredQueue:
    metadata = {"name": name, "uid": f"uid-{name}"}
    return ours.queue({"metadata": metadata, "spec": spec, "status": status or {}})


def flavor(product: Product, name: str, **labels: str) -> DeclaredFlavor:
    metadata = {"name": name, "uid": f"{product}-{name}"}
    return kueue.flavor_of(product)({"metadata": metadata, "spec": {"nodeLabels": labels}})


def queue_set_of(queues: DeclaredQueues) -> QueueSet:
    found = queues.queue_set()
    assert found is not None
    return found


def only(queues: DeclaredQueues) -> Queue:
    (found,) = queue_set_of(queues).queues
    return found


def test_without_a_queue_there_is_no_set() -> None:
    queues = DeclaredQueues()
    queues.upsert_flavor(flavor(Product.KUEUE, "spot"))

    assert queues.queue_set() is None
    queues.upsert(queue())
    assert queues.queue_set() is not None
    assert queues.delete("uid-a")
    assert queues.queue_set() is None


def test_the_set_is_the_same_until_an_object_declares_something_else() -> None:
    queues = DeclaredQueues()
    queues.upsert(queue(weight=2))
    queues.upsert_flavor(flavor(Product.OURS, "spot", zone="a"))
    before = queue_set_of(queues)

    assert not queues.upsert(queue(weight=2, status={"pendingJobs": 3}))
    assert not queues.upsert_flavor(flavor(Product.OURS, "spot", zone="a"))
    assert not queues.delete("unknown")
    assert before is queue_set_of(queues)
    assert {"pendingJobs": 3} == queues.declared["uid-a"].status

    assert queues.upsert(queue(weight=3))
    assert Fraction(3) == only(queues).weight
    assert queues.upsert_flavor(flavor(Product.OURS, "spot", zone="b"))
    assert before.flavors != queue_set_of(queues).flavors


def test_queues_are_in_the_order_of_their_names_whatever_came_first() -> None:
    one, other = DeclaredQueues(), DeclaredQueues()
    names = ["b", "root", "a"]
    for name in names:
        one.upsert(queue(name))
    for name in reversed(names):
        other.upsert(queue(name))

    listed = [[str(each.ref) for each in queue_set_of(known).queues] for known in (one, other)]
    assert [["a", "b", "root"]] * 2 == listed


def test_a_cohort_and_a_cluster_queue_of_one_name_are_two() -> None:
    queues = DeclaredQueues()
    metadata = {"name": "a", "uid": "1"}
    queues.upsert(kueue.cluster_queue({"metadata": metadata}))
    queues.upsert(kueue.cohort({"metadata": {**metadata, "uid": "2"}}))

    assert {"1"} == queues.uids({QueueKind.CLUSTER_QUEUE})
    assert {"2"} == queues.uids({QueueKind.COHORT})
    assert 2 == len(queue_set_of(queues).queues)


def test_a_product_may_use_the_flavors_of_the_other_that_it_lacks_itself() -> None:
    queues = DeclaredQueues()
    queues.upsert(queue())
    queues.upsert_flavor(flavor(Product.OURS, "spot", of="ours"))
    queues.upsert_flavor(flavor(Product.KUEUE, "spot", of="kueue"))
    queues.upsert_flavor(flavor(Product.KUEUE, "big", of="kueue"))

    assert {
        (Product.OURS, "spot"): "ours",
        (Product.OURS, "big"): "kueue",
        (Product.KUEUE, "spot"): "kueue",
        (Product.KUEUE, "big"): "kueue",
    } == {
        (each.product, each.name): dict(each.node_labels)["of"]
        for each in queue_set_of(queues).flavors
    }


def test_settings_say_what_objects_do_not() -> None:
    queues = DeclaredQueues(
        QueueRules(
            kueue_fairness=Fairness.DRS,
            queue_namespaces=QueueNamespaces.NONE,
            gpu_resources=("x/gpu",),
        )
    )
    queues.upsert(queue())

    found = queue_set_of(queues)
    assert (Fairness.DRS, Fairness.FAIR_SHARE) == (
        found.fairness[Product.KUEUE],
        found.fairness[Product.OURS],
    )
    assert ("x/gpu",) == found.gpu_resources
    assert only(queues).namespaces is None
    queues.upsert(queue(namespaceSelector={}))
    assert () == only(queues).namespaces


def test_gpus_are_counted_once() -> None:
    queues = DeclaredQueues(QueueRules(gpu_resources=("x/gpu",)))
    queues.upsert(queue(quota={"soft": {"gpu": 1, "x/gpu": 1}}))

    problem = only(queues).problem
    assert problem is not None
    assert Reason.INVALID_SPEC is problem.reason


def test_a_product_that_decides_quota_itself_is_not_enforced() -> None:
    queues = DeclaredQueues()
    queues.upsert(queue())

    assert frozenset(Product) == queue_set_of(queues).enforced
    assert queues.enforce(Product.KUEUE, enforced=False)
    assert not queues.enforce(Product.KUEUE, enforced=False)
    assert {Product.OURS, Product.VOLCANO} == queue_set_of(queues).enforced
    assert queues.enforce(Product.KUEUE, enforced=True)
    assert frozenset(Product) == queue_set_of(queues).enforced
