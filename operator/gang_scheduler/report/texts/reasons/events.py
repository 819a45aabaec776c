"""Reasons of Events, on PodGroups, Jobs, pods, queues and topologies."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.report.texts.reasons.entry import Entry, Turn, passing

_SUBMITTER: Final = (Turn.SUBMITTER,)
_ADMIN: Final = (Turn.QUEUE_ADMIN,)

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
        (Turn.PLATFORM, Turn.SUBMITTER),
    ),
    "EvictedWhole": Entry(
        "Until the schedule timeout of the gang, its domain had no room for replacements of lost "
        "members, so all its members are evicted. Pods without an owner are not created again.",
        _SUBMITTER,
        "See [`degradedGangs`](failed-nodes.md#when-the-domain-has-no-room).",
    ),
    "DomainHealed": passing("The gang is whole on healthy nodes again."),
    "StuckPods": Entry(
        "Members on failed nodes were deleted and do not go.",
        (Turn.PLATFORM,),
        "See [pods that are stuck](failed-nodes.md#pods-that-are-stuck).",
    ),
    "KubeletRefused": Entry(
        "The kubelet of a node refused a pod that was bound there. Pods with the same requests go"
        " to other nodes until a pod leaves that node, or for ten minutes.",
        (Turn.PLATFORM,),
        "See [pods that a kubelet refuses](failed-nodes.md#pods-that-a-kubelet-refuses).",
    ),
    "Preempting": passing(
        "Pods are evicted to make room for this gang. The Event says how many, and which."
    ),
    "WaitingForRoom": Entry(
        "The gang waits for terminating pods, or one of these pods does not end.",
        (Turn.PLATFORM,),
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
        (Turn.QUEUE_ADMIN,),
        "It starts again once the queue admits gangs.",
    ),
    "Reclaimed": Entry(
        "The owner of the quota that this gang had borrowed takes it back.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
    ),
    "Admitted": passing("The queue admits the gang, with these flavors."),
    "AdmissionFailed": Entry(
        "A workload that waits [suspended](suspended-jobs.md) could not be started; the Event "
        "says why.",
        (Turn.PLATFORM,),
        "The usual cause is a missing right, or a webhook that refuses the change.",
    ),
    "Suspended": Entry(
        "A workload that was started from its queue is suspended again; the Event says why.",
        (Turn.SUBMITTER,),
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
        (Turn.PLATFORM,),
        "The autoscaler says why. The scheduler [requests nodes again](provisioning.md) for a "
        "while.",
    ),
    "ScaledUp": passing("An elastic gang has grown."),
    "ScaledDown": passing(
        "An elastic gang has shrunk; the Event names the gang that it made room for."
    ),
    "UnprotectedJob": Entry(
        "A single eviction would make this Job fail for good, because it counts evictions as "
        "failures.",
        _SUBMITTER,
        "Add the [`podFailurePolicy`](preemption.md#jobs) that the Event shows.",
    ),
    "WaitingForVolumes": Entry("See [the reason](#waitingforvolumes).", (Turn.PLATFORM,)),
    "InvalidSpec": Entry(
        "An object cannot be read or makes no sense. Or it is a warning about a gang that can "
        "start anyway.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Correct the field that the Event names.",
    ),
    "UnknownLayer": Entry(
        "See [the reason](#unknownlayer). Or the gang prefers such a layer, and starts without it.",
        (Turn.SUBMITTER, Turn.PLATFORM),
    ),
    "Scattered": Entry("See [the reason](#scattered).", _SUBMITTER),
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
        (Turn.PLATFORM,),
        "Stop one of the two.",
    ),
    "KindForbidden": Entry(
        "The scheduler may not read a kind of workloads. Pods of that kind wait, and others do "
        "not.",
        (Turn.PLATFORM,),
        "Give the scheduler's ServiceAccount the [rights](operations.md#rights) of the chart.",
    ),
    "LeaderElection": Entry(
        "On the Lease: another replica of the scheduler leads. The Event says how long after the "
        "previous leader.",
        (Turn.SCHEDULER,),
        "After an update: nothing. Otherwise find out why the previous leader ended.",
    ),
    "ExcludedNodes": Entry(
        "Nodes are outside the network tree.", (Turn.PLATFORM,), "Label the nodes."
    ),
}
