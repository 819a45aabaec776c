"""Validation of a pod spec: values that an API server refuses although the schema allows them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import IS, InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.model.extended_resources import is_extended
from gang_scheduler.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES,
    MEMORY,
    parse_quantity,
)

# Amounts of a container that an API server refuses.
#
# Rules: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers

OF_CONTAINERS: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
"""Resources without a domain that a container can have, apart from huge pages."""
MILLI: Final = 1000
LARGE: Final = 2**50
"""Above this amount, fractions do not count."""
Asked = Mapping[str, str | int | float]


def faults(
    given: Mapping[str, Any], where: str, *, limits_may_come: bool
) -> Iterator[InvalidField]:
    """Yield the faults of the `resources` of a container.

    `limits_may_come`: a LimitRange may still set limits. It does so for pods, but not for
    templates.
    """
    limits: Asked = given.get("limits", {})
    requests: Asked = given.get("requests", {})
    for kind, asked in (("limits", limits), ("requests", requests)):
        for name, amount in asked.items():
            yield from _of_amount(name, amount, f"{where}.{kind}")
    for name, amount in requests.items():
        if name in limits or not limits_may_come:
            yield from _of_both(name, amount, limits, where)
    asked = {**limits, **requests}
    if any(map(_is_huge_pages, asked)) and not {CPU, MEMORY} & asked.keys():
        yield InvalidField(where, None, "must ask for cpu or memory with huge pages")


def _of_amount(name: str, amount: str | float, where: str) -> Iterator[InvalidField]:
    field = f"{where}[{name}]"
    if "/" not in name and name not in OF_CONTAINERS and not _is_huge_pages(name):
        meant = "cpu, memory, ephemeral-storage, hugepages-..., or example.com/name"
        yield InvalidField(where, name, f"must have names of resources such as {meant}")
        return
    milli = _milli(amount)
    if milli is not None and is_extended(name) and milli % MILLI:
        yield InvalidField(
            field, amount, "must be a whole number, as for every extended resource", IS
        )


def without_limit(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the resources that have a request and no limit, although they need one."""
    for name in given.get("requests", {}).keys() - given.get("limits", {}).keys():
        if is_extended(name) or _is_huge_pages(name):
            yield name


def _of_both(name: str, amount: str | float, limits: Asked, where: str) -> Iterator[InvalidField]:
    """Yield the faults of one request compared with its limit."""
    field = f"{where}.requests[{name}]"
    exact = is_extended(name) or _is_huge_pages(name)
    if name not in limits:
        if exact:
            must = f"is required with a request for {name}"
            yield InvalidField(f"{where}.limits[{name}]", None, must)
        return
    requested, limit = _milli(amount), _milli(limits[name])
    if requested is None or limit is None:
        return
    if exact and requested != limit:
        yield InvalidField(field, amount, f"must equal the limit ({limits[name]})")
    elif requested > limit:
        yield InvalidField(field, amount, f"must be at most the limit ({limits[name]})")


def _is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def _milli(amount: str | float) -> int | None:
    """Return an amount in thousandths; None if it is no quantity, which its reader reports."""
    try:
        whole = parse_quantity(amount)
        return whole * MILLI if abs(whole) > LARGE else parse_quantity(amount, MILLI)
    except ValueError:
        return None


# These checks expect specs whose types match the schema.

CONTAINERS: Final = ("initContainers", "containers")
GREATEST_PORT: Final = 65535
LEAST: Final = {"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": 0}
LABELS: Final = ("hostname", "subdomain")
Spec = Mapping[str, Any]


def pod_faults(spec: Spec, where: str, *, of_template: bool = True) -> Iterator[InvalidField]:
    """Yield the faults of a pod spec at a path."""
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
        if spec.get(field) and not fields.is_label(spec[field]):
            yield InvalidField(f"{where}.{field}", spec[field], "must be a DNS-1123 label")


def without_limits(spec: Spec) -> set[str]:
    """Return the resources that need a limit, and have only a request."""
    containers = (each for field in CONTAINERS for each in spec.get(field, ()))
    return {name for each in containers for name in without_limit(each.get("resources", {}))}


def _of_container(container: Spec, where: str, *, of_template: bool) -> Iterator[InvalidField]:
    name = container.get("name", "")
    if not fields.is_label(name):
        yield InvalidField(f"{where}.name", name, "must be a DNS-1123 label")
    asked = container.get("resources", {})
    yield from faults(asked, f"{where}.resources", limits_may_come=not of_template)
    for number, each in enumerate(container.get("ports", ())):
        for field in ("containerPort", "hostPort"):
            # 0 stands for no port: a hostPort that is not requested.
            least = 0 if field == "hostPort" else 1
            if not least <= each.get(field, least) <= GREATEST_PORT:
                path = f"{where}.ports[{number}].{field}"
                yield InvalidField(path, each[field], f"must be from 1 to {GREATEST_PORT}")


def _of_names(spec: Spec, where: str) -> Iterator[InvalidField]:
    """Yield a fault for each name that occurs twice."""
    named = (
        (f"{where}.{field}[{number}].name", each.get("name"))
        for field in CONTAINERS
        for number, each in enumerate(spec.get(field, ()))
    )
    yield from twice(named)
    volumes = enumerate(spec.get("volumes", ()))
    yield from twice((f"{where}.volumes[{i}].name", each.get("name")) for i, each in volumes)


def twice(named: Iterable[tuple[str, Any]]) -> Iterator[InvalidField]:
    """Yield a fault for each field whose value repeats an earlier one."""
    seen: dict[object, str] = {}
    for path, name in named:
        if seen.setdefault(name, path) != path:
            yield InvalidField(path, name, f"must differ from {seen[name]}", IS)


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
            yield InvalidField(f"{path}.value", each["value"], "must be absent with Exists", IS)
        if "tolerationSeconds" in each and each.get("effect") != "NoExecute":
            must = "must be NoExecute with tolerationSeconds"
            yield InvalidField(f"{path}.effect", each.get("effect", ""), must)


def restart_policy(spec: Spec, where: str, *allowed: str) -> Iterator[InvalidField]:
    """Yield a fault if a template has a restartPolicy that its workload cannot have.

    A template without one has Always.
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
    """Yield a fault unless an object has exactly one of these fields."""
    fields = tuple(fields)
    there = [each for each in fields if given.get(each) is not None]
    if len(there) != 1:
        yield InvalidField(where, there, f"must have one of {', '.join(fields)}")
