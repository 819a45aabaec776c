"""Conditions of PodGroups, and those of their reasons that are no reasons to wait."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.report.texts.reasons.entry import Entry, Turn, passing

TYPES: Final[Mapping[str, Entry]] = {
    "Scheduled": Entry(
        "Whether as many members as the gang needs at once have a node. If it is False, its "
        "reason says why the gang waits.",
        (Turn.SUBMITTER,),
        "See [the reasons](#why-a-gang-waits).",
    ),
    "SchedulingTimeout": Entry(
        "The gang has waited for longer than its `scheduleTimeoutSeconds`. It stays in the queue.",
        (Turn.SUBMITTER,),
        "The reason is the same as in `Scheduled`.",
    ),
    "PartiallyBound": Entry(
        "Some members have a node and the rest of the quorum does not: a binding failed, or "
        "another scheduler took the room. The rest is placed before other gangs of its priority.",
        (Turn.PLATFORM,),
        "With `onPartialGang: Release` the gang gives its room back instead of waiting.",
    ),
    "Preempting": passing("Pods end to make room for this gang."),
    "Preempted": Entry(
        "Members were evicted for the gang that the message names.",
        (Turn.SUBMITTER,),
        "The gang starts again when there is room. A Job needs a "
        "[`podFailurePolicy`](preemption.md#jobs), because evictions count as failures otherwise.",
    ),
    "Evicted": Entry(
        "Members were evicted for a gang of a queue. The reason is the right by which they were "
        "evicted.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "See [which gang evicts which](queue-rules.md#which-gang-evicts-which).",
    ),
    "DisruptionTarget": Entry(
        "The pod, or members of the native PodGroup, must go to make room.",
        (Turn.SUBMITTER,),
        "See `Preempted`.",
    ),
    "RoomLost": Entry(
        "Before the gang was bound, it lost the room that was made for it. The message says how: "
        "the node is gone or takes no pods, another pod or a gang of higher priority took the "
        "room, the API server refused the bindings, or missing members did not appear within a "
        "minute. The gang is planned again.",
        (Turn.PLATFORM, Turn.SUBMITTER),
        "If members are missing, find out why they are not created. Otherwise keep other "
        "schedulers off these nodes.",
    ),
    "DegradedDomain": Entry(
        "The gang runs with fewer members than it needs, because nodes have failed, or because "
        "its domain has no room for replacements of lost members. The message names the domain, "
        "the failed nodes, the pods that do not go, and what is short.",
        (Turn.PLATFORM, Turn.SUBMITTER),
        "See [failed nodes](failed-nodes.md).",
    ),
    "UnknownLayer": Entry(
        "The gang prefers a layer that the network tree does not have: it starts without it.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "See [`UnknownLayer`](#unknownlayer).",
    ),
    "Scattered": Entry(
        "Members run in several domains although the gang must gather in one.",
        (Turn.SUBMITTER,),
        "See [`Scattered`](#scattered).",
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
        (Turn.SUBMITTER,),
        "Look at `kubectl describe job NAME`. Evictions count as failures without a "
        "[`podFailurePolicy`](preemption.md#jobs).",
    ),
    "InTime": passing("The gang started, or its schedule timeout has not passed."),
    "NotPartial": passing("All of the quorum has nodes, or none of it."),
    "DegradedDomain": Entry(
        "The gang is evicted whole, because its domain had no room for replacements of lost "
        "members.",
        (Turn.SUBMITTER,),
        "Its controller creates the pods again, and the gang starts where there is room.",
    ),
    "NodesFailed": Entry(
        "Members were lost with their nodes. Their replacements wait, or were not created yet.",
        (Turn.SUBMITTER,),
        "If no controller creates the members again, their owner must do so.",
    ),
    "PodsStuck": Entry(
        "Members on failed nodes were deleted and do not go. Some Jobs create no replacements "
        "until they are gone.",
        (Turn.PLATFORM,),
        "Once you are sure that the node is off, [delete them by "
        "force](failed-nodes.md#pods-that-are-stuck).",
    ),
    "NoRoomInDomain": Entry(
        "The domain of the gang has no room for replacements of lost members.",
        (Turn.PLATFORM, Turn.SUBMITTER),
        "The gang recovers when a node of the domain comes back or becomes free. With "
        "`degradedGangs: Evict` the gang starts again in another domain.",
    ),
    "Whole": passing("As many members as the gang needs are on healthy nodes."),
    "NotPreempting": passing("No pods end for this gang any more."),
    "PreemptionByScheduler": Entry(
        "The pod was chosen to make room for a gang of a higher priority or stronger right.",
        (Turn.SUBMITTER,),
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
        "The gang was evicted: it had been allowed to pass because of its declared end, and that "
        "end has passed.",
        (Turn.SUBMITTER,),
        "Declare a longer `py-gang-scheduler.io/expected-duration`.",
    ),
    "Reclaim": Entry(
        "The gang was evicted: its queue had borrowed, and the owner of the quota takes it back.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "The gang starts again when there is quota to borrow. If work must not be evicted, keep "
        "it within its queue's own quota.",
    ),
    "InQueue": Entry(
        "The gang was evicted for a gang of its own queue with a higher priority.",
        (Turn.SUBMITTER,),
        "It starts after that gang, or earlier with a higher priority.",
    ),
    "WhileBorrowing": Entry(
        "The gang was evicted while its queue borrowed, for a gang of a higher priority whose "
        "queue also borrows.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "See `Reclaim`.",
    ),
    "FairShare": Entry(
        "The gang was evicted: its queue had the larger share of the borrowed quota.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "The weights of the queues decide this.",
    ),
}
