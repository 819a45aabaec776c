"""The gang of a pod as the auditor reads it: from PodGroups, annotations, Jobs and other kinds.

The auditor judges gangs of PodGroups of all three APIs, gangs of annotations on pods, gangs of
Jobs and JobSets, and gangs of some other workloads.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from gang_auditor.objects import Kind, Pod, mapping
from gang_auditor.watch_events import Object
from gang_scheduler.api import annotations as keys

# Gangs of workloads without a PodGroup, as the docs of their kinds define them (docs/kinds). The
# pods of a LeaderWorkerSet and of a pod group of Kueue say everything. Of a Kubeflow job, the
# auditor also reads the object: it has the number of replicas of each role that start. This number
# is unknown if the job is elastic, or a part of it has succeeded.

LEADER_WORKER_SET: Final = Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
KUEUE_GROUP: Final = Kind("kueue.x-k8s.io", "KueuePodGroup")
KUBEFLOW: Final = tuple(
    Kind("kubeflow.org", name)
    for name in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
)
BY_DEFAULT: Final = frozenset({LEADER_WORKER_SET, KUEUE_GROUP, *KUBEFLOW})
"""Kinds whose pods are gangs by default. A label or setting can change that; bindings show it."""

_SET: Final = "leaderworkerset.sigs.k8s.io/"
_REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
_EVALUATOR: Final = "evaluator"
_REPLICAS: Final = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}


def named(pod: Pod) -> tuple[Kind, str] | None:
    """Return kind and name of the gang that a pod's workload makes; None if it makes no gang."""
    if pod.labels.get(keys.JOB_GANG_LABEL) == "false":
        return None
    group, index = pod.labels.get(f"{_SET}name"), pod.labels.get(f"{_SET}group-index")
    if group and index:
        return LEADER_WORKER_SET, f"{group}/{index}"
    if group := pod.labels.get(keys.KUEUE_POD_GROUP):
        return KUEUE_GROUP, group
    kind = Kind("kubeflow.org", str(pod.controller.get("kind") or ""))
    return (kind, str(pod.controller.get("name") or "")) if kind in KUBEFLOW else None


def role_of(pod: Pod) -> str:
    """Return the role of a pod in its gang; "" if the pod names none."""
    return pod.labels.get(keys.ROLE) or pod.labels.get(_REPLICA_TYPE) or ""


def said_by(members: Collection[Pod], kind: Kind) -> int | None:
    """Return the quorum that the pods of a gang declare; None if they declare none, or not yet."""
    key = keys.KUEUE_POD_GROUP_TOTAL if kind == KUEUE_GROUP else f"{_SET}size"
    texts = {each.annotations.get(key) or "" for each in members}
    if kind == LEADER_WORKER_SET and len(members) <= 1:
        # Its workers may be created only once the leader is ready.
        return None
    return min((int(each) for each in texts if each.isdecimal()), default=None)


def minima_of(kind: Kind, job: Object) -> Mapping[str, int]:
    """Return how many pods of each role of a Kubeflow job start together; {} if unknown."""
    spec = mapping(job, "spec")
    policy = mapping(mapping(spec, "runPolicy"), "schedulingPolicy")
    specs = mapping(spec, _REPLICAS[kind.name])
    told = (job, *(mapping(specs, role).get("template") or {} for role in specs))
    is_elastic = any(keys.ELASTIC in mapping(mapping(e, "metadata"), "annotations") for e in told)
    done = mapping(mapping(job, "status"), "replicaStatuses").values()
    if any(isinstance(each, Mapping) and each.get("succeeded") for each in done):
        return {}
    if is_elastic or spec.get("elasticPolicy") or policy.get("minAvailable") is not None:
        return {}
    found = {}
    for role, each in specs.items():
        replicas = each.get("replicas", 1) if isinstance(each, Mapping) else 0
        if isinstance(replicas, int) and replicas and role.lower() != _EVALUATOR:
            found[role.lower()] = replicas
    return found


NATIVE: Final = Kind("scheduling.k8s.io", "PodGroup")
OURS: Final = Kind("scheduling.sigs.k8s.io", "PodGroup")
SCHED_PLUGINS: Final = Kind("scheduling.x-k8s.io", "PodGroup")
JOB: Final = Kind("batch", "Job")
JOB_SET: Final = Kind("jobset.x-k8s.io", "JobSet")
ANNOTATED: Final = Kind("", "annotations")


class GangName(NamedTuple):
    """The name of a gang, and the kind of the object that describes it.

    `part` is the replicatedJob of a JobSet.
    """

    kind: Kind
    namespace: str
    name: str
    part: str = ""

    @property
    def about(self) -> str:
        """The gang as findings name it."""
        return f"Gang {self.key}"

    @property
    def object_key(self) -> str:
        """The object that describes the gang, as `namespace/name`.

        All parts of a JobSet have the same object.
        """
        return f"{self.namespace}/{self.name}"

    @property
    def key(self) -> str:
        """The gang as `namespace/name`."""
        return self.object_key + (f"-{self.part}" if self.part else "")


def gang_of(pod: Pod) -> GangName | None:
    """Return the gang that a pod names; None for a gang of one."""
    native = mapping(pod.spec, "schedulingGroup").get("podGroupName")
    if native:
        return GangName(NATIVE, pod.namespace, str(native))
    for label in (keys.POD_GROUP_LABEL, keys.POD_GROUP_LABEL_SCHED_PLUGINS):
        if pod.labels.get(label):
            return GangName(OURS, pod.namespace, pod.labels[label])
    annotated = pod.annotations.get(keys.GANG_NAME) or pod.labels.get(keys.GANG_NAME_LABEL)
    if annotated:
        return GangName(ANNOTATED, pod.namespace, annotated)
    if (found := named(pod)) is not None:
        return GangName(found[0], pod.namespace, found[1])
    return _of_workload(pod)


def _of_workload(pod: Pod) -> GangName | None:
    if not keys.ask_for_gang(pod.labels, pod.annotations):
        return None
    job_set, part = pod.labels.get(keys.JOB_SET_LABEL), pod.labels.get(keys.REPLICATED_JOB_LABEL)
    if job_set and part:
        return GangName(JOB_SET, pod.namespace, job_set, part)
    if pod.controller.get("kind") == "Job":
        return GangName(JOB, pod.namespace, str(pod.controller.get("name") or ""))
    return None
