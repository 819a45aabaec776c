"""Which gangs are one group, and what is tried when that changes."""

import pytest

from support.gang_groups import groups, naming, two
from support.in_memory_cluster import InMemoryCluster, group_body


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (naming("default/b"), naming("default/a")),
        (naming("default/b"), "[]"),
        ("[]", naming("default/a")),
        (naming("default/a", "default/b"), naming("default/b", "default/a")),
        (naming("default/b", "default/b"), "[]"),
    ],
)
def test_row_groups_inside_a_namespace_any_member_may_declare_it(a: str, b: str) -> None:
    cluster = InMemoryCluster()
    two(cluster, a, b)

    assert [("default/a", "default/b")] == groups(cluster)


def test_row_groups_the_group_is_the_union() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 1, groups=naming("default/b"))
    cluster.gang("b", 1)
    cluster.gang("c", 1, groups=naming("default/b"))
    cluster.gang("d", 1, groups=naming("default/c"))
    cluster.gang("apart", 1)

    union = ("default/a", "default/b", "default/c", "default/d")
    assert [union, ("default/apart",)] == groups(cluster)


def test_row_groups_alone_is_the_default() -> None:
    cluster = InMemoryCluster()
    two(cluster, a="[]")

    assert [("default/a",), ("default/b",)] == groups(cluster)


def stuck_with_an_incomplete_gang() -> InMemoryCluster:
    """Return a cluster in which `b` waits for `a`, which names it and lacks a member."""
    cluster = InMemoryCluster()
    cluster.gang("a", 2, pods=1, groups=naming("default/b"))
    cluster.gang("b", 1)
    assert set() == cluster.bound()
    return cluster


def test_a_gang_that_is_not_named_any_more_is_tried_at_once() -> None:
    cluster = stuck_with_an_incomplete_gang()

    cluster.put(group_body("a", 2))

    assert {"b-0"} == cluster.bound()


def test_a_gang_that_was_named_by_a_gang_that_is_deleted_is_tried_at_once() -> None:
    cluster = stuck_with_an_incomplete_gang()

    cluster.gone("a-0")
    cluster.delete(group_body("a", 2))

    assert {"b-0"} == cluster.bound()


def test_a_gang_that_was_named_by_an_annotation_gang_that_is_gone_is_tried_at_once() -> None:
    cluster = InMemoryCluster()
    cluster.annotated("a", 2, groups=naming("default/b"))
    cluster.gone("a-1")
    cluster.gang("b", 1)
    before = cluster.bound()

    cluster.gone("a-0")

    assert (set(), {"b-0"}) == (before, cluster.bound())


def test_a_group_is_the_same_from_whichever_gang_it_is_looked_at() -> None:
    cluster = InMemoryCluster()
    two(cluster)
    cluster.annotated("b", 1)

    due = cluster.cache.snapshot(cluster.now).groups

    keys = [gang.key for group in due for gang in group.gangs]
    assert sorted(set(keys)) == sorted(keys)


def test_a_name_said_twice_can_be_taken_back() -> None:
    cluster = InMemoryCluster()
    two(cluster, naming("default/b", "default/b"))
    cluster.cycle()

    cluster.put(group_body("a", 2))

    cluster.cycle()


@pytest.mark.parametrize("goes", ["gang", "name"])
def test_a_gang_is_tried_when_one_goes_that_was_joined_to_it_by_a_gang_that_runs(goes: str) -> None:
    cluster = InMemoryCluster()
    cluster.gang("runs", 1)
    cluster.cycle()
    cluster.gang("stuck", 2, pods=1, groups=naming("default/runs", "default/missing"))
    cluster.gang("waits", 1, groups=naming("default/runs"))
    before = cluster.bound()

    if goes == "gang":
        cluster.gone("stuck-0")
        cluster.delete(group_body("stuck", 2))
    else:
        cluster.put(group_body("stuck", 2, groups=naming("default/missing")))

    assert (set(), {"waits-0"}) == (before, cluster.bound())
