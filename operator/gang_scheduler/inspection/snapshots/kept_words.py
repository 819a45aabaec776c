"""Words, keys and fields that are the same in every cluster and get no pseudonym."""

import re
from itertools import chain
from typing import Final

from gang_scheduler.api import annotations, pod_group
from gang_scheduler.inspection.snapshots.ordered_pseudonyms import WORD
from gang_scheduler.model.api_words import CheckpointOutcome, EvictionReason
from gang_scheduler.model.gangs import MatchPolicy
from gang_scheduler.model.reasons import Reason
from gang_scheduler.recording.wire_shapes import KEYS
from gang_scheduler.state import kinds
from gang_scheduler.workloads import table

# Values of API fields that are the same in every cluster: words of the API, times and numbers. Any
# client may write another value into such a field: that value is no word of the API.

_ENUMERATED: Final = (
    *(Reason, pod_group.Phase, pod_group.ScaleReason, EvictionReason, CheckpointOutcome),
)
_WORDS: Final = (
    # Conditions, and their reasons.
    *("True", "False", "Unknown", "Ready", "MemoryPressure", "DiskPressure", "PIDPressure"),
    *("NetworkUnavailable", "PodScheduled", "Initialized", "ContainersReady", "DisruptionTarget"),
    *("PodReadyToStartContainers", "PodResizePending", "PodResizeInProgress", "Infeasible"),
    *("Deferred", "Unschedulable", "SchedulingGated", "SchedulerError", "KubeletReady"),
    *("KubeletNotReady", "NodeStatusUnknown", "KubeletHasSufficientMemory", "PodCompleted"),
    *("KubeletHasNoDiskPressure", "KubeletHasSufficientPID", "PreemptionByScheduler"),
    *("EvictionByEvictionAPI", "TerminationByKubelet", "DeletionByTaintManager", "Scheduled"),
    *("Scheduling", "Reserved", "TimedOut", "InvalidSpec", "PodGroupInitiallyScheduled"),
    *("CheckpointRequested", "Complete", "Failed", "Suspended", "FailureTarget", "Active"),
    *("SuccessCriteriaMet", "Completed", "StartupPolicyInProgress", "StartupPolicyCompleted"),
    *("Created", "Running", "Restarting", "Succeeded", "Admitted", "QuotaReserved", "Evicted"),
    *("Provisioned", "Accepted", "BookingExpired", "CapacityRevoked", "Resizing", "Available"),
    *("RayClusterProvisioned", "HeadPodReady", "JobSuspended", "JobResumed", "Progressing"),
    # Phases and states.
    *("Pending", "Bound", "Released", "Lost", "Terminating", "Terminated", "Inqueue", "Closed"),
    *("Open", "Closing", "Completing", "Aborting", "Aborted", "Finished", "Started", "COMPLETED"),
    *("FAILED", "SUCCEEDING", "FAILING", "SUBMITTED", "RUNNING", "ready", "suspended", "failed"),
    # Selectors, taints and tolerations.
    *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule", "NoExecute"),
    *("PreferNoSchedule", "DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore"),
    # Values in pods, containers and workloads.
    *("TCP", "UDP", "SCTP", "Always", "OnFailure", "Never", "PreemptLowerPriority"),
    *("RestartAllContainers", "Indexed", "NonIndexed"),
    *("FailJob", "FailIndex", "Count", "TerminatingOrFailed", "Worker", "Recreate", "Pod"),
    # Values in volumes.
    *("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod", "Filesystem", "Block"),
    *("Immediate", "WaitForFirstConsumer", "Hostname", "InternalIP", "ExternalIP"),
    # Values in queues.
    *("None", "Hold", "HoldAndDrain", "StrictFIFO", "BestEffortFIFO", "Any", "LowerPriority"),
    *("LowerOrNewerEqualPriority", "Borrow", "Preempt", "TryNextFlavor", "MayStopSearch"),
    *("BorrowingOverPreemption", "PreemptionOverBorrowing", "UsageBasedAdmissionFairSharing"),
    *("NoAdmissionFairSharing", "WhileBorrowing", "IfAvailable", "AlwaysIfPossible"),
    # Values in native PodGroups, and features that nodes declare.
    *("Single", "All", "PodGroup", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"),
    *("RestartAllContainersOnContainerExits", "GuaranteedQoSPodCPUResize"),
)
_OWNERS: Final = (
    *("DaemonSet", "Node", "ReplicationController", "List", "Workflow", "Workload", "PodTemplate"),
)
_NUMBER: Final = re.compile(r"[0-9]{1,20}%?")
TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
    r"(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_DURATION: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|m|h))+")


_READ: Final = [each.reader for each in kinds.KINDS]
_SERVED: Final = {gvr for each in _READ for gvr in each.versions}
API_WORDS: Final = frozenset(
    {
        *_WORDS,
        *_OWNERS,
        *(each.kind for each in _READ),
        *(each.name for each in table.KINDS),
        *chain.from_iterable(each.phase.ended for each in table.KINDS),
        *(each.value for kind in _ENUMERATED for each in kind),
        *("v1", "apps/v1", "batch/v1", *(each.api_version for each in _SERVED)),
    }
)


def is_api_word(text: str) -> bool:
    """Return whether a value is a word of the API, a time, a duration or a number."""
    return text in API_WORDS or any(each.fullmatch(text) for each in (_NUMBER, TIME, _DURATION))


