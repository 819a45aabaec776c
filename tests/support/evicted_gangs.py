"""Gangs of queues in a cache, and what is noted of their evictions."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.evictions import EvictionClass, Forgotten
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import QueueRules, Rules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support.api_objects import node_body, pod_body, pod_group_body
from support.builders import NAMESPACE, SCHEDULER, gang
from support.cache_feeding import event_handlers, tell

NOW = 1_767_268_800
AT = "2026-01-01T12:00:00Z"


class Cluster:
    """Gangs of queues `red` and `blue` below `all`, with members on a node."""

    def __init__(self, memory_seconds: int = 86_400) -> None:
        rules = QueueRules(yield_memory_seconds=memory_seconds)
        self.cache = Cache([SCHEDULER], Changes(), Rules(queues=rules))
        self.records = self.cache.evictions
        self._evicted: set[GangKey] = set()
        self._handlers = event_handlers(self.cache)
        self.see(node_body("n1"), queue_body("all"))
        self.see(queue_body("red", parent="all"), queue_body("blue", parent="all"))

    def see(self, *bodies: dict[str, Any]) -> None:
        """Let objects be seen."""
        for body in bodies:
            tell(self._handlers, "MODIFIED", body)

    def lose(self, body: dict[str, Any]) -> None:
        """Let an object be gone."""
        tell(self._handlers, "DELETED", body)

    def run(self, *names: str, queue: str = "red", members: int = 1, **described: Any) -> None:
        """Let gangs run."""
        for name in names:
            self.see(pod_group(name, queue, **described))
            where = described.get("namespace", NAMESPACE)
            pods = (member(name, number, where, node="n1") for number in range(members))
            self.see(*pods)

    def evict(
        self,
        classes: Mapping[GangKey, EvictionClass],
        *by: str,
        at: int = NOW,
        forgotten: tuple[Forgotten, ...] = (),
    ) -> Preemption:
        """Note an eviction of all members of gangs for others."""
        infos = self.cache.gang_queue.infos
        pods = [(key, pod) for key in classes for pod in infos[key].observed.with_node()]
        victims = tuple(BoundPod(pod, key) for key, pod in pods)
        preemptors = tuple(gang(name) for name in by)
        made = Preemption(preemptors, (), victims, classes=classes, forgotten=forgotten)
        self.records.note(made, at)
        self._evicted.update(classes)
        return made

    def links(self, now: int = NOW + 60) -> dict[str, set[str]]:
        """Return which gangs yielded to which, of those evicted here or known."""
        gangs = {*self.cache.gang_queue.infos, *self._evicted}
        found = self.records.yielded(now, gangs).items()
        return {key.name: {each.gang.name for each in links} for key, links in found}


def queue_body(name: str, generation: int = 1, **spec: Any) -> dict[str, Any]:
    """Return a Queue."""
    return {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": f"uid-{name}", "generation": generation},
        "spec": {"quota": {"soft": {"cpu": generation}}, **spec},
    }


def pod_group(
    name: str,
    queue: str = "red",
    uid: str = "",
    namespace: str = NAMESPACE,
    **described: Any,
) -> dict[str, Any]:
    """Return the PodGroup of a gang of a queue."""
    labels = {"py-gang-scheduler.io/queue": queue}
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "labels": labels,
    }
    return pod_group_body(name, metadata=metadata, **described)


def member(
    name: str, number: int = 0, namespace: str = NAMESPACE, *, node: str = "", **more: Any
) -> dict[str, Any]:
    """Return a pod of a gang."""
    placed: dict[str, Any] = {"nodeName": node} if node else {}
    body = pod_body(f"{name}-{number}", gang=name, **placed, **more)
    body["metadata"]["namespace"] = namespace
    return body
