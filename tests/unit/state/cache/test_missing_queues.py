"""Gangs of a cluster without queues that are in one all the same, by what their namespace says."""

from gang_scheduler.api.kinds import NAMESPACES
from gang_scheduler.decode.cluster import DeclaredNamespace
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import SCHEDULER, pod

NOW = 1000


def reasons(snapshot: Snapshot) -> list[Reason | None]:
    gangs = [gang for group in snapshot.groups for gang in group.gangs]
    return [gang.problem.reason if gang.problem else None for gang in gangs]


def test_a_namespace_may_name_a_queue_that_is_missing() -> None:
    cache = Cache([SCHEDULER], Changes())
    cache.upsert_pod(pod("p"))
    before = cache.snapshot(NOW)
    named = DeclaredNamespace("u", "default", {}, "team-a")
    cache_feeding.upsert(cache, NAMESPACES, named)
    cache.upsert_pod(pod("p", priority=1))
    after = cache.snapshot(NOW)

    assert [[None], [Reason.QUEUE_NOT_FOUND]] == [reasons(before), reasons(after)]
    assert after.queues is None
