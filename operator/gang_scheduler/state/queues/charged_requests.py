"""What a quota is charged for the requests of a pod. Room is always for the requests themselves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.queues import GPU
from gang_scheduler.model.resources import CPU

Requests = tuple[tuple[str, int], ...]
_UNITS: Final = {CPU: 1000}
"""How many units one of a resource is, where that is not one."""


class Transformation(NamedTuple):
    """What one of a resource counts as: so many units of each output, for each that is requested.

    `replaces`: the resource itself is not charged then.
    """

    outputs: tuple[tuple[str, int], ...]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class RequestRules:
    """What the settings say of requests: transformations by resource, and what is left out."""

    transformations: Mapping[str, Transformation]
    excluded_prefixes: tuple[str, ...] = ()


NO_RULES: Final = RequestRules({})


class ChargedRequests:
    """Transforms requests, each once."""

    def __init__(self, rules: RequestRules = NO_RULES) -> None:
        self._rules = rules
        self._known: dict[tuple[Requests, tuple[str, ...]], Requests] = {}

    def of(self, requests: Requests, gpu_resources: tuple[str, ...]) -> Requests:
        """Return what is charged for requests: also `gpu`, the sum of these resources."""
        key = requests, gpu_resources
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._transformed(requests, gpu_resources)
        return known

    def _transformed(self, requests: Requests, gpu_resources: Iterable[str]) -> Requests:
        charged: dict[str, int] = {}
        for resource, amount in requests:
            rule = self._rules.transformations.get(resource)
            if rule is None or not rule.replaces:
                charged[resource] = charged.get(resource, 0) + amount
            for output, factor in rule.outputs if rule is not None else ():
                more = -(-amount * factor // _UNITS.get(resource, 1))
                charged[output] = charged.get(output, 0) + more
        if gpus := sum(charged.get(each, 0) for each in gpu_resources):
            charged[GPU] = charged.get(GPU, 0) + gpus
        excluded = self._rules.excluded_prefixes
        return tuple(sorted((r, a) for r, a in charged.items() if a and not r.startswith(excluded)))
