"""A cluster in memory in which nodes are bought: cycles, the writer of requests, an autoscaler.

What the writer does is seen by the cache through a watch that may lag, and a process may end at any
write and be followed by another one.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, POD_GROUPS, POD_TEMPLATES, PODS, PROVISIONING_REQUESTS
from gang_scheduler.apply.provisioning import Provisioner
from gang_scheduler.client.fake.client import Call, FakeApi, Fault
from gang_scheduler.client.fake.cluster import SERVED, Document, FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.plan import Placed, Plan
from gang_scheduler.model.provisioning import ProvisioningRequest, RequestState
from gang_scheduler.model.queues import DEFAULT_RETRY, Retry
from gang_scheduler.model.rules import Rules, WorkloadRules
from gang_scheduler.model.suspended import Admission
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import applying, builders
from support.api_objects import container, node_body, pod_body, pod_group_body
from support.cache_feeding import event_handlers, gvr_of

REQUESTS = PROVISIONING_REQUESTS[0]
NAMESPACE = builders.NAMESPACE
START = 1_800_000_000
CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
Body = Mapping[str, Any]


class Killed(BaseException):
    """The process ends here."""


class _Kill(Fault):
    """The process ends at a request."""

    async def strike(self) -> None:
        """End it."""
        raise Killed


class _Binds(applying.WritesNothing):
    """Binds at once, as the API server would show it."""

    def __init__(self, nodes: "BoughtNodes") -> None:
        self._nodes = nodes

    def admit(self, admission: Admission) -> None:
        """Note what is started."""
        self._nodes.admitted.append(admission)

    def bind(self, together: Any) -> None:
        """Put members on their nodes."""
        for placed in together:
            self._nodes.bind(placed)


@dataclass
class BoughtNodes:
    """The cluster. `told` are the requests of which the writer has told, with what came of them.

    `managed` are the kinds of workloads that may wait suspended, `admitted` is what was started.

    `kill_at` is how many writes succeed before the process ends, one more with `kill_after`; None:
    it goes on.
    """

    retry: Retry = DEFAULT_RETRY
    served: bool = True
    enabled: bool = True
    now: int = START
    kill_at: int | None = None
    kill_after: bool = False
    told: list[ProvisioningRequest] = field(default_factory=list)
    managed: frozenset[str] = frozenset()
    admitted: list[Admission] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with no node and one process."""
        others = {kinds.of(gvr).reader.gvr for gvr in kinds._BY_GVR}
        self.cluster = FakeCluster({*SERVED, *others})
        self.cluster.watchers.append(self._see)
        self.created: list[str] = []
        self.lag: list[tuple[GVR, str, Document]] | None = None
        self.begin()

    # The process.

    def begin(self) -> None:
        """Begin a process that knows what the API server lists, and nothing else."""
        self.api = FakeApi(self.cluster)
        self.api.scripts.append(self._count)
        self.changes = Changes()
        rules = WorkloadRules(
            manage_jobs=tuple(map(ManagedKind, self.managed)),
            provisioning_requests=self.enabled,
            provisioning_retries=self.retry.times,
            provisioning_backoff_seconds=self.retry.base_seconds,
        )
        self.cache = Cache([builders.SCHEDULER], self.changes, Rules(workloads=rules))
        self.handlers = event_handlers(self.cache)
        self.provisioner = Provisioner(
            *(self.api, self.cache, self.changes),
            not_served=lambda: [] if self.served else [REQUESTS.name],
            tell=self.told.append,
            writes=Writes(),
            clock=lambda: float(self.now),
        )
        self.lag = None
        for gvr in (reader.gvr for reader, _ in kinds.sinks(self.cache)):
            for body in self.cluster.all(gvr):
                self._see(gvr, "ADDED", body)
        self.provisioner.note_served()

    def cycle(self) -> Plan:
        """Decide once, and carry it out."""
        snapshot = self.cache.snapshot(self.now)
        plan = schedule(snapshot, PROFILES["binpack"])
        applying.take_in(self.cache, plan, self.now, _Binds(self))
        return plan

    def write(self) -> None:
        """Let the writer look once. Raises Killed where the process ends."""
        try:
            asyncio.run(self.provisioner.look())
        except BaseExceptionGroup as errors:
            raise Killed from errors.subgroup(Killed)

    def step(self, seconds: int = 0) -> Plan:
        """Let time pass, decide and write."""
        self.now += seconds
        plan = self.cycle()
        self.write()
        return plan

    def settle(self, seconds: int = 0) -> Plan:
        """Do so until nothing more is to be done at this time."""
        self.step(seconds)
        self.step()
        return self.step()

    pod_groups = POD_GROUPS

    # What users and others do.

    def put(self, body: Body) -> None:
        """Create or replace an object."""
        self.cluster.put(gvr_of(body), body)

    def node(self, name: str, cpu: int = 4, labels: Mapping[str, str] | None = None) -> None:
        """Add a node."""
        metadata = {"name": name, "uid": f"uid-{name}", "labels": dict(labels or {})}
        offered = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        self.put(node_body(name, allocatable=offered, metadata=metadata))

    def queue(self, name: str, cpu: int, **spec: Any) -> None:
        """Declare a Queue with so many CPUs."""
        self.put(
            {
                "apiVersion": "py-gang-scheduler.io/v1alpha1",
                "kind": "Queue",
                "metadata": {"name": name, "uid": f"uid-{name}"},
                "spec": {"quota": {"soft": {"cpu": cpu}}, **spec},
            }
        )

    def gang(
        self,
        name: str,
        pods: int = 2,
        *,
        cpu: int = 1,
        class_name: str = CLASS,
        queue: str = "",
        created_at: int = START,
    ) -> None:
        """Add a PodGroup with its pods; without a class, that of its queue counts."""
        named = {annotations.PROVISIONING_CLASS: class_name} if class_name else {}
        metadata = {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {annotations.QUEUE: queue} if queue else {},
            "annotations": named,
            "creationTimestamp": _time(created_at),
        }
        self.put(pod_group_body(name, min_member=pods, metadata=metadata))
        for number in range(pods):
            self.member(name, number, cpu=cpu)

    def member(self, gang: str, number: int, *, cpu: int = 1, life: int = 0) -> None:
        """Add a member of a gang."""
        name = f"{gang}-{number}"
        labels = {builders.POD_GROUP_LABEL: gang}
        metadata = {"namespace": NAMESPACE, "labels": labels, "uid": f"uid-{name}-{life}"}
        asked = [container(requests={"cpu": str(cpu)})]
        self.put(pod_body(name, metadata={"name": name, **metadata}, containers=asked))

    def delete_gang(self, name: str) -> None:
        """Delete a PodGroup and its pods, and what they own, as Kubernetes would in time."""
        for body in self.cluster.all(PODS):
            if body["metadata"]["labels"].get(builders.POD_GROUP_LABEL) == name:
                self.cluster.delete(PODS, NAMESPACE, body["metadata"]["name"])
        self.cluster.delete(gvr_of(pod_group_body(name)), NAMESPACE, name)

    def bind(self, placed: Placed) -> None:
        """Put members on their nodes."""
        for bind in placed.binds:
            with self.cluster.changing(PODS, bind.pod.namespace, bind.pod.name) as found:
                found["spec"]["nodeName"] = bind.node

    def answer(self, name: str, state: RequestState, message: str = "") -> None:
        """Let the autoscaler answer a request."""
        with self.cluster.changing(REQUESTS, NAMESPACE, name) as found:
            before = found.setdefault("status", {}).get("conditions", [])
            condition = {
                "type": state.value,
                "status": "True",
                "reason": "Test",
                "message": message,
                "lastTransitionTime": _time(self.now),
            }
            found["status"]["conditions"] = [*before, condition]

    def provision(self, name: str, node: str, cpu: int = 4) -> None:
        """Let the autoscaler answer that a node is there."""
        self.node(node, cpu)
        self.answer(name, RequestState.PROVISIONED)

    # What there is.

    @property
    def requests(self) -> list[Document]:
        """All requests."""
        return self.cluster.all(REQUESTS)

    @property
    def names(self) -> list[str]:
        """The names of all requests."""
        return [each["metadata"]["name"] for each in self.requests]

    @property
    def templates(self) -> list[Document]:
        """All PodTemplates."""
        return self.cluster.all(POD_TEMPLATES)

    def reason(self, gang: str) -> str:
        """Return why a gang waits, "" if it does not."""
        found = {key.name: info for key, info in self.cache.gang_queue.infos.items()}
        refusal = found[gang].verdict.refusal if gang in found else None
        return "" if refusal is None else refusal.reason.value

    def bound(self, gang: str) -> int:
        """Return how many members of a gang have a node."""
        pods = self.cluster.all(PODS)
        mine = (e for e in pods if e["metadata"]["labels"].get(builders.POD_GROUP_LABEL) == gang)
        return sum(bool(each["spec"].get("nodeName")) for each in mine)

    # The API server.

    def catch_up(self) -> None:
        """Let the watch tell what it has not told yet."""
        told, self.lag = self.lag or [], None
        for each in told:
            self._see(*each)

    def _see(self, gvr: GVR, change: str, body: Document) -> None:
        if gvr == REQUESTS and change == "ADDED" and body["metadata"]["name"] not in self.created:
            self.created.append(body["metadata"]["name"])
        if self.lag is not None and gvr == REQUESTS:
            self.lag.append((gvr, change, body))
        elif gvr in kinds._BY_GVR:
            kind = kinds.of(gvr).reader.kind
            seen = {"apiVersion": gvr.api_version, "kind": kind, **body}
            self.handlers.of(gvr).handle({"type": change, "object": seen})

    def _count(self, call: Call) -> Fault | None:
        """Count writes, and end the process right before one, or right after it."""
        if self.kill_at is None or call.method not in ("create", "delete"):
            return None
        self.kill_at -= 1
        return _Kill(after=self.kill_after) if self.kill_at < 0 else None


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
