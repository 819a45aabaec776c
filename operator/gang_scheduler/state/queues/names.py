"""Finds the leaf that the name of a queue means."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from msgspec import structs

from gang_scheduler.decode.queues.declared import LocalQueue, WorkloadPriorityClass
from gang_scheduler.model import refs
from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.causes.queues import (
    LocalQueueStopped,
    QueueDefault,
    QueueFault,
    QueueNotNamed,
    QueueUnusable,
)
from gang_scheduler.model.queues import (
    NONE,
    PRODUCTS,
    ROOT,
    LocalQueueKey,
    LocalQueueWeight,
    Product,
    Queue,
    QueueKind,
    QueueRef,
    QueueSet,
)
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import EVERYWHERE, QueueName, QueueNameKind
from gang_scheduler.model.rules import NO_SETTINGS, QueueRules
from gang_scheduler.model.selectors import hold
from gang_scheduler.state.namespaces import Namespaces
from gang_scheduler.state.queues.declared import DeclaredQueues, KueueObjects

DEFAULT_LOCAL_QUEUE: Final = "default"
VOLCANO_DEFAULT: Final = QueueRef(QueueKind.VOLCANO_QUEUE, "default")
"""Volcano's queue for a PodGroup that names none; its CRD writes the name into new ones."""
_KINDS: Final = {
    QueueNameKind.QUEUE: QueueKind.QUEUE,
    QueueNameKind.VOLCANO_QUEUE: QueueKind.VOLCANO_QUEUE,
}
_WRITTEN: Final = (QueueKind.CLUSTER_QUEUE, QueueKind.VOLCANO_QUEUE)
"""Leaves that are written with their kind. A name without a kind is that of our Queue."""


class NamedLeaf(NamedTuple):
    """The queue that a name means; None if it does not exist.

    `problem` says why it cannot be used. `local` is the LocalQueue that was named, if the order in
    the queue depends on LocalQueues.
    """

    ref: QueueRef | None
    problem: Problem | None = None
    local: LocalQueueWeight | None = None


def _no_queues() -> QueueSet | None:
    return None


def _no_local_queue(_: LocalQueueKey) -> LocalQueue | None:
    return None


def _ours() -> frozenset[Product]:
    return frozenset({Product.OURS})


def _no_class(_: str) -> WorkloadPriorityClass | None:
    return None


@dataclass(frozen=True, slots=True)
class KnownQueues:
    """Lookups of the declared queues, called whenever they are needed.

    While no queue is declared, a name for a product in `judged` counts as a missing queue.
    """

    queue_set: Callable[[], QueueSet | None] = _no_queues
    local_queue: Callable[[LocalQueueKey], LocalQueue | None] = _no_local_queue
    priority_class: Callable[[str], WorkloadPriorityClass | None] = _no_class
    judged: Callable[[], frozenset[Product]] = _ours

    @classmethod
    def of(cls, declared: DeclaredQueues, objects: KueueObjects) -> "KnownQueues":
        """Return the present queues and objects of these stores; they are read at each call."""
        return cls(
            *(declared.queue_set, objects.local_queues.get, objects.priority_classes.get),
            judged=lambda: declared.served & declared.enforced,
        )


class _Index:
    """The queues of a set by reference, and which of them have children."""

    def __init__(self, queue_set: QueueSet) -> None:
        self.queue_set = queue_set
        self.queues: Mapping[QueueRef, Queue] = {each.ref: each for each in queue_set.queues}
        self.parents = {ROOT, *(each.parent for each in queue_set.queues)}
        self._written: dict[str, QueueRef] = {}

    def written(self, text: str) -> QueueRef | None:
        """Return the queue that a binding names.

        The result is kept.
        """
        found = self._written.get(text)
        if found is None and (found := self._find(text)) is not None:
            self._written[text] = found
        return found

    def _find(self, text: str) -> QueueRef | None:
        kind, _, name = text.rpartition("/")
        kinds = [each for each in (QueueKind.QUEUE, *_WRITTEN) if not kind or each == kind]
        refs = (QueueRef(each, name) for each in kinds)
        return next((ref for ref in refs if ref == NONE or ref in self.queues), None)