DOMAINS: Final = (
    *(
        "kubernetes.io",
        "k8s.io",
        "x-k8s.io",
        "py-gang-scheduler.io",
        "koordinator.sh",
        "volcano.sh",
    ),
    *(each.versions[0].group for each in table.KINDS if each.versions),
    *("apache.org", "karpenter.sh", "run.ai", "coreweave.com"),
    *("nvidia.com", "amd.com", "intel.com", "habana.ai", "google.com", "amazonaws.com"),
    *("azure.com", "aws.com"),
)
"""The owners of keys. Keys with these domains belong to products: all users have the same."""
_NAMED_BY_USERS: Final = frozenset({"node-role.kubernetes.io", "node-restriction.kubernetes.io"})
"""In keys with these prefixes, administrators choose the rest of the key."""
_ROLES: Final = frozenset({"control-plane", "master", "worker"})
_PRODUCTS: Final = tuple(f".{each}" for each in DOMAINS)
_PLAIN: Final = frozenset(
    {*KEYS, *chain.from_iterable(each.plain_keys for each in table.KINDS), "metadata.name"}
)

_TEXTS: Final = (
    # Names that mean something.
    *("default", "default-scheduler", "py-gang-scheduler", "root", "none", "NodeTopologyLayer"),
    # Roles and other texts that controllers choose.
    *chain.from_iterable(each.words for each in table.KINDS),
    # Values for yes or no, also in Go's spellings.
    *(*annotations.GO_TRUE, *annotations.GO_FALSE, "yes", "no"),
    # Options of gangs, and the fields and values of JSON in annotations.
    *("Strict", "NonStrict", *MatchPolicy, "gatherStrategy", "layer", "strategy"),
    *("podCountMultiple", "MustGather", "PreferGather", "topology", "size"),
    *("minWorkers", "maxWorkers", "scalePolicy", "role", "mode", "scaleUpCooldown"),
    *("scaleDownCooldown", "scaleUpStep", "scaleDownStep"),
    *("deviceclass", "deviceClassNames", "device_class_names", "name", "sources", "counter"),
    *("device_selector", "deviceSelector", "expression"),
    *("Bind", "Replicas", "input", "multiplyBy", "outputs", "Retain", "Replace", "multiply_by"),
    # The words of device selectors, which are written in CEL.
    *("device", "attributes", "capacity", "driver", "allowMultipleAllocations", "in", "has"),
    *("quantity", "isQuantity", "compareTo", "isGreaterThan", "isLessThan", "add", "sub", "sign"),
    *("asInteger", "isInteger", "asApproximateFloat", "semver", "isSemver", "major", "minor"),
    *("patch", "matches", "find", "findAll", "sum", "min", "max", "indexOf", "lastIndexOf"),
    *("isSorted", "startsWith", "endsWith", "contains", "size", "orValue", "hasValue", "cel"),
    *("bind", "exists", "all", "map", "filter", "null", "string", "int", "double", "bool"),
    *("lowerAscii", "upperAscii", "replace", "split", "join", "substring", "trim"),
    # Resources, and the units of amounts, durations and times.
    *("cpu", "memory", "pods", "storage", "ephemeral-storage", "gpu", "hugepages"),
    *("n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e"),
    *("h", "s", "ms", "us", "ns", "Z"),
)
WORDS: Final = frozenset(word for text in _TEXTS for word in WORD.findall(text))
"""Words that stay in all texts."""

KEPT_FIELDS: Final = frozenset(
    {
        *("apiVersion", "kind", "resourceVersion", "type", "status", "reason", "phase", "state"),
        *("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "startTime", "at"),
        *("doneAt",),
        *("until", "last", "lastScaleTime", "nextAllowed", "estimatedStart", "scheduleStartTime"),
        *("operator", "effect", "protocol", "restartPolicy", "action", "class", "mode"),
        *("preemptionPolicy", "accessModes", "volumeMode", "volumeBindingMode", "policy"),
        *("declaredFeatures", "disruptionMode", "strategy", "fairness", "stopPolicy"),
        *("queueingStrategy", "withinQueue", "reclaim", "whenCanBorrow", "whenCanPreempt"),
        *("preference", "withinClusterQueue", "reclaimWithinCohort", "admissionMode"),
        "dequeueStrategy",
        *("minAvailable", "maxUnavailable", "allocationMode", "source", "allocationTimestamp"),
    }
)
"""Fields whose value is a word of the API, a number or a time."""
KEY_FIELDS: Final = frozenset(
    {"key", "topologyKey", "matchLabelKeys", "mismatchLabelKeys", "nodeLabel", "labelKey"}
)
"""Fields whose value is the key of a label."""
MESSAGES: Final = frozenset({"message"})
DIGESTS: Final = frozenset({"edition"})
"""Fields with a digest of names. Without the digest, the object counts as unchanged."""
NAMING_SETTINGS: Final = frozenset(
    {
        *("scheduler_names", "protection_label_namespaces", "gpu_resources", "default_queue"),
        *(
            "require_queue",
            "resource_transformations",
            "device_class_mappings",
            "exclude_resource_prefixes",
        ),
        *("spare_nodes", "node_failure_taints"),
    }
)
"""Settings that contain names chosen by users."""


def is_known(key: str) -> bool:
    """Return whether the key of a label, an annotation or a resource is the same for all users."""
    domain, _, name = key.rpartition("/")
    if domain in _NAMED_BY_USERS and name not in _ROLES:
        return False
    domain = domain or key
    return key in _PLAIN or domain in DOMAINS or domain.endswith(_PRODUCTS)
