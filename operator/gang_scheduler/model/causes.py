"""Why gangs wait, as data: each kind of cause with the numbers and names that a message needs.

All are hashable, and equal where they say the same. Their words are in `report/cause_texts`, so a
cause may have more fields than the text of today shows.
"""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey, GangName

# What is written of a gang, or of its members.


@dataclass(frozen=True, slots=True)
class InvalidInput(Cause):
    """What users wrote is wrong; `text` names the field and the value, as decode found them."""

    text: str


@dataclass(frozen=True, slots=True)
class FieldsUnsupported(Cause):
    """Fields that this scheduler cannot honour, of a member or, with no `pod`, of the PodGroup."""

    fields: tuple[str, ...]
    pod: str = ""


@dataclass(frozen=True, slots=True)
class ObjectMissing(Cause):
    """The object that should describe the gang does not exist."""

    kind: str
    gang: GangKey


@dataclass(frozen=True, slots=True)
class ObjectTwice(Cause):
    """PodGroups of several API groups describe the gang."""

    gang: GangKey
    api_groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MinMemberAboveJobs(Cause):
    """The quorum is larger than `most`, the pods that the Jobs of its members can have at once."""

    present: int
    min_member: int
    most: int
    jobs: tuple[str, ...]


# The group of a gang.


@dataclass(frozen=True, slots=True)
class GangMissing(Cause):
    """A gang that another one names as one of its group does not exist."""

    name: GangName
    named_by: GangKey


@dataclass(frozen=True, slots=True)
class OneSided(Cause):
    """A gang names one in another namespace, which does not name it in turn."""

    gang: GangKey
    name: GangName


@dataclass(frozen=True, slots=True)
class MateCannotStart(Cause):
    """Another gang of the same group cannot be tried."""

    gang: GangKey
    cause: Cause


# Members.


@dataclass(frozen=True, slots=True)
class MembersMissing(Cause):
    """Fewer members exist than the quorum needs."""

    present: int
    min_member: int


@dataclass(frozen=True, slots=True)
class ResourcesMissing(Cause):
    """The cluster has less of some resources free than minResources says."""

    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotTriedYet(Cause):
    """Members that no verdict speaks of: the gang has not had its turn."""

    gang: GangKey


@dataclass(frozen=True, slots=True)
class SurplusNotTried(Cause):
    """So many members that no verdict speaks of, of a gang that has a place."""

    gang: GangKey
    members: int


@dataclass(frozen=True, slots=True)
class OthersAwaitVolumes(Cause):
    """Members that no verdict speaks of, while others of the gang wait for their claims."""

    gang: GangKey


# The network.


@dataclass(frozen=True, slots=True)
class Requested(Cause):
    """What is wrong with a topology request; `field` is where it is written."""

    field: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class UnknownLayers(Cause):
    """Layers that are in no topology; `known` are those that are, `near` the likeliest of them."""

    layers: tuple[str, ...]
    known: tuple[str, ...] = ()
    near: str = ""


@dataclass(frozen=True, slots=True)
class LayersApart(Cause):
    """Layers of one request that are not all in one topology."""

    layers: tuple[str, ...]


class SliceFault(enum.Enum):
    """What is wrong with the layer of a slice."""

    NOT_BELOW_OTHER_SLICES = enum.auto()
    ABOVE_GATHERING = enum.auto()


@dataclass(frozen=True, slots=True)
class InvalidSlice(Cause):
    """The layer of a slice does not suit the rest of the request."""

    layer: str
    fault: SliceFault


@dataclass(frozen=True, slots=True)
class MultipleDoesNotDivide(Cause):
    """A rigid gang is no multiple of its podCountMultiple."""

    multiple: int
    members: int


@dataclass(frozen=True, slots=True)
class MultipleNeedsMore(Cause):
    """The quorum, rounded up to its podCountMultiple, is more members than exist."""

    members: int
    quorum: int


@dataclass(frozen=True, slots=True)
class Scattered(Cause):
    """Bound members are in several domains, `number` in all; the others join those in `home`."""

    number: int
    some: tuple[Domain, ...]
    home: Domain


@dataclass(frozen=True, slots=True)
class PodRequestBesideGang(Cause):
    """A member has a topology request of its own (`field`) beside that of its gang or group."""

    pod: str
    field: str
    of_gang: str


@dataclass(frozen=True, slots=True)
class GangRequestMisplaced(Cause):
    """A member says something else of what its gang as a whole asks for than its PodGroup."""

    pod: str


