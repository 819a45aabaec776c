"""What queues are charged is compared with the sum, and a difference is counted."""

from gang_scheduler.report.usage_sweep import UsageSweep
from support import metric_values
from support.queue_clusters import QueueCluster


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
