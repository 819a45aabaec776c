"""Causes in the queue of a gang, its admission, or the nodes that are provisioned for it."""

import enum
from typing import Final, NamedTuple

from gang_scheduler.model import api_words
from gang_scheduler.model.provisioning import RequestState
from gang_scheduler.model.queues import DEFAULT_FLAVOR
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.model.wording import rfc3339

_NO_QUEUE: Final = "gangs without a queue"


def _of_flavor(resource: str, flavor: str) -> str:
    return resource if flavor == DEFAULT_FLAVOR else f"{resource} of flavor {flavor}"


def _gang(key: GangKey | None) -> str:
    return f"gang {key}" if key is not None else "a gang of another namespace"


# A queue does not admit a gang, or not yet.


class QueueOnHold(Cause, frozen=True):
    """The queue admits no new gangs, because of its `policy`."""

    queue: str
    policy: str

    def text(self) -> str:
        return f"queue {self.queue} has stopPolicy {self.policy}"


class AdmissionLimit(enum.Enum):
    """A limit of a queue for gangs, even if room is free; in words for a gang that exceeds it."""

    GPUS_PER_JOB = (
        "the members ask for {value} GPUs, and queue {queue} admits {limit} a gang "
        "(admissionControl.maxGPUsPerJob)"
    )
    LOWEST_PRIORITY = (
        "the priority is {value}, and queue {queue} admits none below {limit} "
        "(admissionControl.priorityRange.min)"
    )
    HIGHEST_PRIORITY = (
        "the priority is {value}, and queue {queue} admits none above {limit} "
        "(admissionControl.priorityRange.max)"
    )


class LimitMissed(Cause, frozen=True):
    """A number of the gang, `value`, is beyond a limit of its queue: `field` says which one."""

    queue: str
    field: AdmissionLimit
    value: int
    limit: int

    def text(self) -> str:
        return self.field.value.format(queue=self.queue, limit=self.limit, value=self.value)


class FlavorFault(enum.Enum):
    """Why members cannot be on the nodes of a flavor, in words."""

    NOT_DECLARED = "{flavor} does not exist"
    LABELS_DIFFER = "{flavor} has other node labels than the pod selects"
    TAINT_NOT_TOLERATED = "{flavor} has a taint that the pod does not tolerate: {detail}"
    TOLERATION_NOT_ADDED = (
        "{flavor} tolerates a taint of its nodes, but tolerations are not added to pods: {detail}"
    )
    """The flavor has the toleration, but it is not written into pods that exist."""
    OTHER_TOPOLOGY = "{flavor} is in another topology"


class UnsuitableFlavor(NamedTuple):
    """A flavor and why it is unsuitable: `detail` is the taint, if one is at fault."""

    flavor: str
    fault: FlavorFault
    detail: str = ""

    def text(self) -> str:
        """Return the words for people."""
        return self.fault.value.format(flavor=self.flavor, detail=self.detail)


class FlavorsUnsuitable(Cause, frozen=True):
    """Members can use none of the queue's flavors; `pod` is one of these members."""

    queue: str
    pod: str
    flavors: tuple[UnsuitableFlavor, ...]

    def text(self) -> str:
        faults = "; ".join(each.text() for each in self.flavors)
        why = f": {faults}" if faults else ""
        return f"no flavor of queue {self.queue} suits pod {self.pod}{why}"


class AbovePotential(Cause, frozen=True):
    """The request exceeds what the queue could ever have.

    An empty `flavor` means that no flavor of the queue has the resource.
    """

    queue: str
    flavor: str
    resource: str
    asked: int
    potential: int

    def text(self) -> str:
        if not self.flavor:
            return f"queue {self.queue} covers no {self.resource}"
        asked, most = (quantity_of(self.resource, each) for each in (self.asked, self.potential))
        resource = _of_flavor(self.resource, self.flavor)
        return f"needs {asked} {resource}, and queue {self.queue} can have {most} at most"


class JobLimit(Cause, frozen=True):
    """The queue has its maximum number of gangs with quota."""

    queue: str
    most: int

    def text(self) -> str:
        gangs, hold = ("gang", "holds") if self.most == 1 else ("gangs", "hold")
        held = f"{self.most} {gangs} of queue {self.queue} {hold} quota"
        return f"{held}, the most that it allows at once"


class QuotaShort(Cause, frozen=True):
    """The request exceeds the quota that is left; `borrowers` use more than their own quota.

    "" stands for the leaf of gangs without a queue.
    """

    queue: str
    flavor: str
    resource: str
    asked: int
    available: int
    borrowers: tuple[str, ...] = ()

    def text(self) -> str:
        asked = quantity_of(self.resource, self.asked)
        # Negative if usage exceeds what there is now.
        left = quantity_of(self.resource, max(0, self.available))
        queue = f"queue {self.queue} has" if self.queue else f"{_NO_QUEUE} have"
        # Queues with names come before the leaf without one.
        borrowers = [
            *filter(None, self.borrowers),
            *(_NO_QUEUE for each in self.borrowers if not each),
        ]
        borrowed = f"; borrowed by {', '.join(borrowers)}" if borrowers else ""
        resource = _of_flavor(self.resource, self.flavor)
        return f"needs {asked} {resource}, and {queue} {left} left{borrowed}"


