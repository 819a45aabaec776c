"""An older state than the one that is known is no news, and what was deleted does not come back."""

from typing import Any

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.decode.events import Versions
from gang_scheduler.model.plan import Bind
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support import decoded as pod_decode
from support.api_objects import node_body, pod_body
from support.builders import SCHEDULER


class Told:
    """A cache, and what it is told of one pod, a node and their versions."""

    def __init__(self) -> None:
        self.cache = Cache([SCHEDULER], Changes())
        self.event_handlers = cache_feeding.event_handlers(self.cache)
        self.event_handlers.of(NODES).handle({"type": None, "object": node("n1", 1)})

    def pod(self, version: int, change: str | None = "MODIFIED", **spec: Any) -> None:
        """Tell of the pod in a version."""
        self.event_handlers.of(PODS).handle({"type": change, "object": pod(version, **spec)})

    def free(self) -> int:
        """Return how much CPU is free, in thousandths."""
        axis = self.cache.node_usage.table().axis["cpu"]
        return int(self.cache.node_usage.free()[:, axis].sum())


def pod(version: int, **spec: Any) -> dict[str, Any]:
    return pod_body("a", metadata={"resourceVersion": str(version)}, **spec)


def node(name: str, version: int, cpu: str = "8") -> dict[str, Any]:
    offered = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    metadata = {"resourceVersion": str(version)}
    return node_body(name, allocatable=offered, metadata=metadata)


def test_a_bound_pod_is_not_unbound_by_an_older_state() -> None:
    told = Told()
    told.pod(12, nodeName="n1")

    told.pod(11)

    assert 7000 == told.free()


def test_a_bind_of_ours_that_was_shown_is_not_undone_by_an_older_state() -> None:
    told = Told()
    told.pod(10)
    told.cache.assume(Bind(pod_decode.pod(pod(10)), "n1"))
    told.pod(12, nodeName="n1")

    told.pod(11)

    assert 7000 == told.free()


def test_a_bind_of_ours_outlives_every_state_that_is_older_than_it() -> None:
    told = Told()
    told.pod(10)
    told.cache.assume(Bind(pod_decode.pod(pod(10)), "n1"))

    for version in (10, 11, 9):
        told.pod(version)

    assert 7000 == told.free()


def test_a_pod_that_was_deleted_does_not_come_back_with_an_older_state() -> None:
    told = Told()
    told.pod(12, nodeName="n1")
    told.pod(13, "DELETED", nodeName="n1")

    told.pod(12, nodeName="n1")

    assert 8000 == told.free()


def test_a_pod_that_a_list_did_not_have_any_more_does_not_come_back() -> None:
    told = Told()
    told.pod(12, nodeName="n1")
    told.event_handlers.of(PODS).missing("uid-a")
    told.cache.delete_pod("uid-a")

    told.pod(14, nodeName="n1")

    assert 8000 == told.free()


def test_a_pod_that_could_not_be_seen_comes_back_as_it_was() -> None:
    told = Told()
    told.pod(5, nodeName="n1")

    told.event_handlers.of(PODS).forget(pod(5)["metadata"]["uid"])
    assert [] == [*told.cache.pods()]

    told.pod(5, nodeName="n1")
    assert 1 == len([*told.cache.pods()])


def test_a_node_does_not_grow_by_an_older_state() -> None:
    told = Told()
    told.event_handlers.of(NODES).handle({"type": "MODIFIED", "object": node("n1", 7, cpu="2")})

    told.event_handlers.of(NODES).handle({"type": "MODIFIED", "object": node("n1", 6)})

    assert 2000 == told.free()


def test_the_same_state_may_come_twice() -> None:
    told = Told()
    told.pod(12, nodeName="n1")

    told.pod(12, None, nodeName="n1")

    assert 7000 == told.free()


def test_an_object_that_could_not_be_read_may_become_readable() -> None:
    told = Told()
    broken = [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]
    told.pod(12, nodeName="n1", containers=broken)
    assert {"uid-a"} == told.event_handlers.broken

    told.pod(13, nodeName="n1")

    assert (7000, set()) == (told.free(), told.event_handlers.broken)


def test_states_without_a_version_are_always_news() -> None:
    known = Versions()
    known.seen("a", "7")

    assert known.seen("a", "")
    assert known.seen("a", "not-a-number")


def test_a_deletion_is_remembered_for_ten_minutes_at_least_and_twenty_at_most() -> None:
    now = [0.0]
    known = Versions(lambda: now[0])
    for minute in range(0, 30, 3):
        now[0] = minute * 60.0
        known.gone(f"of-minute-{minute}", "7")

    forgotten = [minute for minute in range(0, 30, 3) if known.seen(f"of-minute-{minute}", "6")]

    assert [0, 3, 6, 9] == forgotten


def test_a_history_that_was_restored_from_a_backup_is_believed() -> None:
    known = Versions()
    known.seen("a", "90")
    known.gone("b", "80")

    known.as_of("50", before=known.newest)

    assert [True, True] == [known.seen(uid, "40") for uid in "ab"]


def test_a_list_that_was_asked_for_before_the_newest_was_seen_is_no_restored_history() -> None:
    known = Versions()
    known.seen("a", "50")
    before = known.newest
    known.seen("a", "90")

    known.as_of("60", before)

    assert not known.seen("a", "55")
