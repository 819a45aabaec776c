"""What is said of a gang that runs."""

from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.explaining.document import running_of
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.settings.policy import Policy
from support.degraded_gang import KEY, LATER, NOW, DegradedGang


def said_of(gang: DegradedGang, now: int) -> str | None:
    """Return what is said of failed nodes under the gang."""
    cluster = Cluster(gang.cache, Policy(), now, Source.FILES)
    cluster.snapshot()
    made = running_of(gang.cache.gang_queue.infos[KEY], cluster, BoundPods())
    assert made is not None
    return made.degraded


def test_failed_nodes_are_told() -> None:
    made = DegradedGang()
    made.fails(1)

    assert said_of(made, NOW) is None
    assert "1 of 4 members lack in BlockLayer/s0/b0; failed: node n1 " in (
        said_of(made, LATER) or ""
    )


def test_a_node_that_is_gone_is_told() -> None:
    made = DegradedGang()
    made.cache.node_usage.delete_node("n1")

    assert "node n1 (gone)" in (said_of(made, LATER) or "")
