"""Validation of one manifest: faults that an API server refuses, and fields that it drops."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import IS, Faults, InvalidField
from gang_scheduler.simulation.validation import pods, schemas

# Faults in objects of built-in kinds that an API server refuses although the schema allows them.

INDEXED: Final = "Indexed"
MOST_RULES: Final = 20
MOST_EXIT_CODES: Final = 255
SECONDS: Final = ("activeDeadlineSeconds", "ttlSecondsAfterFinished")
NUMBERS: Final = (
    "parallelism",
    "completions",
    "backoffLimit",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
SYSTEM: Final = "system-"
GREATEST_PRIORITY: Final = 10**9
Body = Mapping[str, Any]


def workload_faults(body: Body) -> Iterator[InvalidField]:
    """Yield the faults of an object whose types match its schema."""
    check = CHECKS.get((body["apiVersion"], body["kind"]))
    if check is not None:
        yield from check(body)


def _pod(body: Body) -> Iterator[InvalidField]:
    yield from pods.pod_faults(body.get("spec", {}), "spec", of_template=False)


def _job(body: Body) -> Iterator[InvalidField]:
    yield from _job_spec(body.get("spec", {}), "spec")


def _cron_job(body: Body) -> Iterator[InvalidField]:
    spec = body.get("spec", {})
    if not spec.get("schedule"):
        yield InvalidField("spec.schedule", None, "is required")
    yield from _job_spec(spec.get("jobTemplate", {}).get("spec", {}), "spec.jobTemplate.spec")


def _job_spec(spec: Body, where: str) -> Iterator[InvalidField]:
    template = f"{where}.template.spec"
    pod = spec.get("template", {}).get("spec", {})
    yield from pods.pod_faults(pod, template)
    yield from pods.restart_policy(pod, template, "Never", "OnFailure")
    for field in (*NUMBERS, *SECONDS):
        if spec.get(field, 0) < 0:
            yield InvalidField(f"{where}.{field}", spec[field], "must be at least 0")
    if spec.get("selector") is not None and not spec.get("manualSelector"):
        must = "must be absent: an API server makes it (manualSelector: true)"
        yield InvalidField(f"{where}.selector", None, must)
    yield from _of_indexes(spec, where)
    yield from _of_failures(spec, where)


def _of_indexes(spec: Body, where: str) -> Iterator[InvalidField]:
    """Yield the faults of a Job that depend on its completionMode."""
    if spec.get("completionMode") == INDEXED:
        # Without both fields there is one pod.
        if spec.get("completions") is None and spec.get("parallelism") is not None:
            must = f"is required with completionMode {INDEXED}"
            yield InvalidField(f"{where}.completions", None, must)
    else:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.get(field) is not None:
                must = f"must be absent without completionMode {INDEXED}"
                yield InvalidField(f"{where}.{field}", spec[field], must, IS)
        return
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        must = "is required with maxFailedIndexes"
        yield InvalidField(f"{where}.backoffLimitPerIndex", None, must)


def _of_failures(spec: Body, where: str) -> Iterator[InvalidField]:
    """Yield the faults of a podFailurePolicy."""
    policy = spec.get("podFailurePolicy")
    if policy is None:
        return
    if spec.get("template", {}).get("spec", {}).get("restartPolicy") != "Never":
        must = "must be Never with a podFailurePolicy"
        yield InvalidField(f"{where}.template.spec.restartPolicy", None, must)
    rules = policy.get("rules", ())
    if len(rules) > MOST_RULES:
        must = f"must have at most {MOST_RULES} entries"
        yield InvalidField(f"{where}.podFailurePolicy.rules", None, must)
    containers = {
        each.get("name")
        for field in pods.CONTAINERS
        for each in spec.get("template", {}).get("spec", {}).get(field, ())
    }
    for number, rule in enumerate(rules):
        path = f"{where}.podFailurePolicy.rules[{number}]"
        if rule.get("action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            must = "must not be FailIndex without backoffLimitPerIndex"
            yield InvalidField(f"{path}.action", None, must)
        # A rule without conditions has an empty list.
        wanted = {key: value for key, value in rule.items() if value != []}
        yield from pods.exactly_one(wanted, ("onExitCodes", "onPodConditions"), path)
        if rule.get("onExitCodes") is not None:
            yield from _of_exit_codes(rule["onExitCodes"], containers, f"{path}.onExitCodes")


def _of_exit_codes(asked: Body, containers: set[str], where: str) -> Iterator[InvalidField]:
    values = asked.get("values", [])
    if not 0 < len(values) <= MOST_EXIT_CODES:
        yield InvalidField(f"{where}.values", values, f"must have 1 to {MOST_EXIT_CODES} entries")
    if [*values] != sorted(set(values)):
        yield InvalidField(
            f"{where}.values", values, "must be in ascending order, without duplicates", IS
        )
    if asked.get("operator") == "In" and 0 in values:
        yield InvalidField(f"{where}.values", values, "must not contain 0 with operator In", IS)
    if (name := asked.get("containerName")) and name not in containers:
        yield InvalidField(
            f"{where}.containerName", name, "must be one of the template's containers"
        )


def _of_apps(body: Body) -> Iterator[InvalidField]:
    """Yield the faults of a StatefulSet, Deployment or similar, whose pods never end."""
    spec = body.get("spec", {})
    pod = spec.get("template", {}).get("spec", {})
    claims = spec.get("volumeClaimTemplates", ())
    if claims:
        made = [{"name": each.get("metadata", {}).get("name")} for each in claims]
        others = (each for each in pod.get("volumes", ()) if {"name": each.get("name")} not in made)
        pod = {**pod, "volumes": [*others, *made]}
    yield from pods.pod_faults(pod, "spec.template.spec")
    yield from pods.restart_policy(pod, "spec.template.spec", "Always")
    for field in ("replicas", "minReadySeconds", "revisionHistoryLimit"):
        if spec.get(field, 0) < 0:
            yield InvalidField(f"spec.{field}", spec[field], "must be at least 0")


def _budget(body: Body) -> Iterator[InvalidField]:
    spec = body.get("spec", {})
    both = ("minAvailable", "maxUnavailable")
    if all(spec.get(each) is not None for each in both):
        yield InvalidField(
            "spec.maxUnavailable", spec["maxUnavailable"], "must be absent with minAvailable", IS
        )


def _priority_class(body: Body) -> Iterator[InvalidField]:
    named, value = body.get("metadata", {}).get("name", ""), body.get("value", 0)
    if value > GREATEST_PRIORITY and not named.startswith(SYSTEM):
        yield InvalidField("value", value, f"must be at most {GREATEST_PRIORITY}")


CHECKS: Final[Mapping[tuple[str, str], Callable[[Body], Iterator[InvalidField]]]] = {
    ("v1", "Pod"): _pod,
    ("batch/v1", "Job"): _job,
    ("batch/v1", "CronJob"): _cron_job,
    ("policy/v1", "PodDisruptionBudget"): _budget,
    ("scheduling.k8s.io/v1", "PriorityClass"): _priority_class,
    **{
        ("apps/v1", each): _of_apps
        for each in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
    },
}


def is_known(body: Mapping[str, Any]) -> bool:
    """Return whether the schema of an object's kind is known."""
    return schemas.has(body["apiVersion"], body["kind"])


def unknown_fields(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields that an API server drops, each with a similar known field.

    Raises InvalidField with all faults if the API server would refuse the object. An object without
    a known schema is not checked.
    """
    found = schemas.findings(body)
    if found is None:
        return ()
    faults = Faults()
    for each in found.wrong or workload_faults(body):
        faults.add(each)
    faults.check()
    return tuple(found.unknown)


def without_limits(pod: Mapping[str, Any]) -> set[str]:
    """Return the resources that an API server lets a pod request only with a limit."""
    return pods.without_limits(pod.get("spec", {}))
