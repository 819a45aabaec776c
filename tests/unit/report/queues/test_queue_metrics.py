"""Metrics of queues, as they are scraped."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY

from gang_scheduler.apply.gang_binding import GangBinding, Outcome
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.model.queues import Amounts, QueueFigures
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders
from support.evicted_gangs import Cluster
from support.queue_figures import CPU, IMPLIED_ROOT, TEAM_A, TEAM_B, TREE, X, Y, queue, ref

NOW = 1000.0


def cache() -> Cache:
    """Return a cluster in which `x` waits since 400, with a PriorityClass, and `y` since 900."""
    found = Cache([builders.SCHEDULER], Changes())
    for key, created, named in ((X, 400, "high"), (Y, 900, "")):
        pod = builders.pod(f"{key.name}-0", gang=key.name)
        pod = replace(pod, gang=key, created_at=created, priority_class=named)
        found.upsert_pod(pod)
    return found


def made(most: int = 500) -> QueueMetrics:
    return QueueMetrics(cache(), most, clock=lambda: NOW)


@pytest.fixture
def metrics() -> Iterator[QueueMetrics]:
    """Give metrics of all queues; what they show is gone afterwards."""
    shown = made()
    yield shown
    shown.show([])


@pytest.fixture
def bounded() -> Iterator[QueueMetrics]:
    """Give metrics of one queue and `_other`."""
    shown = made(most=1)
    yield shown
    shown.show([])


def sample(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


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
    assert 1 == sample(name, queue="team-b", priority="none")
    assert 600 == sample("pgs_queue_oldest_wait_seconds", queue="team-b")
    assert 0 == sample("pgs_queue_oldest_wait_seconds", queue="team-a")


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


@pytest.mark.parametrize(
    ("outcome", "result"), [(Outcome.BOUND, "bound"), (Outcome.GAVE_UP, "failed")]
)
def test_the_wait_of_a_gang_is_measured_from_when_it_was_complete(
    metrics: QueueMetrics, outcome: Outcome, result: str
) -> None:
    metrics.show(TREE)
    metrics._cache.snapshot(960)
    info = metrics._cache.gang_queue.infos[X]
    gang = replace(info.as_gang(metrics._cache.schedulers), queue=TEAM_B.queue.ref)
    (pod,) = gang.pending
    labels = {"queue": "team-b", "job_type": "PodGroup", "result": result}
    name = "training_job_scheduling_duration_seconds"
    before = sample(f"{name}_sum", **labels) or 0
    counted = sample("training_gang_scheduling_total", result=result, timeout="false") or 0
    placed = Placed(gang, (Bind(pod, "n"),))
    metrics.bound(GangBinding(placed, "plan", submitted_at=0, outcomes={pod.uid: outcome}))

    assert 40 == (sample(f"{name}_sum", **labels) or 0) - before
    assert counted + 1 == sample("training_gang_scheduling_total", result=result, timeout="false")


def test_a_gang_that_is_evicted_is_counted_by_the_queues_of_both() -> None:
    cluster = Cluster()
    cluster.run("a")
    cluster.run("b", queue="blue")
    shown = QueueMetrics(cluster.cache)
    shown._names = frozenset({"red"})
    labels = {"preemptor_queue": "_other", "victim_queue": "red", "reason": "Reclaim"}
    name, again = "training_job_preemptions_total", "pgs_evictions_repeated_total"
    counted, repeated = sample(name, **labels) or 0, sample(again) or 0

    shown.preempted(cluster.evict({builders.gang_key("a"): EvictionClass.RECLAIM}, "b"))
    assert (counted + 1, repeated) == (sample(name, **labels), sample(again))

    shown.preempted(cluster.evict({builders.gang_key("a"): EvictionClass.RECLAIM}, "b"))
    assert (counted + 2, repeated + 1) == (sample(name, **labels), sample(again))