class AwaitsEvicted(Cause, frozen=True):
    """A queue has `most` gangs that hold quota; some were evicted and have not ended yet."""

    queue: str
    most: int

    def text(self) -> str:
        return (
            f"{self.most} gangs of queue {self.queue} hold quota, the most that it allows at once, "
            "and some of them are evicted: it is tried again once they have ended"
        )


class BehindGang(Cause, frozen=True):
    """The queue keeps its order, and a gang before this one waits.

    `gang` is None if its name is hidden.
    """

    queue: str
    gang: GangKey | None

    def text(self) -> str:
        return f"{_gang(self.gang)} comes first: queue {self.queue} keeps its order"


class DelaysReserved(Cause, frozen=True):
    """The gang would delay another gang, in the queue `queue`, which was promised a start.

    `start` is in seconds, None if unknown. `gang` is None if its name is hidden.
    """

    queue: str
    gang: GangKey | None
    start: int | None = None

    def text(self) -> str:
        gang = _gang(self.gang)
        when = f" at {rfc3339(self.start)}" if self.start is not None else ""
        return f"it would delay the start that {gang} of queue {self.queue} is promised{when}"


class ChecksUnanswered(Cause, frozen=True):
    """Admission checks that another controller must answer."""

    queue: str
    checks: tuple[str, ...]

    def text(self) -> str:
        return (
            f"queue {self.queue} has admission checks that another controller answers: "
            f"{', '.join(self.checks)}"
        )


# A suspended workload could not be started, or its pods were not created.


class WorkloadChanged(Cause, frozen=True):
    """Another writer changed the workload after the decision, which is therefore made again."""

    def text(self) -> str:
        return "it was changed meanwhile, and is decided on again"


class WorkloadGone(Cause, frozen=True):
    """The workload was deleted."""

    def text(self) -> str:
        return "it was deleted"


class TemplateGone(Cause, frozen=True):
    """A pod template of the workload no longer exists; `path` is in dots."""

    path: str

    def text(self) -> str:
        return f"it has no pod template at {self.path} any more"


class PatchForbidden(Cause, frozen=True):
    """The scheduler may not patch a kind of workloads; `kind` is its name as in its CRD."""

    kind: str

    def text(self) -> str:
        return (
            f"py-gang-scheduler may not patch {self.kind}: the ClusterRole of the chart allows "
            "it for the kinds in settings.manageJobs"
        )


class KueueManages(Cause, frozen=True):
    """Kueue has a Workload object `name` for it, and decides when it starts."""

    name: str

    def text(self) -> str:
        return (
            f"Kueue manages it, by its Workload {self.name}, and decides when it starts: take it "
            "from Kueue, or name a LocalQueue in place of this queue"
        )


class GangShared(Cause, frozen=True):
    """Two workloads, each by its kind and name, wait suspended with members in one gang."""

    first: str
    second: str

    def text(self) -> str:
        return f"{self.first} and {self.second} wait suspended in the same gang"


# The progress of an autoscaler on the nodes for which a gang waits.

_STATE_WORDS: Final = {
    RequestState.ASKED: "no answer yet",
    RequestState.ACCEPTED: "accepted",
    RequestState.PROVISIONED: "provisioned, and the gang does not fit yet",
    RequestState.FAILED: "failed",
    RequestState.REVOKED: "the capacity was revoked",
    RequestState.EXPIRED: "the booking expired",
    RequestState.REFUSED: "rejected by the API server",
}


def state_text(state: RequestState, message: str) -> str:
    """Return the state of a request with the message of the autoscaler."""
    return f"{_STATE_WORDS[state]}: {message}" if message else _STATE_WORDS[state]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


class NodesAwaited(Cause, frozen=True):
    """A request for nodes is pending; `message` comes from the autoscaler."""

    request: str
    class_name: str
    state: RequestState = RequestState.ASKED
    message: str = ""

    def text(self) -> str:
        return (
            f"nodes are asked for by ProvisioningRequest {self.request} of class "
            f"{self.class_name}: {state_text(self.state, self.message)}"
        )


class AskedAgain(Cause, frozen=True):
    """Attempt `number` to request nodes failed; the next one is made at `until`, in seconds."""

    number: int
    state: RequestState
    message: str
    until: int

    def text(self) -> str:
        return (
            f"nodes were asked for {_times(self.number)}: {state_text(self.state, self.message)}; "
            f"asked again at {rfc3339(self.until)}"
        )


