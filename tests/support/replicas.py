"""Workloads in mode `Replicas`: an API server in memory, stand-ins of controllers, and cycles."""

import json
from typing import Any

from gang_scheduler.api.kinds import AUTOSCALERS, GVR, JOBS, STATEFUL_SETS
from gang_scheduler.apply.workloads.replicas import FIELD_MANAGER, Resizer
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import SERVED, Change, Document, FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.api_words import ELASTIC_KINDS
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.rules import WorkloadRules
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.periodic.replica_scaler import ReplicaScaler
from gang_scheduler.report.events import About
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support import applying, builders, replicas_of_roles
from support.elastic_cluster import _Evicts
from support.in_memory_cluster import InMemoryCluster

ELASTIC, STATE = "py-gang-scheduler.io/elastic", "py-gang-scheduler.io/elastic-state"
INDEX = "batch.kubernetes.io/job-completion-index"
ALLOWED = WorkloadRules(elastic_kinds=ELASTIC_KINDS)


class Said:
    """Takes Events."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def record(  # noqa: D102 - as in Events.
        self, about: About, reason: str, note: str, *, warning: bool = False
    ) -> None:
        assert about.kind in ELASTIC_KINDS
        assert "train" == about.name
        assert warning == (reason != "ReplicasChanged")
        self.notes.append((reason, note))


def asked(least: int, most: int, up: int = 0, step: int = 1, **others: Any) -> str:
    """Return the annotation of an elastic workload in mode `Replicas`."""
    policy = {"scaleUpCooldown": f"{up}s", "scaleUpStep": step, "scaleDownStep": step}
    said = {"minWorkers": least, "maxWorkers": most, "scalePolicy": policy, "mode": "Replicas"}
    return json.dumps({**said, **others})


def job(
    pods: int, annotation: str, *, indexed: bool = True, priority: int = 0, **metadata: Any
) -> Document:
    """Return a Job of our scheduler whose pods are a gang and ask for one CPU each."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}},
        "spec": {
            "schedulerName": builders.SCHEDULER,
            "containers": [container],
            "priority": priority,
        },
    }
    mode = {"completionMode": "Indexed"} if indexed else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "default",
            "annotations": {ELASTIC: annotation},
            **metadata,
        },
        "spec": {
            "parallelism": pods,
            "completions": pods if indexed else 100,
            **mode,
            "template": template,
        },
    }


def stateful_set(pods: int, annotation: str, *, priority: int = 0, **spec: Any) -> Document:
    """Return a StatefulSet whose pods are a gang and ask for one CPU each."""
    made = job(pods, annotation, priority=priority)
    template = made["spec"]["template"]
    return {
        **made,
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {
            "replicas": pods,
            "podManagementPolicy": "Parallel",
            "template": template,
            **spec,
        },
    }


