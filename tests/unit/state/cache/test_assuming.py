"""Our own binds count before the API server has confirmed them."""

from dataclasses import replace

from gang_scheduler.model.plan import Bind, Placed
from support.builders import gang, node, pod
from support.queue_builders import queue_ref
from support.two_member_gang import due, free_cpu, new_cache, record_members


def test_an_assumed_pod_counts_at_once_and_waits_no_more() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)

    cache.assume(Bind(waiting, "n1"))

    assert (5000, []) == (free_cpu(cache), due(cache))


def test_a_confirmed_bind_counts_once() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))

    confirmed = pod("a-0", gang="a", cpu=3, node="n1")
    cache.upsert_pod(confirmed)

    assert (5000, confirmed) == (free_cpu(cache), cache.pod("uid-a-0"))


def test_a_confirmed_bind_cannot_be_forgotten() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))
    cache.upsert_pod(pod("a-0", gang="a", cpu=3, node="n1"))

    cache.forget("uid-a-0")

    assert 5000 == free_cpu(cache)


def test_a_bind_that_did_not_happen_is_forgotten() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))

    cache.forget("uid-a-0")

    assert (8000, waiting) == (free_cpu(cache), cache.pod("uid-a-0"))
    assert [(waiting,)] == [each.pending for each in due(cache)]


def test_an_old_event_does_not_undo_an_assumed_bind() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))

    cache.upsert_pod(pod("a-0", gang="a", cpu=3, priority=4))

    assert (5000, []) == (free_cpu(cache), due(cache))


def test_what_an_old_event_said_is_remembered_when_the_bind_is_forgotten() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))
    cache.upsert_pod(pod("a-0", gang="a", cpu=3, priority=4))

    cache.forget("uid-a-0")

    assert [4] == [each.priority for each in due(cache)]


def test_a_pod_that_another_scheduler_bound_elsewhere_counts_there() -> None:
    cache = new_cache()
    cache.upsert(cache.node_store, node("n2", cpu=8, memory=0))
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))

    cache.upsert_pod(pod("a-0", gang="a", cpu=3, node="n2"))

    assert [[8000, 110], [5000, 109]] == cache.node_usage.free().tolist()


def test_a_pod_deleted_while_assumed_uses_nothing_and_cannot_be_forgotten_twice() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))

    cache.delete_pod("uid-a-0")
    cache.forget("uid-a-0")

    assert (8000, None, []) == (free_cpu(cache), cache.pod("uid-a-0"), record_members(cache))


def test_a_pod_that_is_being_deleted_while_assumed_still_uses_its_room() -> None:
    cache = new_cache()
    waiting = pod("a-0", gang="a", cpu=3)
    cache.upsert_pod(waiting)
    cache.assume(Bind(waiting, "n1"))

    cache.upsert_pod(pod("a-0", gang="a", cpu=3, deleting=True))

    assert 5000 == free_cpu(cache)


def test_a_gang_runs_when_the_last_of_its_binds_is_confirmed() -> None:
    cache = new_cache()
    members = [pod(f"a-{number}", gang="a") for number in range(2)]
    for each in members:
        cache.upsert_pod(each)
        cache.assume(Bind(each, "n1"))
    started = cache.gang_queue.queueing_hints.started_gangs
    started.admitted(Placed(replace(gang("a"), queue=queue_ref("b")), (), borrows=True))

    cache.upsert_pod(replace(members[0], node="n1"))
    assert not started.new
    cache.upsert_pod(replace(members[1], node="n1"))
    assert {queue_ref("b")} == started.new.borrowing
