"""What is the same in every cluster: words, keys and fields that no pseudonym stands for."""

from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.decode.workloads import kubeflow, ray_clusters, spark
from gang_scheduler.inspection.snapshots.whitelist import KEYS, SPARK_SETTINGS
from gang_scheduler.inspection.snapshots.words import WORD
from gang_scheduler.model.gangs import MatchPolicy

DOMAINS: Final = (
    *(
        "kubernetes.io",
        "k8s.io",
        "x-k8s.io",
        "py-gang-scheduler.io",
        "koordinator.sh",
        "volcano.sh",
    ),
    *("kubeflow.org", "ray.io", "apache.org", "karpenter.sh", "run.ai", "coreweave.com"),
    *("nvidia.com", "amd.com", "intel.com", "habana.ai", "google.com", "amazonaws.com"),
    *("azure.com", "aws.com"),
)
"""Keys under these are of products, and the same for all that use them."""
_NAMED_BY_USERS: Final = frozenset({"node-role.kubernetes.io", "node-restriction.kubernetes.io"})
"""Of keys under these the rest is chosen by administrators."""
_ROLES: Final = frozenset({"control-plane", "master", "worker"})
_PRODUCTS: Final = tuple(f".{each}" for each in DOMAINS)
_PLAIN: Final = frozenset(
    {*KEYS, *SPARK_SETTINGS, spark.SELECTOR, "job-name", "controller-uid", "metadata.name"}
)

_TEXTS: Final = (
    # Names that mean something.
    *("default", "default-scheduler", "py-gang-scheduler", "root", "none", "NodeTopologyLayer"),
    # Roles that a workload's kind knows.
    *(*kubeflow.ROLES, *(each.capitalize() for each in kubeflow.ROLES), "PS"),
    *(ray_clusters.HEAD, ray_clusters.WORKER, "headgroup", "leader", "executor", "driver"),
    # What controllers write into labels.
    *("training-operator", "mpi-operator", "pytorchjob-controller", "tfjob-controller"),
    *("xgboostjob-controller", "paddlejob-controller", "jaxjob-controller", "mpijob-controller"),
    # Answers to a yes or no, also as Go reads them.
    *(*annotations.GO_TRUE, *annotations.GO_FALSE, "yes", "no"),
    # Options of gangs, and the fields and values of JSON in annotations.
    *("Strict", "NonStrict", *MatchPolicy, "gatherStrategy", "layer", "strategy"),
    *("podCountMultiple", "MustGather", "PreferGather", "topology", "size"),
    *("minWorkers", "maxWorkers", "scalePolicy", "role", "mode", "scaleUpCooldown"),
    *("scaleDownCooldown", "scaleUpStep", "scaleDownStep"),
    *("Bind", "Replicas", "input", "multiplyBy", "outputs", "Retain", "Replace", "multiply_by"),
    # Resources, and the units of amounts, durations and times.
    *("cpu", "memory", "pods", "storage", "ephemeral-storage", "gpu", "hugepages"),
    *("n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e"),
    *("h", "s", "ms", "us", "ns", "Z"),
)
WORDS: Final = frozenset(word for text in _TEXTS for word in WORD.findall(text))
"""Words that are their own pseudonyms, in whatever text."""

KEPT_FIELDS: Final = frozenset(
    {
        *("apiVersion", "kind", "resourceVersion", "type", "status", "reason", "phase", "state"),
        *("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "startTime", "at"),
        *("doneAt", "jobDeploymentStatus"),
        *("until", "last", "lastScaleTime", "nextAllowed", "estimatedStart", "scheduleStartTime"),
        *("operator", "effect", "protocol", "restartPolicy", "action", "class", "mode"),
        *("preemptionPolicy", "accessModes", "volumeMode", "volumeBindingMode", "policy"),
        *("declaredFeatures", "disruptionMode", "strategy", "fairness", "stopPolicy"),
        *("queueingStrategy", "withinQueue", "reclaim", "whenCanBorrow", "whenCanPreempt"),
        *("preference", "withinClusterQueue", "reclaimWithinCohort", "admissionMode"),
        *("dequeueStrategy", "startupPolicy", "startupPolicyOrder", "podManagementPolicy"),
        *("launcherCreationPolicy", "minAvailable", "maxUnavailable"),
    }
)
"""Fields that have a word of the API, a number or a time."""
KEY_FIELDS: Final = frozenset(
    {"key", "topologyKey", "matchLabelKeys", "mismatchLabelKeys", "nodeLabel", "labelKey"}
)
"""Fields that have the key of a label."""
MESSAGES: Final = frozenset({"message"})
DIGESTS: Final = frozenset({"edition"})
"""Fields that have a digest of names: without one what it is about counts as unchanged."""
NAMING_SETTINGS: Final = frozenset(
    {
        *("scheduler_names", "protection_label_namespaces", "gpu_resources", "default_queue"),
        *("require_queue", "resource_transformations", "exclude_resource_prefixes"),
        *("spare_nodes", "node_failure_taints"),
    }
)
"""Settings that have names of users in them."""


def is_known(key: str) -> bool:
    """Return whether the key of a label, an annotation or a resource is the same for all."""
    domain, _, name = key.rpartition("/")
    if domain in _NAMED_BY_USERS and name not in _ROLES:
        return False
    domain = domain or key
    return key in _PLAIN or domain in DOMAINS or domain.endswith(_PRODUCTS)
