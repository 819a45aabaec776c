"""Which gang a pod is a member of.

Judged are gangs of PodGroups of all three APIs, of annotations on pods, of Jobs and JobSets, and of
some workloads of others: see `workloads`.
"""

from typing import Final, NamedTuple

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit import workloads
from gang_scheduler.audit.objects.kinds import Kind
from gang_scheduler.audit.objects.pods import Pod, mapping

NATIVE: Final = Kind("scheduling.k8s.io", "PodGroup")
OURS: Final = Kind("scheduling.sigs.k8s.io", "PodGroup")
SCHED_PLUGINS: Final = Kind("scheduling.x-k8s.io", "PodGroup")
JOB: Final = Kind("batch", "Job")
JOB_SET: Final = Kind("jobset.x-k8s.io", "JobSet")
ANNOTATED: Final = Kind("", "annotations")


class GangName(NamedTuple):
    """A gang, and the kind of what describes it. `part` is the replicatedJob of a JobSet."""

    kind: Kind
    namespace: str
    name: str
    part: str = ""

    @property
    def about(self) -> str:
        """The gang as findings name it."""
        return f"Gang {self.key}"

    @property
    def object_key(self) -> str:
        """`namespace/name` of the object that describes it: one of all parts of a JobSet."""
        return f"{self.namespace}/{self.name}"

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.object_key + (f"-{self.part}" if self.part else "")


def gang_of(pod: Pod) -> GangName | None:
    """Return the gang that a pod says it is in; None for a gang of one."""
    native = mapping(pod.spec, "schedulingGroup").get("podGroupName")
    if native:
        return GangName(NATIVE, pod.namespace, str(native))
    for label in (keys.POD_GROUP_LABEL, keys.POD_GROUP_LABEL_SCHED_PLUGINS):
        if pod.labels.get(label):
            return GangName(OURS, pod.namespace, pod.labels[label])
    annotated = pod.annotations.get(keys.GANG_NAME) or pod.labels.get(keys.GANG_NAME_LABEL)
    if annotated:
        return GangName(ANNOTATED, pod.namespace, annotated)
    if (found := workloads.named(pod)) is not None:
        return GangName(found[0], pod.namespace, found[1])
    return _of_workload(pod)


def _of_workload(pod: Pod) -> GangName | None:
    if not keys.ask_for_gang(pod.labels, pod.annotations):
        return None
    job_set, part = pod.labels.get(keys.JOB_SET_LABEL), pod.labels.get(keys.REPLICATED_JOB_LABEL)
    if job_set and part:
        return GangName(JOB_SET, pod.namespace, job_set, part)
    if pod.controller.get("kind") == "Job":
        return GangName(JOB, pod.namespace, str(pod.controller.get("name") or ""))
    return None
