"""Conditions of PodGroups, and those of their reasons that are no reasons to wait."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.report.texts.reasons.entry import Entry, Turn, passing

TYPES: Final[Mapping[str, Entry]] = {
    "Scheduled": Entry(
        "Whether as many members as the gang needs at once have a node. False has the reason why "
        "it waits.",
        (Turn.SUBMITTER,),
        "See [the reasons](#why-a-gang-waits).",
    ),
    "SchedulingTimeout": Entry(
        "The gang waits for longer than its `scheduleTimeoutSeconds`. It stays in the queue.",
        (Turn.SUBMITTER,),
        "Its reason is that of `Scheduled`.",
    ),
    "PartiallyBound": Entry(
        "Some members have a node and the rest of the quorum does not: a binding failed, or "
        "another scheduler took the room. The rest goes first.",
        (Turn.PLATFORM,),
        "`onPartialGang: Release` gives the room back instead of waiting.",
    ),
    "Preempting": passing("Pods end to make room for this gang."),
    "Preempted": Entry(
        "Members were evicted for the gang that the message names.",
        (Turn.SUBMITTER,),
        "It starts again when there is room. A Job needs a "
        "[`podFailurePolicy`](preemption.md#jobs), or evictions count as failures.",
    ),
    "Evicted": Entry(
        "Members were evicted for a gang of a queue; the reason is by what right.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "See [which gang gives way to which](queues.md).",
    ),
    "DisruptionTarget": Entry(
        "The pod, or members of the native PodGroup, must go to make room.",
        (Turn.SUBMITTER,),
        "As `Preempted`.",
    ),
    "RoomLost": Entry(
        "Room that was made for the gang was lost before it was bound. The message says how: the "
        "node is gone or takes no pods, another pod or a gang of higher priority took the room, "
        "the API server refused the bindings, or missing members did not come within a minute. It "
        "is planned again.",
        (Turn.PLATFORM, Turn.SUBMITTER),
        "If members are missing, see why they are not created; else keep other schedulers off "
        "these nodes.",
    ),
    "DegradedDomain": Entry(
        "The gang runs with fewer members than it needs, since nodes have failed or its domain has "
        "no room for members that replace lost ones. The message names the domain, the failed "
        "nodes, the pods that do not go, and what is short.",
        (Turn.PLATFORM, Turn.SUBMITTER),
        "See [failed nodes](failed-nodes.md).",
    ),
    "UnknownLayer": Entry(
        "The gang prefers a layer that the network tree does not have: it starts without.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "See [`UnknownLayer`](#unknownlayer).",
    ),
    "Scattered": Entry(
        "Members run in several domains though the gang must gather in one.",
        (Turn.SUBMITTER,),
        "See [`Scattered`](#scattered).",
    ),
    "QuotaReserved": passing("Whether the gang is charged to its queue."),
    "Reserved": passing(
        "Whether the gang is promised a start: when, and after which gang.",
        "`kubectl get podgroup NAME -o yaml`: `status.queue.estimatedStart`.",
    ),
    "PodGroupInitiallyScheduled": passing(
        "Of native PodGroups: the gang was whole on nodes once. It stays true."
    ),
}
REASONS: Final[Mapping[str, Entry]] = {
    "Scheduled": passing("The gang has its nodes, or is back on nodes."),
    "Scheduling": passing(
        "Members are being bound.",
        "If it stays so for a minute: `pgs_bindings_total`, and the log.",
    ),
    "JobFailed": Entry(
        "The Job of all members has failed, and creates no others.",
        (Turn.SUBMITTER,),
        "`kubectl describe job NAME`; evictions count as failures without a "
        "[`podFailurePolicy`](preemption.md#jobs).",
    ),
    "InTime": passing("The gang started, or its schedule timeout has not passed."),
    "NotPartial": passing("All of the quorum has nodes, or none of it."),
    "DegradedDomain": Entry(
        "The gang is evicted whole: its domain had no room for members that replace lost ones.",
        (Turn.SUBMITTER,),
        "Its controller creates it again, and it starts where there is room.",
    ),
    "NodesFailed": Entry(
        "Members were lost with nodes; others wait in their place, or were not created yet.",
        (Turn.SUBMITTER,),
        "Without a controller that creates members again, the owner does.",
    ),
    "PodsStuck": Entry(
        "Members on failed nodes were deleted and do not go; some Jobs create no others before.",
        (Turn.PLATFORM,),
        "[Delete them by force](failed-nodes.md#pods-that-are-stuck) once the node is surely off.",
    ),
    "NoRoomInDomain": Entry(
        "The domain of the gang has no room for members that replace lost ones.",
        (Turn.PLATFORM, Turn.SUBMITTER),
        "It is healed when a node of the domain comes back or gets free; `degradedGangs: Evict` "
        "lets the gang start anew elsewhere.",
    ),
    "Whole": passing("As many members as the gang needs are on healthy nodes."),
    "NotPreempting": passing("No pods end for this gang any more."),
    "PreemptionByScheduler": Entry(
        "The pod was chosen to make room for a gang of a higher priority or stronger right.",
        (Turn.SUBMITTER,),
        "Its controller creates it again. A checkpoint loses less work.",
    ),
    "Resolved": passing("What was wrong is not wrong any more."),
    "NoQueue": passing("The gang is in no queue: no quota governs it."),
    "Reserved": passing("The gang is charged to its queue, or has a promise."),
    "Pending": passing("The gang has not had its turn."),
    "NotReserved": passing("The gang is promised no start."),
    "TimedOut": passing("The gang was promised a start for long, and rests for an hour."),
    "Overrun": Entry(
        "Evicted: the gang was let pass for its declared end, and that end has passed.",
        (Turn.SUBMITTER,),
        "Declare a longer `py-gang-scheduler.io/expected-duration`.",
    ),
    "Reclaim": Entry(
        "Evicted: its queue had borrowed, and the owner of the quota takes it back.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "It starts again when there is quota to borrow. Work that must not be evicted fits into "
        "the own quota of its queue.",
    ),
    "InQueue": Entry(
        "Evicted for a gang of its own queue, of a higher priority.",
        (Turn.SUBMITTER,),
        "It starts after that gang, or with a higher priority.",
    ),
    "WhileBorrowing": Entry(
        "Evicted while its queue borrowed, for a gang of a higher priority that borrows too.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "As `Reclaim`.",
    ),
    "FairShare": Entry(
        "Evicted: its queue had the larger share of what is borrowed.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "Weights of the queues decide.",
    ),
}
