"""What evictions mean for a Job: whether it survives them.

An evicted pod counts as one that failed, unless `podFailurePolicy` ignores DisruptionTarget. More
failures than `backoffLimit` end the Job for good.
"""

from typing import Final

from gang_scheduler.model.refs import JobFailures
from gang_scheduler.wire.workloads.jobs import Job, JobSpec, PodFailurePolicy, PodFailureRule

BACKOFF_LIMIT: Final = 6
"""The default of `spec.backoffLimit`, where no API server has filled it in."""
ENDS_IT: Final = frozenset({"FailJob", "FailIndex"})
IN: Final = "In"
EXIT_CODES: Final = (143, 137, None)
"""Of containers that SIGTERM ends, and SIGKILL after the grace period; None: they end otherwise."""


def has_failed(job: Job) -> bool:
    """Return whether a Job has failed for good."""
    return any((each.type, each.status) == ("Failed", "True") for each in job.status.conditions)


def failures_of(source: Job) -> JobFailures:
    """Return what evictions mean for a Job."""
    spec, status = source.spec, source.status
    at_once = max(0, min(spec.parallelism, source.left))
    return JobFailures(at_once, _left(spec, status.failed))


def _left(spec: JobSpec, failed: int) -> int | None:
    """Return how many more pods may fail; None if those do not count that are evicted.

    How the containers of an evicted pod end is not known before: the worst counts.
    """
    actions = {_action(spec.pod_failure_policy, code) for code in EXIT_CODES}
    if actions == {"Ignore"}:
        return None
    if not actions.isdisjoint(ENDS_IT) or spec.backoff_limit_per_index == 0:
        return 0
    if spec.backoff_limit is None:
        return None if spec.backoff_limit_per_index else max(0, BACKOFF_LIMIT - failed)
    return max(0, spec.backoff_limit - failed)


def _action(policy: PodFailurePolicy, code: int | None) -> str:
    """Return what becomes of an evicted pod with this exit code, by the first rule for it."""
    rules = (each for each in policy.rules if _is_for_evicted(each, code))
    return next((each.action for each in rules), "Count")


def _is_for_evicted(rule: PodFailureRule, code: int | None) -> bool:
    """Return whether a rule matches pods by this exit code, or by the condition of evicted pods."""
    found = rule.on_exit_codes
    if found is not None:
        return code is not None and (code in found.values) == (found.operator == IN)
    return any(
        (each.type, each.status) == ("DisruptionTarget", "True") for each in rule.on_pod_conditions
    )
