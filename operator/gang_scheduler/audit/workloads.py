"""Gangs of workloads without a PodGroup, as the docs of their kinds define them: docs/kinds.

Of a LeaderWorkerSet and a pod group of Kueue the pods say all; a job of Kubeflow is read itself,
where it says how many replicas of each role start: not if it is elastic, or a part has succeeded.
"""

from collections.abc import Collection, Mapping
from typing import Final

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit.objects.kinds import Kind
from gang_scheduler.audit.objects.pods import Pod, mapping
from gang_scheduler.audit.stream.events import Object

LEADER_WORKER_SET: Final = Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
KUEUE_GROUP: Final = Kind("kueue.x-k8s.io", "KueuePodGroup")
KUBEFLOW: Final = tuple(
    Kind("kubeflow.org", name)
    for name in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
)
BY_DEFAULT: Final = frozenset({LEADER_WORKER_SET, KUEUE_GROUP, *KUBEFLOW})
"""Kinds whose pods are gangs unless a label or a setting says otherwise: bindings tell."""

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
    """Return kind and name of the gang of a pod; None if it is of no such workload."""
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
    """Return the role of a pod in its gang; "" if it says none."""
    return pod.labels.get(keys.ROLE) or pod.labels.get(_REPLICA_TYPE) or ""


def said_by(members: Collection[Pod], kind: Kind) -> int | None:
    """Return the quorum that the pods of a gang say; None if they say none, or not yet."""
    key = keys.KUEUE_POD_GROUP_TOTAL if kind == KUEUE_GROUP else f"{_SET}size"
    texts = {each.annotations.get(key) or "" for each in members}
    if kind == LEADER_WORKER_SET and len(members) <= 1:
        # Its workers may be created only once the leader is ready.
        return None
    return min((int(each) for each in texts if each.isdecimal()), default=None)


def minima_of(kind: Kind, job: Object) -> Mapping[str, int]:
    """Return how many pods of each role of a job of Kubeflow start together; {} if not known."""
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
