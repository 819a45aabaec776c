"""Metrics of queues, as they are scraped."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from gang_scheduler.model.queues import Amounts, QueueFigures
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.telemetry.metrics import QUEUES
from support import builders
from support.metric_values import sample
from support.queue_figures import CPU, IMPLIED_ROOT, TEAM_A, TEAM_B, TREE, X, Y, queue, ref

NOW = 1000.0
DECISIONS = "training_gang_scheduling_total"


def cache() -> Cache:
    """Return a cluster in which `x` waits since 400, with a PriorityClass, and `y` since 900."""
    found = Cache([builders.SCHEDULER], Changes())
    for key, created, named in ((X, 400, "high"), (Y, 900, "")):
        pod = builders.pod(f"{key.name}-0", gang=key.name)
        pod = replace(pod, gang=key, created_at=created, priority_class=named)
        found.upsert_pod(pod)
    return found


def made() -> QueueMetrics:
    return QueueMetrics(cache(), clock=lambda: NOW)


@pytest.fixture
def metrics() -> Iterator[QueueMetrics]:
    """Give metrics of all queues; what they show is gone afterwards."""
    shown = made()
    yield shown
    shown.show([])


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Iterator[QueueMetrics]:
    """Give metrics of one queue and `_other`."""
    monkeypatch.setattr(QUEUES, "most", 1)
    shown = made()
    shown.show([])
    yield shown
    shown.show([])


def of_cpu(queue_name: str) -> Mapping[str, float | None]:
    return {
        name: sample(f"pgs_queue_{name}", queue=queue_name, flavor="default", resource="cpu")
        for name in ("nominal", "used", "borrowed", "lent")
    }


def test_the_amounts_of_a_queue_are_in_cores(metrics: QueueMetrics) -> None:
    metrics.show(TREE)

    assert {"nominal": 6, "used": 8, "borrowed": 2, "lent": 0} == of_cpu("team-a")
    assert {"nominal": 6, "used": 1.5, "borrowed": 0, "lent": 2} == of_cpu("team-b")


def test_utilization_is_what_is_used_of_what_is_promised(metrics: QueueMetrics) -> None:
    metrics.show(TREE)
    name = "training_cluster_resource_utilization"

    assert 0.25 == sample(name, resource_type="cpu", queue="team-b")
    assert sample(name, resource_type="memory", queue="team-a") is None


def test_the_deviation_from_the_fair_share_is_a_part_of_the_tree(metrics: QueueMetrics) -> None:
    metrics.show(TREE)
    name = "training_queue_fairshare_deviation"

    assert [1 / 12, -0.25] == [sample(name, queue=each) for each in ("team-a", "team-b")]


def test_gangs_that_wait_are_counted_by_the_name_of_their_class(metrics: QueueMetrics) -> None:
    metrics.show(TREE)
    name = "training_job_queue_length"

    assert 1 == sample(name, queue="team-b", priority="high")
    assert 1 == sample(name, queue="team-b", priority="default")
    assert 600 == sample("pgs_queue_oldest_wait_seconds", queue="team-b")
    assert 0 == sample("pgs_queue_oldest_wait_seconds", queue="team-a")


def test_a_starving_queue_is_distinguished_from_others(metrics: QueueMetrics) -> None:
    metrics.show([IMPLIED_ROOT, TEAM_A, replace(TEAM_B, starving=True)])

    queues = ("team-a", "team-b")
    assert [0, 1] == [sample("pgs_queue_starving", queue=each) for each in queues]


def test_one_queue_beyond_the_most_that_starves_is_enough(bounded: QueueMetrics) -> None:
    bounded.show([IMPLIED_ROOT, TEAM_A, replace(TEAM_B, starving=True)])
    assert 1 == sample("pgs_queue_starving", queue="_other")

    bounded.show(TREE)
    assert 0 == sample("pgs_queue_starving", queue="_other")


def test_queues_beyond_the_most_are_one(bounded: QueueMetrics) -> None:
    bounded.show(TREE)

    assert {"nominal": 12, "used": 9.5, "borrowed": 2, "lent": 2} == of_cpu("_other")
    assert {None} == {*of_cpu("team-a").values()}
    assert 600 == sample("pgs_queue_oldest_wait_seconds", queue="_other")
    name = "training_cluster_resource_utilization"
    assert 9.5 / 12 == sample(name, resource_type="cpu", queue="_other")
    assert 1 / 12 == sample("training_queue_fairshare_deviation", queue="_other")


def test_what_lies_between_others_is_not_summed_twice(bounded: QueueMetrics) -> None:
    between = QueueFigures(queue("between"), {CPU: Amounts(6000, 1500)})
    below = replace(TEAM_B, queue=queue("team-b", ref("between")))
    bounded.show([IMPLIED_ROOT, between, below])

    assert 1.5 == of_cpu("_other")["used"]


def test_a_queue_that_is_gone_has_no_metrics(metrics: QueueMetrics) -> None:
    metrics.show(TREE)
    metrics.show([IMPLIED_ROOT, TEAM_A])

    assert {None} == {*of_cpu("team-b").values()}
    assert sample("training_job_queue_length", queue="team-b", priority="high") is None
