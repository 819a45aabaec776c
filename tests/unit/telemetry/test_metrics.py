"""The table of metrics: names, labels and bounds that hold for all of them."""

import re

import pytest

from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import MetricOf
from support.metric_values import sample

RENAMED = {"job", "instance", "namespace", "pod"}
"""Labels that a scrape renames."""
OF_ONE = {"gang", "node", "user", "name", "uid"}
"""Labels that would have a value for each of something that users make."""


@pytest.mark.parametrize("metric", metrics.TABLE, ids=lambda each: each.name)
def test_a_metric_is_named_as_it_should(metric: MetricOf) -> None:
    assert re.fullmatch("(pgs|training)_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.type == "counter")
    assert (metric.type == "histogram") == bool(metric.buckets)
    assert set() == {*metric.label_names} & (RENAMED | OF_ONE)
    assert metric.about.endswith(".")


def test_each_name_is_there_once() -> None:
    names = [each.name for each in metrics.TABLE]

    assert len(names) == len(set(names))


def test_the_values_of_closed_lists_are_all_that_there_are() -> None:
    rights = {"Priority", "Drained", *(each.shown for each in EvictionClass)}
    assert rights == {*metrics.RIGHTS}


def test_what_is_counted_of_a_queue_disappears_with_it() -> None:
    metrics.keep_queues([])
    for each in ("old", "new"):
        metrics.WAIT_SECONDS.labels(each).observe(1)
        metrics.GANGS_PREEMPTED.labels("", each, "Priority").inc()
    metrics.keep_queues(["new"])

    found = {queue: sample("pgs_gang_wait_seconds_count", queue=queue) for queue in ("old", "new")}
    assert {"old": None, "new": 1} == found
    victims = {"preemptor_queue": "", "reason": "Priority"}
    name = "training_job_preemptions_total"
    assert sample(name, victim_queue="old", **victims) is None
    assert 1 == sample(name, victim_queue="new", **victims)
    metrics.keep_queues([])
