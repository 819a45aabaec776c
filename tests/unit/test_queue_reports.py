"""Figures are made when something may have changed, and handed to all that show them."""

import asyncio
from collections.abc import Sequence

import pytest

from gang_scheduler import queue_figures, queue_reports
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.model.queues import QueueFigures
from gang_scheduler.queue_reports import QueueReports
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.report.queues.queue_places import Place, QueuePlaces
from gang_scheduler.report.queues.queue_writer import QueueWriter
from gang_scheduler.scheduler.policies import QueueRules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders
from support.queue_figures import TREE, X


class Harness:
    """Reports of figures that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.figures: tuple[QueueFigures, ...] = TREE
        self.changes = Changes()
        self.cache = Cache([builders.SCHEDULER], self.changes)
        self.cache.upsert_pod(builders.pod("x-0", gang="x"))
        self.cache.gang_queue.changed.clear()
        self.writer = QueueWriter(FakeApi(), {})
        self.places = QueuePlaces()
        self.shown: list[Sequence[QueueFigures]] = []
        metrics = QueueMetrics(self.cache)
        monkeypatch.setattr(metrics, "show", self.shown.append)
        monkeypatch.setattr(queue_figures, "figures_of", lambda *_: self.figures)
        self.reports = QueueReports(
            *(self.cache, QueueRules()),
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
