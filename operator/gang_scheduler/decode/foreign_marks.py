"""Labels and annotations of other products: read, refused by name, or ignored.

They are in one table, from which docs/marks.md is generated. A key is refused if it requests a
place, a device or a limit that this scheduler cannot provide: its pods would run without it. A key
is ignored if another controller acts on it, or if it is only for accounting.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.model import records, refs
from gang_scheduler.model.wording import field, label_field


class Verdict(Enum):
    """What is done with a key. `NAMES_A_GANG`: refused on a pod that is in no gang here."""

    READ = "read"
    REFUSED = "refused"
    NAMES_A_GANG = "refused on a pod that is in no gang here"
    PASSED_OVER = "passed over"


class Mark(NamedTuple):
    """A key, or all keys with a prefix if it ends in `*`, and why it is read, refused or ignored.

    A key is not refused if its value is in `harmless`, if the `{key: value}` of `unless` is
    present, or if one of the keys in `instead` is. It is also accepted for a gang of the source
    `read_for`, which has the same information in another place that is read.
    """

    key: str
    product: str
    verdict: Verdict
    why: str
    harmless: frozenset[str] = frozenset()
    unless: tuple[str, str] | None = None
    instead: tuple[str, ...] = ()
    read_for: str = ""


KAI, VOLCANO, KOORDINATOR, KUEUE = "KAI-Scheduler", "Volcano", "Koordinator", "Kueue"
YUNIKORN, SLURM, GROVE, JOBSET, HAMI = "YuniKorn", "Slurm Bridge", "Grove", "JobSet", "HAMi"
RUN_AI, LWS = "Run:ai", "LeaderWorkerSet"
_READ, _REFUSED, _PASSED = Verdict.READ, Verdict.REFUSED, Verdict.PASSED_OVER
_GANG: Final = Verdict.NAMES_A_GANG
_MAKES_NO_GANG: Final = "names a gang of that product: a PodGroup and its label do that here"
_OUR_QUEUE: Final = (
    f"its pods would count against no queue: name a queue in the label {annotations.QUEUE}"
)
_QUEUES: Final = (
    *(annotations.QUEUE, annotations.KUEUE_QUEUE),
    *(annotations.VOLCANO_QUEUE, annotations.VOLCANO_QUEUE_SHORT),
)
_GATHERING: Final = (annotations.NETWORK_TOPOLOGY_SPEC, *sorted(annotations.PODSET_KEYS))
_PROTECTING: Final = (annotations.DISABLE_PREEMPTIBLE, annotations.QUOTA_PREEMPTIBLE)
_EVICTABLE: Final = f"its pods could be evicted: write {annotations.DISABLE_PREEMPTIBLE}: true"
_WHOLE_GPUS: Final = (
    "its pods would run without a GPU: ask in resources.limits for whole GPUs, or for a share that "
    "a device plugin offers"
)
_GATHER: Final = (
    "its pods would be placed anywhere: ask for one domain with the annotation "
    f"{annotations.NETWORK_TOPOLOGY_SPEC} or kueue.x-k8s.io/podset-required-topology"
)
_BY_MODEL: Final = "select nodes by the label nvidia.com/gpu.product"
_BUDGET: Final = "more of its pods could be evicted: create a PodDisruptionBudget"
_NUMA: Final = "the kubelet aligns NUMA nodes: set its Topology Manager policy on the nodes instead"
_RESOURCE: Final = "a resource: pods ask for it in resources.limits, and nodes must offer it"
_SERVED: Final = "names the gang, if the cluster serves Volcano's PodGroups"
_SLURM: Final = "it asks Slurm for nodes or devices: ask for these in the pod's spec"

MARKS: Final = (
    # KAI-Scheduler and Run:ai.
    Mark("gpu-fraction", KAI, _REFUSED, _WHOLE_GPUS),
    Mark("gpu-memory", KAI, _REFUSED, _WHOLE_GPUS),
    Mark("gpu-fraction-num-devices", KAI, _REFUSED, _WHOLE_GPUS),
    Mark("gpu-fraction-container-name", KAI, _PASSED, "has no effect without gpu-fraction"),
    Mark("kai.scheduler/queue", KAI, _REFUSED, _OUR_QUEUE, instead=_QUEUES),
    Mark("runai/queue", RUN_AI, _REFUSED, _OUR_QUEUE, instead=_QUEUES),
    Mark("run.ai/queue", RUN_AI, _REFUSED, _OUR_QUEUE, instead=_QUEUES),
    Mark("kai.scheduler/topology", KAI, _PASSED, "only says in which tree a placement is"),
    Mark("kai.scheduler/topology-required-placement", KAI, _REFUSED, _GATHER, instead=_GATHERING),
    Mark("kai.scheduler/topology-preferred-placement", KAI, _PASSED, "a preference"),
    Mark("kai.scheduler/subgroup-name", KAI, _GANG, _MAKES_NO_GANG),
    Mark("kai.scheduler/batch-min-member", KAI, _GANG, _MAKES_NO_GANG),
    Mark(
        *("kai.scheduler/preemptibility", KAI, _REFUSED, _EVICTABLE),
        harmless=frozenset({"preemptible"}),
        instead=_PROTECTING,
    ),
    Mark(
        *("kai.scheduler/preemption-delay", KAI, _REFUSED),
        "its gang could evict others sooner: with preemptionPolicy: Never it evicts none",
    ),
    Mark("pod-group-name", KAI, _GANG, _MAKES_NO_GANG),
    Mark("user", KAI, _PASSED, "only for accounting, and a common label"),
    Mark("project", KAI, _PASSED, "only for accounting, and a common label"),
    # Volcano.
    Mark("scheduling.k8s.io/group-name", VOLCANO, _GANG, _SERVED),
    Mark("scheduling.volcano.sh/group-name", VOLCANO, _GANG, _SERVED),
    Mark("scheduling.volcano.sh/group-min-member", VOLCANO, _GANG, _MAKES_NO_GANG),
    Mark(
        *("volcano.sh/network-topology-mode", VOLCANO, _REFUSED, _GATHER),
        instead=_GATHERING,
        harmless=frozenset({"soft"}),
    ),
    Mark(
        *("volcano.sh/network-topology-highest-tier", VOLCANO, _REFUSED, _GATHER),
        instead=_GATHERING,
        unless=("volcano.sh/network-topology-mode", "soft"),
    ),
    Mark(
        *("volcano.sh/numa-topology-policy", VOLCANO, _REFUSED, _NUMA),
        harmless=frozenset({"none", "best-effort"}),
    ),
    Mark(
        *("volcano.sh/preemptable", VOLCANO, _REFUSED, _EVICTABLE),
        harmless=frozenset({"true"}),
        instead=_PROTECTING,
        read_for=refs.VOLCANO_POD_GROUP.name,
    ),
    Mark(
        "volcano.sh/queue-name", VOLCANO, _READ, "names the queue, if the cluster serves Volcano's"
    ),
    Mark("scheduling.volcano.sh/queue-name", VOLCANO, _READ, "the same"),
    Mark(
        *("volcano.sh/cooldown-time", VOLCANO, _REFUSED),
        f"its pods could be evicted sooner: write {annotations.MIN_RUNTIME}",
        instead=(annotations.MIN_RUNTIME,),
    ),
    Mark(
        "volcano.sh/revocable-zone", VOLCANO, _PASSED, "allows nodes that are allowed here anyway"
    ),
    Mark("volcano.sh/jdb-min-available", VOLCANO, _REFUSED, _BUDGET),
    Mark("volcano.sh/jdb-max-unavailable", VOLCANO, _REFUSED, _BUDGET),
    Mark("volcano.sh/task-topology-affinity", VOLCANO, _PASSED, "a preference"),
    Mark("volcano.sh/task-topology-anti-affinity", VOLCANO, _PASSED, "a preference"),
    Mark("volcano.sh/task-topology-task-order", VOLCANO, _PASSED, "a preference"),
    Mark("volcano.sh/gpu-memory", VOLCANO, _READ, _RESOURCE),
    Mark("volcano.sh/gpu-number", VOLCANO, _READ, _RESOURCE),
    Mark("volcano.sh/vgpu-number", VOLCANO, _READ, _RESOURCE),
    # Koordinator.
    Mark(
        *("scheduling.koordinator.sh/gpu-partition-spec", KOORDINATOR, _REFUSED),
        "its pods could get GPUs of several partitions: the device plugin of a node chooses them",
    ),
    Mark(
        *("scheduling.koordinator.sh/device-allocate-hint", KOORDINATOR, _REFUSED),
        "its pods could get any devices: the device plugin of a node chooses them",
    ),
    Mark(
        *("scheduling.koordinator.sh/reservation-affinity", KOORDINATOR, _REFUSED),
        "Reservations are not read here: its pods would run outside of them",
    ),
    Mark(
        "quota.scheduling.koordinator.sh/name", KOORDINATOR, _REFUSED, _OUR_QUEUE, instead=_QUEUES
    ),
    Mark("koordinator.sh/qosClass", KOORDINATOR, _PASSED, "koordlet acts on it on the node"),
    Mark(
        *("koordinator.sh/priority-class", KOORDINATOR, _PASSED),
        "the priority of a pod comes from its spec.priorityClassName",
    ),
    Mark(
        *("scheduling.koordinator.sh/resource-spec", KOORDINATOR, _REFUSED),
        "its pods would not get such CPUs: set the CPU Manager policy of the kubelet instead",
    ),
    Mark("scheduling.koordinator.sh/numa-topology-spec", KOORDINATOR, _REFUSED, _NUMA),
    # Kueue.
    Mark("kueue.x-k8s.io/queue-name", KUEUE, _READ, "names the queue, if LocalQueues are served"),
    Mark("kueue.x-k8s.io/priority-class", KUEUE, _READ, "names the WorkloadPriorityClass"),
    Mark("kueue.x-k8s.io/max-exec-time-seconds", KUEUE, _READ, "says how long the gang runs"),
    Mark(
        *("kueue.x-k8s.io/job-min-parallelism", KUEUE, _PASSED),
        "lets Kueue start fewer pods; those that it starts are a whole gang",
    ),
    Mark("kueue.x-k8s.io/pod-group-name", KUEUE, _READ, "names the gang"),
    Mark("kueue.x-k8s.io/pod-group-total-count", KUEUE, _READ, "says how many start together"),
    Mark("kueue.x-k8s.io/retriable-in-group", KUEUE, _PASSED, "Kueue acts on it after a failure"),
    Mark("kueue.x-k8s.io/podset-required-topology", KUEUE, _READ, "says where pods are placed"),
    Mark("kueue.x-k8s.io/podset-preferred-topology", KUEUE, _READ, "says where pods are placed"),
    Mark("kueue.x-k8s.io/podset-group-name", KUEUE, _READ, "says which podsets share a domain"),
    Mark("kueue.x-k8s.io/elastic-job", KUEUE, _PASSED, "Kueue acts on it when the Job is scaled"),
    Mark(
        *("provreq.kueue.x-k8s.io/*", KUEUE, _PASSED),
        "parameters of the requests that Kueue makes; here the ProvisioningRequestConfig has them",
    ),
    # Grove, JobSet, LeaderWorkerSet.
    Mark("grove.io/podgang", GROVE, _GANG, _MAKES_NO_GANG),
    Mark("grove.io/podclique", GROVE, _PASSED, "grove.io/podgang names the gang"),
    Mark(annotations.EXCLUSIVE_TOPOLOGY, JOBSET, _READ, "gives each Job its own domain"),
    Mark(
        annotations.NODE_SELECTOR_STRATEGY, JOBSET, _READ, "read together with exclusive-topology"
    ),
    Mark(
        *("leaderworkerset.sigs.k8s.io/exclusive-topology", LWS, _READ),
        "gives each group its own domain, by the affinity that its webhook writes",
    ),
    # Slurm.
    Mark("slurmjob.slinky.slurm.net/account", SLURM, _PASSED, "only for accounting"),
    Mark("slurmjob.slinky.slurm.net/job-name", SLURM, _PASSED, "only a name"),
    Mark("slurmjob.slinky.slurm.net/user-id", SLURM, _PASSED, "only for accounting"),
    Mark("slurmjob.slinky.slurm.net/group-id", SLURM, _PASSED, "only for accounting"),
    Mark("slurmjob.slinky.slurm.net/wckey", SLURM, _PASSED, "only for accounting"),
    Mark("slurmjob.slinky.slurm.net/gres", SLURM, _REFUSED, _WHOLE_GPUS),
    Mark("slurmjob.slinky.slurm.net/*", SLURM, _REFUSED, _SLURM),
    # YuniKorn.
    Mark("yunikorn.apache.org/task-groups", YUNIKORN, _GANG, _MAKES_NO_GANG),
    Mark("yunikorn.apache.org/task-group-name", YUNIKORN, _GANG, _MAKES_NO_GANG),
    Mark(
        *("yunikorn.apache.org/schedulingPolicyParameters", YUNIKORN, _PASSED),
        "has no effect without task-groups",
    ),
    Mark("yunikorn.apache.org/queue", YUNIKORN, _REFUSED, _OUR_QUEUE, instead=_QUEUES),
    Mark("queue", YUNIKORN, _PASSED, "a common label with many meanings"),
    Mark("applicationId", YUNIKORN, _PASSED, "only a name"),
    # HAMi and NVIDIA.
    Mark("hami.io/*", HAMI, _PASSED, "preferences and notes of HAMi's own scheduler"),
    Mark(
        *("nvidia.com/use-gputype", HAMI, _REFUSED),
        f"its pods could get GPUs of another model: {_BY_MODEL}",
    ),
    Mark(
        *("nvidia.com/nouse-gputype", HAMI, _REFUSED),
        f"its pods could get GPUs of that model: {_BY_MODEL}",
    ),
    Mark(
        *("nvidia.com/use-gpuuuid", HAMI, _REFUSED),
        "its pods could get any GPUs: the device plugin of a node chooses them",
    ),
    Mark("nvidia.com/gpumem", HAMI, _READ, _RESOURCE),
    Mark("nvidia.com/gpucores", HAMI, _READ, _RESOURCE),
    Mark("nvidia.com/mig-*", "NVIDIA", _READ, _RESOURCE),
    # Controllers that act on nodes and pods.
    Mark(
        *("cluster-autoscaler.kubernetes.io/safe-to-evict", "Cluster Autoscaler", _PASSED),
        "the autoscaler acts on it when it removes nodes",
    ),
    Mark(
        *("descheduler.alpha.kubernetes.io/evict", "Descheduler", _PASSED),
        "the descheduler acts on it",
    ),
    Mark("karpenter.sh/do-not-disrupt", "Karpenter", _PASSED, "Karpenter acts on it"),
    Mark(
        *("scheduling.x-k8s.io/pod-group", "scheduler-plugins", _READ),
        "names the PodGroup",
    ),
    Mark(
        *("ray.io/scheduler-name", "KubeRay", _PASSED),
        "KubeRay acts on it: it writes labels and the schedulerName",
    ),
    Mark("sidecar.istio.io/inject", "Istio", _PASSED, "its webhook acts on it"),
)

NAMING: Final = {each.key: each.product for each in MARKS if each.verdict is _GANG}
"""The keys that name the gang of a pod for other products, with these products."""
_EXACT: Final = {each.key: each for each in MARKS if not each.key.endswith("*")}
_PREFIXED: Final = tuple(
    (each.key.removesuffix("*"), each) for each in MARKS if each.key.endswith("*")
)
TELLING: Final = tuple(
    each.key.removesuffix("*") for each in MARKS if each.verdict is Verdict.REFUSED
)
"""The prefixes of all keys that may be refused."""


def of(key: str) -> Mark | None:
    """Return the row of a key; None for a key without a row."""
    found = _EXACT.get(key)
    if found is not None:
        return found
    return next((mark for prefix, mark in _PREFIXED if key.startswith(prefix)), None)


def refused(
    labels: Mapping[str, str], present: Mapping[str, str], source: str = ""
) -> Iterator[InvalidField]:
    """Yield the labels and annotations that are refused, each with its replacement.

    `source` is the source of the gang of the labelled pod.
    """
    if not (_may_be_refused(tuple(labels)) or _may_be_refused(tuple(present))):
        return
    said: set[tuple[str, str] | None] = {*labels.items(), *present.items()}
    known = {*labels, *present}
    for where, values in ((label_field, labels), (field, present)):
        for key, text in sorted(values.items()):
            mark = of(key) if key.startswith(TELLING) else None
            if mark is None or mark.verdict is not Verdict.REFUSED:
                continue
            excused = mark.unless in said or not known.isdisjoint(mark.instead)
            if excused or text in mark.harmless or source == mark.read_for != "":
                continue
            problem = f"is for {mark.product}, and not read here: {mark.why}"
            yield InvalidField(where(key), None, problem)


@records.by_short_texts(4096)
def _may_be_refused(present: tuple[str, ...]) -> bool:
    """Return whether one of these keys may be refused.

    The result is remembered: most pods have the same keys.
    """
    return any(key.startswith(TELLING) for key in present)
