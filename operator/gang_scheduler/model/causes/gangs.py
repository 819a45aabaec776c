"""Causes in the gang itself: its members, their claims and bindings, and preemption for it."""

import enum
from collections.abc import Iterable
from typing import NamedTuple

from gang_scheduler.model import api_words
from gang_scheduler.model.gangs import OwnDomains, RoleCount
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import counted, rfc3339


def _because(cause: Cause | None) -> str:
    return f": {cause.text()}" if cause is not None else ""


# A binding failed, or the room held for it was lost.


class BindingFailed(Cause, frozen=True):
    """The number of members whose binding failed; `cause` is the last error."""

    failed: int
    total: int
    cause: Cause | None = None

    def text(self) -> str:
        return f"binding failed for {self.failed} of {self.total} members{_because(self.cause)}"


class ApiAnswer(Cause, frozen=True):
    """The answer of the API server to a write, in its own words."""

    answer: str

    def text(self) -> str:
        return self.answer


class HeldForPodGone(Cause, frozen=True):
    """A pod for which room was held is gone."""

    pod: str

    def text(self) -> str:
        return f"room was held for pod {self.pod}, which is gone"


class HeldNodeGone(Cause, frozen=True):
    """A node on which room was held is gone."""

    node: str

    def text(self) -> str:
        return f"node {self.node}, on which room was held, is gone"


class NotLeading(Cause, frozen=True):
    """Another replica leads, or none does, so this one stops writing."""

    def text(self) -> str:
        return "this replica does not lead any more"


class HoldEnded(Cause, frozen=True):
    """Room was held for this many seconds, and not used; `cause` says what was still missing."""

    seconds: float
    cause: Cause | None = None

    def text(self) -> str:
        return f"given up after {self.seconds:g} s{_because(self.cause)}"


# Claims that must be bound before the members.


class UnboundClaim(NamedTuple):
    """A claim, as `namespace/name`, that is not bound yet, and the class of its volume."""

    claim: str
    storage_class: str


class ClaimsUnbound(Cause, frozen=True):
    """The number of claims of a plan that are still unbound; `first` is one of them."""

    number: int
    total: int
    first: UnboundClaim

    def text(self) -> str:
        claims = "a claim is" if self.total == 1 else f"{self.number} of {self.total} claims are"
        more = f" and {self.number - 1} more" if self.number > 1 else ""
        claim, storage_class = self.first
        return f"{claims} not bound yet: {claim} (StorageClass {storage_class}){more}"


class ClaimFault(enum.Enum):
    """Why a claim will not be bound for a pod on its node: findings of checkBindings, in words."""

    NOT_FOUND = 'persistentvolumeclaim "{name}" not found'
    DELETING = 'persistentvolumeclaim "{name}" is being deleted'
    NOT_PROVISIONED = 'provisioning failed for PVC "{name}"'
    NO_PROVISIONER = 'no provisioner makes a volume for persistentvolumeclaim "{name}"'
    VOLUME_NOT_FOUND = 'persistentvolume "{name}" not found'
    VOLUME_TAKEN_BACK = 'ClaimRef got reset for pv "{name}"'
    VOLUME_OUT_OF_REACH = 'pv "{name}" node affinity doesn\'t match node "{node}"'


class ClaimFailed(Cause, frozen=True):
    """A claim will not be bound; `name` is the claim or, in a VOLUME fault, its volume."""

    fault: ClaimFault
    name: str
    node: str = ""

    def text(self) -> str:
        return self.fault.value.format(name=self.name, node=self.node)


class PodsClaimFailed(Cause, frozen=True):
    """A claim of this member will not be bound."""

    pod: str
    cause: Cause

    def text(self) -> str:
        return f"claims of pod {self.pod}: {self.cause.text()}"


class ClaimNotWritten(Cause, frozen=True):
    """A `volume` could not be reserved for a claim; without one, a `node` could not be selected."""

    claim: str
    node: str
    volume: str
    answer: str

    def text(self) -> str:
        what = f"volume {self.volume}" if self.volume else f"node {self.node}"
        return f"{what} for claim {self.claim} cannot be written: {self.answer}"


