"""Room is kept for nominated pods, from the moment at which that was decided."""

from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.plan import Bind, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import SCHEDULER, gang_key, gang_spec, node, pod
from support.gang_queue_builders import NOW

WAITING = pod("a-0", gang="a", priority=3)
ON_N1 = replace(WAITING, nominated="n1")
ON_N2 = replace(WAITING, nominated="n2")


def new_cache(*pods: Pod) -> Cache:
    cache = Cache([SCHEDULER], Changes())
    for name in ("n1", "n2"):
        cache.upsert(cache.node_store, node(name))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, "uid-a", [gang_spec("a", 2)])
    for each in pods:
        cache.upsert_pod(each)
    return cache


def nominated(cache: Cache) -> list[tuple[str, str]]:
    found = cache.snapshot(NOW).nominated
    return [(each.pod.name, each.pod.nominated) for each in found]


def test_a_nominated_pod_is_shown_with_its_gang_and_the_priority_of_that() -> None:
    cache = new_cache(ON_N1, pod("a-1", gang="a", priority=1))

    (found,) = cache.snapshot(NOW).nominated

    assert (ON_N1, gang_key("a"), 1) == found


def test_they_are_in_order_of_their_gangs_and_ranks() -> None:
    names = ["a-10", "b-0", "a-9"]
    pods = [replace(pod(name, gang=name[0]), nominated="n1") for name in names]

    found = nominated(new_cache(*pods))

    assert ["a-9", "a-10", "b-0"] == [name for name, _ in found]


def test_a_pod_that_has_a_node_ended_or_is_another_schedulers_is_not_among_them() -> None:
    others = [
        pod("bound", node="n1"),
        pod("leaving", deleting=True),
        pod("gated", gated=True),
        pod("done", phase="Failed"),
        pod("other", scheduler="default-scheduler"),
    ]

    assert [] == nominated(new_cache(*(replace(each, nominated="n1") for each in others)))


def test_our_own_nomination_counts_at_once() -> None:
    cache = new_cache(WAITING)

    cache.nominate([Bind(WAITING, "n1")])

    assert [("a-0", "n1")] == nominated(cache)


def test_an_older_state_does_not_undo_it_before_its_echo_comes_and_a_later_one_does() -> None:
    cache = new_cache(WAITING)
    cache.nominate([Bind(WAITING, "n1")])
    shown = []

    for seen in (WAITING, ON_N1, WAITING):
        cache.upsert_pod(seen)
        shown.append(nominated(cache))

    assert [[("a-0", "n1")], [("a-0", "n1")], []] == shown


def test_a_nomination_that_is_cleared_counts_no_more_whatever_an_older_state_says() -> None:
    cache = new_cache(ON_N1)
    cache.clear_nominations(["uid-a-0", "uid-unknown"])
    first = nominated(cache)

    cache.upsert_pod(ON_N1)
    second = nominated(cache)
    cache.upsert_pod(WAITING)
    cache.upsert_pod(ON_N2)

    assert ([], [], [("a-0", "n2")]) == (first, second, nominated(cache))


def test_a_nomination_that_was_never_written_is_forgotten() -> None:
    cache = new_cache(WAITING)
    cache.nominate([Bind(WAITING, "n1")])

    cache.clear_nominations(["uid-a-0"])
    cache.upsert_pod(replace(WAITING, priority=4))

    assert [] == nominated(cache)


def test_the_nomination_ends_with_the_binding_and_comes_back_if_that_fails() -> None:
    cache = new_cache(ON_N1)
    cache.assume(Bind(ON_N1, "n1"))
    bound = nominated(cache)

    cache.forget("uid-a-0")

    assert ([], [("a-0", "n1")]) == (bound, nominated(cache))


def test_a_bound_or_deleted_pod_takes_what_was_assumed_of_it_along() -> None:
    cache = new_cache(WAITING)
    cache.nominate([Bind(WAITING, "n1")])
    cache.upsert_pod(replace(WAITING, node="n2"))
    cache.nominate([Bind(WAITING, "n1")])
    bound = nominated(cache)

    cache.delete_pod("uid-a-0")
    cache.upsert_pod(WAITING)

    assert ([], []) == (bound, nominated(cache))


def test_a_gang_is_tried_again_when_a_nominated_node_is_gone() -> None:
    changes = Changes()
    cache = Cache([SCHEDULER], changes)
    cache.upsert(cache.node_store, node("n1"))
    cache.upsert_pod(replace(pod("alone"), nominated="n1"))
    (group,) = cache.snapshot(NOW).groups
    cache.decisions.refused(Refused(group.gangs[0], Reason.WAITING_FOR_VICTIMS, ()), NOW)
    changes.cycle.clear()

    cache.delete(cache.node_store, node("n1").uid)
    woken = changes.cycle.is_set()
    changes.cycle.clear()
    cache.delete(cache.node_store, node("n1").uid)

    assert (True, False) == (woken, changes.cycle.is_set())
    assert 1 == len(cache.snapshot(NOW).groups)


def tried(cache: Cache) -> list[str]:
    """Return the gangs that are tried now, which then all lack room."""
    gangs = [gang for group in cache.snapshot(NOW).groups for gang in group.gangs]
    for gang in gangs:
        cache.decisions.refused(Refused(gang, Reason.UNSCHEDULABLE, gang.pending), NOW)
    return [gang.key.name for gang in gangs]


@pytest.mark.parametrize(
    "after",
    [
        None,
        WAITING,
        ON_N2,
        replace(ON_N1, deleting=True),
        replace(ON_N1, gated=True),
        replace(ON_N1, node="n2"),
    ],
)
def test_gangs_short_of_room_are_tried_again_when_room_is_kept_no_more(after: Pod | None) -> None:
    cache = new_cache(ON_N1, pod("late", priority=1))
    before = tried(cache), tried(cache)

    if after is None:
        cache.delete_pod("uid-a-0")
    else:
        cache.upsert_pod(after)

    assert (["late", "a"], []) == before
    assert "late" in tried(cache)


@pytest.mark.parametrize("after", [ON_N1, replace(ON_N1, labels={"x": "y"})])
def test_they_are_not_while_it_is_kept(after: Pod) -> None:
    cache = new_cache(ON_N1, pod("late", priority=1))
    tried(cache)

    cache.upsert_pod(after)

    assert "late" not in tried(cache)


def test_they_are_not_when_it_is_taken() -> None:
    cache = new_cache(ON_N1, pod("late", priority=1))
    tried(cache)

    cache.assume(Bind(ON_N1, "n1"))

    assert "late" not in tried(cache)
