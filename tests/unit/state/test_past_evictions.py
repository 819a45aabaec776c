"""What is remembered of evictions: for how long, over a restart, and by what it ends."""

from typing import Any

import pytest

from gang_scheduler.model import refs
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.evictions import EvictionClass, Evictions, Forgotten, YieldedTo
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.refs import GangKey
from support.api_objects import pod_body
from support.builders import NAMESPACE, gang, gang_key
from support.evicted_gangs import AT, NOW, Cluster, member, pod_group, queue_body

RECLAIM, IN_QUEUE = EvictionClass.RECLAIM, EvictionClass.IN_QUEUE
A, B, C = (gang_key(name) for name in "abc")


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.run("a", "c")
    made.run("b", queue="blue")
    return made


def test_an_eviction_is_counted_and_a_link_is_remembered(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")
    cluster.evict({A: IN_QUEUE}, "c", at=NOW + 5)

    found = cluster.records.of(A)
    assert (2, NOW + 5) == (found.count, found.last)
    assert [(B, "uid-b", RECLAIM, NOW), (C, "uid-c", IN_QUEUE, NOW + 5)] == [
        (each.gang, each.uid, each.eviction_class, each.at) for each in found.yielded
    ]
    assert {"a": {"b", "c"}} == cluster.links()
    assert Evictions() == cluster.records.of(B)


def test_of_two_evictions_for_one_gang_the_stronger_class_and_the_last_time_stay(
    cluster: Cluster,
) -> None:
    cluster.evict({A: RECLAIM}, "b")
    cluster.evict({A: IN_QUEUE}, "b", at=NOW + 5)

    (link,) = cluster.records.of(A).yielded
    assert (RECLAIM, NOW + 5) == (link.eviction_class, link.at)


def test_all_gangs_of_a_group_are_yielded_to(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b", "c")

    assert {"a": {"b", "c"}} == cluster.links()


def test_a_gang_that_loses_surplus_yields_to_no_other(cluster: Cluster) -> None:
    cluster.run("d", members=3)
    pods = [*cluster.cache.gang_queue.infos[gang_key("d")].observed.with_node()]
    victims = tuple(BoundPod(pod, gang_key("d")) for pod in pods[1:])
    made = Preemption((gang("b"),), (), victims, classes={gang_key("d"): RECLAIM})

    assert frozenset() == cluster.records.note(made, NOW)
    assert {} == cluster.links()


def test_what_gives_way_is_forgotten(cluster: Cluster) -> None:
    cluster.evict({B: IN_QUEUE}, "a")
    cluster.cache.gang_queue.changed.clear()

    cluster.evict({A: RECLAIM}, "b", forgotten=(Forgotten(B, A),))

    assert {"a": {"b"}} == cluster.links()
    assert {A, B} == cluster.cache.gang_queue.changed
    assert 1 == cluster.records.of(B).count


def test_a_link_ends_after_the_time_of_the_setting() -> None:
    cluster = Cluster(memory_seconds=100)
    cluster.run("a", "b")
    cluster.evict({A: RECLAIM}, "b")

    assert {"a": {"b"}} == cluster.links(NOW + 100)
    assert {} == cluster.links(NOW + 101)


def test_a_link_stays_while_its_gang_has_no_members(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")
    cluster.lose(member("a"))
    assert {"a": {"b"}} == cluster.links()

    cluster.see(member("a", 1))
    assert {"a": {"b"}} == cluster.links()


EDITS: dict[str, dict[str, Any]] = {
    "the gang asks for another quorum": pod_group("a", min_member=2),
    "the gang is in another queue": pod_group("a", "blue"),
    "the gang is another one": pod_group("a", uid="uid-new"),
    "the other gang asks for another quorum": pod_group("b", "blue", min_member=2),
    "the other gang is another one": pod_group("b", "blue", uid="uid-new"),
    "its priority": member("a", node="n1", priority=5),
    "its queue": queue_body("red", generation=2, parent="all"),
    "the queue of the other gang": queue_body("blue", generation=2, parent="all"),
    "a queue above": queue_body("all", generation=2),
}


@pytest.mark.parametrize("edited", EDITS.values(), ids=EDITS.keys())
def test_a_link_ends_when_a_gang_or_a_queue_of_either_is_edited(
    cluster: Cluster, edited: dict[str, Any]
) -> None:
    cluster.evict({A: RECLAIM}, "b")
    assert {"a": {"b"}} == cluster.links()

    cluster.see(edited)
    if edited["metadata"]["uid"] == "uid-new":
        cluster.lose(pod_group(edited["metadata"]["name"]))

    assert {} == cluster.links()


def test_a_link_ends_when_a_gang_ends(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")
    cluster.see(member("b", node="n1", status={"phase": "Succeeded"}))

    assert {} == cluster.links()


def test_a_link_does_not_end_by_a_status_or_by_a_queue_of_others(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")

    cluster.see(pod_group("a", status={"phase": "Running"}))
    cluster.see(queue_body("green", parent="all"))
    cluster.see({**queue_body("red", parent="all"), "status": {"pendingJobs": 3}})

    assert {"a": {"b"}} == cluster.links()


def written(cluster: Cluster, key: GangKey = A) -> dict[str, Any]:
    """Return the status that remembers what a gang yielded to."""
    found = cluster.records.of(key)
    links = [
        {"by": str(each.gang), "uid": each.uid, "class": "Reclaim", "at": AT}
        | {"edition": each.edition}
        for each in found.yielded
    ]
    return {"evictions": {"count": found.count, "last": AT, "yieldedTo": links}}


def test_a_restart_finds_links_in_statuses(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")
    after = Cluster()
    after.run("a", status=written(cluster))
    after.run("b", queue="blue")

    assert {"a": {"b"}} == after.links()
    assert 1 == after.records.of(A).count


@pytest.mark.parametrize("edited", EDITS.values(), ids=EDITS.keys())
def test_what_was_edited_while_no_scheduler_ran_ends_links_too(
    cluster: Cluster, edited: dict[str, Any]
) -> None:
    cluster.evict({A: RECLAIM}, "b")
    status = written(cluster)
    after = Cluster()
    after.run("a", status=status)
    after.run("b", queue="blue")
    after.see({**edited, "status": status} if edited["metadata"]["name"] == "a" else edited)

    is_new = edited["metadata"]["uid"] == "uid-new"
    if is_new:
        after.lose(pod_group(edited["metadata"]["name"]))

    # A status that belongs to the object is read whatever the uid of the object is.
    mine = is_new and edited["metadata"]["name"] == "a"
    assert ({"a": {"b"}} if mine else {}) == after.links()


def test_what_happened_here_counts_and_not_an_older_status(cluster: Cluster) -> None:
    cluster.run("a", status={"evictions": {"count": 7}})
    assert 7 == cluster.records.of(A).count

    cluster.evict({A: RECLAIM}, "b")
    cluster.see(pod_group("a", status={"evictions": {"count": 7}}))

    assert 8 == cluster.records.of(A).count


def test_a_gang_is_found_by_its_uid_alone() -> None:
    cluster = Cluster()
    link = {"by": "uid-b", "uid": "uid-b", "class": "Reclaim", "at": AT}
    cluster.run("a", status={"evictions": {"count": 1, "yieldedTo": [link]}})
    assert {} == cluster.links()

    cluster.run("b")

    assert {"a": {"b"}} == cluster.links()


def test_a_gang_without_an_object_is_remembered_by_its_name() -> None:
    cluster = Cluster()
    name = {"gang.scheduling.koordinator.sh/name": "x"}
    least = {"gang.scheduling.koordinator.sh/min-available": "1"}
    queue = {"py-gang-scheduler.io/queue": "red"}
    body = pod_body("x-0", metadata={"annotations": name | least, "labels": queue}, nodeName="n1")
    cluster.see(body)
    cluster.run("b")
    key = GangKey(refs.ANNOTATION.name, NAMESPACE, "x")

    cluster.evict({key: RECLAIM}, "b")
    cluster.lose(body)

    assert {"x": {"b"}} == cluster.links()
    (link,) = cluster.records.of(key).yielded
    assert YieldedTo(B, "uid-b", RECLAIM, NOW, link.edition) == link


def test_a_preemption_that_was_given_up_leaves_no_link(cluster: Cluster) -> None:
    made = cluster.evict({A: RECLAIM, C: IN_QUEUE}, "b")
    cluster.lose(member("c"))

    cluster.records.take_back(made)

    assert {"c": {"b"}} == cluster.links()
    assert Evictions() == cluster.records.of(A)


def test_the_last_links_are_kept(cluster: Cluster) -> None:
    for number in range(70):
        cluster.evict({A: RECLAIM}, f"g{number}")

    assert 64 == len(cluster.records.of(A).yielded)
    assert "g69" == cluster.records.of(A).yielded[-1].gang.name


def test_without_queues_nothing_is_remembered(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")
    for name in ("red", "blue", "all"):
        cluster.lose(queue_body(name))

    assert {} == cluster.links()


def test_a_cycle_asks_for_the_links_of_gangs_that_wait_and_of_those_that_they_lead_to(
    cluster: Cluster,
) -> None:
    cluster.evict({A: RECLAIM}, "b")
    cluster.evict({B: RECLAIM}, "c")
    nothing = cluster.cache.snapshot(NOW)
    asked = [{*nothing.yielded}]
    for name in ("c", "b", "a"):
        cluster.see(member(name, 9))
        placing = cluster.cache.snapshot_to_place(NOW)
        assert not placing.yielded
        asked.append({*cluster.cache.with_bound_pods(placing).yielded})

    assert [set(), set(), {B}, {A, B}] == asked
