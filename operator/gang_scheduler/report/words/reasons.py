"""Reasons in statuses and Events: the meaning of each, who can fix it, and what to do.

docs/reasons.md is made from these tables, and from `model/reasons` for the reasons why gangs wait.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.consequences import Fixer


@dataclass(frozen=True, slots=True)
class Entry:
    """The meaning of a reason, and what to do about it; `do` may have Markdown links."""

    meaning: str
    fixers: tuple[Fixer, ...]
    do: str = ""


def passing(meaning: str, do: str = "") -> Entry:
    """Return an entry for a state that passes by itself, or that is no problem."""
    return Entry(meaning, (Fixer.SCHEDULER,), do)


# Conditions of PodGroups, and those of their reasons for which no gang waits.

TYPES: Final[Mapping[str, Entry]] = {
    "Scheduled": Entry(
        "Whether as many members as the gang needs at once have a node. If it is False, its "
        "reason says why the gang waits.",
        (Fixer.SUBMITTER,),
        "See [the reasons](#why-a-gang-waits).",
    ),
    "SchedulingTimeout": Entry(
        "The gang has waited for longer than its `scheduleTimeoutSeconds`. It stays in the queue.",
        (Fixer.SUBMITTER,),
        "The reason is the same as in `Scheduled`.",
    ),
    "PartiallyBound": Entry(
        "Some members have a node and the rest of the quorum does not: a binding failed, or "
        "another scheduler took the room. The rest is placed before other gangs of its priority.",
        (Fixer.PLATFORM,),
        "With `onPartialGang: Release` the gang gives its room back instead of waiting.",
    ),
    "Preempting": passing("Pods end to make room for this gang."),
    "Preempted": Entry(
        "Members were evicted for the gang that the message names.",
        (Fixer.SUBMITTER,),
        "The gang starts again when there is room. A Job needs a "
        "[`podFailurePolicy`](preemption.md#jobs), because evictions count as failures otherwise.",
    ),
    "Evicted": Entry(
        "Members were evicted for a gang of a queue. The reason is the right by which they were "
        "evicted.",
        (Fixer.SUBMITTER, Fixer.QUEUE_ADMIN),
        "See [which gang evicts which](queue-rules.md#which-gang-evicts-which).",
    ),
    "DisruptionTarget": Entry(
        "The pod, or members of the native PodGroup, must be evicted to make room.",
        (Fixer.SUBMITTER,),
        "See `Preempted`.",
    ),
    "RoomLost": Entry(
        "Before the gang was bound, it lost the room that was made for it. The message says how: "
        "the node is gone or takes no pods, another pod or a gang of higher priority took the "
        "room, the API server refused the bindings, or missing members did not appear within a "
        "minute. The gang is planned again.",
        (Fixer.PLATFORM, Fixer.SUBMITTER),
        "If members are missing, find out why they are not created. Otherwise keep other "
        "schedulers off these nodes.",
    ),
    "DegradedDomain": Entry(
        "The gang runs with fewer members than it needs, because nodes have failed, or because "
        "its domain has no room for replacements of lost members. The message names the domain, "
        "the failed nodes, the pods that stay Terminating, and what is short.",
        (Fixer.PLATFORM, Fixer.SUBMITTER),
        "See [failed nodes](failed-nodes.md).",
    ),
    "UnknownLayer": Entry(
        "The gang prefers a layer that the network tree does not have: it starts without it.",
        (Fixer.SUBMITTER, Fixer.PLATFORM),
        "See [`UnknownLayer`](#unknownlayer).",
    ),
    "Scattered": Entry(
        "Members run in several domains although the gang must gather in one.",
        (Fixer.SUBMITTER,),
        "See [`Scattered`](#scattered).",
    ),
    "NotGathered": Entry(
        "The members claim channels of a ComputeDomain, and may be placed in several NVLink "
        "domains.",
        (Fixer.SUBMITTER,),
        "See [`NotGathered`](#notgathered).",
    ),
    "QuotaReserved": passing("Whether the gang is charged to its queue."),
    "Reserved": passing(
        "Whether the gang is promised a start. The message says when, and after which gang.",
        "See `status.queue.estimatedStart` in `kubectl get podgroup NAME -o yaml`.",
    ),
    "PodGroupInitiallyScheduled": passing(
        "On native PodGroups: all members that the gang needs had nodes at some time. It stays "
        "true."
    ),
}
REASONS: Final[Mapping[str, Entry]] = {
    "Scheduled": passing("The gang has its nodes, or is back on nodes."),
    "Scheduling": passing(
        "Members are being bound, or have not been tried yet.",
        "If this lasts for a minute, look at `pgs_bindings_total` and the log.",
    ),
    "JobFailed": Entry(
        "The Job of all members has failed, and creates no other pods.",
        (Fixer.SUBMITTER,),
        "Look at `kubectl describe job NAME`. Evictions count as failures without a "
        "[`podFailurePolicy`](preemption.md#jobs).",
    ),
    "InTime": passing("The gang started, or its schedule timeout has not passed."),
    "NotPartial": passing("All of the quorum has nodes, or none of it."),
    "DegradedDomain": Entry(
        "The gang is evicted whole, because its domain had no room for replacements of lost "
        "members.",
        (Fixer.SUBMITTER,),
        "Its controller creates the pods again, and the gang starts where there is room.",
    ),
    "NodesFailed": Entry(
        "Members were lost with their nodes. Their replacements wait, or were not created yet.",
        (Fixer.SUBMITTER,),
        "If no controller creates the pods again, submit them again.",
    ),
    "PodsStuck": Entry(
        "Members on failed nodes were deleted, but stay Terminating. Some Jobs create no "
        "replacements until they are gone.",
        (Fixer.PLATFORM,),
        "Once you are sure that the node is off, [delete them by "
        "force](failed-nodes.md#pods-that-are-stuck).",
    ),
    "NoRoomInDomain": Entry(
        "The domain of the gang has no room for replacements of lost members.",
        (Fixer.PLATFORM, Fixer.SUBMITTER),
        "The gang recovers when a node of the domain comes back or becomes free. With "
        "`degradedGangs: Evict` the gang starts again in another domain.",
    ),
    "Whole": passing("As many members as the gang needs are on healthy nodes."),
    "NotPreempting": passing("No pods end for this gang any more."),
    "PreemptionByScheduler": Entry(
        "The pod was chosen to make room for a gang of a higher priority or stronger right.",
        (Fixer.SUBMITTER,),
        "Its controller creates it again. With a checkpoint less work is lost.",
    ),
    "Resolved": passing("The fault no longer exists."),
    "NoQueue": passing("The gang is in no queue: no quota governs it."),
    "Reserved": passing("The gang is charged to its queue, or has a promise."),
    "Pending": passing("The gang has not had its turn."),
    "NotReserved": passing("The gang is promised no start."),
    "TimedOut": passing(
        "The gang held a promised start for too long. It gets no promise for an hour."
    ),
    "Overrun": Entry(
        "The gang was evicted: it was started ahead of a gang with a promised start because it "
        "declared to end in time, and still ran after that end.",
        (Fixer.SUBMITTER,),
        "Declare a longer `py-gang-scheduler.io/expected-duration`.",
    ),
    "Reclaim": Entry(
        "The gang was evicted: its queue had borrowed, and the owner of the quota takes it back.",
        (Fixer.SUBMITTER, Fixer.QUEUE_ADMIN),
        "The gang starts again when there is quota to borrow. If work must not be evicted, keep "
        "it within its queue's own quota.",
    ),
    "InQueue": Entry(
        "The gang was evicted for a gang of its own queue with a higher priority.",
        (Fixer.SUBMITTER,),
        "It starts after that gang, or earlier with a higher priority.",
    ),
    "WhileBorrowing": Entry(
        "The gang was evicted while its queue borrowed, for a gang of a higher priority whose "
        "queue also borrows.",
        (Fixer.SUBMITTER, Fixer.QUEUE_ADMIN),
        "See `Reclaim`.",
    ),
    "FairShare": Entry(
        "The gang was evicted: its queue had the larger share of the borrowed quota.",
        (Fixer.SUBMITTER, Fixer.QUEUE_ADMIN),
        "The weights of the queues decide this.",
    ),
}


# Reasons of Events on PodGroups, Jobs, pods, queues and topologies.

_SUBMITTER: Final = (Fixer.SUBMITTER,)
_ADMIN: Final = (Fixer.QUEUE_ADMIN,)

ENTRIES: Final[Mapping[str, Entry]] = {
    "Scheduled": passing(
        "All members of a plan are bound. On a pod, the Event says to which node."
    ),
    "FailedScheduling": Entry(
        "The reason why the gang waits, after it has waited for some time. Or the reason why a "
        "preemption was given up, or why members were not bound.",
        _SUBMITTER,
        "The condition `Scheduled` of the gang, or `PodScheduled` of the pod, has the reason.",
    ),
    "InvalidGang": Entry(
        "The spec of the gang is wrong, or it asks for a gang where there can be none.",
        _SUBMITTER,
        "Correct the field that the Event names.",
    ),
    "QuotaExceeded": Entry(
        "The gang asks for more than its queue could ever have.", _SUBMITTER, "Ask for less."
    ),
    "SchedulingTimeout": Entry(
        "The gang was not bound within its `scheduleTimeoutSeconds`; it stays in the queue.",
        _SUBMITTER,
    ),
    "MembersMissing": Entry(
        "Some members of the gang are not created; the Event has a guess why.",
        _SUBMITTER,
        "See [whether its members are complete](troubleshooting.md#my-pod-is-pending).",
    ),
    "DegradedDomain": Entry(
        "See [the condition](failed-nodes.md#what-the-gang-is-told).",
        (Fixer.PLATFORM, Fixer.SUBMITTER),
    ),
    "EvictedWhole": Entry(
        "Until the schedule timeout of the gang, its domain had no room for replacements of lost "
        "members, so all its members are evicted. Pods without an owner are not created again.",
        _SUBMITTER,
        "See [`degradedGangs`](failed-nodes.md#when-the-domain-has-no-room).",
    ),
    "DomainHealed": passing("The gang is whole on healthy nodes again."),
    "StuckPods": Entry(
        "Members on failed nodes were deleted, but stay Terminating.",
        (Fixer.PLATFORM,),
        "See [pods that are stuck](failed-nodes.md#pods-that-are-stuck).",
    ),
    "KubeletRefused": Entry(
        "The kubelet of a node refused a pod that was bound there. Pods with the same requests go"
        " to other nodes until a pod leaves that node, or for ten minutes.",
        (Fixer.PLATFORM,),
        "See [pods that a kubelet refuses](failed-nodes.md#pods-that-a-kubelet-refuses).",
    ),
    "DevicesOfTwoSchedulers": Entry(
        "Another scheduler and this one have both allocated devices of the same pool. They may "
        "give the same device to two claims. The Event is on the first such claim of each pool.",
        (Fixer.PLATFORM,),
        "Let [one scheduler](devices.md#one-scheduler-for-the-nodes-of-a-driver) allocate the "
        "devices of a node.",
    ),
    "Preempting": passing(
        "Pods are evicted to make room for this gang. The Event says how many, and which."
    ),
    "WaitingForRoom": Entry(
        "The gang waits for terminating pods, or one of these pods does not end.",
        (Fixer.PLATFORM,),
        "If a pod does not end, its kubelet or a finalizer keeps it.",
    ),
    "Preempted": Entry(
        "Members of this gang were evicted; the Event names the gang that needed the room. Pods "
        "without an owner are not created again.",
        _SUBMITTER,
        "Use a Job with a [`podFailurePolicy`](preemption.md#jobs).",
    ),
    "CheckpointRequested": passing(
        "This gang will be evicted, and was asked to [save its work](checkpoints.md) first."
    ),
    "CheckpointSaved": passing(
        "The gang has saved its work. The Event says where, if the gang has reported it."
    ),
    "CheckpointTimedOut": Entry(
        "The gang did not report in time that its work is saved, and is evicted anyway.",
        _SUBMITTER,
        "Check that the job [answers](checkpoints.md), or give it more time: "
        "`py-gang-scheduler.io/checkpoint-timeout`.",
    ),
    "CheckpointFailed": Entry(
        "The scheduler could not ask the gang to save its work, or the gang answered that it "
        "cannot.",
        _SUBMITTER,
        "The Event says why. See how the job must [answer](checkpoints.md).",
    ),
    "Drained": Entry(
        "The gang was evicted because its queue has stopPolicy HoldAndDrain.",
        (Fixer.QUEUE_ADMIN,),
        "It starts again once the queue admits gangs.",
    ),
    "Reclaimed": Entry(
        "The owner of the quota that this gang had borrowed takes it back.",
        (Fixer.SUBMITTER, Fixer.QUEUE_ADMIN),
    ),
    "Admitted": passing("The queue admits the gang, with these flavors."),
    "AdmissionFailed": Entry(
        "A workload that waits [suspended](suspended-jobs.md) could not be started; the Event "
        "says why.",
        (Fixer.PLATFORM,),
        "The usual cause is a missing right, or a webhook that refuses the change.",
    ),
    "Suspended": Entry(
        "A workload that was started from its queue is suspended again; the Event says why.",
        (Fixer.SUBMITTER,),
        "If its pods were not created, look at the Events of the workload, and at ResourceQuotas.",
    ),
    "Borrowing": passing(
        "The queue borrows for this gang.", "Its owner may [take it back](queues.md)."
    ),
    "ReservationMade": passing("The gang is promised a start."),
    "ReservationMoved": passing("The promised start is later than before."),
    "ProvisioningRequested": passing(
        "The scheduler has requested nodes; the Event names the request and its class."
    ),
    "Provisioned": passing("The requested nodes are there."),
    "ProvisioningFailed": Entry(
        "A request for nodes failed; the Event has the answer of the autoscaler.",
        (Fixer.PLATFORM,),
        "The autoscaler says why. The scheduler [requests nodes again](provisioning.md) for a "
        "while.",
    ),
    "ScaledUp": passing("An elastic gang has grown."),
    "ScaledDown": passing(
        "An elastic gang has shrunk; the Event names the gang that it made room for."
    ),
    "ReplicasChanged": passing(
        "The scheduler has changed the number of replicas of an [elastic workload]"
        "(gangs.md#mode-replicas); the Event says from what to what, and why."
    ),
    "ElasticStopped": Entry(
        "The scheduler no longer changes the number of replicas of this workload, because "
        "another writer does; the Event says why.",
        _SUBMITTER,
        "Change the annotation `elastic` of the workload once its number is the scheduler's again.",
    ),
    "ElasticFailed": Entry(
        "The API server refuses a change of the number of replicas; the Event has its answer.",
        (Fixer.PLATFORM,),
        "The usual cause is a missing right, or a webhook that refuses the change. The scheduler "
        "tries again, each time after twice as long, up to an hour.",
    ),
    "UnprotectedJob": Entry(
        "A single eviction would make this Job fail for good, because it counts evictions as "
        "failures.",
        _SUBMITTER,
        "Add the [`podFailurePolicy`](preemption.md#jobs) that the Event shows.",
    ),
    "WaitingForDevices": Entry("See [the reason](#waitingfordevices).", (Fixer.PLATFORM,)),
    "WaitingForVolumes": Entry("See [the reason](#waitingforvolumes).", (Fixer.PLATFORM,)),
    "InvalidSpec": Entry(
        "An object cannot be read or makes no sense. Or it is a warning about a gang that can "
        "start anyway.",
        (Fixer.SUBMITTER, Fixer.PLATFORM),
        "Correct the field that the Event names.",
    ),
    "UnknownLayer": Entry(
        "See [the reason](#unknownlayer). Or the gang prefers such a layer, and starts without it.",
        (Fixer.SUBMITTER, Fixer.PLATFORM),
    ),
    "Scattered": Entry("See [the reason](#scattered).", _SUBMITTER),
    "NotGathered": Entry("See [the reason](#notgathered).", _SUBMITTER),
    "WithoutEffect": Entry(
        "Fields of a queue, ResourceFlavor or AdmissionCheck have no effect here.",
        _ADMIN,
        "Remove them, or see [which fields have an effect](from-kueue.md#kueues-objects).",
    ),
    "UnknownName": Entry(
        "A Queue names a queue or a resource that does not exist.",
        _ADMIN,
        "Correct the spelling, or create the queue or resource.",
    ),
    "QuotaNotEnforced": Entry(
        "The controller of another product decides the quota of its queues, so this scheduler "
        "does not.",
        (Fixer.PLATFORM,),
        "Stop one of the two.",
    ),
    "KindForbidden": Entry(
        "The scheduler may not read a kind of workloads. Pods of that kind wait, and others do "
        "not.",
        (Fixer.PLATFORM,),
        "Give the scheduler's ServiceAccount the [rights](operations.md#rights) of the chart.",
    ),
    "LeaderElection": Entry(
        "On the Lease: another replica of the scheduler leads. The Event says how long after the "
        "previous leader.",
        (Fixer.SCHEDULER,),
        "After an update: nothing. Otherwise find out why the previous leader ended.",
    ),
    "ExcludedNodes": Entry(
        "Nodes are outside the network tree.", (Fixer.PLATFORM,), "Label the nodes."
    ),
}


# Conditions of Queues and ClusterNetworkTopologies, and their reasons.

_PLATFORM: Final = (Fixer.PLATFORM,)

QUEUE_TYPES: Final[Mapping[str, Entry]] = {
    "Active": Entry("Whether the queue can admit gangs.", _ADMIN),
    "Oversubscribed": Entry(
        "The queues below were promised more than this queue has itself.",
        _ADMIN,
        "Lower the promises below, or raise the quota of this queue.",
    ),
    "Starving": Entry(
        "Gangs wait for quota that is the queue's own and that other queues use.",
        _ADMIN,
        "Let it reclaim ([preemption of queues](queues.md)), or wait for the borrowers to end.",
    ),
}
QUEUE_REASONS: Final[Mapping[str, Entry]] = {
    "Ready": passing("The queue is valid and takes gangs. On a topology: its tree is in use."),
    "Stopped": Entry("The queue is held by its `stopPolicy`.", _ADMIN, "Set it to `None`."),
    "ParentNotFound": Entry(
        "The queue above does not exist.", _ADMIN, "Create it, or correct `spec.parent`."
    ),
    "Cycle": Entry(
        "The chain of parents leads back to the queue.", _ADMIN, "Correct `spec.parent`."
    ),
    "FlavorNotFound": Entry(
        "A ResourceFlavor of the queue does not exist.",
        (Fixer.QUEUE_ADMIN, Fixer.PLATFORM),
        "Create it, or remove it from the queue.",
    ),
    "PromisedMore": Entry("See `Oversubscribed`.", _ADMIN),
    "Covered": passing("The quota of the queue covers what is promised to queues below it."),
    "WaitsForOwnQuota": Entry("See `Starving`.", _ADMIN),
    "Served": passing("No gang waits for quota that is the queue's own."),
}
TOPOLOGY_TYPES: Final[Mapping[str, Entry]] = {
    "Ready": Entry("Whether the scheduler could build a tree from the topology.", _PLATFORM),
}
TOPOLOGY_REASONS: Final[Mapping[str, Entry]] = {
    "InUse": passing("All nodes are in the tree."),
    "ExcludedNodes": Entry(
        "Some nodes lack a label and are outside the tree: gangs that must gather cannot use them.",
        _PLATFORM,
        "Label the nodes that the message names.",
    ),
    "InvalidSpec": Entry(
        "No tree can be built from the spec. The tree of the last valid spec stays in use.",
        _PLATFORM,
        "Correct the field that the message names.",
    ),
    "NotDefault": Entry(
        "The object is not named `default`, and has no effect.",
        _PLATFORM,
        "Rename it, or delete it.",
    ),
}
