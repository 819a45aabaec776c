"""What a scrape reads after a scheduler has worked: all of the table of metrics, and no more."""

import asyncio
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from gang_scheduler.api.kinds import PODS
from gang_scheduler.apply.forced_deletions import StuckMembers
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.queues import Amounts, QueueFigures
from gang_scheduler.periodic.largest_fit import LargestGangs
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import MetricOf
from gang_scheduler.telemetry.metrics import TABLE
from integration.support.scripted_server import ScriptedServer
from support import builders
from support.metric_values import exposition, growing
from support.queue_figures import CPU, TREE, queue
from support.scheduler_process import FakeWorkloads, SchedulerProcess

ELSEWHERE = {
    "pgs_handover_seconds": "e2e/test_replicas.py",
    "pgs_loop_held_total": "unit/test_watchdog.py",
    "pgs_watch_age_seconds": "unit/watch/test_synced.py",
    "pgs_watches_begun_anew_total": "unit/watch/test_supervisor.py",
    "pgs_relists_total": "integration/test_list_watch.py",
    "pgs_kind_forbidden": "integration/test_list_watch.py",
    "pgs_swept_total": "integration/test_sweep.py",
    "pgs_objects_seen_total": "e2e/test_what_users_see.py",
    "pgs_objects_broken_total": "unit/decode",
    "pgs_internal_errors_total": "integration/test_internal_errors.py",
    "pgs_build_info": "e2e/test_what_users_see.py",
    "pgs_gang_domains": "unit/report/gang_metrics/test_decisions.py",
    "pgs_evictions_repeated_total": "unit/report/gang_metrics/test_decisions.py",
    "pgs_elastic_changes_total": "unit/report/gang_metrics/test_decisions.py",
    "pgs_elastic_members": "unit/report/gang_metrics/test_gang_series.py",
    "pgs_spare_nodes": "unit/periodic/largest_fit/test_largest_fit.py",
    "pgs_provisioning_requests_total": "unit/report/workload_events/test_provisioning_events.py",
    "training_checkpoint_saves_total": "unit/report/checkpoints/test_announcer.py",
    "pgs_reservation_start_seconds": "unit/report/queues/test_queue_metrics.py",
    "pgs_recording_errors_total": "unit/recording/test_recorder.py",
    "pgs_devices": "unit/periodic/test_device_gauge.py",
    "pgs_claim_writes_total": "integration/test_device_claims.py",
}
"""What needs more than gangs that run, wait and preempt, and where that is."""
QUEUES = 10_000
MOST_SERIES = 20_000


def samples_of(metric: MetricOf) -> set[str]:
    """Return the names of the samples of a metric."""
    if metric.type != "histogram":
        return {metric.name}
    return {f"{metric.name}_{part}" for part in ("bucket", "sum", "count")}


def ours() -> Iterator[tuple[str, Sample]]:
    """Yield all that a scrape reads of the scheduler, with the types of the metrics."""
    for family in text_string_to_metric_families(exposition()):
        for sample in family.samples:
            if sample.name.startswith(("pgs_", "training_")):
                yield family.type, sample


@pytest.fixture
async def driven() -> None:
    """Let gangs run, wait, preempt and end."""
    made = FakeWorkloads("n1", "n2", "n3")
    made.gang("ended", 4, priority=10, node="n3")
    made.gang("low", 2, priority=0, nodes=("n1", "n2"))
    made.gang("top", 8, priority=9)
    made.gang("too-large", 50, priority=0)
    async with SchedulerProcess(made) as process:
        await process.until(lambda: all(made.nodes("top")))
        process.measures.show()
        for number in range(4):
            made.cluster.delete(PODS, builders.NAMESPACE, f"ended-{number}")
        await asyncio.sleep(5)
        process.measures.show()
        LargestGangs(process.cache, PROFILES["binpack"], ["cpu=1"]).show()
        await StuckMembers(process.api, process.cache, seconds=0, writes=Writes()).look()
        QueueMetrics(process.cache).show(TREE)


async def test_a_request_is_counted_at_the_one_door() -> None:
    page = {"metadata": {"resourceVersion": "1"}, "items": []}
    async with ScriptedServer([page]) as server, Connection(server.configuration) as connection:
        with growing("pgs_api_requests_total") as grown:
            await connection.request("GET", "/api/v1/nodes?limit=1&continue=")
            with pytest.raises(ApiError):
                await connection.request("GET", "/api/v1/nodes?limit=1&continue=")

    assert {("200", "nodes", "list"): 1, ("503", "nodes", "list"): 1} == grown


@pytest.mark.looptime
@pytest.mark.usefixtures("driven")
def test_all_of_the_table_is_shown_with_its_labels_and_nothing_else() -> None:
    by_sample = {name: metric for metric in TABLE for name in samples_of(metric)}
    found = set()
    for kind, sample in ours():
        metric = by_sample[sample.name]
        assert metric.type == kind, sample
        assert {*metric.label_names} == sample.labels.keys() - {"le"}, sample
        found.add(metric.name)

    assert set() == {metric.name for metric in TABLE} - found - ELSEWHERE.keys()


def test_ten_thousand_queues_with_hostile_names_have_a_bounded_number_of_series() -> None:
    metrics.keep_queues([])
    names = [f'q"\\\n{{}}{number}' for number in range(QUEUES)]
    figures = [QueueFigures(queue(name), {CPU: Amounts(1000, 500)}) for name in names]
    shown = QueueMetrics(Cache([builders.SCHEDULER], Changes()))
    shown.show(figures)
    for name in names:
        metrics.SCHEDULING_SECONDS.labels(name, "Job", "scheduled").observe(1)
        metrics.WAIT_SECONDS.labels(name).observe(1)
        metrics.COMPLETION_SECONDS.labels(name, "Job", "succeeded").observe(1)
        metrics.GANGS_PREEMPTED.labels("", name, "Reclaim").inc()
        metrics.LOST_SECONDS.labels(name).inc()
        metrics.EVICTIONS_REPEATED.labels(name).inc()

    found = [sample for _, sample in ours()]
    assert len(found) < MOST_SERIES
    assert names[0] in {sample.labels.get("queue") for sample in found}
    # Nothing is lost: what has no series of its own is counted as one.
    waits = (sample.value for sample in found if sample.name == "pgs_gang_wait_seconds_count")
    assert QUEUES <= sum(waits)

    shown.show([])
    assert not any(names[0] in sample.labels.values() for _, sample in ours())
