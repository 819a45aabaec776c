"""Which gangs must go from drained queues."""

from dataclasses import replace
from typing import Any

from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.queues import Product
from gang_scheduler.model.rules import PreemptionRules
from gang_scheduler.state.protections import SYSTEM_PRIORITY
from gang_scheduler.state.queues import draining
from support.queue_clusters import QueueCluster, flavored

DRAIN = StopPolicy.HOLD_AND_DRAIN


def cluster(stop: StopPolicy = DRAIN, **rules: Any) -> QueueCluster:
    """Return a cluster whose queue a is stopped in a way, and b is not."""
    made = QueueCluster(preemption=PreemptionRules(**rules))
    made.declare(flavored("a", "default", stop=stop), flavored("b", "default"))
    return made


def running(made: QueueCluster, name: str, queue: str, **fields: Any) -> None:
    """Add a pod that runs."""
    made.put(name, queue, node="n-spot", phase="Running", **fields)


def going(made: QueueCluster) -> list[tuple[str, list[str]]]:
    """Return which pods of which queue must go."""
    found = draining.drained(made.cache, 0)
    return [(each.queue.name, [bound.pod.name for bound in each.pods]) for each in found]


def test_what_runs_in_a_drained_queue_must_go_gang_by_gang() -> None:
    made = cluster()
    for name in ("x-0", "x-1"):
        running(made, name, "a", gang="x")
    running(made, "single", "a")
    running(made, "other", "b")
    made.put("waits", "a")

    assert [("a", ["single"]), ("a", ["x-0", "x-1"])] == sorted(going(made))


def test_other_stop_policies_let_run_what_runs() -> None:
    for stop in (StopPolicy.NONE, StopPolicy.HOLD):
        made = cluster(stop)
        running(made, "x", "a")

        assert [] == going(made)


def test_a_gang_that_is_leaving_is_not_drained_again() -> None:
    made = cluster()
    running(made, "x", "a")
    (one,) = draining.drained(made.cache, 0)
    made.cache.victims.decided([each.pod.uid for each in one.pods])

    assert [] == going(made)


def test_protected_pods_keep_their_gang() -> None:
    made = cluster()
    running(made, "x-0", "a", gang="x")
    immune = {"scheduling.koordinator.sh/disable-preemptible": "true"}
    running(made, "x-1", "a", gang="x", labels=immune)
    running(made, "critical", "a", priority=SYSTEM_PRIORITY)

    assert [] == going(made)


def test_a_gang_goes_when_its_minimum_run_time_is_over() -> None:
    made = cluster(min_runtime_before_preemption_seconds=60)
    running(made, "x", "a", started_at=1000)

    assert [] == list(draining.drained(made.cache, 1059))
    assert 1 == len(list(draining.drained(made.cache, 1060)))


def test_another_products_queue_is_drained_by_that_products_controller() -> None:
    made = cluster()
    running(made, "x", "a")
    made.cache.enforce_quota(Product.OURS, enforced=False)

    assert [] == going(made)


def test_without_preemption_nothing_is_evicted() -> None:
    made = cluster(preemption=False)
    running(made, "x", "a")

    assert [] == going(made)


def test_without_queues_nothing_is_looked_at() -> None:
    made = QueueCluster()
    running(made, "x", "")

    assert [] == going(made)


def test_a_queue_that_is_drained_no_more_lets_run_what_is_left() -> None:
    made = cluster()
    running(made, "x", "a")
    made.declare(replace(flavored("a", "default"), stop=StopPolicy.NONE))

    assert [] == going(made)
