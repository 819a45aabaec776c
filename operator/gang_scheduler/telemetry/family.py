"""A metric with its series, and the bounds of its labels.

prometheus_client keeps the values. This module decides which label sets may exist. Looking up label
sets here first makes each count take half a microsecond.
"""

import abc
import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar, cast

if TYPE_CHECKING:
    import prometheus_client
    from prometheus_client import CollectorRegistry


# The values that a label may have. Each label has a bound, otherwise users could create series
# without end.

OTHER: Final = "_other"


class Bound(Protocol):
    """The values that a label may have."""

    @property
    def most(self) -> int:
        """The largest number of values, without `other`."""

    @property
    def other(self) -> str:
        """The value that is shown instead of values beyond the bound."""

    def shown(self, value: str) -> str:
        """Return the value itself, or `other` if the bound is reached."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A label whose values are known in advance."""

    values: tuple[str, ...]
    other: str = OTHER

    @property
    def most(self) -> int:
        """How many values there are."""
        return len(self.values)

    def shown(self, value: str) -> str:
        """Return the value if it is in the list, else `other`."""
        return value if value in self.values else self.other


@dataclass(slots=True, eq=False)
class Limited:
    """The first `most` values in use. A dropped value makes room for another."""

    most: int
    other: str = OTHER
    values: set[str] = field(default_factory=set)

    def shown(self, value: str) -> str:
        """Return the value if it is among the first values in use, else `other`."""
        if value in self.values:
            return value
        if len(self.values) >= self.most:
            return self.other
        self.values.add(value)
        return value

    def keep(self, values: Collection[str]) -> set[str]:
        """Drop all values except these; return the dropped ones."""
        gone = self.values.difference(values)
        self.values -= gone
        return gone


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a label, and its allowed values. Labels of several metrics may share a bound.

    A scrape renames `job`, `instance`, `namespace` and `pod`, so no label has these names. A label
    with a bound of its `own` forgets values that its gauge no longer shows.
    """

    name: str
    bound: Bound
    own: bool = False

    def keep(self, values: Collection[str]) -> None:
        """Forget all other values, if the bound is the label's own."""
        if self.own and isinstance(self.bound, Limited):
            self.bound.keep(values)


MOST_LABEL_SETS: Final = 2000
"""A metric has at most this many label sets."""
MOST_OF_HISTOGRAM: Final = 250
"""A histogram has at most this many label sets: each has a series for every bucket."""

Values = tuple[str, ...]
Series = Iterable[tuple[Values, float]]
P = TypeVar(
    "P", "prometheus_client.Counter", "prometheus_client.Gauge", "prometheus_client.Histogram"
)


class _Unkept:
    """Stands in for the series of a process that exports no metrics: values are dropped."""

    def __getattr__(self, _: str) -> Callable[..., Any]:
        return lambda *_: self


_UNKEPT: Final = _Unkept()
_keeps: list[bool] = [True]
"""Whether values are kept; the last entry decides."""


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """Keep no values in this block, for commands that export no metrics."""
    _keeps.append(False)
    try:
        yield
    finally:
        _keeps.pop()


def _without_times() -> None:
    """Turn off the extra series of prometheus_client that say when each series began."""
    import prometheus_client  # noqa: PLC0415 - as in `_make`.

    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call] # it has no annotations


