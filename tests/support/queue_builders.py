"""Queues of all products in one line each, and forests of them."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.nodes import Node, NodeTable
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    NONE,
    Charge,
    Flavor,
    FlavorResource,
    Product,
    Queue,
    QueueKind,
    QueueRef,
    QueueSet,
    QueueState,
    QueueUsage,
    Quota,
)
from gang_scheduler.scheduler.quota.forest import Forest

CPU: Final = FlavorResource(DEFAULT_FLAVOR, "cpu")
BIG: Final = Node("big", allocatable=(("cpu", 1000),))
Amount = int | Mapping[FlavorResource, int]


def queue_ref(name: str, kind: QueueKind = QueueKind.QUEUE) -> QueueRef:
    """Return a reference to one of our queues, or to one of another kind."""
    return NONE if name == "none" else QueueRef(kind, name)


def cq_ref(name: str) -> QueueRef:
    """Return a reference to a ClusterQueue."""
    return QueueRef(QueueKind.CLUSTER_QUEUE, name)


def cohort_ref(name: str) -> QueueRef:
    """Return a reference to a Cohort."""
    return QueueRef(QueueKind.COHORT, name)


def our_queue(
    name: str,
    soft: int | None = None,
    *,
    parent: str = "",
    guaranteed: int | None = None,
    hard: int | None = None,
    borrowing: bool | float = False,
    key: FlavorResource = CPU,
    **fields: Any,
) -> Queue:
    """Return one of our queues, as it is read from an object with these fields."""
    quota = Quota(
        nominal=next((each for each in (soft, hard, guaranteed) if each is not None), 0),
        total=soft is not None,
        implied=soft is None,
        guaranteed=guaranteed,
        borrowing_limit=0 if borrowing is False else None,
        borrowing_ratio=None if isinstance(borrowing, bool) else Fraction(str(borrowing)),
        limit=hard,
    )
    named = any(each is not None for each in (soft, guaranteed, hard))
    default = None if borrowing is False else Quota()
    above = queue_ref(parent or "root") if name != "root" else None
    return Queue(
        queue_ref(name),
        parent=above,
        quotas={key: quota} if named else {},
        default_quota=default,
        **fields,
    )


def cluster_queue(
    name: str,
    cohort: str = "",
    nominal: Amount = 0,
    *,
    borrowing: int | None = None,
    lending: int | None = None,
    **fields: Any,
) -> Queue:
    """Return a ClusterQueue with these limits for every flavor and resource."""
    quotas = {
        key: Quota(amount, borrowing_limit=borrowing, lending_limit=lending)
        for key, amount in amounts(nominal).items()
    }
    above = cohort_ref(cohort) if cohort else None
    return Queue(cq_ref(name), parent=above, quotas=quotas, **fields)


def cohort(name: str, parent: str = "", nominal: Amount | None = None, **fields: Any) -> Queue:
    """Return a Cohort with a pool."""
    quotas = {} if nominal is None else {key: Quota(n) for key, n in amounts(nominal).items()}
    above = cohort_ref(parent) if parent else None
    return Queue(cohort_ref(name), parent=above, quotas=quotas, **fields)


def volcano_queue(
    name: str, deserved: int | None = None, *, parent: str = "root", **fields: Any
) -> Queue:
    """Return a Volcano queue."""
    quotas = {} if deserved is None else {CPU: Quota(deserved, total=True)}
    above = None if name == "root" else QueueRef(QueueKind.VOLCANO_QUEUE, parent)
    return Queue(QueueRef(QueueKind.VOLCANO_QUEUE, name), parent=above, quotas=quotas, **fields)


def amounts(amount: Amount) -> Mapping[FlavorResource, int]:
    """Return amounts by flavor and resource; a number is of CPU on any node."""
    return {CPU: amount} if isinstance(amount, int) else amount


def queue_set(
    queues: Sequence[Queue],
    flavors: Sequence[Flavor] = (),
    fairness: Mapping[Product, Fairness] | None = None,
    enforced: frozenset[Product] = frozenset(Product),
) -> QueueSet:
    """Return queues with the flavors, and with those that Kueue's queues name."""
    declared = {(flavor.product, flavor.name) for flavor in flavors}
    named = sorted(
        {key.flavor for queue in queues for key in queue.quotas if _of_kueue(queue)}
        - {name for product, name in declared if product is Product.KUEUE}
    )
    missing = [Flavor(Product.KUEUE, name) for name in named]
    return QueueSet(tuple(queues), (*flavors, *missing), fairness or {}, enforced)


def _of_kueue(queue: Queue) -> bool:
    return queue.ref.product is Product.KUEUE


def forest_of(
    queues: Sequence[Queue],
    running: Mapping[QueueRef, Amount] | None = None,
    *,
    asked: Mapping[QueueRef, Amount] | None = None,
    recent: Mapping[QueueRef, Mapping[str, int]] | None = None,
    nodes: Sequence[Node] = (BIG,),
    flavors: Sequence[Flavor] = (),
    fairness: Mapping[Product, Fairness] | None = None,
    enforced: frozenset[Product] = frozenset(Product),
) -> Forest:
    """Return the trees of these queues with what runs and waits in them, by default on one node."""
    usage = QueueUsage(_charges(running), _charges(asked), dict.fromkeys(running or {}, 1), recent)
    state = QueueState(queue_set(queues, flavors, fairness, enforced), usage)
    return Forest(state, NodeTable(nodes))


def _charges(by_queue: Mapping[QueueRef, Amount] | None) -> dict[QueueRef, Charge]:
    return {ref: amounts(amount) for ref, amount in (by_queue or {}).items()}