class DeviceClaimFailed(Cause, frozen=True):
    """Devices could not be allocated to a claim, so no claim of the gang got any.

    `denied`: the scheduler lacks a right.
    """

    claim: str
    answer: str
    denied: bool = False

    def text(self) -> str:
        return f"claim {self.claim} cannot get its devices: {self.answer}"


# Errors of the scheduler itself, and decisions that take too much of its time.


class InternalError(Cause, frozen=True):
    """An exception that should not have been raised: the name of its class, and its message."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: Exception) -> "InternalError":
        """Return the cause for an exception."""
        return cls(type(error).__name__, str(error))

    def text(self) -> str:
        return f"an error in the scheduler: {self.kind}: {self.message}"


class DecisionTooLong(Cause, frozen=True):
    """The last decision took the scheduler `seconds` of CPU time, more than its `share`.

    The next one is at `until`.
    """

    seconds: float
    share: float
    until: int

    def text(self) -> str:
        return (
            f"to decide on it took the scheduler {self.seconds:.1f} s, more than its share of "
            f"{self.share:.0f} s: it is tried again at {rfc3339(self.until)}, after all others"
        )


# Members that exist, members that are missing, and members that wait while others do not.


def role_counts(roles: Iterable[RoleCount]) -> str:
    """Return how many members each role has and needs, as in "0 of 1 master, 1 of 2 worker"."""
    return ", ".join(f"{each.present} of {each.needed} {each.role}" for each in roles)


class MembersMissing(Cause, frozen=True):
    """Fewer members exist than the quorum needs; `roles` are the roles with too few."""

    present: int
    min_member: int
    roles: tuple[RoleCount, ...] = ()

    def text(self) -> str:
        if self.roles:
            return f"members are missing: {role_counts(self.roles)}"
        return f"{self.present} of minMember {self.min_member} members exist"


class RoleFull(Cause, frozen=True):
    """A role already has its maximum number of members on nodes."""

    role: str
    max_member: int

    def text(self) -> str:
        return f"the gang has {self.max_member} members of role {self.role}, and may have no more"


class ResourcesMissing(Cause, frozen=True):
    """The cluster has less of some resources free than minResources requires."""

    resources: tuple[str, ...]

    def text(self) -> str:
        return f"the cluster has not enough {', '.join(self.resources)} free (spec.minResources)"


class DomainsTooSmall(Cause, frozen=True):
    """Each Job needs a domain of its own, but only `found` domains have room for a whole Job."""

    asked: OwnDomains
    found: int

    def text(self) -> str:
        asked = self.asked
        pods = counted(asked.pods, "pod")
        jobs = f"a Job of {pods}" if asked.many == 1 else f"{asked.many} Jobs of {pods} each"
        domains = "1 domain has" if self.found == 1 else f"{self.found} domains have"
        return (
            f"{jobs} must have a domain of {asked.label} alone; "
            f"{domains} room for a whole Job ({api_words.EXCLUSIVE_TOPOLOGY})"
        )


class NotTriedYet(Cause, frozen=True):
    """Members without a verdict: the gang has not had its turn yet."""

    gang: GangKey

    def text(self) -> str:
        return f"gang {self.gang} was not tried yet: others come before it"


class SurplusNotTried(Cause, frozen=True):
    """Members without a verdict, of a gang that already has a place."""

    gang: GangKey
    members: int

    def text(self) -> str:
        number = self.members
        members = "1 more member has" if number == 1 else f"{number} more members have"
        return f"gang {self.gang} has a place; {members} no place yet, and will be tried again."


class BeyondMaxWorkers(Cause, frozen=True):
    """A further worker waits: the gang has, or is about to have, `maxWorkers` workers."""

    gang: GangKey
    most: int

    def text(self) -> str:
        return f"gang {self.gang} has all {self.most} workers that it asks for (maxWorkers)"


class StepIncomplete(Cause, frozen=True):
    """The gang grows by this many workers at once, but fewer wait."""

    gang: GangKey
    step: int

    def text(self) -> str:
        return (
            f"gang {self.gang} waits for more workers: it grows by {self.step} at once "
            "(scaleUpStep)"
        )


class ReplicasOutside(Cause, frozen=True):
    """The number of replicas is outside of the elastic gang's bounds; `editor` wrote it."""

    number: int
    least: int
    most: int
    editor: str = ""

    def text(self) -> str:
        bounds = f"minWorkers {self.least} and maxWorkers {self.most}"
        return f"it is {self.number}, not between {bounds}{_last_by(self.editor)}"


