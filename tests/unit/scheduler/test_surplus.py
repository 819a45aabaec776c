"""Elastic gangs on a node whose room changes: they grow by whole steps and at their pace."""

from typing import Any

from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.wording import rfc3339
from support import api_objects
from support.elastic_cluster import ElasticCluster, annotation, pace
from support.in_memory_cluster import START

BY_TWO = pace(up=60, up_step=2)


def why(cluster: ElasticCluster, later: int = 0) -> tuple[str, str]:
    return cluster.waits("a", later)


def test_a_gang_starts_with_as_many_as_fit() -> None:
    cluster = ElasticCluster(cpu=5)
    cluster.elastic("a", 2, 8, pods=8, **BY_TWO)

    cluster.cycle()

    assert [f"a-{i}" for i in range(5)] == cluster.running("a")


def test_it_grows_by_whole_steps_or_to_its_maximum_once_it_may() -> None:
    cluster = ElasticCluster(cpu=5)
    cluster.elastic("a", 2, 8, pods=8, **BY_TWO)
    sizes = []
    cluster.settle()
    for room in (5, 6, 7, 8):
        cluster.room(room)
        cluster.settle(later=30)
        sizes.append(len(cluster.running("a")))
        cluster.settle(later=10)
        sizes.append(len(cluster.running("a")))

    assert [5, 5, 5, 5, 7, 7, 7, 7] == sizes
    cluster.settle(later=10)
    assert len(cluster.running("a")) == 8


def test_room_for_less_than_a_step_is_left_free() -> None:
    cluster = ElasticCluster(cpu=6)
    cluster.elastic("a", 2, 8, pods=8, **BY_TWO)
    cluster.room(5)
    cluster.settle()
    cluster.room(6)

    reason, message = why(cluster, later=60)

    assert Reason.UNSCHEDULABLE == reason
    assert "each of 3 more members waits for room for 2 at once (scaleUpStep): short" in message
    cluster.pod("single")
    assert {"single"} == cluster.bound()


def test_what_a_gang_has_lost_is_replaced_at_any_time() -> None:
    cluster = ElasticCluster(cpu=8)
    cluster.elastic("a", 2, 8, pods=8, **BY_TWO)
    cluster.settle()
    cluster.evicted("a-3")
    cluster.settle(later=1)

    assert len(cluster.running("a")) == 8
    assert cluster.bound(later=1) == set()


def test_those_beyond_the_maximum_wait_with_a_reason_of_their_own() -> None:
    cluster = ElasticCluster(cpu=20)
    cluster.elastic("a", 2, 4, pods=6)

    reason, message = why(cluster)

    assert (
        Reason.ELASTIC_LIMIT,
        "gang default/a has all 4 workers that it asks for (maxWorkers)",
    ) == (
        reason,
        message,
    )
    assert [f"a-{i}" for i in range(4)] == cluster.running("a")
    cluster.gone("a-0")
    assert {"a-4"} == cluster.bound(later=1)


def test_within_the_cooldown_the_rest_waits_and_is_tried_when_it_ends() -> None:
    cluster = ElasticCluster(cpu=2)
    cluster.elastic("a", 2, 4, pods=4, **pace(up=60))
    cluster.cycle()
    cluster.room(4)

    reason, message = why(cluster, later=10)

    assert Reason.ELASTIC_LIMIT == reason
    assert message.startswith("gang default/a may grow again at 1970-01-12T")
    assert cluster.bound(later=49) == set()
    assert {"a-2", "a-3"} == cluster.bound(later=1)


def test_a_gang_whose_members_are_all_gone_starts_anew() -> None:
    cluster = ElasticCluster(cpu=4)
    cluster.elastic("a", 2, 4, pods=4, **BY_TWO)
    cluster.settle()
    for i in range(4):
        cluster.evicted(f"a-{i}")
    cluster.room(3)

    cluster.settle(later=1)

    assert len(cluster.running("a")) == 3


def test_surplus_in_a_cooldown_takes_no_room_from_others() -> None:
    cluster = ElasticCluster(cpu=2)
    cluster.elastic("a", 2, 8, pods=8, **BY_TWO)
    cluster.settle()
    cluster.room(6)
    cluster.gang("b", 4)

    assert {f"b-{i}" for i in range(4)} == cluster.bound(later=1)


def after_a_restart(**status: Any) -> ElasticCluster:
    """Return a cluster that finds a gang running, and whose PodGroup has a status."""
    cluster = ElasticCluster(cpu=4)
    annotations = annotation(2, 4, **pace(up=60))
    metadata = {"namespace": "default", "uid": "uid-default-a", "annotations": annotations}
    body = api_objects.pod_group_body("a", min_member=2, metadata=metadata)
    cluster.put({**body, "status": status})
    cluster.members("a", 4)
    for name in ("a-0", "a-1"):
        cluster.change(name, spec={"nodeName": "n1"}, status={"phase": "Running"})
    return cluster


def test_after_a_restart_the_cooldown_goes_on_from_the_status() -> None:
    written = rfc3339(START - 50)
    cluster = after_a_restart(elastic={"lastScaleTime": written, "now": 2, "lastScale": 2})

    assert cluster.bound() == set()
    assert cluster.bound(later=9) == set()
    assert {"a-2", "a-3"} == cluster.bound(later=1)


def test_after_a_restart_without_a_status_one_cooldown_is_waited_for() -> None:
    cluster = after_a_restart()

    assert cluster.bound() == set()
    assert cluster.bound(later=59) == set()
    assert {"a-2", "a-3"} == cluster.bound(later=1)


def test_all_quorums_come_before_any_growth() -> None:
    cluster = ElasticCluster(cpu=2)
    cluster.elastic("a", 2, 8, pods=8, **BY_TWO)
    cluster.settle()
    cluster.gang("b", 3)
    cluster.cycle(later=59)

    cluster.room(7)

    # Two are left, and a step is two.
    assert {"b-0", "b-1", "b-2", "a-2", "a-3"} == cluster.bound(later=1)


def test_growth_never_evicts() -> None:
    cluster = ElasticCluster(cpu=4)
    cluster.elastic("a", 2, 8, pods=8, **BY_TWO)
    for i in range(8):
        cluster.change(f"a-{i}", spec={"priority": 9})
    cluster.room(2)
    cluster.settle()
    cluster.room(4)
    cluster.gang("low", 2)
    assert {"low-0", "low-1"} == cluster.bound(later=1)

    plan = cluster.cycle(later=60)

    assert not plan.preemptions
    assert ["a-0", "a-1"] == cluster.running("a")