class ReplicasCluster(InMemoryCluster):
    """One node. The workload `train`, and what its controller does for it at once."""

    def __init__(self, cpu: int, workloads: WorkloadRules = ALLOWED) -> None:
        super().__init__(cpu, workloads=workloads)
        served = [*SERVED, STATEFUL_SETS, AUTOSCALERS, *replicas_of_roles.SERVED]
        self.api = FakeApi(FakeCluster(served=served))
        self.said = Said()
        self.controlled = True
        self.gvr = JOBS
        self._made = 0
        self.api.cluster.watchers.append(self._saw)
        self.restart()

    def restart(self) -> None:
        """Begin another life of the part that changes replicas: it remembers nothing."""
        writes = Writes()
        self.resizer = Resizer(self.api, writes=writes, clock=lambda: self.now)
        self.scaler = ReplicaScaler(
            self.cache,
            self.resizer,
            self.said,  # type: ignore[arg-type]
            PROFILES["binpack"],
            kinds=ELASTIC_KINDS,
            writes=writes,
            clock=lambda: self.now,
            timer=lambda: self.now,
        )

    def start(self, body: Document) -> None:
        """Create the workload, and let its pods find nodes."""
        self.control_as(body)
        self.cycle()
        self.cycle(later=5)

    def control_as(self, body: Document) -> None:
        """Create the workload, and its pods."""
        of_kind = {"Job": JOBS, "StatefulSet": STATEFUL_SETS, **replicas_of_roles.OF_KIND}
        self.gvr = of_kind[body["kind"]]
        self.api.cluster.put(self.gvr, body)

    async def look(self, later: int = 0) -> int:
        """Look so many seconds later, with cycles around; return how many replicas there are."""
        self.cycle(later)
        await self.scaler.look()
        self.cycle()
        return self.replicas

    def cycle(self, later: int = 0) -> Plan:
        """Decide, so many seconds later, and carry it out: victims are deleted."""
        self.now += later
        plan = schedule(self.cache.snapshot(self.now), PROFILES["binpack"])
        applying.take_in(self.cache, plan, self.now, _Evicts(self))
        for victim in [each for made in plan.preemptions for each in made.victims]:
            self.gone(victim.pod.name)
        self.control()
        return plan

    @property
    def now_of_job(self) -> Document:
        """The Job as the API server has it."""
        return self.api.cluster.get(self.gvr, "default", "train")

    @property
    def replicas(self) -> int:
        """How many replicas the workload has by its spec."""
        if self.gvr in replicas_of_roles.SERVED:
            return replicas_of_roles.replicas(self.now_of_job)
        found: int = self.now_of_job["spec"][self.field]
        return found

    @property
    def field(self) -> str:
        """The field with this number."""
        return "replicas" if self.gvr == STATEFUL_SETS else "parallelism"

    @property
    def running(self) -> list[int]:
        """The indexes of the workers that have a node; -1 for each without an index."""
        mine = [each for each in self.pods.values() if self._is_ours(each)]
        return sorted(_index(each) for each in mine if each["spec"].get("nodeName"))

    @property
    def waiting(self) -> int:
        """How many pods of the Job have no node."""
        return len(self.names_waiting)

    @property
    def names_waiting(self) -> list[str]:
        """The names of the workers that have no node."""
        mine = (each for each in self.pods.values() if self._is_ours(each))
        return [each["metadata"]["name"] for each in mine if not each["spec"].get("nodeName")]

    def patches(self) -> list[dict[str, Any]]:
        """Return the patches that were sent so far."""
        calls = (each for each in self.api.calls if each.method == "patch")
        found = [each.arguments for each in calls]
        assert all(each["manager"] == FIELD_MANAGER for each in found)
        return [each["patch"] for each in found]

    def edit(self, by: str = "kubectl-edit", **spec: Any) -> None:
        """Let a user change the spec of the Job, as the API server notes it."""
        owned: Document = {"f:spec": {f"f:{each}": {} for each in spec}}
        note = {"manager": by, "operation": "Update", "time": rfc3339(self.now)}
        with self.api.cluster.changing(self.gvr, "default", "train") as found:
            found["spec"].update(spec)
            found["metadata"]["managedFields"] = [{**note, "fieldsV1": owned}]

    def annotate(self, annotation: str) -> None:
        """Let a user change the annotation."""
        with self.api.cluster.changing(self.gvr, "default", "train") as found:
            found["metadata"]["annotations"][ELASTIC] = annotation

    def control(self) -> None:
        """Do what the controller of Jobs does: it creates what lacks, and ends what is too much."""
        if not self.controlled or not self.api.cluster.has(self.gvr, "default", "train"):
            return
        if self.gvr in replicas_of_roles.SERVED:
            replicas_of_roles.control(self, self.now_of_job, self.now)
            return
        spec = self.now_of_job["spec"]
        mine = [each for each in self.pods.values() if self._is_ours(each)]
        if self.gvr == STATEFUL_SETS:
            spec = {
                "parallelism": spec["replicas"],
                "completions": spec["replicas"],
                "completionMode": "Indexed",
            }
        if spec.get("completionMode") == "Indexed":
            mine.sort(key=_index)
            most = min(spec["parallelism"], spec["completions"])
            gone = [each for each in mine if _index(each) >= spec["completions"]]
        else:
            # Pods without a node end first, and then the youngest.
            mine.sort(key=lambda each: (not each["spec"].get("nodeName"), each["metadata"]["name"]))
            most, gone = spec["parallelism"], []
        kept = [each for each in mine if each not in gone]
        for each in [*gone, *kept[most:]]:
            self.gone(each["metadata"]["name"])
        taken = {_index(each) for each in kept}
        free = (number for number in range(100) if number not in taken)
        for _ in range(most - len(kept)):
            self._create(next(free) if "completionMode" in spec else -1)

    def _create(self, index: int) -> None:
        body = self.now_of_job
        self._made += 1
        name = f"train-{index}-{self._made:03}" if index >= 0 else f"train-{self._made:03}"
        notes = {INDEX: str(index)} if index >= 0 else {}
        if self.gvr == STATEFUL_SETS:
            name, notes = f"train-{index}", {}
        owner = {"apiVersion": body["apiVersion"], "kind": body["kind"], "controller": True}
        owner |= {"name": "train", "uid": body["metadata"]["uid"]}
        self.pod(
            name,
            labels={**body["spec"]["template"]["metadata"]["labels"], **notes},
            annotations=notes,
            ownerReferences=[owner],
            creationTimestamp=rfc3339(self.now),
            spec=body["spec"]["template"]["spec"],
        )

    def _saw(self, gvr: GVR, change: Change, document: Document) -> None:
        if gvr == self.gvr:
            self.put(document, change)
            self.control()

    @staticmethod
    def _is_ours(body: Any) -> bool:
        if replicas_of_roles.is_leader(body):
            return False
        owners = body["metadata"].get("ownerReferences") or ()
        return any(each["name"] == "train" for each in owners)


def _index(body: Any) -> int:
    metadata = body["metadata"]
    if metadata["ownerReferences"][0]["kind"] == "StatefulSet":
        return int(metadata["name"].rpartition("-")[2])
    if (index := replicas_of_roles.index_of(body)) is not None:
        return index
    return int(metadata.get("annotations", {}).get(INDEX, -1))