class RequestLeaves(Cause, frozen=True):
    """An earlier request of the gang is for other nodes, and is deleted first."""

    request: str

    def text(self) -> str:
        return f"ProvisioningRequest {self.request} asks for other nodes, and is deleted"


class MostOutstanding(Cause, frozen=True):
    """A queue has as many pending requests for nodes as it may in a namespace; "" is no queue."""

    queue: str
    number: int

    def text(self) -> str:
        of = f"queue {self.queue}" if self.queue else _NO_QUEUE
        return (
            f"{self.number} ProvisioningRequests of {of} are pending, the most that a namespace "
            "may have at once"
        )


class NotProvisioned(Cause, frozen=True):
    """All attempts to request nodes failed; `state` and `message` are of the last one."""

    number: int
    state: RequestState
    message: str

    def text(self) -> str:
        return (
            f"nodes were asked for {_times(self.number)}, the last time: "
            f"{state_text(self.state, self.message)}"
        )


class TooManyPodSets(Cause, frozen=True):
    """The members need nodes of more kinds than one request can list."""

    number: int
    most: int

    def text(self) -> str:
        return (
            f"no nodes are asked for: members ask for nodes in {self.number} ways, and a "
            f"ProvisioningRequest can say {self.most}"
        )


# A gang has no queue that can admit it.


class QueueFault(enum.Enum):
    """Why a gang cannot be in the queue that it names, in words."""

    NOT_FOUND = "{kind} {queue} does not exist"
    NO_LEAF = "{kind} {queue} takes no gangs: it has queues below it"
    NOT_FOR_NAMESPACE = "{kind} {queue} is not for namespace {namespace}"


class QueueDefault(enum.Enum):
    """Where the default queue is set, in words."""

    OF_NAMESPACE = f"annotation {api_words.DEFAULT_QUEUE} of namespace {{namespace}}"
    OF_SETTINGS = "setting defaultQueue"


class QueueUnusable(Cause, frozen=True):
    """The queue that the gang names takes no gangs, or none from the namespace of the gang.

    If `default` is not None, the gang names no queue, and this is the default.
    """

    queue: str
    fault: QueueFault
    kind: str = "queue"
    namespace: str = ""
    default: QueueDefault | None = None

    def text(self) -> str:
        names = {"kind": self.kind, "queue": self.queue, "namespace": self.namespace}
        words = self.fault.value.format(**names)
        if self.default is None:
            return words
        return f"{words}; it is the default by {self.default.value.format(**names)}"


class Inactivity(enum.StrEnum):
    """The fault that makes a queue inactive: it admits no gangs."""

    PARENT_NOT_FOUND = "ParentNotFound"
    CYCLE = "Cycle"
    FLAVOR_NOT_FOUND = "FlavorNotFound"
    INVALID_SPEC = "InvalidSpec"


_INACTIVITIES: Final = {
    Inactivity.PARENT_NOT_FOUND: '{field} is "{value}", and no such queue exists',
    Inactivity.CYCLE: '{field} is "{value}", and the way up from there leads back to it',
    Inactivity.FLAVOR_NOT_FOUND: '{field} has "{value}", and no such ResourceFlavor exists',
}


class FieldRefused(Cause, frozen=True):
    """A value that is well-formed, but cannot be right."""

    field: str
    value: str

    def text(self) -> str:
        return f'{self.field} cannot be "{self.value}"'


class QueueInactive(Cause, frozen=True):
    """The queue is invalid, or an ancestor of it is."""

    queue: str
    fault: Inactivity
    cause: Cause

    def text(self) -> str:
        cause, words = self.cause, _INACTIVITIES.get(self.fault)
        if words is None or not isinstance(cause, FieldRefused):
            why = cause.text()
        else:
            why = words.format(field=cause.field, value=cause.value)
        return f"queue {self.queue} is not active ({self.fault}): {why}"


class QueueNotNamed(Cause, frozen=True):
    """A gang names no queue, which its namespace requires."""

    namespace: str

    def text(self) -> str:
        return f"gangs of namespace {self.namespace} must name a queue: label {api_words.QUEUE}"


class LocalQueueStopped(Cause, frozen=True):
    """The LocalQueue of a gang takes no new gangs."""

    name: str

    def text(self) -> str:
        return f"LocalQueue {self.name} is stopped: it takes no new gangs"


class QueueNamesDiffer(Cause, frozen=True):
    """A gang names two queues, each by its kind and name."""

    first: tuple[str, str]
    second: tuple[str, str]

    def text(self) -> str:
        first, second = " ".join(self.first), " ".join(self.second)
        return f"{first} and {second} are named: name one queue only"


class GangsQueuesDiffer(Cause, frozen=True):
    """Two gangs of one group are in different queues."""

    gangs: tuple[GangKey, GangKey]
    queues: tuple[str, str]

    def text(self) -> str:
        return (
            f"gangs {self.gangs[0]} and {self.gangs[1]} of one group are in queues "
            f"{self.queues[0]} and {self.queues[1]}: they must be in one"
        )
