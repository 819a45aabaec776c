"""What gangs of a group ask of the network holds for all of it, or is contradictory."""

from typing import Any

import pytest

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.text import text_of
from support.in_memory_cluster import InMemoryCluster, group_body
from support.topology_annotations import (
    KUEUE,
    RACK,
    REQUIRED,
    SPEC_FIELD,
    due,
    invalid,
    kueue,
    must,
    naming,
    only,
)

# Groups.


def two(cluster: InMemoryCluster, a: str = "", b: str = "") -> None:
    """Add gangs `a` of two members and `b` of one, in one group, with what they ask for."""
    specs = {"a": a, "b": b}
    for name, pods in (("a", 2), ("b", 1)):
        asks: dict[str, Any] = {"network_topology_spec": specs[name]} if specs[name] else {}
        cluster.gang(name, pods, groups=naming("a", "b"), **asks)


@pytest.mark.parametrize(
    ("a", "b"), [(must("Rack"), ""), ("", must("Rack")), (must("Rack"), " " + must("Rack"))]
)
def test_gangs_of_a_group_without_a_spec_inherit_it(a: str, b: str) -> None:
    cluster = InMemoryCluster()
    two(cluster, a, b)

    group = only(cluster)

    assert (2, RACK, None) == (len(group.gangs), group.topology_request, group.problem)


def test_two_different_specs_in_a_group_are_invalid() -> None:
    cluster = InMemoryCluster()
    two(cluster, must("Rack"), must("Block"))

    group = only(cluster)

    expected = (
        f"{SPEC_FIELD} of default/a and {SPEC_FIELD} of default/b must be the same: "
        "they are of one gang group"
    )
    assert (expected, None) == (invalid(group.problem), group.topology_request)


def test_what_is_wrong_comes_before_what_is_missing() -> None:
    cluster = InMemoryCluster()
    for name, layer in (("a", "Rack"), ("b", "Block")):
        groups = naming("a", "b", "missing")
        cluster.gang(name, 1, groups=groups, network_topology_spec=must(layer))

    found = only(cluster).problem

    assert found is not None
    assert Reason.INVALID_SPEC is found.reason


def test_a_missing_gang_is_still_waited_for() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 1, groups=naming("missing"), network_topology_spec=must("Rack"))

    assert "WaitingForGangs" == cluster.waits("a")[0]


def test_a_contradiction_can_be_mended() -> None:
    cluster = InMemoryCluster()
    two(cluster, must("Rack"), must("Block"))
    cluster.cycle()

    both = {"groups": naming("a", "b"), "network_topology_spec": must("Rack")}
    cluster.put(group_body("b", 1, **both))

    group = only(cluster)
    assert (RACK, None) == (group.topology_request, group.problem)


def test_a_gang_of_a_group_that_asks_in_two_ways_is_invalid() -> None:
    cluster = InMemoryCluster()
    two(cluster, must("Rack"))
    cluster.change("b-0", annotations=REQUIRED)

    a, b = only(cluster).gangs

    assert (None, True) == (a.problem, b.problem is not None)


# Podset groups.


def sharing(cluster: InMemoryCluster, *asks: dict[str, str], name: str = "g") -> GangGroup:
    """Return a group with a gang of one member for each request, all of one podset group."""
    gangs = [f"gang-{i}" for i in range(len(asks))]
    for gang, asked in zip(gangs, asks, strict=True):
        cluster.put(group_body(gang, 1, groups=naming(*gangs)))
        cluster.pod(f"{gang}-0", gang, annotations={**asked, **kueue(group_name=name)})
    return only(cluster)


SLICED = kueue(slice_required_topology="example.com/host", slice_size="2")


@pytest.mark.parametrize("other", [REQUIRED, {**REQUIRED, **SLICED}])
def test_podsets_of_a_group_may_differ_in_their_slices_only(other: dict[str, str]) -> None:
    group = sharing(InMemoryCluster(), REQUIRED, other)

    assert (2, None) == (len(group.gangs), group.problem)


@pytest.mark.parametrize(
    "other",
    [
        kueue(required_topology="example.com/block"),
        kueue(preferred_topology="example.com/rack"),
        kueue(unconstrained_topology="true"),
        {},
    ],
)
def test_podsets_of_a_group_that_differ_are_invalid(other: dict[str, str]) -> None:
    group = sharing(InMemoryCluster(), REQUIRED, other)

    expected = (
        "pods default/gang-0-0 and default/gang-1-0 must ask for the same topology: both have "
        f'metadata.annotations[{KUEUE}group-name] "g"'
    )
    assert expected == invalid(group.problem)


def test_podsets_of_a_group_that_differ_inside_one_gang_are_invalid() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 2))
    for i, asks in enumerate((REQUIRED, {})):
        cluster.pod(f"a-{i}", "a", annotations={**asks, **kueue(group_name="g")})

    found = only(cluster).problem

    assert found is not None
    assert "default/a-0 and default/a-1" in text_of(found.cause)


def test_the_same_name_in_another_gang_group_is_another_podset_group() -> None:
    cluster = InMemoryCluster()
    for gang, asks in (("a", REQUIRED), ("b", kueue(required_topology="example.com/block"))):
        cluster.put(group_body(gang, 1))
        cluster.pod(f"{gang}-0", gang, annotations={**asks, **kueue(group_name="g")})

    assert [None, None] == [group.problem for group in due(cluster).values()]


def test_other_names_are_other_podset_groups() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 2))
    for name, asks in (("g", REQUIRED), ("h", {})):
        cluster.pod(f"a-{name}", "a", annotations={**asks, **kueue(group_name=name)})

    assert only(cluster).problem is None
