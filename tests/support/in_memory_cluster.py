"""A cluster in memory that is told of objects as the API server writes them, cycle by cycle."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.model.plan import Placed, Plan, Refused
from gang_scheduler.model.rules import NO_SETTINGS, GangRules, Rules, WorkloadRules
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.workloads import job_sets, jobs
from support import api_objects, applying, builders, cache_feeding

Body = Mapping[str, Any]
PREFIX = "gang.scheduling.koordinator.sh/"
START = 1_000_000


class InMemoryCluster:
    """The scheduler's cache, fed through the event handlers. Bindings are confirmed at once.

    There is one node with room for `cpu` pods, since pods ask for one CPU each.
    """

    def __init__(
        self,
        cpu: int = 100,
        timeout_seconds: int = 600,
        workloads: WorkloadRules = NO_SETTINGS.workloads,
    ) -> None:
        gangs = GangRules(schedule_timeout_seconds=timeout_seconds)
        rules = Rules(gangs=gangs, workloads=workloads)
        self.cache = Cache([builders.SCHEDULER], Changes(), rules)
        self._left_out = LeftOutObjects()
        self.event_handlers = cache_feeding.event_handlers(self.cache, self._left_out)
        self.now = START
        self.pods: dict[tuple[str, str], dict[str, Any]] = {}
        self._lives = itertools.count()
        self.room(cpu)

    def room(self, cpu: int) -> None:
        """Set how much there is in all."""
        offered = {"cpu": str(cpu), "memory": "100Gi", "pods": "500"}
        self.put(api_objects.node_body("n1", allocatable=offered))

    def put(self, body: Body, change: str = "ADDED") -> None:
        """Let an object be seen, or with DELETED be gone."""
        cache_feeding.tell(self.event_handlers, change, body)

    def take_left_out(self) -> list[str]:
        """Return what was wrong with objects that were left out since the last time."""
        return [str(each.why) for each in self._left_out.take_all()]

    def delete(self, body: Body) -> None:
        """Let an object be gone."""
        self.put(body, "DELETED")

    def pod(self, name: str, gang: str = "", namespace: str = "default", **fields: Any) -> None:
        """Add a pod, or replace it by another life of its name. `fields` are of its metadata."""
        status, spec = fields.pop("status", None), fields.pop("spec", {})
        metadata = {"namespace": namespace, "uid": f"{name}-life-{next(self._lives)}", **fields}
        if gang:
            labels = {builders.POD_GROUP_LABEL: gang, **fields.get("labels", {})}
            metadata["labels"] = labels
        self._replace(api_objects.pod_body(name, metadata=metadata, status=status, **spec))

    def members(self, gang: str, number: int, **fields: Any) -> None:
        """Add pods `<gang>-<i>`."""
        for i in range(number):
            self.pod(f"{gang}-{i}", gang, **fields)

    def gang(self, name: str, minimum: int, pods: int | None = None, **fields: Any) -> None:
        """Add a PodGroup and its pods; `fields` are annotations without their prefix."""
        namespace = fields.pop("namespace", "default")
        self.put(group_body(name, minimum, namespace, **fields))
        self.members(name, minimum if pods is None else pods, namespace=namespace)

    def annotated(self, gang: str, number: int, **fields: Any) -> None:
        """Add the pods of a gang without a PodGroup."""
        given = options({"name": gang, "min_available": number, **fields})
        for i in range(number):
            self.pod(f"{gang}-{i}", annotations=given)

    def change(self, name: str, namespace: str = "default", **fields: Any) -> None:
        """Change metadata, or spec and status, of a pod."""
        body = dict(self.pods[namespace, name])
        for section in ("spec", "status"):
            body[section] = {**body[section], **fields.pop(section, {})}
        self._replace({**body, "metadata": {**body["metadata"], **fields}})

    def end(self, name: str, phase: str = "Failed", namespace: str = "default") -> None:
        """Let a pod end."""
        self.change(name, namespace, status={"phase": phase})

    def gone(self, name: str, namespace: str = "default") -> None:
        """Delete a pod."""
        self.delete(self.pods.pop((namespace, name)))

    def workload(self, body: Body) -> None:
        """Add a Job or JobSet with what its controller creates."""
        self.put(body)
        made = job_sets.jobs_of if body["kind"] == "JobSet" else jobs.pods_of
        for each in made(body):
            if each["kind"] == "Pod":
                self._replace({**each, "status": {"phase": "Pending"}})
            else:
                self.workload(each)

    def cycle(self, later: int = 0) -> Plan:
        """Decide, so many seconds later, and carry it out."""
        self.now += later
        for _ in self.cache.prepare(self.now):
            pass
        plan = schedule(self.cache.snapshot(self.now), PROFILES["binpack"])
        applying.take_in(self.cache, plan, self.now, _Confirms(self))
        return plan

    def bound(self, later: int = 0) -> set[str]:
        """Make a cycle and return the names of the pods that were bound in it."""
        plan = self.cycle(later)
        return {bind.pod.name for placed in plan.placed for bind in placed.binds}

    def waits(self, gang: str, later: int = 0) -> tuple[str, str]:
        """Make a cycle and return why a gang waits: reason and message."""
        refused = {each.gang.key.name: each for each in self.cycle(later).refused}
        return why(refused[gang])

    def _replace(self, body: Body) -> None:
        metadata = body["metadata"]
        key = (metadata["namespace"], metadata["name"])
        before = self.pods.get(key)
        if before is not None and before["metadata"]["uid"] != metadata["uid"]:
            self.delete(before)
        self.pods[key] = dict(body)
        self.put(body)


class _Confirms(applying.WritesNothing):
    """Lets every binding be seen at once."""

    def __init__(self, cluster: InMemoryCluster) -> None:
        self._town = cluster

    def bind(self, together: Sequence[Placed]) -> None:
        """Let members run on their nodes."""
        for placed in together:
            for bind in placed.binds:
                where = {"nodeName": bind.node}
                pod = (bind.pod.name, bind.pod.namespace)
                self._town.change(*pod, spec=where, status={"phase": "Running"})
            self._town.cache.decisions.bound(placed.gang.key)


def why(refused: Refused) -> tuple[str, str]:
    """Return reason and message of a refusal."""
    return refused.reason.value, describe(refused)


def options(given: Mapping[str, Any]) -> dict[str, str]:
    """Return annotations; `match_policy` is written `match-policy` with the prefix."""
    return {PREFIX + key.replace("_", "-"): str(value) for key, value in given.items()}


def group_body(name: str, minimum: int, namespace: str = "default", **given: Any) -> Body:
    """Return a PodGroup with options as annotations; `spec` are further fields of its spec."""
    spec = given.pop("spec", {})
    metadata = {
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "annotations": options(given),
    }
    return api_objects.pod_group_body(name, min_member=minimum, metadata=metadata, **spec)


def native_body(name: str, minimum: int | None, **spec: Any) -> Body:
    """Return a native PodGroup: a gang, or `basic` without a minimum."""
    policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-native-{name}"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def template(**metadata: Any) -> Body:
    """Return the template of a pod that asks for a gang by our label."""
    labels = {"py-gang-scheduler.io/gang": "true"}
    spec = api_objects.pod_body()["spec"]
    return {"metadata": {"labels": labels, **metadata}, "spec": spec}


def job_body(name: str = "job", pods: Body | None = None, uid: str = "", **spec: Any) -> Body:
    """Return a Job that is a gang; `pods` is its pod template."""
    identity = {"name": name, "namespace": "default", "uid": uid or f"uid-job-{name}"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": identity,
        "spec": {"template": template() if pods is None else pods, **spec},
    }


def job_set_body(name: str, jobs: Mapping[str, tuple[int, int]]) -> Body:
    """Return a JobSet; `jobs` are replicas and parallelism of each replicatedJob."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-set-{name}"},
        "spec": {
            "replicatedJobs": [
                {
                    "name": job,
                    "replicas": replicas,
                    "template": {"spec": {"parallelism": pods, "template": template()}},
                }
                for job, (replicas, pods) in jobs.items()
            ]
        },
    }
