"""From the wire to a PodDisruptionBudget: the pods that it covers, and how many may be evicted."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields, label_selectors
from gang_scheduler.model.affinity.requirements import Requirement, hold
from gang_scheduler.model.pods import Pod
from gang_scheduler.wire.budgets import PodDisruptionBudget, PodDisruptionBudgetSpec
from gang_scheduler.wire.selectors import LabelSelector

_PERCENTAGE = re.compile(r"(?P<number>[0-9]{1,9})%")


@dataclass(frozen=True, slots=True)
class DeclaredBudget:
    """A PodDisruptionBudget. `selector` is None if it covers no pod, () if it covers all.

    `allowed` is how many pods may be evicted by its status; None if no controller has counted. Then
    `least_healthy` returns how many of the expected pods must stay healthy.
    """

    uid: str
    namespace: str
    name: str
    selector: tuple[Requirement, ...] | None = None
    allowed: int | None = 0
    least_healthy: Callable[[int], int] = field(default=lambda expected: expected, compare=False)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def covers(self, pod: Pod) -> bool:
        """Return whether the budget is for this pod."""
        if self.selector is None or pod.namespace != self.namespace:
            return False
        return hold(self.selector, pod.labels)


def read(body: Mapping[str, Any]) -> DeclaredBudget:
    """Return a PodDisruptionBudget. Raises InvalidField.

    A status that is missing, or of an earlier spec, allows no eviction.
    """
    return _declared(body, uncounted=0)


def read_uncounted(body: Mapping[str, Any]) -> DeclaredBudget:
    """Return a PodDisruptionBudget; without a status `allowed` is None. Raises InvalidField."""
    return _declared(body, uncounted=None)


def _declared(body: Mapping[str, Any], uncounted: int | None) -> DeclaredBudget:
    source = fields.read(body, PodDisruptionBudget)
    status, allowed = source.status, uncounted
    if status is not None:
        is_current = status.observed_generation >= source.metadata.generation
        allowed = max(status.disruptions_allowed, 0) if is_current else 0
    return DeclaredBudget(
        uid=source.metadata.uid,
        namespace=source.metadata.namespace,
        name=source.metadata.name,
        selector=_selector(source.spec.selector),
        allowed=allowed,
        least_healthy=_least_healthy(source.spec),
    )


def _selector(source: LabelSelector | None) -> tuple[Requirement, ...] | None:
    if source is None:
        return None
    return label_selectors.requirements(source, "spec.selector")


def _least_healthy(spec: PodDisruptionBudgetSpec) -> Callable[[int], int]:
    """Return how many must stay healthy, as a function of how many are expected."""
    most, least = spec.max_unavailable, spec.min_available
    if most is not None:
        share = _share("spec.maxUnavailable", most)
        return lambda expected: max(expected - share(expected), 0)
    # A budget that sets neither allows no eviction.
    return _share("spec.minAvailable", "100%" if least is None else least)


def _share(where: str, amount: int | str) -> Callable[[int], int]:
    """Return a number, or a percentage rounded up, as a function of the expected number."""
    if isinstance(amount, int):
        return lambda _: amount
    found = _PERCENTAGE.fullmatch(amount)
    if found is None:
        raise InvalidField(where, amount, "must be a whole number or a percentage")
    percent = int(found["number"])
    return lambda expected: -(-percent * expected // 100)
