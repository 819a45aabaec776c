"""The settings that are one of some words, and what each word means."""

import enum


class Strategy(enum.StrEnum):
    """How nodes are scored where a gang has no topology."""

    BINPACK = "binpack"
    SPREAD = "spread"


class QuotaOf(enum.StrEnum):
    """Whether the quotas of another product's queues are enforced.

    They are charged and shown in any case. AUTO: unless a controller of that product runs.
    """

    AUTO = "auto"
    ENFORCE = "enforce"
    IGNORE = "ignore"


class QueueNamespaces(enum.StrEnum):
    """Which namespaces may use a Queue that does not say it."""

    ALL = "all"
    NONE = "none"


class FairStrategy(enum.StrEnum):
    """When a gang of a queue of a smaller share may evict one of a larger share."""

    FINAL = "LessThanOrEqualToFinalShare"
    INITIAL = "LessThanInitialShare"


class KueueFairness(enum.StrEnum):
    """In which order Kueue's queues take turns: without and with its fair sharing."""

    PRIORITY = "Priority"
    DRS = "DRS"


class OnPartialGang(enum.StrEnum):
    """What becomes of the bound members of a gang whose rest finds no room in time."""

    HOLD = "Hold"
    RELEASE = "Release"


class DegradedGangs(enum.StrEnum):
    """What becomes of a gang that lost members and finds no room for others in its domain."""

    WAIT = "Wait"
    EVICT = "Evict"


class PodSource(enum.StrEnum):
    """How pods, nodes and all other kinds are watched."""

    KOPF = "kopf"
    REFLECTOR = "reflector"


class HttpClientName(enum.StrEnum):
    """What sends the requests beside the watches."""

    BUILTIN = "builtin"
    AIOHTTP = "aiohttp"


class GangKind(enum.StrEnum):
    """Kinds of workloads of which the pods of each are a gang without asking for it."""

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


class LogFormat(enum.StrEnum):
    """How log lines look."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(enum.StrEnum):
    """From which level on log lines are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class CountOtherSchedulers(enum.StrEnum):
    """Which pods of other schedulers are charged to a queue."""

    LABELLED = "labelled"
    NONE = "none"


class TransformationStrategy(enum.StrEnum):
    """Whether a resource that counts as others is itself charged, too."""

    RETAIN = "Retain"
    REPLACE = "Replace"
