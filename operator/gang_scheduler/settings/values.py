"""Values of settings: choices with the meaning of each word, and values with their own form."""

import enum
import json
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gang_scheduler.api.pod_group import OneOf
from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.resources import parse_quantity
from gang_scheduler.model.values import Fairness

# Settings that are one of several words, and the meaning of each word.


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


KueueFairness = Annotated[Fairness, OneOf(Fairness.PRIORITY, Fairness.DRS)]
"""In which order Kueue's queues take turns: without and with its fair sharing."""


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


ENV_PREFIX: Final = "PGS_"
"""Before the names of all variables of the environment that are settings."""
KUEUE_NAMESPACE: Final = "kueue-system"
VOLCANO_NAMESPACE: Final = "volcano-system"

Name = Annotated[str, Field(min_length=1)]


def _shape(text: str) -> str:
    """Return what a member asks for. Raises ValueError for what is no list of requests."""
    for each in text.split(","):
        name, _, amount = each.partition("=")
        if not name:
            raise ValueError(f"{each!r} is not RESOURCE=QUANTITY")
        _positive(amount)
    return text


def _positive(quantity: str | int) -> str | int:
    """Return a quantity above 0. Raises ValueError for any other value."""
    if parse_quantity(quantity, 1000) <= 0:
        raise ValueError(f"{quantity!r} is not above 0")
    return quantity


def _above_nodes(layer: str) -> str:
    """Return the name of a layer. Raises ValueError for that of the nodes: none would be left."""
    if layer == NODE_LAYER:
        raise ValueError(f"{layer} has one node in each domain, and none would be left")
    return layer


Shape = Annotated[str, AfterValidator(_shape)]


Factor = Annotated[str | int, AfterValidator(_positive)]


class ResourceTransformation(BaseModel):
    """What quotas count for a resource: so much of each output for one of the input.

    The input is taken as often as the pod requests of multiplyBy, if it does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Name
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    multiply_by: str = Field(default="", alias="multiplyBy")
    outputs: dict[Name, Factor]


class SpareNodes(BaseModel):
    """How many free nodes of each domain of a layer are kept for members that replace lost ones.

    Of the nodes with the labels of nodeSelector.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layer: Annotated[Name, AfterValidator(_above_nodes)]
    count: int = Field(default=1, ge=1)
    node_selector: dict[Name, str] = Field(default={}, alias="nodeSelector")


def from_json(given: object) -> object:
    """Return what a flag has as JSON. Raises ValueError for a text that is none."""
    return json.loads(given) if isinstance(given, str) else given


def each_input_once(
    given: tuple[ResourceTransformation, ...],
) -> tuple[ResourceTransformation, ...]:
    """Return transformations. Raises ValueError for a second one of an input."""
    seen: set[str] = set()
    for number, each in enumerate(given):
        if each.input in seen:
            raise ValueError(f"[{number}].input {each.input!r} is there twice")
        seen.add(each.input)
    return given
