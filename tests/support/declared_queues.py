"""What is declared of queues, changed by hand: stands in for the stores of their objects."""

from dataclasses import dataclass, field

from gang_scheduler.decode.cluster import NAME_LABEL, DeclaredNamespace
from gang_scheduler.decode.queues.declared import LocalQueue, WorkloadPriorityClass
from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.queues import LocalQueueKey, Product, Queue, QueueSet
from gang_scheduler.model.rules import NO_SETTINGS, QueueRules
from gang_scheduler.state.namespaces import Namespaces
from gang_scheduler.state.queues.names import KnownQueues, QueueNames
from support.queue_builders import cq_ref, queue_set


@dataclass
class Declared:
    """Queues, LocalQueues by namespace and name, and the values of WorkloadPriorityClasses."""

    set: QueueSet | None = None
    local_queues: dict[LocalQueueKey, LocalQueue] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    namespaces: Namespaces = field(default_factory=Namespaces)
    judged: frozenset[Product] = frozenset({Product.OURS})

    @property
    def known(self) -> KnownQueues:
        """What the cache asks."""
        return KnownQueues(
            lambda: self.set,
            self.local_queues.get,
            self._class,
            lambda: self.judged,
        )

    def _class(self, name: str) -> WorkloadPriorityClass | None:
        value = self.classes.get(name)
        return None if value is None else WorkloadPriorityClass(f"uid-{name}", name, value)

    def names(self, rules: QueueRules = NO_SETTINGS.queues) -> QueueNames:
        """Return what finds leaves by name."""
        return QueueNames(self.known, self.namespaces, rules)

    def local(self, name: str, of: str, *, stopped: bool = False) -> None:
        """Declare a LocalQueue in the namespace `default`."""
        self.local_queues[LocalQueueKey("default", name)] = LocalQueue(
            f"uid-{name}",
            "default",
            name,
            cq_ref(of),
            StopPolicy.HOLD if stopped else StopPolicy.NONE,
        )

    def namespace(self, name: str, default_queue: str = "", **labels: str) -> None:
        """Declare a Namespace."""
        every = {NAME_LABEL: name, **labels}
        self.namespaces.upsert(DeclaredNamespace(f"uid-{name}", name, every, default_queue))


def declared(*queues: Queue) -> Declared:
    """Return these queues."""
    return Declared(queue_set(queues) if queues else None)
