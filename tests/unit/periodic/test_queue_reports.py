"""Figures are made when something may have changed, and handed to all that show them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gang_scheduler import queue_figures
from gang_scheduler.api import kinds as api_kinds
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode.queues import ours
from gang_scheduler.model.queues import NONE, QueueFigures
from gang_scheduler.model.refs import QueueName, QueueNameKind, QueueRequest
from gang_scheduler.model.rules import NO_SETTINGS
from gang_scheduler.periodic import queue_reports
from gang_scheduler.periodic.queue_reports import QueueReports, UsageSweep
from gang_scheduler.report.queues.gang_texts import Place, QueuePlaces
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.report.queues.status import QueueWriter
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, cache_feeding, metric_values
from support.queue_builders import queue_ref
from support.queue_clusters import QueueCluster
from support.queue_figures import TREE, X


class Harness:
    """Reports of figures that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.figures: tuple[QueueFigures, ...] = TREE
        self.changes = Changes()
        self.cache = Cache([builders.SCHEDULER], self.changes)
        self.cache.upsert_pod(builders.pod("x-0", gang="x"))
        self.cache.gang_queue.changed.clear()
        self.writer = QueueWriter(FakeApi(), {}, writes=Writes())
        self.places = QueuePlaces()
        self.shown: list[Sequence[QueueFigures]] = []
        metrics = QueueMetrics(self.cache)
        monkeypatch.setattr(metrics, "show", self.shown.append)
        monkeypatch.setattr(queue_figures, "figures_of", lambda *_: self.figures)
        self.reports = QueueReports(
            *(self.cache, NO_SETTINGS),
            writer=self.writer,
            metrics=metrics,
            places=self.places,
            changes=self.changes,
        )


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Harness:
    """Give reports of a tree of queues."""
    return Harness(monkeypatch)


def test_figures_are_handed_over_and_gangs_with_another_place_are_looked_at(
    harness: Harness,
) -> None:
    harness.reports.report()

    assert [TREE] == harness.shown
    assert Place(1, 2) == harness.places.of(X)
    assert {X} == harness.cache.gang_queue.changed


def test_without_queues_nothing_is_handed_over(harness: Harness) -> None:
    harness.figures = ()
    harness.reports.report()

    assert [] == harness.shown


def test_that_the_last_queue_is_gone_is_handed_over_once(harness: Harness) -> None:
    harness.reports.report()
    harness.figures = ()
    harness.reports.report()
    harness.reports.report()

    assert [TREE, ()] == harness.shown


def test_a_gang_that_runs_on_in_a_queue_that_is_gone_is_charged_to_none(harness: Harness) -> None:
    cache, key = harness.cache, builders.gang_key("y")
    store = kinds.of(api_kinds.QUEUES).store(cache)
    for name in ("a", "b"):
        body = {"metadata": {"name": name, "uid": name}, "spec": {"quota": {"soft": {"cpu": 1}}}}
        cache.upsert(store, ours.queue(body))
    spec = replace(builders.gang_spec("y"), status={"queue": {"name": "a"}})
    cache_feeding.upsert_gang_specs(cache, "scheduling.sigs.k8s.io", spec.uid, [spec])
    names = QueueRequest((QueueName(QueueNameKind.QUEUE, "a"),))
    cache.upsert_pod(replace(builders.pod("y-0", gang="y", node="n"), queue_request=names))
    harness.reports.report()
    cache.queue_state(0)
    cache.gang_queue.changed.clear()
    found = [cache.queue_of(key)]

    cache.delete(store, "a")
    cache.queue_state(0)
    harness.reports.report()

    assert [queue_ref("a"), NONE] == [*found, cache.queue_of(key)]
    assert key in cache.gang_queue.changed


async def test_reports_are_made_after_changes_and_not_more_often(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_reports, "LEAST_SECONDS", 0.02)
    running = asyncio.create_task(harness.reports.run())
    await asyncio.sleep(0.05)
    assert [] == harness.shown

    for _ in range(5):
        harness.changes.queues.set()
        await asyncio.sleep(0)
    await asyncio.sleep(0.1)
    assert len(harness.shown) in (1, 2)
    running.cancel()


# What queues are charged is compared with the sum.


def counted() -> float:
    return metric_values.counted("pgs_queue_usage_differences_total")


def test_only_a_difference_is_counted() -> None:
    cluster = QueueCluster()
    cluster.declare()
    cluster.put("p", "a", node="n-spot")
    cluster.usage()
    before = counted()
    UsageSweep(cluster.cache).sweep()
    same = counted()
    cluster.cache.queue_usage._tallies.put("uid-p", None)
    for _ in range(2):
        UsageSweep(cluster.cache).sweep()

    assert (before, before + 2) == (same, counted())
