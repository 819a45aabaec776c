"""The fields of Jobs that are read, and of the Jobs in the templates of a JobSet."""

import re
from typing import Final

from msgspec import field

from gang_scheduler.wire.base import Condition, Count, Int32, Metadata, Wire
from gang_scheduler.wire.pods import PodTemplate

COMPLETE: Final = ("Complete", "True")
SPAN: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


class PodConditionPattern(Wire, frozen=True):
    """`spec.podFailurePolicy.rules[].onPodConditions[]`."""

    type: str = ""
    status: str = "True"


class ExitCodes(Wire, frozen=True):
    """`spec.podFailurePolicy.rules[].onExitCodes`, as for all containers."""

    operator: str = ""
    values: list[Int32] = field(default_factory=list)


class PodFailureRule(Wire, frozen=True):
    """`spec.podFailurePolicy.rules[]`."""

    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: list[PodConditionPattern] = field(default_factory=list)


class PodFailurePolicy(Wire, frozen=True):
    """`spec.podFailurePolicy`: the first rule that matches a failed pod decides."""

    rules: list[PodFailureRule] = field(default_factory=list)


class JobSpec(Wire, frozen=True):
    """`spec` of a Job. Without completions, any success ends the Job.

    The API server fills in `backoff_limit`; `backoff_limit_per_index` replaces it if set.
    """

    template: PodTemplate = PodTemplate()
    parallelism: Count = 1
    completions: Count | None = None
    active_deadline_seconds: Count | None = None
    backoff_limit: Count | None = None
    backoff_limit_per_index: Count | None = None
    pod_failure_policy: PodFailurePolicy = PodFailurePolicy()
    completion_mode: str = ""
    suspend: bool = False
    managed_by: str = ""

    @property
    def all_completions(self) -> int:
        """How many pods must succeed: by default as many as run at once."""
        return self.parallelism if self.completions is None else self.completions

    @property
    def at_once(self) -> int:
        """How many pods there are at once, as long as none has succeeded."""
        return min(self.parallelism, self.all_completions)


class JobStatus(Wire, frozen=True):
    """`status` of a Job."""

    succeeded: Count = 0
    failed: Count = 0
    failed_indexes: str = ""
    start_time: str = ""
    completion_time: str = ""
    conditions: list[Condition] = field(default_factory=list)


class Job(Wire, frozen=True):
    """A Job."""

    metadata: Metadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def left(self) -> int:
        """How many pods must still succeed. An index that failed for good gets no more pods."""
        if any((each.type, each.status) == COMPLETE for each in self.status.conditions):
            return 0
        failed = _number_of_indexes(self.status.failed_indexes)
        return self.spec.all_completions - self.status.succeeded - failed


def _number_of_indexes(text: str) -> int:
    """Return how many indexes there are in a text such as 1,3-5,7."""
    spans = (SPAN.fullmatch(each) for each in text.split(","))
    ends = ((int(each[1]), int(each[2] or each[1])) for each in spans if each is not None)
    return sum(max(0, last - first + 1) for first, last in ends)


class JobTemplate(Wire, frozen=True):
    """The template of a replicatedJob."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()
