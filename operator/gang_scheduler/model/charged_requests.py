"""What a quota is charged for the requests of a pod. Room is always for the requests themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from gang_scheduler.model.resources import CPU, ENORMOUS, MOST_QUOTA

Requests = tuple[tuple[str, int], ...]
_UNITS: Final = {CPU: 1000}
"""How many units one of a resource is, where that is not one."""


class Transformation(NamedTuple):
    """What one of a resource counts as: so many units of each output, for each that is requested.

    `replaces`: the resource itself is not charged then. Where `multiply_by` is requested, too, so
    many times as much of the resource counts as is requested of that one.
    """

    outputs: tuple[tuple[str, Fraction | int], ...]
    replaces: bool = False
    multiply_by: str = ""


@dataclass(frozen=True, slots=True)
class RequestRules:
    """What the settings say of requests: transformations by resource, and what is left out."""

    transformations: Mapping[str, Transformation]
    excluded_prefixes: tuple[str, ...] = ()

    def charged(self, requests: Requests) -> dict[str, int]:
        """Return what is charged for requests, by resource; nothing of 0.

        As in Kueue, what is left out is left out first: it counts as nothing else, either. Parts of
        a unit are rounded up.
        """
        charged: dict[str, int] = {}
        # What is enormous was cut off: it must fill the largest quota.
        counted = {
            resource: amount if amount < ENORMOUS else MOST_QUOTA
            for resource, amount in requests
            if not resource.startswith(self.excluded_prefixes)
        }
        for resource, requested in counted.items():
            rule = self.transformations.get(resource)
            times = _whole(rule.multiply_by, counted) if rule is not None else 1
            amount = requested * times
            if rule is None or not rule.replaces:
                charged[resource] = charged.get(resource, 0) + amount
            for output, factor in rule.outputs if rule is not None else ():
                more = -(-amount * factor // _UNITS.get(resource, 1))
                charged[output] = charged.get(output, 0) + more
        return {resource: amount for resource, amount in charged.items() if amount}


def _whole(resource: str, requests: Mapping[str, int]) -> int:
    """Return how many whole ones of a resource are requested, parts rounded up; 1 where none is."""
    amount = requests.get(resource)
    return 1 if amount is None else -(-amount // _UNITS.get(resource, 1))


NO_RULES: Final = RequestRules({})
