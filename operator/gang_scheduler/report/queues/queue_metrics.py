"""Metrics by queue. Of a bounded number of queues: the others are one, `_other`."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from prometheus_client import Gauge

from gang_scheduler import telemetry
from gang_scheduler.apply.gang_binding import GangBinding
from gang_scheduler.model import gang_sources
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.queues import Amounts, FlavorResource, QueueFigures, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo

OTHER: Final = "_other"
NO_QUEUE: Final = ""
NO_CLASS: Final = "none"
"""The class of pods that name none."""

_BY_FLAVOR: Final = {
    telemetry.QUEUE_NOMINAL: Amounts._fields.index("nominal"),
    telemetry.QUEUE_USED: Amounts._fields.index("used"),
    telemetry.QUEUE_BORROWED: Amounts._fields.index("borrowed"),
    telemetry.QUEUE_LENT: Amounts._fields.index("lent"),
}
Labels = tuple[str, ...]
Series = dict[tuple[Gauge, Labels], float]


class QueueMetrics:
    """Shows figures. `most` queues have metrics of their own: the first, in their order."""

    def __init__(
        self, cache: Cache, most: int = 500, clock: Callable[[], float] = time.time
    ) -> None:
        self._cache = cache
        self._most = most
        self._clock = clock
        self._names: frozenset[str] = frozenset()
        self._shown: Series = {}

    def show(self, figures: Sequence[QueueFigures]) -> None:
        """Set the metrics of all queues. A series that is not there any more is removed."""
        self._names = frozenset(each.queue.ref.name for each in figures[: self._most])
        series = self._series(figures)
        for gauge, labels in self._shown.keys() - series.keys():
            gauge.remove(*labels)
        for (gauge, labels), value in series.items():
            if self._shown.get((gauge, labels)) != value:
                gauge.labels(*labels).set(value)
        self._shown = series

    def bound(self, binding: GangBinding) -> None:
        """Count how the plan for a quorum was carried out, and how long that took."""
        info = self._cache.gang_queue.infos.get(binding.gang.key)
        since = info.attempt.quorum_since if info else None
        if info is None or since is None or binding.joins:
            return
        result = "failed" if binding.failed else "bound"
        queue, now = binding.gang.queue, self._clock()
        name = self._label(queue.name) if queue else NO_QUEUE
        deadline = self._cache.gang_queue.deadline(info)
        late = deadline is not None and now >= deadline
        telemetry.GANGS_SCHEDULED.labels(result, str(late).lower()).inc()
        labels = (name, _job_type(info), result)
        telemetry.SCHEDULING_SECONDS.labels(*labels).observe(max(0, now - since))

    def preempted(self, preemption: Preemption) -> None:
        """Count the gangs that are evicted for a gang of a queue."""
        for key, by in preemption.classes.items():
            queues = (self._queue_of(preemption.gangs[0].key), self._queue_of(key))
            telemetry.QUEUE_PREEMPTIONS.labels(*queues, by.shown).inc()
            if self._cache.evictions.of(key).count > 1:
                telemetry.EVICTIONS_REPEATED.inc()

    def _queue_of(self, key: GangKey) -> str:
        resolved = self._cache.gang_queue.queues.of(key)
        return self._label(resolved.ref.name) if resolved and resolved.ref else NO_QUEUE

    def _label(self, queue: str) -> str:
        return queue if queue in self._names else OTHER

    def _series(self, figures: Sequence[QueueFigures]) -> Series:
        amounts: defaultdict[tuple[str, FlavorResource], list[Amounts]] = defaultdict(list)
        series: Series = {}
        parents = {each.queue.parent for each in figures}
        for each in figures:
            name = self._label(each.queue.ref.name)
            # What is summed up is summed once: interior queues have what is below them.
            if name != OTHER or each.queue.ref not in parents:
                for of, numbers in each.amounts.items():
                    amounts[name, of].append(numbers)
            self._add_waiting(series, name, each.pending)
        for (name, of), found in amounts.items():
            for gauge, place in _BY_FLAVOR.items():
                total = sum(each[place] for each in found)
                series[gauge, (name, *of)] = _in_units(of.resource, total)
        series.update(_utilization(amounts))
        self._add_reservations(series)
        for name, deviation in self._deviations(figures):
            key = (telemetry.QUEUE_DEVIATION, (name,))
            series[key] = max(deviation, series.get(key, deviation))
        return series

    def _add_waiting(self, series: Series, name: str, pending: Iterable[GangKey]) -> None:
        """Add how many gangs wait of each class, and for how long the oldest does."""
        known = map(self._cache.gang_queue.infos.get, pending)
        infos = [info for info in known if info is not None]
        for priority, number in Counter(map(_class_of, infos)).items():
            key = (telemetry.QUEUE_LENGTH, (name, priority))
            series[key] = series.get(key, 0) + number
        oldest = min(map(_created_at, infos), default=None)
        wait = 0 if oldest is None else max(0, self._clock() - oldest)
        in_series = (telemetry.QUEUE_OLDEST_WAIT, (name,))
        series[in_series] = max(wait, series.get(in_series, 0))

    def _add_reservations(self, series: Series) -> None:
        """Add how long it takes until gangs start that were promised it, where that is known."""
        for each in self._cache.gang_queue.reservations.standing():
            queue = each.gangs[0].queue
            if queue is not None and each.start is not None:
                key = (telemetry.RESERVATION_START, (self._label(queue.name),))
                left = max(0, each.start - self._clock())
                series[key] = min(left, series.get(key, left))

    def _deviations(self, figures: Sequence[QueueFigures]) -> Iterator[tuple[str, float]]:
        """Yield how far each queue is above its fair share; the largest part of any resource."""
        by_ref = {each.queue.ref: each for each in figures}
        for each in figures:
            root = _root(each, by_ref)
            parts = (
                Fraction(amounts.used - amounts.fair_share, promised)
                for of, amounts in each.amounts.items()
                if (promised := root.amounts.get(of, Amounts()).nominal)
            )
            yield self._label(each.queue.ref.name), float(max(parts, default=Fraction(0)))


def _utilization(
    amounts: Mapping[tuple[str, FlavorResource], Iterable[Amounts]],
) -> Iterator[tuple[tuple[Gauge, Labels], float]]:
    """Yield what part of a promise is used, of those that were promised something."""
    used, nominal = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for (name, of), found in amounts.items():
        used[of.resource, name] += sum(each.used for each in found)
        nominal[of.resource, name] += sum(each.nominal for each in found)
    for labels, promised in nominal.items():
        if promised:
            yield (telemetry.QUEUE_UTILIZATION, labels), used[labels] / promised


def _root(figures: QueueFigures, by_ref: Mapping[QueueRef, QueueFigures]) -> QueueFigures:
    """Return the root of the tree of a queue; what is in a cycle has none but itself."""
    at, seen = figures, set[QueueRef]()
    while at.queue.ref not in seen:
        seen.add(at.queue.ref)
        parent = at.queue.parent
        at = by_ref.get(parent, at) if parent else at
    return at


def _in_units(resource: str, amount: int) -> float:
    return amount / 1000 if resource == CPU else amount


def _class_of(info: GangInfo) -> str:
    return next((pod.priority_class for pod in info.observed.living), "") or NO_CLASS


def _created_at(info: GangInfo) -> float:
    spec = info.observed.spec
    if spec is not None and spec.uid:
        return spec.created_at
    return min((pod.created_at for pod in info.observed.living), default=0)


def _job_type(info: GangInfo) -> str:
    source = gang_sources.BY_NAME[info.key.source]
    return source.object_kind or source.name
