"""What it costs to keep up with the cluster, counted in calls of Python functions.

The bounds are about a quarter above what was counted when they were written.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders
from support.builders import SCHEDULER, node, pod, pod_class
from support.call_counts import Calls, at_most, calls_of
from support.large_cluster import LargeCluster, Scale

PODS = 500
GANGS = 100
BUILT, STATUS = "gang_info.GangInfo.as_gang", "pod_group_status.status_of"
LOOKED_AT = "evictable_pods.EvictablePods._evaluate"


@pytest.fixture
def cache() -> Cache:
    made = Cache([SCHEDULER], Changes())
    made.upsert(made.node_store, node("n1"))
    return made


def pods(node: str = "") -> list[Pod]:
    """Return plain pods of one class, which share what they ask for, as those do that are read."""
    one = pod_class()
    made = (pod(f"p{i}", gang="g", node=node) for i in range(PODS))
    return [replace(each, pod_class=one) for each in made]


def seen(cache: Cache, some: Iterable[Pod]) -> Calls:
    def tell() -> None:
        for each in some:
            cache.upsert_pod(each)

    return calls_of(tell)


def waiting(case: str = "full", /, nodes: int = 10, running: int = 20) -> LargeCluster:
    """Return a full cluster in which gangs have waited for two cycles, and a pod has ended."""
    cluster = LargeCluster(case, Scale(nodes=nodes, gangs=GANGS, running=running))
    for _ in range(2):
        asyncio.run(cluster.cycle())
    cluster.happens()
    return cluster


def test_a_plain_pod_that_comes_costs_so_much(cache: Cache) -> None:
    at_most(47 * PODS, seen(cache, pods()))


def test_a_pod_of_which_nothing_is_new_costs_less(cache: Cache) -> None:
    seen(cache, pods())

    at_most(29 * PODS, seen(cache, pods()))


def test_a_pod_that_was_bound_costs_so_much(cache: Cache) -> None:
    seen(cache, pods())

    at_most(60 * PODS, seen(cache, pods(node="n1")))


def test_a_binding_of_a_large_gang_is_confirmed_without_a_look_at_its_other_members(
    cache: Cache,
) -> None:
    waiting, bound = pods(), pods(node="n1")
    seen(cache, waiting)
    for each in waiting:
        cache.assume(Bind(each, "n1"))

    at_most(75 * PODS, seen(cache, bound))


@pytest.mark.parametrize("case", ["full", "groups"])
def test_gangs_of_which_nothing_is_new_are_not_built_anew_when_room_is_freed(case: str) -> None:
    calls = calls_of(waiting(case).snapshot)

    assert 0 == calls[BUILT]
    at_most(7 * GANGS, calls)


def test_a_gang_that_changes_is_built_alone() -> None:
    cluster = waiting()
    cluster.cache.upsert_pod(builders.pod("wait-7-20", gang="wait-7"))

    assert 1 == calls_of(cluster.snapshot)[BUILT]


@pytest.mark.parametrize("scale", [{"nodes": 400, "running": 800}, {"running": 400}])
def test_a_snapshot_looks_at_no_node_and_no_pod_one_by_one(scale: dict[str, int]) -> None:
    small, large = (calls_of(each.snapshot) for each in (waiting(), waiting(**scale)))

    at_most(1.02 * small.total(), large)


def test_of_gangs_that_say_the_same_no_status_is_computed() -> None:
    cluster = waiting()
    plan = cluster.decide(cluster.snapshot())

    # Only what is told: in its end, `asyncio.run` looks at each task that other tests left.
    with asyncio.Runner() as runner:
        calls = calls_of(lambda: runner.get_loop().run_until_complete(cluster.tell(plan)))

    assert (GANGS, 0) == (len(plan.refused), calls[STATUS])
    at_most(52 * GANGS, calls)


@pytest.mark.parametrize("terminating", [0, 3])
def test_pods_on_nodes_are_looked_at_one_by_one_only_where_one_may_go(
    cache: Cache, terminating: int
) -> None:
    seen(cache, pods(node="n1"))
    for each in pods(node="n1")[:terminating]:
        cache.upsert_pod(replace(each, deleting=True))
    looks = []

    for priority in (0, 9):
        cache.upsert_pod(pod(f"waits-{priority}", priority=priority))
        looks.append(calls_of(lambda: cache.snapshot(0))[LOOKED_AT])

    assert [0, PODS] == looks
