"""Caches with queues of a few flavors, for the tests of what is charged."""

from typing import Any

from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.queues.declared import DeclaredFlavor, DeclaredQueue
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import (
    Charge,
    Flavor,
    FlavorResource,
    Product,
    Queue,
    QueueRef,
    QueueUsage,
    Quota,
    ResourceGroup,
)
from gang_scheduler.model.rules import Rules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Change, Changes
from gang_scheduler.state.gangs.gang_queue import GangQueue
from support.builders import SCHEDULER, node, pod
from support.queue_builders import queue_ref

OURS = "py-gang-scheduler.io/queue"
FLAVORS = "py-gang-scheduler.io/flavors"
KIND = GVR("py-gang-scheduler.io", "v1alpha1", "queues")
SPOT = FlavorResource("spot", "cpu")
FIRM = FlavorResource("firm", "cpu")
CPU = FlavorResource("default", "cpu")


def flavored(name: str, *flavors: str, **fields: Any) -> Queue:
    """Return a queue of ours with 8 CPUs of each flavor, unless other quotas are given."""
    quotas = fields.pop("quotas", {FlavorResource(each, "cpu"): Quota(8000) for each in flavors})
    groups = (ResourceGroup(("cpu",), flavors),) if flavors else ()
    above = queue_ref("root")
    return Queue(
        queue_ref(name), name, parent=above, quotas=quotas, resource_groups=groups, **fields
    )


class QueueCluster:
    """A cache with a node of each flavor, and queues a (both flavors), b (of all nodes)."""

    def __init__(self, **rules: Any) -> None:
        self.cache = Cache([SCHEDULER], Changes(), Rules(**rules))
        for name in ("spot", "firm"):
            self.cache.upsert(self.cache.node_store, node(f"n-{name}", labels={"kind": name}))

    @property
    def gangs(self) -> GangQueue:
        """The gangs."""
        return self.cache.gang_queue

    def declare(self, *queues: Queue) -> None:
        """Add queues, and a flavor for each kind of node."""
        for each in ("spot", "firm"):
            flavor = Flavor(Product.OURS, each, (("kind", each),))
            self.cache.queues.upsert_flavor(DeclaredFlavor(f"f-{each}", flavor))
        for queue in queues or (flavored("a", "spot", "firm"), flavored("b", "default")):
            self.cache.queues.upsert(DeclaredQueue(queue, KIND))
        self.cache._note(Change.QUEUES_CHANGED)

    def withdraw(self, name: str) -> None:
        """Delete a queue."""
        self.cache.queues.delete(name)
        self.cache._note(Change.QUEUES_CHANGED)

    def put(self, name: str, queue: str = "", **fields: Any) -> Pod:
        """Add or replace a pod with one CPU that names a queue."""
        labels = {OURS: queue} if queue else {}
        found = pod(name, labels={**labels, **fields.pop("labels", {})}, pods=0, **fields)
        self.cache.upsert_pod(found)
        return found

    def usage(self, now: int = 0) -> QueueUsage:
        """Return what is charged at a time, in seconds."""
        state = self.cache.snapshot(now).queues
        assert state is not None
        return state.usage

    def charged(self, queue: str = "a") -> Charge:
        """Return what a queue is charged now."""
        return self.usage().charged.get(ref_of(queue), {})


def ref_of(name: str) -> QueueRef:
    """Return a reference to a queue of ours."""
    return queue_ref(name)
