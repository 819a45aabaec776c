"""Why gangs wait: the reasons, their consequences, and problems that keep a gang untried.

The row of a reason in RULES has everything that follows from it, for the scheduler, its metrics and
people. A new reason is a member of `Reason`, its row, and the place that gives it.
"""

import abc
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple


class Reason(enum.StrEnum):
    """Why a gang waits: the closed list that conditions and Events use."""

    UNSCHEDULABLE = "Unschedulable"
    WAITING_FOR_MEMBERS = "WaitingForMembers"
    WAITING_FOR_GANGS = "WaitingForGangs"
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    INVALID_SPEC = "InvalidSpec"
    UNKNOWN_LAYER = "UnknownLayer"
    UNSUPPORTED_FEATURE = "UnsupportedFeature"
    WAITING_FOR_VICTIMS = "WaitingForVictims"
    WAITING_FOR_VOLUMES = "WaitingForVolumes"
    QUEUE_NOT_FOUND = "QueueNotFound"
    QUEUE_STOPPED = "QueueStopped"
    ADMISSION_DENIED = "AdmissionDenied"
    QUOTA_EXCEEDED = "QuotaExceeded"
    JOB_LIMIT_REACHED = "JobLimitReached"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    WAITING_FOR_TURN = "WaitingForTurn"
    WAITING_FOR_CHECKS = "WaitingForChecks"
    WAITING_FOR_CHECKPOINT = "WaitingForCheckpoint"
    WAITING_FOR_PROVISIONING = "WaitingForProvisioning"
    ELASTIC_LIMIT = "ElasticLimit"
    SCATTERED = "Scattered"
    SET_ASIDE = "SetAside"
    INTERNAL_ERROR = "InternalError"


class Turn(enum.StrEnum):
    """Who can fix it."""

    SUBMITTER = "submitter"
    """The owner of the job."""
    QUEUE_ADMIN = "queue administrator"
    PLATFORM = "platform"
    """The team that runs nodes, storage and this scheduler."""
    SCHEDULER = "no action needed"
    """It ends by itself, or is no problem."""


class Helped(enum.Flag):
    """Changes, other than of the gang or its group, after which a gang is tried again."""

    NONE = 0
    NODES = enum.auto()
    """Room is freed, or a node changes: labels make layers, too."""
    TREES = enum.auto()
    """The trees of the network change."""
    QUEUES = enum.auto()
    """Queues change: a gang may need a queue, or another one, or nodes of its flavors."""
    QUOTA = enum.auto()
    """A queue of the tree holds less."""
    POOL = enum.auto()
    """The nodes change, and with them the capacity that no queue was promised."""
    TIME = enum.auto()
    """A backoff ends."""


class Strict(enum.Enum):
    """How a waiting gang affects the gangs behind it in a queue in strict order."""

    HOLDS_UP = enum.auto()
    """They wait until the wait of this gang ends, which it does with time."""
    TRIED_ALONG = enum.auto()
    """They pass, until they are tried again: then this gang is, too, and may hold them up."""
    PASSED = enum.auto()
    """They pass: this gang cannot start, even if everything is free."""


class Room(enum.Flag):
    """How room for a gang is treated."""

    NONE = 0
    SOUGHT = enum.auto()
    """The scheduler looked for room: the gang is in the phase Scheduling."""
    MADE = enum.auto()
    """Pods leave, or will, to make room."""
    CHARGED = enum.auto()
    """The gang has quota already."""
    KEPT = enum.auto()
    """The gang keeps the room to which its members are nominated."""
    KEPT_FOR_MEMBERS = enum.auto()
    """The same, but for a limited time: the missing members may never be created."""


class Outlook(enum.Enum):
    """The outlook that `explain` gives for the start of such a gang."""

    NONE = enum.auto()
    """`explain` tries no changes."""
    OPEN = enum.auto()
    """The changes that help, to the gang or to the cluster, and when it starts."""
    IF_CHANGED = enum.auto()
    """The changes that help: without one of them the gang never starts."""


class Trait(enum.Flag):
    """Further facts about a gang that waits for this reason."""

    NONE = 0
    OF_QUEUE = enum.auto()
    """Only queues give this reason."""
    LAST = enum.auto()
    """The gang is last in every line: neither room nor quota would help it."""
    OWN_DOING = enum.auto()
    """Its owner could have avoided the wait."""
    PROMISED = enum.auto()
    """A queue may promise it a start once it has waited for long."""
    UNREAD = enum.auto()
    """Its number of members and its queue are unknown."""
    WARNS = enum.auto()
    """The gang may start nevertheless: then it has a condition of this type."""


