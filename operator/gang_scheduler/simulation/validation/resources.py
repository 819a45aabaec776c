"""The amounts of a container that an API server refuses.

https://kubernetes.io/docs/concepts/configuration/manage-resources-containers
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES,
    MEMORY,
    parse_quantity,
)

OF_CONTAINERS: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
"""Resources without a domain that a container can have, beside huge pages."""
NATIVE: Final = "kubernetes.io/"
REQUESTS_OF_QUOTAS: Final = "requests."
MILLI: Final = 1000
LARGE: Final = 2**50
"""Of more than this no parts are counted."""
Asked = Mapping[str, str | int | float]


def faults(
    given: Mapping[str, Any], where: str, *, limits_may_come: bool
) -> Iterator[InvalidField]:
    """Yield what is wrong with the `resources` of a container.

    `limits_may_come`: a LimitRange may set limits, as it does for pods and not for templates.
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
        yield InvalidField(where, None, "must ask for cpu or memory beside huge pages")


def _of_amount(name: str, amount: str | float, where: str) -> Iterator[InvalidField]:
    field = f"{where}[{name}]"
    if "/" not in name and name not in OF_CONTAINERS and not _is_huge_pages(name):
        meant = "cpu, memory, ephemeral-storage, hugepages-..., or example.com/name"
        yield InvalidField(where, name, f"must have names of resources: {meant}")
        return
    milli = _milli(amount)
    if milli is not None and is_extended(name) and milli % MILLI:
        yield InvalidField(field, amount, "must be a whole number: no part of one can be had")


def without_limit(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the resources that need a limit, and have only a request."""
    for name in given.get("requests", {}).keys() - given.get("limits", {}).keys():
        if is_extended(name) or _is_huge_pages(name):
            yield name


def _of_both(name: str, amount: str | float, limits: Asked, where: str) -> Iterator[InvalidField]:
    """Yield what is wrong with a request beside its limit."""
    field = f"{where}.requests[{name}]"
    exact = is_extended(name) or _is_huge_pages(name)
    if name not in limits:
        if exact:
            must = f"is required beside a request for {name}"
            yield InvalidField(f"{where}.limits[{name}]", None, must)
        return
    requested, limit = _milli(amount), _milli(limits[name])
    if requested is None or limit is None:
        return
    if exact and requested != limit:
        yield InvalidField(field, amount, f"must equal the limit, {limits[name]}")
    elif requested > limit:
        yield InvalidField(field, amount, f"must be at most the limit, {limits[name]}")


def is_extended(name: str) -> bool:
    """Return whether a resource is counted in whole pieces, as GPUs are."""
    return "/" in name and NATIVE not in name and not name.startswith(REQUESTS_OF_QUOTAS)


def _is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def _milli(amount: str | float) -> int | None:
    """Return a thousand times an amount; None for what is no quantity, which its reader says."""
    try:
        whole = parse_quantity(amount)
        return whole * MILLI if abs(whole) > LARGE else parse_quantity(amount, MILLI)
    except ValueError:
        return None
