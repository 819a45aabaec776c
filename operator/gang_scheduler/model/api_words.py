"""Words of the API for CRDs and scheduler: enums, such as the fairness of a queue, and keys.

This module imports nothing of the package, so that `api` can use these words in CRDs without
importing the scheduler.
"""

import enum
from typing import Final, Literal, get_args

# Values of queues.


class Fairness(enum.StrEnum):
    """The order in which the queues of a tree take turns."""

    PRIORITY = "Priority"
    DRS = "DRS"
    DRF = "DRF"
    FAIR_SHARE = "FairShare"


class FairStrategy(enum.StrEnum):
    """When a gang may evict gangs of a queue with a larger share."""

    FINAL = "LessThanOrEqualToFinalShare"
    INITIAL = "LessThanInitialShare"


class Strategy(enum.StrEnum):
    """Whether a head that does not fit blocks the gangs behind it."""

    BEST_EFFORT_FIFO = "BestEffortFIFO"
    STRICT_FIFO = "StrictFIFO"


class StopPolicy(enum.StrEnum):
    """Whether a queue takes new gangs, and whether running ones are evicted."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class EvictionPolicy(enum.StrEnum):
    """The gangs that a gang may evict, by their priority and age."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class FlavorPreference(enum.StrEnum):
    """The better flavor once all were tried: one that must borrow, or one that must evict."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


# Values of gangs.


class EvictionReason(enum.StrEnum):
    """The right by which a gang of a queue was evicted, as users see it."""

    OVERRUN = "Overrun"
    RECLAIM = "Reclaim"
    IN_QUEUE = "InQueue"
    WHILE_BORROWING = "WhileBorrowing"
    FAIR_SHARE = "FairShare"


class CheckpointOutcome(enum.StrEnum):
    """The outcome of a request to save work."""

    SAVED = "Saved"
    TIMED_OUT = "TimedOut"
    FAILED = "Failed"
    """The gang could not be asked, or reported that it cannot save its work."""


# Values of settings.


class NodeStrategy(enum.StrEnum):
    """How nodes are scored for a gang without a topology request."""

    BINPACK = "binpack"
    SPREAD = "spread"


class QuotaOf(enum.StrEnum):
    """Whether the quotas of another product's queues are enforced.

    Usage is charged and shown in any case. AUTO: enforced while no controller of the product runs.
    """

    AUTO = "auto"
    ENFORCE = "enforce"
    IGNORE = "ignore"


class QueueNamespaces(enum.StrEnum):
    """The namespaces that may use a Queue which does not list any."""

    ALL = "all"
    NONE = "none"


class GangKind(enum.StrEnum):
    """Kinds of workloads that are gangs by default."""

    PYTORCH_JOB = "PyTorchJob"
    TF_JOB = "TFJob"
    XGBOOST_JOB = "XGBoostJob"
    PADDLE_JOB = "PaddleJob"
    JAX_JOB = "JAXJob"
    MPI_JOB = "MPIJob"
    TRAIN_JOB = "TrainJob"
    RAY_CLUSTER = "RayCluster"
    LEADER_WORKER_SET = "LeaderWorkerSet"
    KUEUE_POD_GROUP = "KueuePodGroup"
    VOLCANO_POD_GROUP = "VolcanoPodGroup"


class ManagedKind(enum.StrEnum):
    """Kinds of workloads that can wait suspended, and are started when there is room for them."""

    JOB = "Job"
    JOB_SET = "JobSet"
    PYTORCH_JOB = "PyTorchJob"
    TF_JOB = "TFJob"
    XGBOOST_JOB = "XGBoostJob"
    PADDLE_JOB = "PaddleJob"
    JAX_JOB = "JAXJob"
    MPI_JOB = "MPIJob"
    RAY_CLUSTER = "RayCluster"
    RAY_JOB = "RayJob"
    TRAIN_JOB = "TrainJob"


ElasticKind = Literal[
    "Job",
    "StatefulSet",
    "JAXJob",
    "MPIJob",
    "PaddleJob",
    "PyTorchJob",
    "TFJob",
    "XGBoostJob",
    "RayCluster",
]
ELASTIC_KINDS: Final[tuple[ElasticKind, ...]] = get_args(ElasticKind)
"""Kinds of workloads whose number of replicas the scheduler can change (mode `Replicas`)."""


class CountOtherSchedulers(enum.StrEnum):
    """Which pods of other schedulers are charged to a queue."""

    LABELLED = "labelled"
    NONE = "none"


class Dra(enum.StrEnum):
    """Whether claims of devices are allocated."""

    AUTO = "auto"
    OFF = "off"


class GatherComputeDomains(enum.StrEnum):
    """Whether members with channels of a ComputeDomain are placed in one NVLink domain."""

    OFF = "off"
    PREFER = "prefer"
    MUST = "must"


class TransformationStrategy(enum.StrEnum):
    """Whether a resource that counts as other resources is charged itself, too."""

    RETAIN = "Retain"
    REPLACE = "Replace"


# Values of labels.


class Operator(enum.StrEnum):
    """How the value of a label is compared. Gt and Lt are for nodes only."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


# Keys of labels and annotations that messages name. Their meanings are in `api/annotations`.

GANG_GROUPS: Final = "gang.scheduling.koordinator.sh/groups"
NETWORK_TOPOLOGY_SPEC: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
ROLES: Final = "py-gang-scheduler.io/roles"
ROLE: Final = "py-gang-scheduler.io/role"
QUEUE: Final = "py-gang-scheduler.io/queue"
DEFAULT_QUEUE: Final = "py-gang-scheduler.io/default-queue"
EXCLUSIVE_TOPOLOGY: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"

# Kueue's keys on a pod template.
PODSET_REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
PODSET_PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
PODSET_UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
PODSET_SLICE_LAYER: Final = "kueue.x-k8s.io/podset-slice-required-topology"
PODSET_SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
PODSET_SLICE_LAYERS: Final = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
PODSET_GROUP: Final = "kueue.x-k8s.io/podset-group-name"
PODSET_KEYS: Final = frozenset(
    {
        PODSET_REQUIRED,
        PODSET_PREFERRED,
        PODSET_UNCONSTRAINED,
        PODSET_SLICE_LAYER,
        PODSET_SLICE_SIZE,
        PODSET_SLICE_LAYERS,
        PODSET_GROUP,
    }
)
