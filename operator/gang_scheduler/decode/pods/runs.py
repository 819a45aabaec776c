"""Of which run of a workload a pod is: a run never repeats what of it has succeeded."""

import sys
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.wire.metadata import Metadata

ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"
JOB_SET_UID: Final = "jobset.sigs.k8s.io/jobset-uid"
RENEWED: Final = frozenset({annotations.APP_WRAPPER_LABEL, "leaderworkerset.sigs.k8s.io/name"})
"""Labels of pods whose controllers are themselves made anew, by what these name."""
REPLACING: Final = frozenset(
    {
        *("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Node"),
        *("RayCluster", "LeaderWorkerSet", "Pod"),
    }
)
"""The kinds that create a pod in place of one that has ended, however it has."""


def run_of(metadata: Metadata) -> str:
    """Return what two pods of one run have in common; "" for a pod of none.

    A controller that replaces what has ended has no runs. The Jobs of a JobSet are one, until it is
    restarted. A pod group of Kueue is one as long as its total stays: what has succeeded counts.
    """
    labels = metadata.labels
    job_set = labels.get(annotations.JOB_SET_LABEL)
    if job_set:
        of_job_set = (job_set, labels.get(JOB_SET_UID, ""), labels.get(ATTEMPT, ""))
        return sys.intern("/".join(of_job_set))
    if labels.get(annotations.KUEUE_POD_GROUP):
        return sys.intern(metadata.annotations.get(annotations.KUEUE_POD_GROUP_TOTAL, ""))
    controller = metadata.controller
    return "" if controller.kind in REPLACING else sys.intern(controller.uid)


def workload_uid_of(metadata: Metadata) -> str:
    """Return the uid of the workload that makes a pod anew as long as it is there.

    "" for a pod whose controller is made anew itself, under another uid, and for what is not known.
    """
    labels, controller = metadata.labels, metadata.controller
    if not RENEWED.isdisjoint(labels):
        return ""
    if annotations.JOB_SET_LABEL in labels:
        return sys.intern(labels.get(JOB_SET_UID, ""))
    makes = controller.is_job or controller.is_stateful_set or controller.is_training_job
    return sys.intern(controller.uid) if makes else ""