class ReplicasContested(Cause, frozen=True):
    """Other writers changed the number of replicas twice within `minutes`, last `editor`."""

    minutes: int
    editor: str = ""

    def text(self) -> str:
        return f"others changed it twice in {self.minutes} minutes{_last_by(self.editor)}"


class AutoscalerTargets(Cause, frozen=True):
    """A HorizontalPodAutoscaler changes the number of replicas of the workload."""

    name: str

    def text(self) -> str:
        return f"HorizontalPodAutoscaler {self.name} scales it"


def _last_by(editor: str) -> str:
    return f", last by {editor}" if editor else ""


class ModeNotAllowed(Cause, frozen=True):
    """The scheduler may not change the numbers of replicas of this kind of workloads."""

    kind: str

    def text(self) -> str:
        setting = "needs the setting elasticKinds of the scheduler"
        return f"mode Replicas of the annotation elastic {setting} to list {self.kind}"


class ModeBehindPodGroup(Cause, frozen=True):
    """The gang of a workload in mode Replicas is described by a PodGroup."""

    def text(self) -> str:
        return (
            "mode Replicas of the annotation elastic is only for workloads without a PodGroup: "
            "start the controller without its option for gang scheduling, or use mode Bind"
        )


class CoolingDown(Cause, frozen=True):
    """The gang has changed its size recently; it may grow again from `until` on, in seconds."""

    gang: GangKey
    until: int

    def text(self) -> str:
        return f"gang {self.gang} may grow again at {rfc3339(self.until)} (scaleUpCooldown)"


class OthersAwaitClaims(Cause, frozen=True):
    """Members without a verdict, while other members of the gang wait for their claims."""

    gang: GangKey

    def text(self) -> str:
        return f"gang {self.gang} waits for the claims of other members"


class PreemptionGivenUp(Cause, frozen=True):
    """A preemption was taken back."""

    cause: Cause

    def text(self) -> str:
        return f"preemption: given up, {self.cause.text()}"


class SavesAwaited(Cause, frozen=True):
    """The number of gangs that are saving their work before eviction, until `until` at most."""

    gangs: int
    until: int

    def text(self) -> str:
        return (
            f"{counted(self.gangs, 'gang')} that make room for it may save their work until "
            f"{rfc3339(self.until)}"
        )


class StepFailed(Cause, frozen=True):
    """A write of a preemption failed for good: the kind of write, the pod, and the answer."""

    step: str
    pod: str
    answer: str

    def text(self) -> str:
        return f"{self.step} {self.pod}: {self.answer}"


class MemberGone(Cause, frozen=True):
    """A member for which room is made is gone."""

    pod: str

    def text(self) -> str:
        return f"pod {self.pod} is gone"


class NodeFault(enum.Enum):
    """Why a node no longer has room, in words."""

    GONE = "node {node} is gone"
    NOT_READY = "node {node} is not ready"
    UNSCHEDULABLE = "node {node} takes no more pods"
    FULL = "the room on {node} was taken"


class NominationLost(Cause, frozen=True):
    """The room that was made on a node no longer exists."""

    node: str
    fault: NodeFault

    def text(self) -> str:
        return self.fault.value.format(node=self.node)


class NominationUnused(Cause, frozen=True):
    """The reserved room was given up: the API server refused too often to bind pods there."""

    node: str
    times: int

    def text(self) -> str:
        return f"the API server refused {self.times} times to bind to the room on {self.node}"


class NominationExpired(Cause, frozen=True):
    """With room reserved, the gang lacked members or gangs of its group for this many seconds."""

    node: str
    seconds: int

    def text(self) -> str:
        missing = "members or gangs that it needs did not come"
        return f"{missing} in {self.seconds} s, with room on {self.node}"


class NominationTaken(Cause, frozen=True):
    """The room that was made on a node goes to `taker`, a gang of higher priority."""

    node: str
    taker: str

    def text(self) -> str:
        return f"the room on {self.node} goes to {self.taker}, which has a higher priority"
