"""What queues are charged is compared with the sum, and a difference is counted."""

from gang_scheduler import telemetry
from gang_scheduler.report.usage_sweep import UsageSweep
from support.queue_clusters import QueueCluster


def counted() -> float:
    return float(telemetry.USAGE_DIFFERENCES._value.get())


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
