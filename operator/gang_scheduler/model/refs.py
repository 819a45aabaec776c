"""References to objects and gangs: by name, and by uid to tell a new object of the same name."""

import enum
import functools
import re
from typing import Final, NamedTuple

# The ways to name a gang. `workloads.table` has all of them in their order.


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
    """Return the key of a replicatedJob, different from all others and from the uid of any Job."""
    return f"{namespace}/{job_set}/{replicated_job}"


def job_set_gang(job_set: str, replicated_job: str) -> str:
    """Return the name of the gang of one replicatedJob; no other pair gives the same name."""
    return f"{job_set}/{replicated_job}"


_DIGITS = re.compile(r"([0-9]+)")

Number = tuple[int, str]
"""The number of digits without leading zeros, and the digits: sorts as numbers do."""

NaturalKey = tuple[tuple[str | Number, ...], str]


def natural_key(name: str) -> NaturalKey:
    """Return a sort key that compares runs of digits as numbers; ties compare bytewise.

    `re.split` with a group puts text at even and digits at odd places, so that two keys
    always compare like with like.
    """
    parts: list[str | Number] = [*_DIGITS.split(name)]
    parts[1::2] = map(_number, parts[1::2])
    return tuple(parts), name


@functools.lru_cache(maxsize=65_536)
def _number(digits: str) -> Number:
    # Python reads no number of more than 4300 digits, and a name may have as many.
    significant = digits.lstrip("0")
    return len(significant), significant


EVERYWHERE: Final = "*"
"""Means all namespaces in a setting with a list of namespaces."""


class PodRef(NamedTuple):
    """A pod by name and uid: a later pod of the same name has another uid."""

    namespace: str
    name: str
    uid: str


class ClaimRef(NamedTuple):
    """A PersistentVolumeClaim by name and uid."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.namespace}/{self.name}"


class VolumeRef(NamedTuple):
    """A PersistentVolume by name and uid."""

    name: str
    uid: str


class WorkloadRef(NamedTuple):
    """A Job or JobSet by kind and name: pods of a JobSet do not have its uid."""

    kind: str
    namespace: str
    name: str


class GangName(NamedTuple):
    """How one gang names another one, without the source."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class GangKey(NamedTuple):
    """The identity of a gang. `source` is the name of a GangSource."""

    source: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def called(self) -> GangName:
        """The name without the source."""
        return GangName(self.namespace, self.name)


class JobPods(NamedTuple):
    """How many pods a Job can have at once, at its start and with the completions left.

    It has `completions` in total. `is_part`: a larger workload created the Job. `created_at` and
    `ended_at` are in seconds since the epoch, 0 if unknown. A complete Job keeps the `gang` and
    `role` that its pods had, since the pods may be gone.
    """

    at_once: int
    left: int
    completions: int
    is_part: bool = False
    created_at: float = 0
    ended_at: float = 0
    gang: GangKey | None = None
    role: str = ""


class JobFailures(NamedTuple):
    """How evicted pods count for a Job.

    The Job fails for good once more than `left` further pods have failed; None: evicted pods do not
    count. At most `at_once` of its pods can be evicted together.
    """

    at_once: int
    left: int | None

    @property
    def unprotected(self) -> bool:
        """Whether the Job fails for good if all of its pods are evicted once."""
        return self.left is not None and self.at_once > self.left


class QueueNameKind(enum.StrEnum):
    """The kind of object that a queue name refers to."""

    QUEUE = "Queue"
    LOCAL_QUEUE = "LocalQueue"
    VOLCANO_QUEUE = "VolcanoQueue"


class QueueName(NamedTuple):
    """How an object names the queue of its gang."""

    kind: QueueNameKind
    name: str


class QueueRequest(NamedTuple):
    """The queue that an object names for its gang.

    `names` are different names in the order of precedence; more than one is a contradiction.
    `priority_class` is the name of a WorkloadPriorityClass. `provisioning_class` is the class of
    the ProvisioningRequest for its nodes. If the gang `consumes` a request of another writer, none
    is created for it here.
    """

    names: tuple[QueueName, ...] = ()
    priority_class: str = ""
    provisioning_class: str = ""
    consumes: bool = False


class ChargedTo(NamedTuple):
    """The charge that the binding of a pod records; empty fields are not recorded.

    `queue` is as written, `flavors` are pairs of a resource and its flavor.
    """

    queue: str = ""
    flavors: tuple[tuple[str, str], ...] = ()
