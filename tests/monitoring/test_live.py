"""What a real Prometheus makes of a real operator and its standby: panels, alerts, metrics."""

import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest

from e2e.support import networks, preemption, queues
from e2e.support.manifests import Manifest, gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from gang_scheduler.telemetry.metrics import TABLE
from monitoring.prometheus_server import Prometheus
from tools import controlplane
from tools.controlplane import binaries
from tools.dashboards import queries
from tools.dashboards.queries import Query

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ROUNDS_SECONDS: Final = 15.0
OF_A_SCRAPE: Final = {"__name__", "job", "instance", "namespace", "le"}
WITHOUT_DATA: Final = {
    "pgs_claim_writes_total": "no claims of devices",
    "pgs_claims_bound_seconds": "no volumes",
    "pgs_costly_decisions_total": "no decision takes long",
    "pgs_device_search_cut_total": "no claims of devices",
    "pgs_devices": "no driver publishes devices",
    "pgs_elastic_changes_total": "the elastic gang has what it wants",
    "pgs_evictions_repeated_total": "no gang is evicted twice",
    "pgs_handover_seconds": "no other replica has led before",
    "pgs_internal_errors_total": "no errors of ours",
    "pgs_kind_forbidden": "all may be read",
    "pgs_loop_held_total": "nothing holds up the loop",
    "pgs_metrics_folded_total": "few label sets",
    "pgs_objects_broken_total": "all can be read",
    "pgs_provisioning_requests_total": "no gang asks for nodes",
    "pgs_queue_usage_differences_total": "no errors of ours",
    "pgs_recording_errors_total": "nothing is recorded",
    "pgs_relists_total": "no watch breaks",
    "pgs_reservation_start_seconds": "the gang that waits fits on no node",
    "pgs_source_restarts_total": "no watch breaks",
    "pgs_spare_nodes": "no setting names nodes to be kept",
    "pgs_swept_total": "no deletion is missed",
    "pgs_watches_begun_anew_total": "no watch stops",
    "training_checkpoint_saves_total": "no gang saves its work",
}
"""Metrics of which this cluster has none, or none that rises."""


@pytest.fixture(scope="session")
def cluster(plane: controlplane.ControlPlane, prometheus: Prometheus) -> Iterator[Namespace]:
    """Give a namespace with gangs that wait for good, and queues."""
    assert prometheus.query("pgs_leader == 1")
    with Namespace(plane, "monitored") as namespace, queues.objects(plane) as objects:
        borrows = {"enabled": True}
        objects.create(queues.queue("root", 16), queues.queue("owner", 8))
        objects.create(queues.queue("guest", 8, borrowing=borrows))
        too_large = queues.gang("late", 2, "owner", cpu=3)
        for pod in too_large[1:]:
            pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "5"
            pod["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "5"}
        namespace.create(*too_large)
        namespace.create(*_elastic("grows", '{"minWorkers": 1, "maxWorkers": 2}'))
        namespace.create(*_elastic("wrong", "{"))
        yield namespace


def _elastic(name: str, words: str) -> list[Manifest]:
    group, *members = gang(name, 2, min_member=1, priorityClassName=preemption.HIGH)
    group["metadata"]["annotations"] = {"py-gang-scheduler.io/elastic": words}
    return [group, *members]


def work(namespace: Namespace, number: int) -> None:
    """Let a gang end, and another one take back what is lent, with gangs of names of their own."""
    done = f"done-{number}"
    namespace.create(*networks.asking(queues.gang(done, 2, "owner"), BlockLayer="PreferGather"))
    eventually("Running", partial(namespace.phase, done))
    for pod in namespace.bound(f"{done}-"):
        namespace.set_phase(pod, "Succeeded")
    lent = [f"lent-{number}-{i}" for i in range(3)]
    for name in lent:
        namespace.create(*queues.gang(name, 4, "guest", priorityClassName=preemption.LOW))
        eventually("Running", partial(namespace.phase, name))
    own = f"own-{number}"
    namespace.create(*queues.gang(own, 8, "owner"))
    eventually("Running", partial(namespace.phase, own))
    namespace.delete_gangs(done, *lent, own)


def test_every_panel_has_data_and_every_alert_is_evaluated(
    prometheus: Prometheus, cluster: Namespace
) -> None:
    asked = list(queries.of_dashboards())
    expected = [each for each in asked if not each.metrics & WITHOUT_DATA.keys()]
    numbers = iter(range(100))

    def empty() -> list[Query]:
        return [each for each in expected if not prometheus.shown(each.expression)]

    def all_have_data() -> bool:
        work(cluster, next(numbers))
        return not empty()

    try:
        until(all_have_data, ROUNDS_SECONDS)
    finally:
        assert set() == {name for each in empty() for name in each.metrics}
    for each in asked:
        prometheus.shown(each.expression)
    assert {"ok"} == {rule["health"] for rule in prometheus.rules()}


def test_every_metric_is_there_with_the_labels_that_are_declared(
    prometheus: Prometheus, cluster: Namespace
) -> None:
    assert cluster.name
    seen = {metric: labels_of(prometheus, metric.name) for metric in TABLE}

    assert {metric.name for metric, found in seen.items() if not found} <= WITHOUT_DATA.keys()
    for metric, found in seen.items():
        declared = {*metric.label_names}
        # Gangs without a queue have none in the label, which is as if it were not there.
        assert [] == [e for e in found if not declared - {"queue"} <= e <= declared], metric.name


def labels_of(prometheus: Prometheus, metric: str) -> list[set[str]]:
    """Return which labels each series of a metric has, but for those of the scrape."""
    found = prometheus.series(f'{{__name__=~"{metric}(_bucket|_sum|_count)?"}}')
    return [each.keys() - OF_A_SCRAPE for each in found]


def test_only_the_leader_says_how_the_cluster_is(
    prometheus: Prometheus, leader: controlplane.Scheduler
) -> None:
    own = f"127.0.0.1:{leader.port}"
    for metric in TABLE:
        if metric.of_leader:
            assert {each["instance"] for each in prometheus.series(metric.name)} <= {own}


def test_promtool_finds_nothing_in_what_is_scraped(
    leader: controlplane.Scheduler, standby: controlplane.Scheduler
) -> None:
    for each in (leader, standby):
        done = subprocess.run(
            [binaries.find("promtool"), "check", "metrics"],
            input=each.get("/metrics"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_alerts_fire_on_a_gang_that_waits_a_wrong_one_and_a_node_without_labels(
    prometheus: Prometheus, cluster: Namespace
) -> None:
    assert cluster.name
    wanted = {"GangsLate", "SpecsInvalid", "NodesOutsideTree", "IdleWhileWaiting"}

    eventually(wanted, lambda: wanted & prometheus.firing())
    assert wanted == prometheus.firing()


def test_alerts_fire_when_the_leader_dies_and_when_all_do(
    prometheus: Prometheus,
    leader: controlplane.Scheduler,
    standby: controlplane.Scheduler,
) -> None:
    leader.kill()
    until(lambda: "GangSchedulerNoLeader" in prometheus.firing())
    until(lambda: prometheus.query("sum(pgs_leader) == 1"))
    until(lambda: "GangSchedulerNoLeader" not in prometheus.firing())

    standby.kill()
    until(lambda: "GangSchedulerDown" in prometheus.firing())
