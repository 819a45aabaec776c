"""The values in the spec of a pod that an API server refuses, which no schema says.

The types are those of the schema: this is asked of nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import names
from gang_scheduler.simulation.validation import resources

CONTAINERS: Final = ("initContainers", "containers")
GREATEST_PORT: Final = 65535
LEAST: Final = {"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": 0}
LABELS: Final = ("hostname", "subdomain")
Spec = Mapping[str, Any]


def faults(spec: Spec, where: str, *, of_template: bool = True) -> Iterator[InvalidField]:
    """Yield what is wrong with a pod's spec, which stands at a path."""
    if not spec.get("containers"):
        yield InvalidField(f"{where}.containers", None, "is required")
    for field in CONTAINERS:
        for number, each in enumerate(spec.get(field, ())):
            yield from _of_container(each, f"{where}.{field}[{number}]", of_template=of_template)
    yield from _of_names(spec, where)
    yield from _of_mounts(spec, where)
    yield from _of_tolerations(spec.get("tolerations", ()), f"{where}.tolerations")
    for field, least in LEAST.items():
        if spec.get(field, least) < least:
            yield InvalidField(f"{where}.{field}", spec[field], f"must be at least {least}")
    for field in LABELS:
        if spec.get(field) and not names.is_label(spec[field]):
            yield InvalidField(f"{where}.{field}", spec[field], "must be a DNS-1123 label")


def without_limits(spec: Spec) -> set[str]:
    """Return the resources of which a pod has a request, and no limit that they need."""
    containers = (each for field in CONTAINERS for each in spec.get(field, ()))
    return {
        name for each in containers for name in resources.without_limit(each.get("resources", {}))
    }


def _of_container(container: Spec, where: str, *, of_template: bool) -> Iterator[InvalidField]:
    name = container.get("name", "")
    if not names.is_label(name):
        yield InvalidField(f"{where}.name", name, "must be a DNS-1123 label")
    asked = container.get("resources", {})
    yield from resources.faults(asked, f"{where}.resources", limits_may_come=not of_template)
    for number, each in enumerate(container.get("ports", ())):
        for field in ("containerPort", "hostPort"):
            # 0 is none: of a host port that is one that is not asked for.
            least = 0 if field == "hostPort" else 1
            if not least <= each.get(field, least) <= GREATEST_PORT:
                path = f"{where}.ports[{number}].{field}"
                yield InvalidField(path, each[field], f"must be from 1 to {GREATEST_PORT}")


def _of_names(spec: Spec, where: str) -> Iterator[InvalidField]:
    """Yield the names that are there twice."""
    named = (
        (f"{where}.{field}[{number}].name", each.get("name"))
        for field in CONTAINERS
        for number, each in enumerate(spec.get(field, ()))
    )
    yield from twice(named)
    volumes = enumerate(spec.get("volumes", ()))
    yield from twice((f"{where}.volumes[{i}].name", each.get("name")) for i, each in volumes)


def twice(named: Iterable[tuple[str, Any]]) -> Iterator[InvalidField]:
    """Yield each of some fields that has the value of one before it."""
    seen: dict[object, str] = {}
    for path, name in named:
        if seen.setdefault(name, path) != path:
            yield InvalidField(path, name, f"must differ from {seen[name]}")


def _of_mounts(spec: Spec, where: str) -> Iterator[InvalidField]:
    volumes = {each.get("name") for each in spec.get("volumes", ())}
    for field in CONTAINERS:
        for i, container in enumerate(spec.get(field, ())):
            path = f"{where}.{field}[{i}].volumeMounts"
            mounts = list(enumerate(container.get("volumeMounts", ())))
            yield from twice(
                (f"{path}[{n}].mountPath", each.get("mountPath")) for n, each in mounts
            )
            for number, each in mounts:
                if each.get("name") not in volumes:
                    must = f"must be one of {where}.volumes"
                    yield InvalidField(f"{path}[{number}].name", each.get("name"), must)


def _of_tolerations(given: Iterable[Spec], where: str) -> Iterator[InvalidField]:
    for number, each in enumerate(given):
        path, operator = f"{where}[{number}]", each.get("operator") or "Equal"
        if not each.get("key") and operator != "Exists":
            yield InvalidField(f"{path}.operator", operator, "must be Exists without a key")
        if operator == "Exists" and each.get("value"):
            yield InvalidField(f"{path}.value", each["value"], "must be absent beside Exists")
        if "tolerationSeconds" in each and each.get("effect") != "NoExecute":
            must = "must be NoExecute beside tolerationSeconds"
            yield InvalidField(f"{path}.effect", each.get("effect", ""), must)


def restart_policy(spec: Spec, where: str, *allowed: str) -> Iterator[InvalidField]:
    """Yield that a template has a restartPolicy that its workload cannot have.

    Without one it is Always.
    """
    given = spec.get("restartPolicy") or ""
    if (given or "Always") in allowed:
        return
    must = " or ".join(allowed)
    path = f"{where}.restartPolicy"
    yield (
        InvalidField(path, given, f"must be {must}")
        if given
        else InvalidField(path, None, f"is required: {must}")
    )


def exactly_one(given: Spec, fields: Iterable[str], where: str) -> Iterator[InvalidField]:
    """Yield that an object has none of some fields, or several."""
    fields = tuple(fields)
    there = [each for each in fields if given.get(each) is not None]
    if len(there) != 1:
        yield InvalidField(where, there, f"must have one of {', '.join(fields)}")
