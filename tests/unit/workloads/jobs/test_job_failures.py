"""What evictions mean for a Job."""

from typing import Any

import pytest

from gang_scheduler.decode import fields
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.wire.jobs import Job
from gang_scheduler.workloads import jobs

IGNORED = {"type": "DisruptionTarget", "status": "True"}
PROTECTED = {"rules": [{"action": "Ignore", "onPodConditions": [IGNORED]}]}
FAILED = [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]


def job(
    template: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": "job", "namespace": "ns", "uid": "u"},
        "spec": {"parallelism": 8, "completions": 8, "template": template or {}, **spec},
        "status": status or {},
    }


def policy(*rules: tuple[str, str | None, str]) -> dict[str, Any]:
    """Return a podFailurePolicy of rules: action, condition (None: by exit code), its status."""
    return {
        "rules": [
            {"action": action, "onPodConditions": [{"type": type_, "status": status}]}
            if type_
            else {"action": action, "onExitCodes": {"operator": "In"}, "onPodConditions": None}
            for action, type_, status in rules
        ]
    }


def failures_of(body: dict[str, Any]) -> JobFailures:
    return jobs.failures_of(fields.read(body, Job))


def failed_gang_of(body: dict[str, Any]) -> GangKey | None:
    return jobs.failed_gang_of(fields.read(body, Job))


@pytest.mark.parametrize(
    ("spec", "status", "left"),
    [
        ({}, {}, 6),
        ({"backoffLimit": 3}, {}, 3),
        ({"backoffLimit": 8}, {"failed": 2}, 6),
        ({"backoffLimit": 1}, {"failed": 2}, 0),
        ({"podFailurePolicy": PROTECTED}, {}, None),
        ({"podFailurePolicy": policy(("FailJob", "DisruptionTarget", "True"))}, {}, 0),
        ({"podFailurePolicy": policy(("Count", "DisruptionTarget", "True"))}, {}, 6),
        ({"podFailurePolicy": policy(("Ignore", "DisruptionTarget", "False"))}, {}, 6),
        ({"podFailurePolicy": policy(("Ignore", "ConfigIssue", "True"))}, {}, 6),
        ({"podFailurePolicy": policy(("Ignore", None, ""))}, {}, 6),
        ({"backoffLimitPerIndex": 0, "backoffLimit": 2**31 - 1}, {}, 0),
        ({"backoffLimitPerIndex": 2, "backoffLimit": 2**31 - 1}, {}, 2**31 - 1),
        ({"backoffLimitPerIndex": 2}, {}, None),
    ],
)
def test_so_many_more_failures_end_the_job(
    spec: dict[str, Any], status: dict[str, Any], left: int | None
) -> None:
    assert JobFailures(8, left) == failures_of(job(status=status, **spec))


def test_the_first_rule_that_matches_decides() -> None:
    rules = policy(("FailJob", "DisruptionTarget", "True"), ("Ignore", "DisruptionTarget", "True"))

    assert 0 == failures_of(job(podFailurePolicy=rules)).left
    rules["rules"].reverse()
    assert failures_of(job(podFailurePolicy=rules)).left is None


def by_exit_code(action: str, operator: str, *values: int) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values)}}


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (by_exit_code("FailJob", "In", 143), 0),
        (by_exit_code("FailJob", "In", 1, 137), 0),
        (by_exit_code("FailIndex", "NotIn", 1), 0),
        (by_exit_code("FailJob", "In", 42), None),
        (by_exit_code("FailJob", "NotIn", 137, 143), None),
        (by_exit_code("Count", "In", 143), 6),
        (by_exit_code("Ignore", "NotIn", 1), None),
    ],
)
def test_a_rule_for_exit_codes_of_evicted_pods_comes_before_the_rules_below_it(
    rule: dict[str, Any], left: int | None
) -> None:
    assert left == failures_of(job(podFailurePolicy={"rules": [rule, *PROTECTED["rules"]]})).left
    assert failures_of(job(podFailurePolicy={"rules": [*PROTECTED["rules"], rule]})).left is None


def test_a_rule_that_ignores_exit_codes_protects_no_job() -> None:
    rules = [by_exit_code("Ignore", "In", 137, 143)]

    assert 6 == failures_of(job(podFailurePolicy={"rules": rules})).left


def test_pods_that_have_succeeded_are_not_evicted() -> None:
    assert 3 == failures_of(job(status={"succeeded": 5})).at_once
    assert 0 == failures_of(job(parallelism=0)).at_once


@pytest.mark.parametrize(("pods", "left"), [(7, 6), (1, 0)])
def test_a_job_of_more_pods_than_may_fail_is_unprotected(pods: int, left: int) -> None:
    assert JobFailures(pods, left).unprotected
    assert not JobFailures(left, left).unprotected
    assert not JobFailures(pods, None).unprotected


@pytest.mark.parametrize(
    ("template", "gang"),
    [
        (
            {"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": "a"}}},
            GangKey("PodGroup", "ns", "a"),
        ),
        (
            {"spec": {"schedulingGroup": {"podGroupName": "a"}}},
            GangKey("scheduling.k8s.io", "ns", "a"),
        ),
        (
            {"metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}}},
            GangKey("Job", "ns", "job"),
        ),
    ],
)
def test_a_failed_job_names_the_gang_of_its_pods(template: dict[str, Any], gang: GangKey) -> None:
    assert gang == failed_gang_of(job(template, {"conditions": FAILED}))


@pytest.mark.parametrize("conditions", [[], [{**FAILED[0], "status": "False"}]])
def test_any_other_job_names_none(conditions: list[dict[str, str]]) -> None:
    assert failed_gang_of(job(status={"conditions": conditions})) is None
