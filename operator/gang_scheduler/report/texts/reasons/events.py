"""Reasons of Events, on PodGroups, Jobs, pods, queues and topologies."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.report.texts.reasons.entry import Entry, Turn, passing

_SUBMITTER: Final = (Turn.SUBMITTER,)
_ADMIN: Final = (Turn.QUEUE_ADMIN,)

ENTRIES: Final[Mapping[str, Entry]] = {
    "Scheduled": passing("All members of a plan are bound; on a pod: where."),
    "FailedScheduling": Entry(
        "Why the gang waits, once that has lasted; or why a preemption was given up, or members "
        "were not bound.",
        _SUBMITTER,
        "The condition `Scheduled`, or `PodScheduled` of the pod, has the reason.",
    ),
    "InvalidGang": Entry(
        "What is written of the gang is wrong, or asks in vain for a gang.",
        _SUBMITTER,
        "Correct the field that it names.",
    ),
    "QuotaExceeded": Entry(
        "The gang asks for more than its queue could ever have.", _SUBMITTER, "Ask for less."
    ),
    "SchedulingTimeout": Entry(
        "The gang was not bound within its `scheduleTimeoutSeconds`; it stays in the queue.",
        _SUBMITTER,
    ),
    "MembersMissing": Entry(
        "Members of the gang do not come, and a guess why not.",
        _SUBMITTER,
        "See [whether its members are complete](troubleshooting.md#my-pod-is-pending).",
    ),
    "DegradedDomain": Entry(
        "As [the condition](failed-nodes.md#what-the-gang-is-told).",
        (Turn.PLATFORM, Turn.SUBMITTER),
    ),
    "EvictedWhole": Entry(
        "The domain of the gang had no room for members that replace lost ones until its schedule "
        "timeout, and all its members are evicted. Pods without an owner are not created again.",
        _SUBMITTER,
        "See [`degradedGangs`](failed-nodes.md#when-the-domain-has-no-room).",
    ),
    "DomainHealed": passing("The gang is whole on healthy nodes again."),
    "StuckPods": Entry(
        "Members on failed nodes were deleted and do not go.",
        (Turn.PLATFORM,),
        "See [pods that are stuck](failed-nodes.md#pods-that-are-stuck).",
    ),
    "Preempting": passing("Pods are evicted to make room for this gang: how many, and which."),
    "WaitingForRoom": Entry(
        "The gang waits for pods that terminate, or one of them does not end.",
        (Turn.PLATFORM,),
        "Of a pod that does not end: its kubelet or a finalizer keeps it.",
    ),
    "Preempted": Entry(
        "Members of this gang were evicted, and for which gang. Pods without an owner are not "
        "created again.",
        _SUBMITTER,
        "Use a Job with a [`podFailurePolicy`](preemption.md#jobs).",
    ),
    "CheckpointRequested": passing(
        "This gang is to be evicted, and was asked to [save its work](checkpoints.md) first."
    ),
    "CheckpointSaved": passing("The gang has saved its work: where, if it tells."),
    "CheckpointTimedOut": Entry(
        "The gang did not say in time that its work is saved, and is evicted all the same.",
        _SUBMITTER,
        "See whether the job [answers](checkpoints.md), and give it longer: "
        "`py-gang-scheduler.io/checkpoint-timeout`.",
    ),
    "CheckpointFailed": Entry(
        "The gang could not be asked to save its work, or answered that it cannot.",
        _SUBMITTER,
        "The note says why; see what the job must [answer](checkpoints.md).",
    ),
    "Drained": Entry(
        "The gang was evicted because its queue has stopPolicy HoldAndDrain.",
        (Turn.QUEUE_ADMIN,),
        "It starts again once the queue admits gangs.",
    ),
    "Reclaimed": Entry(
        "The owner of the quota that this gang had borrowed takes it back.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
    ),
    "Admitted": passing("The queue admits the gang, with these flavors."),
    "AdmissionFailed": Entry(
        "A workload that waits [suspended](suspended-jobs.md) could not be started, and why.",
        (Turn.PLATFORM,),
        "Mostly a missing right, or a webhook that refuses the change.",
    ),
    "Suspended": Entry(
        "A workload that was started from its queue is suspended again, and why.",
        (Turn.SUBMITTER,),
        "If its pods were not created: look at the Events of the workload, and at ResourceQuotas.",
    ),
    "Borrowing": passing(
        "The queue borrows for this gang.", "Its owner may [take it back](queues.md)."
    ),
    "ReservationMade": passing("The gang is promised a start."),
    "ReservationMoved": passing("The promised start is later than before."),
    "ProvisioningRequested": passing("Nodes are asked for, by which request and class."),
    "Provisioned": passing("The nodes that were asked for are there."),
    "ProvisioningFailed": Entry(
        "A request for nodes came to nothing: what its autoscaler says.",
        (Turn.PLATFORM,),
        "The autoscaler says why; nodes are [asked for again](provisioning.md) for a while.",
    ),
    "ScaledUp": passing("An elastic gang has grown."),
    "ScaledDown": passing("An elastic gang has shrunk, for the gang that is named."),
    "UnprotectedJob": Entry(
        "One eviction would end this Job for good: its failures count evictions.",
        _SUBMITTER,
        "Write the [`podFailurePolicy`](preemption.md#jobs) that the Event shows.",
    ),
    "WaitingForVolumes": Entry("As [the reason](#waitingforvolumes).", (Turn.PLATFORM,)),
    "InvalidSpec": Entry(
        "An object cannot be read or makes no sense, or a warning of a gang that is not held up.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Correct the field that it names.",
    ),
    "UnknownLayer": Entry(
        "As [the reason](#unknownlayer); or the gang prefers such a layer, and starts without.",
        (Turn.SUBMITTER, Turn.PLATFORM),
    ),
    "Scattered": Entry("As [the reason](#scattered).", _SUBMITTER),
    "WithoutEffect": Entry(
        "Fields of a queue, ResourceFlavor or AdmissionCheck have no effect here.",
        _ADMIN,
        "Do without them, or see [what is honoured](queues.md).",
    ),
    "UnknownName": Entry(
        "A Queue names a queue or resource that there is none of.",
        _ADMIN,
        "Correct its spelling, or create what it names.",
    ),
    "QuotaNotEnforced": Entry(
        "The controller of another product decides the quota of its queues.",
        (Turn.PLATFORM,),
        "Stop one of both.",
    ),
    "KindForbidden": Entry(
        "The scheduler may not read a kind of workloads: pods of that kind wait, others do not.",
        (Turn.PLATFORM,),
        "Give its ServiceAccount the [rights](operations.md#rights) of the chart.",
    ),
    "LeaderElection": Entry(
        "On the Lease: another replica of the scheduler leads, so long after the one before.",
        (Turn.SCHEDULER,),
        "Nothing, in an update. Otherwise see why the one before ended.",
    ),
    "ExcludedNodes": Entry(
        "Nodes are outside the network tree.", (Turn.PLATFORM,), "Label the nodes."
    ),
}
