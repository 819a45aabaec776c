"""What a scrape reads is what prometheus_client would write."""

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector

from gang_scheduler.telemetry.exposition import Exposition
from gang_scheduler.telemetry.family import Counter, Gauge, Histogram, Label, Limited

HOSTILE = 'q"\\\n{},= é'


def label(name: str) -> Label:
    return Label(name, Limited(5))


@pytest.fixture
def registry() -> CollectorRegistry:
    """Give metrics of each type, with labels and without, and those of the platform."""
    made = CollectorRegistry()
    PlatformCollector(made)
    GCCollector(made)
    counter = Counter("a_total", 'Has "quotes",\na line and a \\.')
    counter.inc(3)
    gauge = Gauge("b", "Of labels.", label("z"), label("a"))
    gauge.labels(HOSTILE, "").set(float("inf"))
    gauge.labels("1", HOSTILE).set(1e-12)
    histogram = Histogram("c_seconds", "Of seconds.", label("x"), buckets=(0.1, 1))
    histogram.labels("1").observe(1)
    for each in (counter, gauge, histogram, Histogram("d", "Of nothing.", buckets=(1,))):
        each.expose(made)
    return made


def test_it_is_what_the_client_library_writes(registry: CollectorRegistry) -> None:
    lines = Exposition(registry).text().splitlines()
    expected = prometheus_client.generate_latest(registry).splitlines()

    assert _without_collections(expected) == _without_collections(lines)


def _without_collections(lines: list[bytes]) -> list[bytes]:
    return [each for each in lines if not each.startswith(b"python_gc_")]


def test_values_are_those_of_now_and_what_is_gone_is_not_kept() -> None:
    registry, gauge = CollectorRegistry(), Gauge("a", "Changes.", label("x"))
    gauge.expose(registry)
    exposition = Exposition(registry)
    gauge.show([(("p",), 1), (("q",), 1)])
    exposition.text()
    gauge.show([(("p",), 2)])

    header = b"# HELP a Changes.\n# TYPE a gauge\n"
    assert header + b'a{x="p"} 2.0\n' == exposition.text()
    assert [("a", "p")] == [*exposition._series]
