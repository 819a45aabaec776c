"""The ways in which gangs are named. `decode.workloads.table` has all of them, in their order."""

from typing import Final, NamedTuple


class GangSource(NamedTuple):
    """One way to name a gang.

    `object_kind` is the kind of the object that must describe the gang; "" if members do, or if no
    description is needed.
    """

    name: str
    object_kind: str = ""


NATIVE: Final = GangSource("scheduling.k8s.io", "PodGroup")
POD_GROUP: Final = GangSource("PodGroup", "PodGroup")
VOLCANO_POD_GROUP: Final = GangSource("VolcanoPodGroup", "PodGroup")
ANNOTATION: Final = GangSource("annotation")
JOB_SET: Final = GangSource("JobSet", "JobSet")
JOB: Final = GangSource("Job", "Job")
SINGLE: Final = GangSource("Pod")


def part_of(namespace: str, job_set: str, replicated_job: str) -> str:
    """Return what tells a replicatedJob from all others, and from the uid of any Job."""
    return f"{namespace}/{job_set}/{replicated_job}"


def job_set_gang(job_set: str, replicated_job: str) -> str:
    """Return the name of the gang of one replicatedJob. No other pair has the same name."""
    return f"{job_set}/{replicated_job}"