class QueueNames:
    """Finds leaves by name. All results may change once a queue or a namespace changes."""

    def __init__(
        self,
        known: KnownQueues | None = None,
        namespaces: Namespaces | None = None,
        rules: QueueRules = NO_SETTINGS.queues,
    ) -> None:
        self.known = known or KnownQueues()
        self._namespaces = namespaces or Namespaces()
        self.rules = rules
        self._kept: _Index | None = None

    @property
    def in_use(self) -> bool:
        """Whether any queue is declared."""
        return self.known.queue_set() is not None

    def counts(self, name: QueueName) -> bool:
        """Return whether a name counts as the name of a queue, even of a missing one.

        While no queue is declared, a name of another product may be a label that is not meant for
        us.
        """
        return self.in_use or product_of(name) in self.known.judged()

    def leaf_of(self, name: QueueName, namespace: str) -> NamedLeaf:
        """Return the leaf that a gang of a namespace means by a name."""
        if name.kind is QueueNameKind.LOCAL_QUEUE:
            return self._by_local_queue(name.name, namespace)
        ref = QueueRef(_KINDS[name.kind], name.name)
        return self.unnamed(namespace) if ref == NONE else self._leaf(ref, namespace)

    def default(self, namespace: str, source: str = "") -> NamedLeaf:
        """Return the default leaf for gangs of a namespace.

        `source` is the kind of object that describes the gang. Volcano's PodGroups have Volcano's
        queue `default` first.
        """
        if source == refs.VOLCANO_POD_GROUP.name and self._has(VOLCANO_DEFAULT):
            return self._leaf(VOLCANO_DEFAULT, namespace)
        if name := self._namespaces.default_queue_of(namespace):
            return self._by_default(name, namespace, QueueDefault.OF_NAMESPACE)
        if self.known.local_queue(LocalQueueKey(namespace, DEFAULT_LOCAL_QUEUE)) is not None:
            return self._by_local_queue(DEFAULT_LOCAL_QUEUE, namespace)
        if name := self.rules.default_queue:
            return self._by_default(name, namespace, QueueDefault.OF_SETTINGS)
        return self.unnamed(namespace)

    def unnamed(self, namespace: str) -> NamedLeaf:
        """Return the leaf queue of gangs that name no queue, and whether such gangs are allowed."""
        if {namespace, EVERYWHERE}.isdisjoint(self.rules.require_queue):
            return NamedLeaf(NONE)
        return NamedLeaf(NONE, Problem(Reason.QUEUE_NOT_FOUND, QueueNotNamed(namespace)))

    def written(self, text: str) -> QueueRef | None:
        """Return the queue that the annotation of a binding names, leaf or not; None if it is gone.

        See `annotation_of`. A name without a kind is our Queue's, or that of the first product that
        has such a queue.
        """
        return self._index().written(text)

    def is_for(self, ref: QueueRef, namespace: str) -> bool:
        """Return whether pods of a namespace may use a queue: other namespaces must not fill it."""
        if ref == NONE:
            return self.unnamed(namespace).problem is None
        queue = self._index().queues.get(ref)
        return queue is not None and self._admits(queue, namespace)

    def _by_default(self, name: str, namespace: str, default: QueueDefault) -> NamedLeaf:
        """Return the leaf of the default name; a problem says where the default is set."""
        meant = self.leaf_of(QueueName(QueueNameKind.QUEUE, name), namespace)
        problem = meant.problem
        if problem is None or not isinstance(problem.cause, QueueUnusable):
            return meant
        cause = structs.replace(problem.cause, default=default)
        return meant._replace(problem=replace(problem, cause=cause))

    def _by_local_queue(self, name: str, namespace: str) -> NamedLeaf:
        found = self.known.local_queue(LocalQueueKey(namespace, name))
        if found is None:
            problem = _unusable("LocalQueue", name, QueueFault.NOT_FOUND, namespace)
            return self._no_leaf(Product.KUEUE, NamedLeaf(None, problem))
        meant = self._leaf(found.cluster_queue, namespace)
        queue = self._index().queues.get(found.cluster_queue)
        if queue is not None and queue.by_local_usage:
            key = LocalQueueKey(namespace, name)
            meant = meant._replace(local=LocalQueueWeight(key, found.weight))
        if meant.problem is None and found.stop is not StopPolicy.NONE:
            problem = Problem(Reason.QUEUE_STOPPED, LocalQueueStopped(name))
            return meant._replace(problem=problem)
        return meant

    def _leaf(self, ref: QueueRef, namespace: str) -> NamedLeaf:
        index = self._index()
        queue = index.queues.get(ref)
        if ref in index.parents:
            problem = _unusable(ref.kind, ref.name, QueueFault.NO_LEAF, namespace)
            return self._no_leaf(ref.product, NamedLeaf(ref, problem))
        if queue is None:
            problem = _unusable(ref.kind, ref.name, QueueFault.NOT_FOUND, namespace)
            return self._no_leaf(ref.product, NamedLeaf(None, problem))
        if not self._admits(queue, namespace):
            fault = QueueFault.NOT_FOR_NAMESPACE
            return NamedLeaf(ref, _unusable(ref.kind, ref.name, fault, namespace))
        return NamedLeaf(ref)

    def _admits(self, queue: Queue, namespace: str) -> bool:
        labels = self._namespaces.labels_of(namespace)
        return queue.namespaces is not None and hold(queue.namespaces, labels)

    def _no_leaf(self, product: Product, meant: NamedLeaf) -> NamedLeaf:
        """Return `meant`, or the leaf NONE if another controller enforces the product's queues."""
        return meant if product in self._index().queue_set.enforced else NamedLeaf(NONE)

    def _has(self, ref: QueueRef) -> bool:
        return ref in self._index().queues

    def _index(self) -> _Index:
        queue_set = self.known.queue_set()
        if queue_set is None:
            return _Index(QueueSet(enforced=self.known.judged()))
        if self._kept is None or self._kept.queue_set is not queue_set:
            self._kept = _Index(queue_set)
        return self._kept


def product_of(name: QueueName) -> Product:
    """Return the product that has a queue of this name."""
    kind = _KINDS.get(name.kind)
    return Product.KUEUE if kind is None else PRODUCTS[kind]


def annotation_of(ref: QueueRef) -> str:
    """Return the name of a queue for a binding's annotation.

    Our Queues have only their name, others also their kind. `QueueNames.written` reads it.
    """
    return f"{ref.kind}/{ref.name}" if ref.kind in _WRITTEN else ref.name


def different(names: Iterable[QueueName]) -> tuple[QueueName, ...]:
    """Return the distinct names, in the order of their kinds."""
    found = tuple(dict.fromkeys(names))
    if len(found) <= 1:
        return found
    order = list(QueueNameKind)
    return tuple(sorted(found, key=lambda each: order.index(each.kind)))


def _unusable(kind: str, name: str, fault: QueueFault, namespace: str) -> Problem:
    return Problem(Reason.QUEUE_NOT_FOUND, QueueUnusable(name, fault, kind, namespace))
