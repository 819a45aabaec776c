"""Devices that must be attached to a node first, by the conditions that their drivers set.

The rules are those of kube-scheduler's DynamicResources: a pod may be bound when all binding
conditions of all its devices are True, and must not be bound once a failure condition is True.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.causes.devices import DevicesAwaited
from gang_scheduler.model.devices import Allocation, Claim, DeviceId, DeviceResult

_TRUE = "True"


class Pending(NamedTuple):
    """A device of a claim, and a condition of it that is not True yet."""

    claim: str
    device: DeviceId
    condition: str


class Failure(NamedTuple):
    """A device of a claim, and a failure condition of it that is True."""

    claim: str
    device: DeviceId
    condition: str


def is_attached_later(allocation: Allocation) -> bool:
    """Return whether some devices of an allocation must be attached first."""
    return any(each.binding_conditions for each in allocation.results)


def only_node(allocation: Allocation) -> str:
    """Return the only node on which an allocation can be used; "" if there are several."""
    for term in allocation.node_selector or ():
        for each in term:
            if each.on_field and each.operator is Operator.IN and len(each.values) == 1:
                return next(iter(each.values))
    return ""


def awaited(claims: Iterable[tuple[Claim, Allocation]]) -> DevicesAwaited | None:
    """Return which devices of these claims are not attached yet; None if there are none."""
    allocated = list(claims)
    waiting = [each for found in allocated for each in pending(*found)]
    if not waiting:
        return None
    number = sum(
        bool(each.binding_conditions) for _, allocation in allocated for each in allocation.results
    )
    claim, device, condition = waiting[0]
    return DevicesAwaited(len(waiting), number, claim, str(device), condition)


def failures(claim: Claim, allocation: Allocation) -> Iterator[Failure]:
    """Yield the devices of a claim that cannot be attached."""
    for result, true in _attached_later(claim, allocation):
        for each in result.binding_failure_conditions:
            if each in true:
                yield Failure(claim.key, result.id, each)
                break


def pending(claim: Claim, allocation: Allocation) -> Iterator[Pending]:
    """Yield the devices of a claim that are not attached yet."""
    for result, true in _attached_later(claim, allocation):
        lacking = next((each for each in result.binding_conditions if each not in true), None)
        if lacking is not None:
            yield Pending(claim.key, result.id, lacking)


def _attached_later(
    claim: Claim, allocation: Allocation
) -> Iterator[tuple[DeviceResult, frozenset[str]]]:
    """Yield the devices that must be attached first, with their conditions that are True."""
    told = {(each.id, each.share_id): each.conditions for each in claim.device_statuses}
    for each in allocation.results:
        if each.binding_conditions:
            yield each, _true(told.get((each.id, each.share_id), ()))


def _true(conditions: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset(kind for kind, status in conditions if status == _TRUE)
