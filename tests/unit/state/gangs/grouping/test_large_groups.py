"""The cost of gangs that start together: a group is found and woken once, not for each gang."""

import pytest

from gang_scheduler.model.refs import GangKey, GangName
from gang_scheduler.state.gangs.group_graph import GroupGraph, Resolve
from support.call_counts import Calls, calls_of
from support.gang_groups import naming
from support.in_memory_cluster import InMemoryCluster, group_body

GANGS = 60
CALLS = ["group_graph.GroupGraph._neighbours", "retries.Retries.at"]
A, B, C = (GangName("default", name) for name in "abc")


def of_first_cycle(number: int) -> Calls:
    """Return the calls of the first cycle after gangs started that each name the one before."""
    cluster = InMemoryCluster()
    for i in range(number):
        others = naming(f"default/g{i - 1}") if i else "[]"
        cluster.put(group_body(f"g{i}", 1, groups=others))
        cluster.pod(f"g{i}-0", f"g{i}", spec={"nodeName": "n1"}, status={"phase": "Running"})
    return calls_of(cluster.cycle)


@pytest.mark.parametrize("name", CALLS)
def test_a_group_that_has_started_costs_what_its_gangs_cost(name: str) -> None:
    assert 0 < of_first_cycle(GANGS)[name] <= 3 * GANGS


def resolving(existing: set[GangKey]) -> Resolve:
    """Return how names are resolved among existing gangs, of which a PodGroup's comes first."""

    def resolve(name: GangName) -> GangKey | None:
        keys = (GangKey(source, *name) for source in ("koordinator", "annotations"))
        return next((key for key in keys if key in existing), None)

    return resolve


def key(name: GangName, source: str = "koordinator") -> GangKey:
    return GangKey(source, *name)


def test_a_group_is_found_again_when_a_gang_of_it_begins_to_exist() -> None:
    existing = {key(A)}
    graph = GroupGraph(resolving(existing))
    graph.set_names(key(A), (B,))
    before = graph.group_of(key(A))[0]

    existing.add(key(B))
    graph.changed(key(B))

    assert (before, graph.group_of(key(A))[0]) == ((key(A),), (key(A), key(B)))


def test_a_gang_that_is_alone_keeps_what_is_known_of_groups() -> None:
    existing = {key(A), key(B), key(C)}
    graph = GroupGraph(resolving(existing))
    graph.set_names(key(A), (B,))
    graph.group_of(key(A))

    graph.changed(key(C))

    assert calls_of(lambda: graph.group_of(key(B)))["group_graph.GroupGraph._neighbours"] == 0


def test_a_group_is_not_that_of_a_gang_whose_name_means_another_one() -> None:
    other = GangName("other", "b")
    second = key(A, "annotations")
    graph = GroupGraph(resolving({key(A), second, key(other)}))
    graph.set_names(key(other), (A,))
    graph.set_names(key(A), (other,))
    graph.set_names(second, (other,))

    # The gang that no name leads to waits for the group of another one, which does not have it.
    assert second in graph.group_of(second)[0]
    assert graph.group_of(key(other))[0] == (key(A), key(other))
