"""Causes in the gang itself: spec, members, topology request, claims, bindings and preemption."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.gangs import OwnDomains, RoleCount
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey, GangName
from gang_scheduler.model.topology import Domain

# A binding failed, or the room held for it was lost.


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


# Claims that must be bound before the members.


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


# Errors of the scheduler itself, and decisions that take too much of its time.


@dataclass(frozen=True, slots=True)
class InternalError(Cause):
    """An exception that should not have been raised: the name of its class, and its message."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> "InternalError":
        """Return what there is to say of an exception."""
        return cls(type(error).__name__, str(error))


@dataclass(frozen=True, slots=True)
class DecisionTooLong(Cause):
    """The last decision took the scheduler `seconds` of CPU time; the next is at `until`."""

    seconds: float
    until: int


# Members that exist, members that are missing, and members that wait while others do not.


@dataclass(frozen=True, slots=True)
class MembersMissing(Cause):
    """Fewer members exist than the quorum needs; `roles` are those that lack some."""

    present: int
    min_member: int
    roles: tuple[RoleCount, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleFull(Cause):
    """A role has the most members that it may have on nodes."""

    role: str
    max_member: int


@dataclass(frozen=True, slots=True)
class ResourcesMissing(Cause):
    """The cluster has less of some resources free than minResources says."""

    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DomainsTooSmall(Cause):
    """Fewer domains have room for a whole Job than there are Jobs that each get one."""

    asked: OwnDomains
    found: int


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
class BeyondMaxWorkers(Cause):
    """The gang has, or will have, as many workers as it asks for at most."""

    gang: GangKey
    most: int


@dataclass(frozen=True, slots=True)
class StepIncomplete(Cause):
    """The gang grows by so many workers at once, and fewer wait."""

    gang: GangKey
    step: int


@dataclass(frozen=True, slots=True)
class CoolingDown(Cause):
    """The gang has changed its size not long ago; it may grow again from `until` on, in seconds."""

    gang: GangKey
    until: int


@dataclass(frozen=True, slots=True)
class OthersAwaitVolumes(Cause):
    """Members that no verdict speaks of, while others of the gang wait for their claims."""

    gang: GangKey


@dataclass(frozen=True, slots=True)
class PreemptionGivenUp(Cause):
    """A preemption was taken back."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class SavesAwaited(Cause):
    """So many gangs that are to be evicted save their work first, until `until`, in seconds."""

    gangs: int
    until: int


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
class NominationUnused(Cause):
    """The API server refused so often to bind pods to the room on a node that it is given up."""

    node: str
    times: int


@dataclass(frozen=True, slots=True)
class NominationExpired(Cause):
    """The gang lacked members, or its group gangs, for so many seconds beside room on a node."""

    node: str
    seconds: int


@dataclass(frozen=True, slots=True)
class NominationTaken(Cause):
    """The room that was made on a node goes to `taker`, which has a higher priority."""

    node: str
    taker: str


# An object that describes the gang, its members or its group is wrong or missing.


@dataclass(frozen=True, slots=True)
class InvalidInput(Cause):
    """What users wrote is wrong; `text` names the field and the value, as decode found them."""

    text: str


@dataclass(frozen=True, slots=True)
class BothInvalid(Cause):
    """What describes a gang is wrong, and what a member of it says, too."""

    described: Cause
    said: Cause


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


@dataclass(frozen=True, slots=True)
class RoleUnknown(Cause):
    """A member has a role that its gang does not have; "" is none."""

    pod: str
    role: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriorityDiffers(Cause):
    """A member has another priority than its PodGroup says of the gang."""

    pod: str
    priority: int
    of_gang: int


@dataclass(frozen=True, slots=True)
class PreemptionPolicyDiffers(Cause):
    """A member may evict others where its PodGroup says that it may not, or the other way round."""

    pod: str
    preempts: bool


@dataclass(frozen=True, slots=True)
class ClassDiffers(Cause):
    """No member is of the PriorityClass that its PodGroup names; the pod is the first one."""

    pod: str
    of_pod: str
    of_gang: str


@dataclass(frozen=True, slots=True)
class PriorityClassMissing(Cause):
    """A gang names a WorkloadPriorityClass that does not exist."""

    name: str


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
