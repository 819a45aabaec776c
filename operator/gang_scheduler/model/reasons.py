"""Why gangs wait: the reasons, their consequences, and problems that keep a gang untried.

The row of a reason in RULES has everything that follows from it. A new reason is a member of
`Reason`, its row, and the place that gives it.
"""

import abc
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from gang_scheduler.model.consequences import (
    Fixer,
    GangEvent,
    Outlook,
    Result,
    RetryAfter,
    Room,
    Rule,
    Strict,
    Trait,
)


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
    WAITING_FOR_DEVICES = "WaitingForDevices"
    WAITING_FOR_CLAIMS = "WaitingForClaims"
    CLAIM_NOT_FOUND = "ClaimNotFound"
    INVALID_CLAIM = "InvalidClaim"
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
    NOT_GATHERED = "NotGathered"
    SET_ASIDE = "SetAside"
    INTERNAL_ERROR = "InternalError"


RULES: Final[Mapping[Reason, Rule]] = {
    Reason.UNSCHEDULABLE: Rule(
        "It lacks room",
        "The gang is complete and valid, and the scheduler has tried it, but it lacks room: the "
        "nodes that it may use do not have everything free that it needs at once. The message "
        "begins with what is short, and says whether the gang would fit the empty cluster. A "
        "cluster autoscaler adds nodes for this reason only.",
        (Fixer.SUBMITTER, Fixer.PLATFORM),
        "[Read what is short](troubleshooting.md#how-to-read-what-is-short). If the gang fits the "
        "empty cluster, wait, or ask for a higher priority. If it never fits, ask for less, for "
        "another layer or resource, or for larger nodes. If nodes with room are cordoned, not "
        "ready or tainted, the platform brings them back.",
        retry_after=RetryAfter.NODES
        | RetryAfter.TREES
        | RetryAfter.QUEUES
        | RetryAfter.TIME
        | RetryAfter.VICTIMS,
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
        (Fixer.SUBMITTER,),
        "Compare `MIN` and `MEMBERS` of `kubectl get podgroups`. Look at the owner of the pods to "
        "see why it creates no more: a quota of the namespace, a webhook, or a suspended Job. "
        "Otherwise `minMember` is higher than the number of pods. With [roles](gangs.md#roles) the "
        "message names the role that lacks members.",
        retry_after=RetryAfter.QUEUES,
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
        (Fixer.SUBMITTER,),
        "The message names the other gang: create it, complete it, or remove it from the "
        "annotation `groups`.",
        retry_after=RetryAfter.QUEUES,
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
        (Fixer.SUBMITTER, Fixer.PLATFORM),
        "Create the PodGroup in the namespace of the pods, in an [API "
        "group](gangs.md#how-pods-become-a-gang) whose CRD is installed. If the gang is a workload "
        "of another kind, the message names that kind: the workload is gone, its CRD is not "
        "installed, or the scheduler [may not read it](metrics.md).",
        retry_after=RetryAfter.NONE,
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
        (Fixer.SUBMITTER,),
        "The message names the field and the value: correct them. If the fault is in an object of "
        "another namespace, such as another gang of the group, the message names that object, too. "
        "[How to mend it](troubleshooting.md#mend-it).",
        retry_after=RetryAfter.TREES | RetryAfter.QUEUES,
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
        (Fixer.SUBMITTER, Fixer.PLATFORM),
        "Ask for one of the layers that the message lists. Or let the platform add the layer to "
        "`clusternetworktopology default` and label the nodes.",
        retry_after=RetryAfter.NODES | RetryAfter.TREES | RetryAfter.QUEUES,
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
        (Fixer.SUBMITTER,),
        "Remove the field that the message names: [what is not built](filters.md#refused-by-name).",
        retry_after=RetryAfter.QUEUES,
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
        (Fixer.SCHEDULER,),
        "Wait for their grace periods. If a pod does not end, it has an Event: its kubelet or a "
        "finalizer keeps it. `kubectl get pods -A --field-selector spec.nodeName=NODE` shows it.",
        retry_after=RetryAfter.NODES | RetryAfter.TREES | RetryAfter.TIME,
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
        (Fixer.PLATFORM,),
        "Run `kubectl describe pvc NAME`: it shows that the provisioner of the class is at work, "
        "or why it is not.",
        retry_after=RetryAfter.NONE,
        # It has room and quota: the gangs behind it may have the rest.
        strict=Strict.TRIED_ALONG,
        room=Room.SOUGHT | Room.CHARGED,
        outlook=Outlook.NONE,
        traits=Trait.NONE,
        result=Result.UNSCHEDULABLE,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.WAITING_FOR_DEVICES: Rule(
        "It waits for devices to be attached",
        "The gang has nodes and devices, and drivers still prepare some of these devices for their "
        "nodes. No member is bound before all of them are ready. The scheduler holds the room for "
        "`deviceBindingTimeoutSeconds`. If a device fails, the gang gives all its devices back, "
        "and is tried with others.",
        (Fixer.PLATFORM,),
        "The message names a claim, a device, and the condition that the driver has not set. "
        "`kubectl get resourceclaim NAME -o yaml` shows under `status.devices` what the driver "
        "says.",
        retry_after=RetryAfter.NONE,
        # It has room and quota: the gangs behind it may have the rest.
        strict=Strict.TRIED_ALONG,
        room=Room.SOUGHT | Room.CHARGED,
        outlook=Outlook.NONE,
        traits=Trait.NONE,
        result=Result.UNSCHEDULABLE,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.WAITING_FOR_CLAIMS: Rule(
        "It waits for claims that are not created yet",
        "A member asks for devices by a template, and kube-controller-manager has not created its "
        "ResourceClaim yet, or the claim of an earlier pod is still being deleted, or a claim is "
        "giving back the devices of an attempt that failed.",
        (Fixer.PLATFORM,),
        "Wait: claims are usually there within seconds. Otherwise check that the resourceclaim "
        "controller of kube-controller-manager runs.",
        retry_after=RetryAfter.NODES | RetryAfter.TREES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST,
        result=None,
        event=GangEvent.NONE,
    ),
    Reason.CLAIM_NOT_FOUND: Rule(
        "Its claim does not exist",
        "A member names a ResourceClaim or a ResourceClaimTemplate that does not exist, or a claim "
        "that was made for another pod.",
        (Fixer.SUBMITTER,),
        "Create the object that the message names, in the namespace of the pods. Or correct the "
        "name in `spec.resourceClaims`: this needs a new pod.",
        retry_after=RetryAfter.NODES | RetryAfter.TREES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST | Trait.OWN_DOING,
        result=Result.INVALID,
        event=GangEvent.INVALID_GANG,
    ),
    Reason.INVALID_CLAIM: Rule(
        "Its claim is invalid",
        "A claim of a member can never be allocated as it is: its DeviceClass does not exist, it "
        "asks for more devices than a claim can hold, or one of its selectors fails on a device.",
        (Fixer.SUBMITTER, Fixer.PLATFORM),
        "The message names the claim or the class, the request, and the fault. A selector fails on "
        "a device that lacks an attribute: guard it with `has()` or `.?orValue()`.",
        retry_after=RetryAfter.NODES | RetryAfter.TREES,
        strict=Strict.PASSED,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.LAST | Trait.OWN_DOING,
        result=Result.INVALID,
        event=GangEvent.INVALID_GANG,
    ),
    Reason.QUEUE_NOT_FOUND: Rule(
        "Its queue cannot be used",
        "The queue that the gang names does not exist, has queues below it, or is not for this "
        "namespace. Or the gang names no queue, and gangs of this namespace must name one.",
        (Fixer.SUBMITTER, Fixer.QUEUE_ADMIN),
        "Name a queue of `kubectl get queues.py-gang-scheduler.io`. The administrator of the queue "
        "can say which namespaces it is for.",
        retry_after=RetryAfter.QUEUES,
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
        (Fixer.QUEUE_ADMIN,),
        "Look at the conditions of the queue. Its administrator resumes it, or corrects the field "
        "that the condition names.",
        retry_after=RetryAfter.QUEUES,
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
        (Fixer.SUBMITTER,),
        "Keep to the limit that the message names, or use another queue.",
        retry_after=RetryAfter.QUEUES,
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
        (Fixer.SUBMITTER, Fixer.QUEUE_ADMIN),
        "Ask for less, or use another queue. The gang never starts in this queue unless one of "
        "both is changed.",
        retry_after=RetryAfter.QUEUES | RetryAfter.POOL,
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
        (Fixer.SCHEDULER,),
        "Wait: the gang starts when another gang of the queue has ended.",
        retry_after=RetryAfter.QUEUES | RetryAfter.QUOTA | RetryAfter.POOL,
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
        (Fixer.SCHEDULER, Fixer.QUEUE_ADMIN),
        "Wait: the gang starts when quota becomes free. `kubectl get queues.py-gang-scheduler.io` "
        "shows used and borrowed quota, and the message names the queues that borrow. Only the "
        "administrator of the queue can give it more quota, or the right to reclaim.",
        retry_after=RetryAfter.QUEUES | RetryAfter.QUOTA | RetryAfter.POOL | RetryAfter.VICTIMS,
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
        (Fixer.SCHEDULER,),
        "Wait: the gang starts after the gang that the message names. A short gang may pass if you "
        "declare its end (`py-gang-scheduler.io/expected-duration`).",
        retry_after=RetryAfter.QUEUES | RetryAfter.QUOTA | RetryAfter.POOL | RetryAfter.VICTIMS,
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
        (Fixer.PLATFORM,),
        "Check that the controller of the check runs, and what it says.",
        retry_after=RetryAfter.QUEUES,
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
        (Fixer.SCHEDULER,),
        "Wait: those gangs are evicted when they have saved their work, or when their time is "
        "over. The message says when that is.",
        retry_after=RetryAfter.NODES | RetryAfter.TREES | RetryAfter.TIME,
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
        (Fixer.PLATFORM,),
        "The message has the name of the request and the answer of its autoscaler: [nodes that are "
        "bought](provisioning.md).",
        retry_after=RetryAfter.NODES | RetryAfter.TREES | RetryAfter.QUEUES | RetryAfter.VICTIMS,
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
        (Fixer.SCHEDULER,),
        "Nothing: the [annotation](gangs.md#elastic-at-a-pace) of the gang asks for this.",
        retry_after=RetryAfter.NONE,
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
        (Fixer.SUBMITTER,),
        "Delete the members in other domains: their controller creates them again, and they are "
        "placed with the others.",
        retry_after=RetryAfter.NONE,
        # A warning: the gang runs, and no cycle refuses it for this reason.
        strict=Strict.TRIED_ALONG,
        room=Room.NONE,
        outlook=Outlook.NONE,
        traits=Trait.WARNS,
        result=None,
        event=GangEvent.FAILED_SCHEDULING,
    ),
    Reason.NOT_GATHERED: Rule(
        "Its ComputeDomain may be split",
        "The members claim channels of a ComputeDomain of NVIDIA's driver, and the gang may be "
        "placed in several NVLink domains, between which no channel works. The gang is scheduled "
        "all the same.",
        (Fixer.SUBMITTER,),
        "Let the gang [gather](devices.md#nvlink-over-several-nodes) in one domain of the label "
        "nvidia.com/gpu.clique. The setting gatherComputeDomains does it for all gangs.",
        retry_after=RetryAfter.NONE,
        # Advice: no cycle refuses a gang for this reason.
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
        (Fixer.SUBMITTER, Fixer.PLATFORM),
        "Make the gang easier to decide: use fewer members in one gang, and fewer affinity terms, "
        "spread constraints or alternatives. A changed gang is tried sooner. [What the platform "
        "does](liveness.md#gangs-that-are-hard-to-decide).",
        retry_after=RetryAfter.NONE,
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
        (Fixer.PLATFORM,),
        "The log has `internal_error` with a traceback: please report it, with the input of a [dry "
        "run](simulate.md).",
        retry_after=RetryAfter.TIME,
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
HELD: Final = frozenset({Reason.WAITING_FOR_VOLUMES, Reason.WAITING_FOR_DEVICES})
"""The gang has its nodes, and waits for claims of its members while its room is held."""
MAKING_ROOM: Final = those_with(lambda rule: Room.MADE in rule.room)
PROMISED: Final = those_with(lambda rule: Trait.PROMISED in rule.traits)


class Cause(msgspec.Struct, frozen=True):
    """Why a gang waits, as data; the kinds are in `causes`.

    mypy refuses a kind without words. It needs no ABCMeta for that, which would slow isinstance.
    """

    @abc.abstractmethod
    def text(self) -> str:
        """Return the words for people. No decision depends on them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a gang cannot even be tried."""

    reason: Reason
    cause: Cause
