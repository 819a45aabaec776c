"""The amounts that a request takes from a device's capacities, rounded by their policies."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.device_quantities import NANO, Amounts, Notation, Quantity
from gang_scheduler.model.devices import Capacity, CapacityPolicy, Device

_MILLI: Final = NANO // 1000
_MOST: Final = 2**63 - 1


class CapacityError(Exception):
    """A requested amount that Kubernetes cannot compute with: the claim is refused."""


def consumed(device: Device, requested: Amounts) -> dict[str, Quantity] | None:
    """Return the amount of each capacity that a request takes; None if the device has too little.

    The device may have less left. Raises CapacityError.
    """
    if any(name not in device.capacity for name in requested):
        return None
    taken = {}
    for name, capacity in device.capacity.items():
        taken[name] = _consumed_amount(requested.get(name), capacity)
        if taken[name].nanos < 0:
            raise CapacityError(f"capacity {name}: the amount {taken[name]} is negative")
    for name, capacity in device.capacity.items():
        if capacity.policy is not None and not _allows(capacity.policy, taken[name]):
            return None
    return taken


def is_enough(device: Device, taken: Amounts, in_use: Mapping[str, int]) -> bool:
    """Return whether each capacity is enough for the amounts taken and those in use."""
    return all(
        in_use.get(name, 0) + taken[name].nanos <= capacity.value.nanos
        for name, capacity in device.capacity.items()
    )


def _consumed_amount(requested: Quantity | None, capacity: Capacity) -> Quantity:
    policy = capacity.policy
    if requested is None:
        default = policy.default if policy is not None else None
        return capacity.value if default is None else default
    if policy is None:
        return requested
    if policy.minimum is not None:
        return _rounded(requested, policy.minimum, policy)
    return next((each for each in policy.valid_values if requested <= each), requested)


def _rounded(requested: Quantity, least: Quantity, policy: CapacityPolicy) -> Quantity:
    """Return an amount rounded up to the minimum, and to whole steps above it."""
    if requested < least:
        return least
    if policy.step is None:
        return requested
    unit = _unit(policy)
    if unit == _MILLI and requested.nanos % _MILLI:
        raise CapacityError(f"{requested} is not a whole number of thousandths")
    if requested.nanos > _MOST * unit:
        raise CapacityError(f"{requested} is beyond what can be computed")
    base, step = _in_units(least, unit), _in_units(policy.step, unit)
    steps = -(-(_in_units(requested, unit) - base) // step)
    rounded = base + steps * step
    if rounded > _MOST:
        raise CapacityError(f"{requested}, rounded up, is beyond what can be computed")
    return _written(rounded * unit, policy.step.notation)


def _unit(policy: CapacityPolicy) -> int:
    """Return the unit to compute a range in: thousandths if all its amounts are whole ones."""
    amounts = (policy.minimum, policy.maximum, policy.step)
    in_thousandths = all(
        each is None or (each.nanos % _MILLI == 0 and abs(each.nanos) <= _MOST * _MILLI)
        for each in amounts
    )
    return _MILLI if in_thousandths else NANO


def _in_units(amount: Quantity, unit: int) -> int:
    """Return an amount in units, rounded up."""
    return -(-amount.nanos // unit)


def _written(nanos: int, notation: Notation) -> Quantity:
    return Quantity(nanos, notation)


def _allows(policy: CapacityPolicy, taken: Quantity) -> bool:
    if policy.default is not None and taken == policy.default:
        return True
    if policy.minimum is not None or policy.maximum is not None or policy.step is not None:
        return _is_in_range(policy, taken)
    return not policy.valid_values or taken in policy.valid_values


def _is_in_range(policy: CapacityPolicy, taken: Quantity) -> bool:
    if policy.maximum is not None and taken > policy.maximum:
        return False
    if policy.step is None:
        return True
    unit = _unit(policy)
    if unit == _MILLI and taken.nanos % _MILLI:
        return False
    base = _in_units(policy.minimum, unit) if policy.minimum is not None else 0
    return (_in_units(taken, unit) - base) % _in_units(policy.step, unit) == 0