class Result(enum.StrEnum):
    """The label of a refusal in the metrics of decisions."""

    UNSCHEDULABLE = "unschedulable"
    WAITING_FOR_VICTIMS = "waiting_for_victims"
    QUOTA = "quota"
    INVALID = "invalid"


class GangEvent(enum.StrEnum):
    """The reason of the Event that a waiting gang gets."""

    NONE = ""
    """No Event: the gang lacks members or other gangs, is in a line, or waits as requested."""
    PREEMPTING = "Preempting"
    """Written once, when the preemption begins."""
    FAILED_SCHEDULING = "FailedScheduling"
    INVALID_GANG = "InvalidGang"
    QUOTA_EXCEEDED = "QuotaExceeded"
    """Like InvalidGang: the gang can never start as it is, so the Event comes at once."""


class Rule(NamedTuple):
    """The consequences of a reason: the words for people, then the facts for the scheduler."""

    lead: str
    """The meaning of the reason. `explain` adds the cause."""
    meaning: str
    """Sentences of docs/reasons.md."""
    turn: tuple[Turn, ...]
    do: str
    """The remedy; may have Markdown links."""
    helped_by: Helped
    strict: Strict
    room: Room
    outlook: Outlook
    traits: Trait
    result: Result | None
    """The metric label; None if such a gang was not decided on, or lacks members or other gangs."""
    event: GangEvent


