"""Causes in the queue of a gang, its admission, or the nodes that are provisioned for it."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.provisioning import Came
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey

# A queue does not admit a gang, or not yet.


@dataclass(frozen=True, slots=True)
class QueueOnHold(Cause):
    """The queue admits nothing new, by its `policy`."""

    queue: str
    policy: str


class AdmissionLimit(enum.Enum):
    """What a queue may demand of a gang, whatever is free."""

    GPUS_PER_JOB = enum.auto()
    LOWEST_PRIORITY = enum.auto()
    HIGHEST_PRIORITY = enum.auto()


@dataclass(frozen=True, slots=True)
class LimitMissed(Cause):
    """The gang has `value` where the queue admits `limit`."""

    queue: str
    field: AdmissionLimit
    value: int
    limit: int


class FlavorFault(enum.Enum):
    """Why members cannot be on the nodes of a flavor."""

    NOT_DECLARED = enum.auto()
    LABELS_DIFFER = enum.auto()
    TAINT_NOT_TOLERATED = enum.auto()
    TOLERATION_NOT_ADDED = enum.auto()
    """The flavor has the toleration, but it is not written into pods that exist."""
    OTHER_TOPOLOGY = enum.auto()


class UnsuitableFlavor(NamedTuple):
    """A flavor, and what is wrong with it: `of` names the taint or the topology, if it is one."""

    flavor: str
    fault: FlavorFault
    of: str = ""


@dataclass(frozen=True, slots=True)
class FlavorsUnsuitable(Cause):
    """Members can have none of the flavors of the queue; `pod` is one of these members."""

    queue: str
    pod: str
    flavors: tuple[UnsuitableFlavor, ...]


@dataclass(frozen=True, slots=True)
class AbovePotential(Cause):
    """More is asked for than the queue could ever have. No `flavor`: it covers no such resource."""

    queue: str
    flavor: str
    resource: str
    asked: int
    potential: int


@dataclass(frozen=True, slots=True)
class JobLimit(Cause):
    """As many gangs as the queue may have at once hold quota."""

    queue: str
    most: int


@dataclass(frozen=True, slots=True)
class QuotaShort(Cause):
    """More is asked for than is left; `borrowers` are queues that have more than their own.

    "" stands for the leaf of gangs without a queue.
    """

    queue: str
    flavor: str
    resource: str
    asked: int
    available: int
    borrowers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitsEvicted(Cause):
    """A queue has `most` gangs that hold quota; some of them are evicted and have yet to end."""

    queue: str
    most: int


@dataclass(frozen=True, slots=True)
class BehindGang(Cause):
    """The queue keeps its order, and a gang before this one waits."""

    queue: str
    gang: GangKey


@dataclass(frozen=True, slots=True)
class DelaysReserved(Cause):
    """It would delay a gang of a queue that was promised a start.

    `start` is in seconds, None if it is not known. `gang` is None where its name is hidden.
    """

    queue: str
    gang: GangKey | None
    start: int | None = None


@dataclass(frozen=True, slots=True)
class ChecksUnanswered(Cause):
    """Admission checks that are not ours to answer."""

    queue: str
    checks: tuple[str, ...]


# The admission of a suspended workload was not written, or its pods did not come.


@dataclass(frozen=True, slots=True)
class WorkloadChanged(Cause):
    """Another writer changed the workload after it was decided on: it is decided on anew."""


@dataclass(frozen=True, slots=True)
class WorkloadGone(Cause):
    """The workload was deleted."""


@dataclass(frozen=True, slots=True)
class TemplateGone(Cause):
    """The workload has no pod template where it had one; `path` is in dots."""

    path: str


@dataclass(frozen=True, slots=True)
class PatchForbidden(Cause):
    """The scheduler may not patch a kind of workloads; `kind` is its name as that of a CRD."""

    kind: str


@dataclass(frozen=True, slots=True)
class KueueManages(Cause):
    """Kueue has a Workload for it, by `name`, and decides when it starts: two would undo it."""

    name: str


@dataclass(frozen=True, slots=True)
class GangShared(Cause):
    """Two workloads, each by its kind and name, wait suspended with members in one gang."""

    first: str
    second: str


# How far an autoscaler is with the nodes for which a gang waits.


@dataclass(frozen=True, slots=True)
class NodesAwaited(Cause):
    """A request stands; `message` is what the autoscaler says of it."""

    request: str
    class_name: str
    came: Came = Came.ASKED
    message: str = ""


@dataclass(frozen=True, slots=True)
class AskedAgain(Cause):
    """The attempt `number` came to nothing, and another one is made at `until`, in seconds."""

    number: int
    came: Came
    message: str
    until: int


@dataclass(frozen=True, slots=True)
class RequestLeaves(Cause):
    """An earlier request of the gang asks for something else, and is deleted first."""

    request: str


@dataclass(frozen=True, slots=True)
class MostOutstanding(Cause):
    """As many requests of a queue stand as a namespace may have at once; "" is for no queue."""

    queue: str
    number: int


@dataclass(frozen=True, slots=True)
class NotProvisioned(Cause):
    """All attempts came to nothing: the last one so, with this message."""

    number: int
    came: Came
    message: str


@dataclass(frozen=True, slots=True)
class TooManyPodSets(Cause):
    """The members ask for nodes in more ways than a request can say."""

    number: int
    most: int


# A gang has no queue that can admit it.


class QueueFault(enum.Enum):
    """Why a gang cannot be in the queue that it names."""

    NOT_FOUND = enum.auto()
    NO_LEAF = enum.auto()
    NOT_FOR_NAMESPACE = enum.auto()


class QueueDefault(enum.Enum):
    """Where the queue of gangs is named that name none themselves."""

    OF_NAMESPACE = enum.auto()
    OF_SETTINGS = enum.auto()


@dataclass(frozen=True, slots=True)
class QueueUnusable(Cause):
    """The queue that the gang names, of this kind, takes no gangs, or none of its namespace.

    Unless `default` is None the gang names none, and is in this queue by default.
    """

    queue: str
    fault: QueueFault
    kind: str = "queue"
    namespace: str = ""
    default: QueueDefault | None = None


class Inactivity(enum.StrEnum):
    """What is invalid about a queue, so that it admits nothing."""

    PARENT_NOT_FOUND = "ParentNotFound"
    CYCLE = "Cycle"
    FLAVOR_NOT_FOUND = "FlavorNotFound"
    INVALID_SPEC = "InvalidSpec"


@dataclass(frozen=True, slots=True)
class FieldRefused(Cause):
    """A value that is well written and cannot be meant."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class QueueInactive(Cause):
    """The queue, or the one above it that is named, is invalid."""

    queue: str
    fault: Inactivity
    cause: Cause


@dataclass(frozen=True, slots=True)
class QueueNotNamed(Cause):
    """A gang names no queue, and gangs of its namespace must."""

    namespace: str


@dataclass(frozen=True, slots=True)
class LocalQueueStopped(Cause):
    """The LocalQueue of a gang takes no new gangs."""

    name: str


@dataclass(frozen=True, slots=True)
class QueueNamesDiffer(Cause):
    """A gang names two queues, each by its kind and name."""

    first: tuple[str, str]
    second: tuple[str, str]


@dataclass(frozen=True, slots=True)
class GangsQueuesDiffer(Cause):
    """Two gangs of one group are in different queues."""

    gangs: tuple[GangKey, GangKey]
    queues: tuple[str, str]
