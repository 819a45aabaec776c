"""One metric has no more series than its bounds allow."""

import operator

import pytest
from prometheus_client import CollectorRegistry

from gang_scheduler.telemetry import family
from gang_scheduler.telemetry.family import (
    FOLDED,
    Closed,
    Counter,
    Gauge,
    Histogram,
    Label,
    Limited,
)
from support.metric_values import counted


def values(registry: CollectorRegistry) -> dict[str, float]:
    """Return all samples, by the values of their labels."""
    return {
        ",".join(sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
    }


@pytest.fixture
def registry() -> CollectorRegistry:
    """Give a registry of one test."""
    return CollectorRegistry()


def test_values_beyond_the_bound_are_counted_as_one_and_that_is_counted(
    registry: CollectorRegistry,
) -> None:
    counter = Counter("c_total", "", Label("queue", Limited(1)))
    counter.expose(registry)
    before = counted(FOLDED.name)
    for each in ("a", "b", "c", "a"):
        counter.labels(each).inc()

    assert {"a": 2, "_other": 2} == values(registry)
    assert before + 2 == counted(FOLDED.name)


def test_label_sets_beyond_the_most_are_one_for_each_value_of_a_closed_list(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counter, "most", 30)
    labels = (Label("queue", Limited(100)), Label("result", Closed(("yes",))))
    counter = Counter("c_total", "", *labels)
    counter.expose(registry)
    for number in range(40):
        counter.labels(f"q{number}", "yes" if number % 2 else "no").inc()

    shown = values(registry)
    assert (27 + 2, 40) == (len(shown), sum(shown.values()))
    assert (7, 6) == (shown["_other,yes"], shown["_other,_other"])


def test_beyond_all_there_is_one_label_set(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counter, "most", 20)
    labels = (Label("queue", Limited(100)), Label("result", Closed(("a", "b", "c", "d"))))
    counter = Counter("c_total", "", *labels)
    counter.expose(registry)
    for number in range(60):
        counter.labels(f"q{number}", "abcd"[number % 4]).inc()

    shown = values(registry)
    assert (20, 60) == (len(shown), sum(shown.values()))


def test_a_gauge_shows_what_is_now_and_nothing_else(registry: CollectorRegistry) -> None:
    gauge = Gauge("g", "", Label("queue", Limited(2)))
    gauge.expose(registry)
    gauge.show([(("a",), 1), (("b",), 2), (("c",), 3), (("d",), 4)], operator.add)
    before = values(registry)
    gauge.show([(("b",), 5)])

    assert ({"a": 1, "b": 2, "_other": 7}, {"b": 5}) == (before, values(registry))


def test_label_sets_of_what_is_gone_disappear(registry: CollectorRegistry) -> None:
    histogram = Histogram("h", "", Label("queue", Limited(9)), buckets=(1,))
    histogram.expose(registry)
    for each in ("a", "b"):
        histogram.labels(each).observe(1)
    histogram.drop("queue", {"a"})

    assert not any(each.startswith("a") for each in values(registry))
    histogram.labels("a").observe(1)
    assert 1 == registry.get_sample_value("h_count", {"queue": "a"})


def test_no_sample_says_when_its_series_began(registry: CollectorRegistry) -> None:
    counter = Counter("c_total", "")
    counter.expose(registry)
    counter.expose(registry)
    counter.inc()

    assert {"": 1.0} == values(registry)


def test_a_process_that_shows_no_metrics_counts_nothing_and_another_goes_on() -> None:
    counter, gauge = Counter("a_total", "A.", Label("x", Limited(5))), Gauge("b", "B.")
    histogram = Histogram("c", "C.", Label("x", Limited(5)), buckets=(1,))

    with family.keeping_nothing():
        counter.labels("1").inc()
        gauge.set(2)
        gauge.show([((), 3)])
        histogram.labels("1").observe(0.5)
    counter.labels("1").inc()

    registry = CollectorRegistry()
    counter.expose(registry)
    assert 1 == registry.get_sample_value("a_total", {"x": "1"})