RULES: Final[Mapping[Reason, Rule]] = {
    Reason.UNSCHEDULABLE: Rule(
        "It lacks room",
        "The gang is complete and valid, and the scheduler has tried it, but it lacks room: the "
        "nodes that it may use do not have everything free that it needs at once. The message "
        "begins with what is short, and says whether the gang would fit the empty cluster. A "
        "cluster autoscaler adds nodes for this reason only.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "[Read what is short](troubleshooting.md#how-to-read-what-is-short). If the gang fits the "
        "empty cluster, wait, or ask for a higher priority. If it never fits, ask for less, for "
        "another layer or resource, or for larger nodes. If nodes with room are cordoned, not "
        "ready or tainted, the platform brings them back.",
        helped_by=Helped.NODES | Helped.TREES | Helped.QUEUES | Helped.TIME,
        strict=Strict.HOLDS_UP,
        room=Room.SOUGHT,
        outlook=Outlook.OPEN,
        traits=Trait.PROMISED,
        result=Result.UNSCHEDULABLE,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.WAITING_FOR_MEMBERS: Rule(
        "It lacks members",
        "The gang has fewer pods than it needs at once.",
        (Turn.SUBMITTER,),
        "Compare `MIN` and `MEMBERS` of `kubectl get podgroups`. Look at the owner of the pods to "
        "see why it creates no more: a quota of the namespace, a webhook, or a suspended Job. "
        "Otherwise `minMember` is higher than the number of pods. With [roles](gangs.md#roles) the "
        "message names the role that lacks members.",
        helped_by=Helped.QUEUES,
        strict=Strict.PASSED,
        room=Room.KEPT_FOR_MEMBERS,
        outlook=Outlook.NONE,
        traits=Trait.LAST | Trait.OWN_DOING,
        result=None,
        event=GangEvent.NONE,
    ),
    Reason.WAITING_FOR_GANGS: Rule(
        "It waits for another gang of its group",
        "The gang starts together with other gangs, and one of these cannot start. Or the members "
        "of the gang have not been tried yet.",
        (Turn.SUBMITTER,),
        "The message names the other gang: create it, complete it, or remove it from the "
        "annotation `groups`.",
        helped_by=Helped.QUEUES,
        strict=Strict.PASSED,
        room=Room.KEPT_FOR_MEMBERS,
        outlook=Outlook.NONE,
        traits=Trait.LAST | Trait.OWN_DOING,
        result=None,
        event=GangEvent.NONE,
    ),
    Reason.POD_GROUP_NOT_FOUND: Rule(
        "What describes it is missing",
        "The pods name a PodGroup, or belong to a workload, that does not exist or that the "
        "scheduler may not read.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Create the PodGroup in the namespace of the pods, in an [API "
        "group](gangs.md#how-pods-become-a-gang) whose CRD is installed. If the gang is a workload "
        "of another kind, the message names that kind: the workload is gone, its CRD is not "
        "installed, or the scheduler [may not read it](metrics.md).",
        helped_by=Helped.NONE,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST | Trait.UNREAD,
        result=None,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.INVALID_SPEC: Rule(
        "What is written is invalid",
        "The spec of the gang, or of a member, contradicts itself or has an impossible value.",
        (Turn.SUBMITTER,),
        "The message names the field and the value: correct them. If the fault is in an object of "
        "another namespace, such as another gang of the group, the message names that object, too. "
        "[How to mend it](troubleshooting.md#mend-it).",
        helped_by=Helped.TREES | Helped.QUEUES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST | Trait.OWN_DOING | Trait.UNREAD,
        result=Result.INVALID,
        event=GangEvent.INVALID_GANG,
    ),
    Reason.UNKNOWN_LAYER: Rule(
        "It asks for a layer that does not exist",
        "The gang must gather in a layer that the network tree does not have.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Ask for one of the layers that the message lists. Or let the platform add the layer to "
        "`clusternetworktopology default` and label the nodes.",
        helped_by=Helped.NODES | Helped.TREES | Helped.QUEUES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST | Trait.WARNS,
        result=Result.INVALID,
        event=GangEvent.INVALID_GANG,
    ),
    Reason.UNSUPPORTED_FEATURE: Rule(
        "It asks for what is not supported",
        "A field asks for a feature that this scheduler does not have, so the pod would not be "
        "placed as intended.",
        (Turn.SUBMITTER,),
        "Remove the field that the message names: [what is not built](filters.md#refused-by-name).",
        helped_by=Helped.QUEUES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST,
        result=Result.INVALID,
        event=GangEvent.INVALID_GANG,
    ),
    Reason.WAITING_FOR_VICTIMS: Rule(
        "It waits for pods to leave",
        "The scheduler makes room: pods of lower priority are ending on the nodes that the gang is "
        "nominated to.",
        (Turn.SCHEDULER,),
        "Wait for their grace periods. If a pod does not end, it has an Event: its kubelet or a "
        "finalizer keeps it. `kubectl get pods -A --field-selector spec.nodeName=NODE` shows it.",
        helped_by=Helped.NODES | Helped.TREES | Helped.TIME,
        # Room and quota are kept for it, so the gangs behind it may have the rest.
        strict=Strict.TRIED_ALONG,
        room=Room.SOUGHT | Room.MADE | Room.CHARGED | Room.KEPT,
        outlook=Outlook.NONE,
        traits=Trait.NONE,
        result=Result.WAITING_FOR_VICTIMS,
        event=GangEvent.PREEMPTING,
    ),
    Reason.WAITING_FOR_VOLUMES: Rule(
        "It waits for volumes",
        "The gang has nodes, and the claims of its members are being bound. The scheduler holds "
        "the room for `claimTimeoutSeconds`.",
        (Turn.PLATFORM,),
        "Run `kubectl describe pvc NAME`: it shows that the provisioner of the class is at work, "
        "or why it is not.",
        helped_by=Helped.NONE,
        # It has room and quota: the gangs behind it may have the rest.
        strict=Strict.TRIED_ALONG,
        room=Room.SOUGHT | Room.CHARGED,
        outlook=Outlook.NONE,
        traits=Trait.NONE,
        result=Result.UNSCHEDULABLE,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.QUEUE_NOT_FOUND: Rule(
        "Its queue cannot be used",
        "The queue that the gang names does not exist, has queues below it, or is not for this "
        "namespace. Or the gang names no queue, and gangs of this namespace must name one.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "Name a queue of `kubectl get queues.py-gang-scheduler.io`. The administrator of the queue "
        "can say which namespaces it is for.",
        helped_by=Helped.QUEUES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.OF_QUEUE | Trait.LAST | Trait.OWN_DOING,
        result=Result.INVALID,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.QUEUE_STOPPED: Rule(
        "Its queue is stopped",
        "The queue takes no gangs now: it is held, or it or a queue above it is invalid.",
        (Turn.QUEUE_ADMIN,),
        "Look at the conditions of the queue. Its administrator resumes it, or corrects the field "
        "that the condition names.",
        helped_by=Helped.QUEUES,
        # A stopped LocalQueue holds up no gang of another LocalQueue of its ClusterQueue.
        strict=Strict.TRIED_ALONG,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.OF_QUEUE,
        result=Result.QUOTA,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.ADMISSION_DENIED: Rule(
        "Its queue does not admit it",
        "The queue does not admit such a gang: it has too many GPUs, or a priority that is not "
        "allowed.",
        (Turn.SUBMITTER,),
        "Keep to the limit that the message names, or use another queue.",
        helped_by=Helped.QUEUES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.IF_CHANGED,
        traits=Trait.OF_QUEUE | Trait.OWN_DOING,
        result=Result.QUOTA,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.QUOTA_EXCEEDED: Rule(
        "It asks for more than its queue can ever have",
        "The gang asks for more than its queue could ever have, including borrowed quota, or for "
        "flavors or resources that the queue does not have.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "Ask for less, or use another queue. The gang never starts in this queue unless one of "
        "both is changed.",
        helped_by=Helped.QUEUES | Helped.POOL,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.IF_CHANGED,
        traits=Trait.OF_QUEUE,
        result=Result.QUOTA,
        event=GangEvent.QUOTA_EXCEEDED,
    ),
    Reason.JOB_LIMIT_REACHED: Rule(
        "Its queue has as many gangs as it may have",
        "The maximum number of gangs of the queue hold quota already.",
        (Turn.SCHEDULER,),
        "Wait: the gang starts when another gang of the queue has ended.",
        helped_by=Helped.QUEUES | Helped.QUOTA | Helped.POOL,
        strict=Strict.HOLDS_UP,
        room=Room.NONE,
        outlook=Outlook.OPEN,
        traits=Trait.OF_QUEUE,
        result=Result.QUOTA,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.WAITING_FOR_QUOTA: Rule(
        "It lacks quota",
        "The queue does not have enough quota left, or its own quota is lent and not yet given "
        "back.",
        (Turn.SCHEDULER, Turn.QUEUE_ADMIN),
        "Wait: the gang starts when quota becomes free. `kubectl get queues.py-gang-scheduler.io` "
        "shows used and borrowed quota, and the message names the queues that borrow. Only the "
        "administrator of the queue can give it more quota, or the right to reclaim.",
        helped_by=Helped.QUEUES | Helped.QUOTA | Helped.POOL,
        strict=Strict.HOLDS_UP,
        room=Room.NONE,
        outlook=Outlook.OPEN,
        traits=Trait.OF_QUEUE | Trait.PROMISED,
        result=Result.QUOTA,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.WAITING_FOR_TURN: Rule(
        "Other gangs come first",
        "Another gang of the queue comes first, or another gang would start later if this one were "
        "allowed to pass.",
        (Turn.SCHEDULER,),
        "Wait: the gang starts after the gang that the message names. A short gang may pass if you "
        "declare its end (`py-gang-scheduler.io/expected-duration`).",
        helped_by=Helped.QUEUES | Helped.QUOTA | Helped.POOL,
        # If the gang ahead must hold up others, it does so itself. And a gang that would delay a
        # promised start leaves the room until then to shorter gangs.
        strict=Strict.TRIED_ALONG,
        room=Room.NONE,
        outlook=Outlook.OPEN,
        traits=Trait.OF_QUEUE,
        result=Result.QUOTA,
        event=GangEvent.NONE,
    ),
    Reason.WAITING_FOR_CHECKS: Rule(
        "It waits for admission checks",
        "The queue has admission checks that another controller must answer.",
        (Turn.PLATFORM,),
        "Check that the controller of the check runs, and what it says.",
        helped_by=Helped.QUEUES,
        strict=Strict.HOLDS_UP,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.OF_QUEUE,
        result=Result.QUOTA,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.WAITING_FOR_CHECKPOINT: Rule(
        "It waits for others to save their work",
        "The scheduler makes room: gangs that it will evict [save their work](checkpoints.md) "
        "first.",
        (Turn.SCHEDULER,),
        "Wait: those gangs are evicted when they have saved their work, or when their time is "
        "over. The message says when that is.",
        helped_by=Helped.NODES | Helped.TREES | Helped.TIME,
        # Plans never give this reason: state/gangs/gang_info makes it from WaitingForVictims for
        # people. So no room is KEPT for it, and it has no Event of its own.
        strict=Strict.TRIED_ALONG,
        room=Room.SOUGHT | Room.MADE | Room.CHARGED,
        outlook=Outlook.NONE,
        traits=Trait.NONE,
        result=Result.WAITING_FOR_VICTIMS,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.WAITING_FOR_PROVISIONING: Rule(
        "It waits for nodes that are bought",
        "The gang lacks only room, and a ProvisioningRequest asks for nodes.",
        (Turn.PLATFORM,),
        "The message has the name of the request and the answer of its autoscaler: [nodes that are "
        "bought](provisioning.md).",
        helped_by=Helped.NODES | Helped.TREES | Helped.QUEUES,
        strict=Strict.HOLDS_UP,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.NONE,
        result=Result.UNSCHEDULABLE,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.ELASTIC_LIMIT: Rule(
        "It must not grow yet",
        "One of three things holds for an elastic gang: it has all the workers that it asks for, "
        "it may grow again only later, or it waits for as many workers as it grows by.",
        (Turn.SCHEDULER,),
        "Nothing: the [annotation](gangs.md#elastic-at-a-pace) of the gang asks for this.",
        helped_by=Helped.NONE,
        # Its quorum runs, and it does not grow, so the gangs behind it may have the room.
        strict=Strict.TRIED_ALONG,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.NONE,
        result=None,
        event=GangEvent.NONE,
    ),
    Reason.SCATTERED: Rule(
        "Its members are scattered",
        "Members were bound in several domains although the gang must gather in one. The gang "
        "runs, and its other members join the largest part.",
        (Turn.SUBMITTER,),
        "Delete the members in other domains: their controller creates them again, and they are "
        "placed with the others.",
        helped_by=Helped.NONE,
        # A warning: the gang runs, and no cycle refuses it for this reason.
        strict=Strict.TRIED_ALONG,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.WARNS,
        result=None,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.SET_ASIDE: Rule(
        "It is set aside",
        "Decisions on the gang took more than 2 s of CPU time, twice. The gang is tried again "
        "after ten times as long as the last decision took, then after twice as long each time. "
        "Gangs that wait meanwhile are always tried first. A restart of the scheduler does not "
        "forget this.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Make the gang easier to decide: use fewer members in one gang, and fewer affinity terms, "
        "spread constraints or alternatives. A changed gang is tried sooner. [What the platform "
        "does](liveness.md#gangs-that-are-hard-to-decide).",
        helped_by=Helped.NONE,
        # Such members are tried after all other gangs, so they must not hold up any.
        strict=Strict.TRIED_ALONG,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST,
        result=None,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.INTERNAL_ERROR: Rule(
        "The scheduler failed on it, which is a bug",
        "The scheduler had an internal error while it decided this gang. It tries the gang again, "
        "and other gangs are not held up.",
        (Turn.PLATFORM,),
        "The log has `internal_error` with a traceback: please report it, with the input of a [dry "
        "run](simulate.md).",
        helped_by=Helped.TIME,
        # A bug that the scheduler meets on one gang must not stop the whole queue.
        strict=Strict.TRIED_ALONG,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST,
        result=None,
        event=GangEvent.FAILED_SCHEDULING,
    ),
}


def those_with(holds: Callable[[Rule], bool]) -> frozenset[Reason]:
    """Return the reasons whose rules pass a test."""
    return frozenset(reason for reason in Reason if holds(RULES[reason]))


BY_QUEUES: Final = those_with(lambda rule: Trait.OF_QUEUE in rule.traits)
NOT_IN_LINE: Final = those_with(lambda rule: Trait.LAST in rule.traits)
MAKING_ROOM: Final = those_with(lambda rule: Room.MADE in rule.room)
PROMISED: Final = those_with(lambda rule: Trait.PROMISED in rule.traits)


class Cause:
    """Why a gang waits, as data; the kinds are in `causes`.

    mypy refuses a kind without words. It needs no ABCMeta for that, which would slow isinstance.
    """

    __slots__ = ()

    @abc.abstractmethod
    def text(self) -> str:
        """Return the words for people. No decision depends on them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a gang cannot even be tried."""

    reason: Reason
    cause: Cause