@dataclass(frozen=True, slots=True)
class PodsetsDiffer(Cause):
    """Two members of one podset group ask for different topologies."""

    pods: tuple[str, str]
    group: str


@dataclass(frozen=True, slots=True)
class GangsRequestsDiffer(Cause):
    """Two gangs of one group ask for different topologies: each with the field that does."""

    gangs: tuple[GangKey, GangKey]
    fields: tuple[str, str]


# Bindings.


@dataclass(frozen=True, slots=True)
class BindingFailed(Cause):
    """So many of the members that were to be bound are not; `cause` is what was met last."""

    failed: int
    of: int
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class ApiAnswer(Cause):
    """What the API server answered to a write, in its words."""

    text: str


# Claims that members are bound after.


class UnboundClaim(NamedTuple):
    """A claim, as `namespace/name`, that is not bound yet, and the class of its volume."""

    claim: str
    storage_class: str


@dataclass(frozen=True, slots=True)
class ClaimsUnbound(Cause):
    """So many of the claims of a plan are not bound yet; `first` is one of them."""

    number: int
    of: int
    first: UnboundClaim


class ClaimFault(enum.Enum):
    """Why a claim will not be bound for a pod on its node: what checkBindings finds."""

    NOT_FOUND = enum.auto()
    DELETING = enum.auto()
    NOT_PROVISIONED = enum.auto()
    NO_PROVISIONER = enum.auto()
    VOLUME_NOT_FOUND = enum.auto()
    VOLUME_TAKEN_BACK = enum.auto()
    VOLUME_OUT_OF_REACH = enum.auto()


@dataclass(frozen=True, slots=True)
class ClaimFailed(Cause):
    """A claim will not be bound; `name` is that of the claim or, in a VOLUME fault, its volume."""

    fault: ClaimFault
    name: str
    node: str = ""


@dataclass(frozen=True, slots=True)
class PodsClaimFailed(Cause):
    """A claim of this member will not be bound."""

    pod: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class ClaimNotWritten(Cause):
    """A `volume` could not be reserved for a claim or, with none, a `node` not be selected."""

    claim: str
    node: str
    volume: str
    answer: str


@dataclass(frozen=True, slots=True)
class HeldForPodGone(Cause):
    """A pod for which room was held is gone."""

    pod: str


@dataclass(frozen=True, slots=True)
class HeldNodeGone(Cause):
    """A node on which room was held is gone."""

    node: str


@dataclass(frozen=True, slots=True)
class NotLeading(Cause):
    """Another replica leads, or none does: this one writes no more."""


@dataclass(frozen=True, slots=True)
class HoldEnded(Cause):
    """Room was held for so many seconds, and `cause` is what was waited for to the end."""

    seconds: float
    cause: Cause | None = None


# Preemptions.


@dataclass(frozen=True, slots=True)
class PreemptionGivenUp(Cause):
    """A preemption was taken back."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class StepFailed(Cause):
    """A write of a preemption failed for good: which one, for which pod, and the answer."""

    step: str
    pod: str
    answer: str


@dataclass(frozen=True, slots=True)
class MemberGone(Cause):
    """A member for which room is made is gone."""

    pod: str


class NodeFault(enum.Enum):
    """Why there is no room on a node any more."""

    GONE = enum.auto()
    NOT_READY = enum.auto()
    UNSCHEDULABLE = enum.auto()
    FULL = enum.auto()


@dataclass(frozen=True, slots=True)
class NominationLost(Cause):
    """The room that was made on a node is not there any more."""

    node: str
    fault: NodeFault


@dataclass(frozen=True, slots=True)
class NominationTaken(Cause):
    """The room that was made on a node goes to `taker`, which has a higher priority."""

    node: str
    taker: str


# Queues.


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


# The queue of a gang.


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


@dataclass(frozen=True, slots=True)
class PriorityClassMissing(Cause):
    """A gang names a WorkloadPriorityClass that does not exist."""

    name: str


# Turns.


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
class BehindGang(Cause):
    """The queue keeps its order, and a gang before this one waits."""

    queue: str
    gang: GangKey


@dataclass(frozen=True, slots=True)
class BeyondFirst(Cause):
    """So many gangs of the queue come first, and no more are tried at a time."""

    queue: str
    number: int


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


# Errors of ours.


@dataclass(frozen=True, slots=True)
class InternalError(Cause):
    """An exception that should not have been raised: the name of its class, and its message."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> "InternalError":
        """Return what there is to say of an exception."""
        return cls(type(error).__name__, str(error))
