"""What kubelets have refused: for how long no such pod goes there, and what of it is told."""

import pytest

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.records import revised
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.nodes import REFUSED_SECONDS
from support.builders import SCHEDULER, node, pod
from support.gang_queue_builders import NOW

OLD = pod("old", node="n1", cpu=4)


@pytest.fixture
def cache() -> Cache:
    made = Cache([SCHEDULER], Changes())
    for name in ("n1", "n2"):
        made.upsert(made.node_store, node(name, cpu=8))
    made.upsert_pod(pod("there", node="n1", cpu=1))
    made.upsert_pod(pod("late", node="n2", cpu=8))
    made.upsert_pod(OLD)
    return made


def refuse(cache: Cache, at: int = NOW) -> None:
    cache.upsert_pod(revised(OLD, phase="Failed", refused="OutOfcpu", started_at=at))


def node_of(cache: Cache, waiting: Pod, now: int = NOW) -> str:
    """Return the node of a pod that waits, "" for none."""
    cache.upsert_pod(waiting)
    plan = schedule(cache.snapshot(now), PROFILES["binpack"])
    cache.delete_pod(waiting.uid)
    return next((bind.node for placed in plan.placed for bind in placed.binds), "")


def test_such_a_pod_does_not_go_there_and_others_do(cache: Cache) -> None:
    refuse(cache)

    assert "" == node_of(cache, pod("same", cpu=4))
    assert "n1" == node_of(cache, pod("other", cpu=5))


def test_it_goes_there_once_a_pod_has_left_the_node(cache: Cache) -> None:
    refuse(cache)
    before = node_of(cache, pod("same", cpu=4))
    cache.delete_pod("uid-there")

    assert ("", "n1") == (before, node_of(cache, pod("same", cpu=4)))


def test_the_refused_pod_itself_leaves_nothing(cache: Cache) -> None:
    refuse(cache)
    cache.delete_pod("uid-old")

    assert "" == node_of(cache, pod("same", cpu=4))


def test_it_goes_there_again_after_some_time_and_is_tried_then(cache: Cache) -> None:
    refuse(cache)
    last = NOW + REFUSED_SECONDS - 1
    before = node_of(cache, pod("same", cpu=4), last), cache.next_retry()

    assert ("", last + 1) == before
    assert "n1" == node_of(cache, pod("same", cpu=4), last + 1)


def test_one_of_long_ago_means_nothing_to_the_next_process(cache: Cache) -> None:
    refuse(cache, NOW - REFUSED_SECONDS)

    assert "n1" == node_of(cache, pod("same", cpu=4))


def test_a_node_that_changes_goes_on_refusing(cache: Cache) -> None:
    refuse(cache)
    before = node_of(cache, pod("same", cpu=4))
    cache.upsert(cache.node_store, node("n1", cpu=9))

    assert ("", "") == (before, node_of(cache, pod("same", cpu=4)))