class Family(abc.ABC, Generic[P]):
    """A metric: its name, meaning and series.

    `note` is shown to people with the metric. `of_leader`: the metric describes the cluster, and
    only the replica that schedules exports it, so a sum over all replicas is right.
    """

    type: ClassVar[Literal["counter", "gauge", "histogram"]]
    most: int = MOST_LABEL_SETS

    def __init__(
        self,
        name: str,
        about: str,
        *labels: Label,
        of_leader: bool = False,
        buckets: Iterable[float] = (),
        note: str = "",
    ) -> None:
        self.name: Final = name
        self.about: Final = about
        self.note: Final = note
        self.labels_declared: Final = labels
        self.label_names: Final = tuple(each.name for each in labels)
        self.of_leader: Final = of_leader
        self.buckets: Final = tuple(buckets)
        self._is_exposed = False
        self._kept: P | None = None
        self._children: dict[Values, P] = {}
        self._shown: set[Values] = set()
        # Labels with a closed list of values stay distinct beyond the bound, if there is room for
        # them.
        closed = (each.bound.most + 1 for each in labels if isinstance(each.bound, Closed))
        self._room = self.most - 1 - min(math.prod(closed), self.most // 10)

    @abc.abstractmethod
    def _make(self) -> P:
        """Return the metric object of prometheus_client."""

    @property
    def _made(self) -> P:
        """The metric object of prometheus_client, created on first use."""
        if self._kept is None:
            if not _keeps[-1]:
                return cast("P", _UNKEPT)
            _without_times()
            self._kept = self._make()
        return self._kept

    def expose(self, registry: "CollectorRegistry") -> None:
        """Add the metric to a registry, which shows it from now on."""
        if not self._is_exposed:
            registry.register(self._made)
        self._is_exposed = True

    def labels(self, *values: str) -> P:
        """Return the series of these label values, or the series into which they are merged."""
        found = self._children.get(values)
        return found if found is not None else self._new(values)

    def bounded(self, values: Values) -> Values:
        """Return the label values, with `other` where a bound says so. May add a label set."""
        if values in self._shown:
            return values
        pairs = zip(self.labels_declared, values, strict=True)
        shown = tuple(label.bound.shown(value) for label, value in pairs)
        if shown not in self._shown and len(self._shown) >= self._room:
            pairs = zip(self.labels_declared, shown, strict=True)
            shown = tuple(
                value if isinstance(label.bound, Closed) else label.bound.other
                for label, value in pairs
            )
        if shown not in self._shown and len(self._shown) >= self.most - 1:
            shown = tuple(label.bound.other for label in self.labels_declared)
        self._shown.add(shown)
        if shown != values:
            FOLDED.inc()
        return shown

    def _new(self, values: Values) -> P:
        shown = self.bounded(values)
        child: P = self._made.labels(*shown) if shown else self._made
        if shown == values and child is not _UNKEPT:
            self._children[values] = child
        return child

    def remove(self, values: Values) -> None:
        """Remove a label set."""
        self._children.pop(values, None)
        self._shown.discard(values)
        self._made.remove(*values)

    def drop(self, label: str, gone: Collection[str]) -> None:
        """Remove all label sets in which a label has one of these values. Linear in label sets."""
        places = [at for at, name in enumerate(self.label_names) if name == label]
        for values in [each for each in self._shown if any(each[at] in gone for at in places)]:
            self.remove(values)


class Counter(Family["prometheus_client.Counter"]):
    """A metric that counts."""

    type = "counter"

    def _make(self) -> "prometheus_client.Counter":
        import prometheus_client  # noqa: PLC0415 - when there is a value.

        return prometheus_client.Counter(self.name, self.about, self.label_names, registry=None)

    def inc(self, amount: float = 1) -> None:
        """Count in a counter without labels."""
        self._made.inc(amount)


class Gauge(Family["prometheus_client.Gauge"]):
    """A metric that says how much there is."""

    type = "gauge"

    def __init__(
        self,
        name: str,
        about: str,
        *labels: Label,
        of_leader: bool = False,
        note: str = "",
        most: int = MOST_LABEL_SETS,
    ) -> None:
        self.most = most
        super().__init__(name, about, *labels, of_leader=of_leader, note=note)
        self._parts: dict[str, tuple[tuple[Values, float], ...]] = {}

    def _make(self) -> "prometheus_client.Gauge":
        import prometheus_client  # noqa: PLC0415 - when there is a value.

        return prometheus_client.Gauge(self.name, self.about, self.label_names, registry=None)

    def set(self, value: float) -> None:
        """Set the value of a gauge without labels."""
        self._made.set(value)

    def show(
        self,
        series: Series,
        merge: Callable[[float, float], float] = operator.add,
        of: str = "",
    ) -> None:
        """Set the value of each given label set, and remove all other label sets.

        Values of label sets that the bounds merge into one are combined by `merge`. `of` names one
        part of the gauge; the other parts keep the values that they showed last.
        """
        self._parts[of] = tuple(series)
        series = [each for part in self._parts.values() for each in part]
        for place, label in enumerate(self.labels_declared):
            label.keep({values[place] for values, _ in series})
        merged: dict[Values, float] = {}
        for values, value in series:
            shown = self.bounded(values)
            merged[shown] = merge(merged[shown], value) if shown in merged else value
        for values in self._shown - merged.keys():
            self.remove(values)
        for values, value in merged.items():
            self.labels(*values).set(value)


class Histogram(Family["prometheus_client.Histogram"]):
    """A metric that counts values by bucket: how many were at most as large as each bound."""

    type = "histogram"
    most = MOST_OF_HISTOGRAM

    def _make(self) -> "prometheus_client.Histogram":
        import prometheus_client  # noqa: PLC0415 - when there is a value.

        return prometheus_client.Histogram(
            self.name, self.about, self.label_names, buckets=self.buckets, registry=None
        )

    def observe(self, value: float) -> None:
        """Observe a value in a histogram without labels."""
        self._made.observe(value)


MetricOf = Counter | Gauge | Histogram

FOLDED: Final = Counter(
    "pgs_metrics_folded_total",
    "Values that were counted under other labels, because the metric was at its limit.",
)
