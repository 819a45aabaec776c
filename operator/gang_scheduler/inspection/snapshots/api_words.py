"""Values of fields of the API that are the same in every cluster: its words, times and numbers.

A field of the API may have other values than these, since any client may write it: such a one is no
word of the API.
"""

import re
from typing import Final

from gang_scheduler.api import pod_group
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.problems import Reason
from gang_scheduler.state import kinds

_ENUMERATED: Final = (
    *(Reason, pod_group.Phase, pod_group.ScaleReason, pod_group.EvictionReason),
    pod_group.CheckpointOutcome,
)
_WORDS: Final = (
    # Conditions, and their reasons.
    *("True", "False", "Unknown", "Ready", "MemoryPressure", "DiskPressure", "PIDPressure"),
    *("NetworkUnavailable", "PodScheduled", "Initialized", "ContainersReady", "DisruptionTarget"),
    *("PodReadyToStartContainers", "PodResizePending", "PodResizeInProgress", "Infeasible"),
    *("Deferred", "Unschedulable", "SchedulingGated", "SchedulerError", "KubeletReady"),
    *("KubeletNotReady", "NodeStatusUnknown", "KubeletHasSufficientMemory", "PodCompleted"),
    *("KubeletHasNoDiskPressure", "KubeletHasSufficientPID", "PreemptionByScheduler"),
    *("EvictionByEvictionAPI", "TerminationByKubelet", "DeletionByTaintManager", "Scheduled"),
    *("Scheduling", "Reserved", "TimedOut", "InvalidSpec", "PodGroupInitiallyScheduled"),
    *("CheckpointRequested", "Complete", "Failed", "Suspended", "FailureTarget", "Active"),
    *("SuccessCriteriaMet", "Completed", "StartupPolicyInProgress", "StartupPolicyCompleted"),
    *("Created", "Running", "Restarting", "Succeeded", "Admitted", "QuotaReserved", "Evicted"),
    *("Provisioned", "Accepted", "BookingExpired", "CapacityRevoked", "Resizing", "Available"),
    *("RayClusterProvisioned", "HeadPodReady", "JobSuspended", "JobResumed", "Progressing"),
    # Phases and states.
    *("Pending", "Bound", "Released", "Lost", "Terminating", "Terminated", "Inqueue", "Closed"),
    *("Open", "Closing", "Completing", "Aborting", "Aborted", "Finished", "Started", "COMPLETED"),
    *("FAILED", "SUCCEEDING", "FAILING", "SUBMITTED", "RUNNING", "ready", "suspended", "failed"),
    # Selectors, taints and tolerations.
    *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule", "NoExecute"),
    *("PreferNoSchedule", "DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore"),
    # Of pods, containers and workloads.
    *("TCP", "UDP", "SCTP", "Always", "OnFailure", "Never", "PreemptLowerPriority"),
    *("RestartAllContainers", "Indexed", "NonIndexed", "Parallel", "OrderedReady", "InOrder"),
    *("AnyOrder", "LeaderCreated", "LeaderReady", "AtStartup", "WaitForWorkersReady"),
    *("FailJob", "FailIndex", "Count", "TerminatingOrFailed", "Worker", "Recreate", "Pod"),
    # Of volumes.
    *("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod", "Filesystem", "Block"),
    *("Immediate", "WaitForFirstConsumer", "Hostname", "InternalIP", "ExternalIP"),
    # Of queues.
    *("None", "Hold", "HoldAndDrain", "StrictFIFO", "BestEffortFIFO", "Any", "LowerPriority"),
    *("LowerOrNewerEqualPriority", "Borrow", "Preempt", "TryNextFlavor", "MayStopSearch"),
    *("BorrowingOverPreemption", "PreemptionOverBorrowing", "UsageBasedAdmissionFairSharing"),
    *("NoAdmissionFairSharing", "WhileBorrowing", "IfAvailable", "AlwaysIfPossible"),
    # Of native PodGroups, and features that nodes declare.
    *("Single", "All", "PodGroup", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"),
    *("RestartAllContainersOnContainerExits", "GuaranteedQoSPodCPUResize"),
)
_OWNERS: Final = (
    *("ReplicaSet", "DaemonSet", "Deployment", "Node", "CronJob", "ReplicationController", "List"),
    *("TrainJob", "RayJob", "RayService", "AppWrapper", "Workflow", "Workload", "PodTemplate"),
)
_NUMBER: Final = re.compile(r"[0-9]{1,20}%?")
TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
    r"(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_DURATION: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|m|h))+")


_READ: Final = [each.reader for each in kinds.KINDS]
_SERVED: Final = {gvr for each in _READ for gvr in each.versions}
WORDS: Final = frozenset(
    {
        *_WORDS,
        *_OWNERS,
        *(each.kind for each in _READ),
        *(each.value for kind in _ENUMERATED for each in kind),
        *(each.shown for each in EvictionClass),
        *("v1", "apps/v1", "batch/v1", *(each.api_version for each in _SERVED)),
    }
)


def is_known(text: str) -> bool:
    """Return whether a value is a word of the API, a time, a duration or a number."""
    return text in WORDS or any(each.fullmatch(text) for each in (_NUMBER, TIME, _DURATION))
