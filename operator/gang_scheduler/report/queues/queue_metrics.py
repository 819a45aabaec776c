"""Metrics by queue, for a bounded number of queues: all others are counted as `_other`."""

import operator
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from gang_scheduler.model.queues import Amounts, FlavorResource, QueueFigures, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU
from gang_scheduler.report.gang_metrics import class_of, created_at
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.phases import in_line
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import OTHER, Gauge
from gang_scheduler.telemetry.metrics import QUEUES

PART: Final = "queues"
_BY_FLAVOR: Final = {
    metrics.QUEUE_NOMINAL: Amounts._fields.index("nominal"),
    metrics.QUEUE_USED: Amounts._fields.index("used"),
    metrics.QUEUE_BORROWED: Amounts._fields.index("borrowed"),
    metrics.QUEUE_LENT: Amounts._fields.index("lent"),
}
Labels = tuple[str, ...]
Found = defaultdict[Gauge, list[tuple[Labels, float]]]

_SHOWN: Final[Mapping[Gauge, Callable[[float, float], float]]] = {
    **dict.fromkeys((*_BY_FLAVOR, metrics.QUEUE_LENGTH, metrics.UTILIZATION), operator.add),
    metrics.QUEUE_DEVIATION: max,
    metrics.QUEUE_OLDEST_WAIT: max,
    metrics.QUEUE_STARVING: max,
    metrics.RESERVATION_START: min,
}
"""The metrics of queues, and how the values of queues beyond the bound become one value."""


class QueueMetrics:
    """Sets the metrics of queues.

    Only a bounded number of queues (`telemetry/metrics.py`) have series of their own.
    """

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.time) -> None:
        self._cache = cache
        self._clock = clock

    def show(self, figures: Sequence[QueueFigures]) -> None:
        """Set the metrics of all queues; remove the metrics of deleted queues."""
        metrics.keep_queues({each.queue.ref.name for each in figures})
        found = self._found(figures)
        for gauge, merge in _SHOWN.items():
            gauge.show(found[gauge], merge, PART)

    def _found(self, figures: Sequence[QueueFigures]) -> Found:
        amounts: defaultdict[tuple[str, FlavorResource], list[Amounts]] = defaultdict(list)
        found: Found = defaultdict(list)
        parents = {each.queue.parent for each in figures}
        for each in figures:
            name = QUEUES.shown(each.queue.ref.name)
            # Skip interior queues here: their amounts already include those of the queues below.
            if name != OTHER or each.queue.ref not in parents:
                for of, numbers in each.amounts.items():
                    amounts[name, of].append(numbers)
            found[metrics.QUEUE_STARVING].append(((name,), each.starving))
            self._add_waiting(found, name, each.pending)
        for (name, of), numbers_found in amounts.items():
            for gauge, place in _BY_FLAVOR.items():
                total = sum(each[place] for each in numbers_found)
                found[gauge].append(((name, *of), _in_units(of.resource, total)))
        found[metrics.UTILIZATION] += _utilization(amounts)
        found[metrics.RESERVATION_START] += self._reservations()
        found[metrics.QUEUE_DEVIATION] += self._deviations(figures)
        return found

    def _add_waiting(self, found: Found, name: str, pending: Iterable[GangKey]) -> None:
        """Add the number of waiting gangs by priority class, and the longest wait in seconds."""
        known = map(self._cache.gang_queue.infos.get, pending)
        infos = [info for info in known if info is not None]
        for priority, number in Counter(map(class_of, infos)).items():
            found[metrics.QUEUE_LENGTH].append(((name, priority), number))
        # Gangs that no change could help do not count: they may wait for ever.
        oldest = min(map(created_at, filter(in_line, infos)), default=None)
        wait = 0 if oldest is None else max(0, self._clock() - oldest)
        found[metrics.QUEUE_OLDEST_WAIT].append(((name,), wait))

    def _reservations(self) -> Iterator[tuple[Labels, float]]:
        """Yield the seconds until each promised start that is known."""
        for each in self._cache.gang_queue.reservations.standing():
            queue = each.gangs[0].queue
            if queue is not None and each.start is not None:
                yield (queue.name,), max(0, each.start - self._clock())

    def _deviations(self, figures: Sequence[QueueFigures]) -> Iterator[tuple[Labels, float]]:
        """Yield how far each queue is above its fair share, as a part of its tree's nominal quota.

        The value is the largest of all flavors and resources.
        """
        by_ref = {each.queue.ref: each for each in figures}
        for each in figures:
            root = _root(each, by_ref)
            parts = (
                Fraction(amounts.used - amounts.fair_share, promised)
                for of, amounts in each.amounts.items()
                if (promised := root.amounts.get(of, Amounts()).nominal)
            )
            yield (each.queue.ref.name,), float(max(parts, default=Fraction(0)))


def _utilization(
    amounts: Mapping[tuple[str, FlavorResource], Iterable[Amounts]],
) -> Iterator[tuple[Labels, float]]:
    """Yield which part of its nominal quota each queue uses; queues without quota are left out."""
    used, nominal = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for (name, of), found in amounts.items():
        used[of.resource, name] += sum(each.used for each in found)
        nominal[of.resource, name] += sum(each.nominal for each in found)
    for labels, promised in nominal.items():
        if promised:
            yield labels, used[labels] / promised


def _root(figures: QueueFigures, by_ref: Mapping[QueueRef, QueueFigures]) -> QueueFigures:
    """Return the root of the tree of a queue; a queue in a cycle is its own root."""
    at, seen = figures, set[QueueRef]()
    while at.queue.ref not in seen:
        seen.add(at.queue.ref)
        parent = at.queue.parent
        at = by_ref.get(parent, at) if parent else at
    return at


def _in_units(resource: str, amount: int | Fraction) -> float:
    return float(amount / 1000 if resource == CPU else amount)
