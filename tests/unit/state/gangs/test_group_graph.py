"""Which gangs are one group, and what is tried when that changes."""

import pytest

from support.call_counts import calls_of
from support.gang_groups import groups, naming, two
from support.in_memory_cluster import InMemoryCluster, group_body
from support.suspended_jobs import NOW, OF_QUEUE, START, Body, Cluster, our_queue, template


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


@pytest.mark.parametrize("suspend", [False, True])
def test_a_job_set_of_very_many_gangs_costs_what_its_gangs_do_and_not_each_pair_of_them(
    *, suspend: bool
) -> None:
    cluster = Cluster()
    cluster.see(our_queue(), _job_set(300, suspend=suspend))

    calls = calls_of(lambda: cluster.cache.snapshot(NOW))

    assert 10 * 300 > calls["grouping.Grouping._resolve"]


def test_a_group_whose_gangs_name_very_many_is_found_without_a_look_at_each_name() -> None:
    cluster = Cluster()
    cluster.see(*(_pod_group(number, 200) for number in range(200)))
    cluster.cache.snapshot(NOW)
    changed = _pod_group(7, 200)
    cluster.see({**changed, "spec": {"minMember": 2}})

    calls = calls_of(lambda: cluster.cache.snapshot(NOW + 1))

    assert 5 * 200 > calls["grouping.Grouping._resolve"] > 0


def _job_set(number: int, *, suspend: bool) -> Body:
    """Return a JobSet of one gang for each of so many Jobs, which start together."""
    one = {"parallelism": 1, "template": template()}
    jobs = [{"name": f"j{n}", "template": {"spec": one}} for n in range(number)]
    names = {"name": "set", "namespace": "default", "uid": "set"}
    metadata = {**names, "creationTimestamp": START, "labels": {OF_QUEUE: "q"}}
    version = "jobset.x-k8s.io/v1alpha2"
    spec = {"suspend": suspend, "replicatedJobs": jobs}
    return {"apiVersion": version, "kind": "JobSet", "metadata": metadata, "spec": spec}


def _pod_group(number: int, of: int) -> Body:
    """Return a PodGroup of a group in which each names the sixty after it."""
    names = [f"default/g{(number + n) % of}" for n in range(1, 61)]
    metadata = {
        "name": f"g{number}",
        "namespace": "default",
        "uid": f"g{number}",
        "creationTimestamp": START,
        "annotations": {"gang.scheduling.koordinator.sh/groups": naming(*names)},
    }
    version = "scheduling.sigs.k8s.io/v1alpha1"
    spec = {"minMember": 1}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": spec}
