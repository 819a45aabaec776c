"""What gangs ask of the network of which some members run already."""

from typing import Any

import pytest

from gang_scheduler.model.pods import Pod
from gang_scheduler.report.words.text import text_of
from support.in_memory_cluster import InMemoryCluster, group_body
from support.topology_annotations import BLOCK, RACK, REQUIRED, due, kueue, must, naming, only


def names(pods: tuple[Pod, ...]) -> list[str]:
    return [pod.name for pod in pods]


def running(cluster: InMemoryCluster, gang: str, *members: str, **fields: Any) -> None:
    for name in members:
        cluster.pod(name, gang, spec={"nodeName": "n1"}, status={"phase": "Running"}, **fields)


def test_bound_members_are_the_bound_members_in_rank_order() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 3, network_topology_spec=must("Rack")))
    running(cluster, "a", "a-10", "a-9")
    cluster.pod("a-1", "a")

    (gang,) = only(cluster).gangs

    assert (["a-9", "a-10"], 2) == (names(gang.bound_members), gang.bound)


def test_bound_members_are_given_where_any_member_asks() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 3))
    running(cluster, "a", "a-0")
    cluster.pod("a-1", "a", annotations=REQUIRED)

    assert ["a-0"] == names(only(cluster).gangs[0].bound_members)


def test_where_no_gang_asks_nothing_is_listed() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 3))
    running(cluster, "a", "a-0")
    cluster.pod("a-1", "a")

    (gang,) = only(cluster).gangs

    assert ((), 1) == (gang.bound_members, gang.bound)


def test_members_that_do_not_live_are_no_bound_members() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 3, network_topology_spec=must("Rack")))
    running(cluster, "a", "a-0", "a-1", "a-2")
    cluster.end("a-0")
    cluster.change("a-1", deletionTimestamp="2026-01-01T00:00:00Z")
    cluster.pod("a-3", "a")

    assert ["a-2"] == names(only(cluster).gangs[0].bound_members)


def with_a_running(cluster: InMemoryCluster, a: str = "", b: str = "", **fields: Any) -> None:
    """Let `a` of two members run, and `b` of one wait, in one group."""
    asks_a = {"network_topology_spec": a} if a else {}
    asks_b = {"network_topology_spec": b} if b else {}
    cluster.put(group_body("a", 2, groups=naming("b"), **asks_a))
    cluster.put(group_body("b", 1, groups=naming("a"), **asks_b))
    running(cluster, "a", "a-10", "a-9", **fields)
    cluster.pod("b-0", "b", **fields)


@pytest.mark.parametrize(("a", "b"), [(must("Rack"), ""), ("", must("Rack"))])
def test_what_runs_of_a_group_is_where_the_rest_belongs(a: str, b: str) -> None:
    cluster = InMemoryCluster()
    with_a_running(cluster, a, b)

    group = only(cluster)

    assert ["b"] == [gang.key.name for gang in group.gangs]
    assert (RACK, ["a-9", "a-10"]) == (group.topology_request, names(group.started))


def test_what_runs_of_a_group_that_asks_for_nothing_is_not_listed() -> None:
    cluster = InMemoryCluster()
    with_a_running(cluster)

    group = only(cluster)

    assert (None, ()) == (group.topology_request, group.started)


def test_what_runs_of_a_named_podset_group_is_listed() -> None:
    cluster = InMemoryCluster()
    with_a_running(cluster, annotations={**REQUIRED, **kueue(group_name="g")})

    group = only(cluster)

    assert (None, ["a-9", "a-10"]) == (group.topology_request, names(group.started))


@pytest.mark.parametrize(("a", "b"), [(must("Rack"), ""), ("", must("Rack"))])
def test_a_replacement_in_a_gang_that_runs_has_the_spec_of_its_group(a: str, b: str) -> None:
    cluster = InMemoryCluster()
    with_a_running(cluster, a, b)
    running(cluster, "b", "b-0")
    due(cluster)
    cluster.gone("a-9")
    cluster.pod("a-9", "a")

    group = only(cluster)

    assert ["a"] == [gang.key.name for gang in group.gangs]
    assert (RACK, ["b-0"]) == (group.topology_request, names(group.started))
    assert ["a-10"] == names(group.gangs[0].bound_members)


def test_what_a_running_gang_asks_for_holds_against_members_that_come_later() -> None:
    cluster = InMemoryCluster()
    with_a_running(cluster, must("Rack"), must("Block"))
    before = only(cluster).problem
    cluster.gone("a-9")
    cluster.pod("a-9", "a")

    replacement = due(cluster)["a"]

    assert before is not None
    assert "default/a" in text_of(before.cause)
    assert (RACK, None) == (replacement.topology_request, replacement.problem)


def test_a_group_hears_of_what_a_running_gang_asks_for_from_now_on() -> None:
    cluster = InMemoryCluster()
    with_a_running(cluster, must("Rack"), must("Block"))
    due(cluster)

    cluster.put(group_body("a", 2, groups=naming("b"), network_topology_spec=must("Block")))

    group = due(cluster)["b"]
    assert (BLOCK, None) == (group.topology_request, group.problem)
