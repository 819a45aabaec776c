"""The labels and values of one gang."""

from dataclasses import replace

from gang_scheduler.api import annotations
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report import gang_metrics
from gang_scheduler.report.gang_metrics import GangSeries
from support import builders
from support.measured import Measured
from support.metric_values import series


def look(found: Measured, name: str = "a") -> GangSeries:
    info = found.cache.gang_queue.infos[builders.gang_key(name)]
    return gang_metrics.series_of(info, found.cache, None, found.now)


def test_a_gang_asks_for_resources_while_it_has_all_members_and_could_start() -> None:
    found = Measured()
    found.gang("a", gpu=1)
    found.refuse("a", Reason.UNSCHEDULABLE)
    asking = look(found)
    found.refuse("a", Reason.INVALID_SPEC)

    assert {"cpu", builders.GPU, "pods"} == asking.requested
    assert frozenset() == look(found).requested


def test_a_gang_of_one_pod_is_a_job_of_that_kind() -> None:
    found = Measured()
    found.see(replace(builders.pod("alone"), priority_class="high"))
    (info,) = found.cache.gang_queue.infos.values()

    assert ("Pod", "high") == (gang_metrics.job_type_of(info), gang_metrics.class_of(info))


def test_a_gang_of_which_a_crash_left_some_members_unbound_is_partial() -> None:
    found = Measured()
    pods = found.gang("a")
    plan = {annotations.PLAN_ID: "p", annotations.PLAN_SIZE: "2"}
    found.see(replace(pods[0], node="n1", annotations=plan, scheduled_at=found.now))
    found.measures.show()

    assert look(found).is_partial
    assert {(): 1} == series("pgs_partial_gangs")


def test_the_workers_of_an_elastic_gang_are_counted_while_it_runs() -> None:
    found = Measured()
    asked = '{"minWorkers": 1, "maxWorkers": 4}'
    pods = found.gang("a", members=1, annotations={annotations.ELASTIC: asked})
    before = look(found).elastic
    found.bind(pods)
    found.measures.show()

    assert (None, (1, 1, 4)) == (before, look(found).elastic)
    shown = {
        dict(labels)["bound"]: value for labels, value in series("pgs_elastic_members").items()
    }
    assert {"min": 1, "now": 1, "max": 4} == shown
