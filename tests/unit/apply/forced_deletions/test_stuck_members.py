"""Members on failed nodes that do not go are removed where both sides allow it, and never early."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.annotations import FORCE_DELETE_STUCK_PODS
from gang_scheduler.api.kinds import POD_GROUPS, PODS
from gang_scheduler.apply.forced_deletions import AGAIN_SECONDS, StuckMembers
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode.gang_annotations import GangOptions
from support import cache_feeding
from support.builders import NAMESPACE, gang_spec, pod
from support.degraded_gang import NOW, SIZE, DegradedGang
from support.topology_builders import must

GONE_BY = NOW + 10


class Desk:
    """A member of a gang was deleted, and its node has not been ready since NOW."""

    def __init__(self, seconds: int = 60, allowed: int | None = 30, **fields: Any) -> None:
        self.gang = DegradedGang()
        self.api = FakeApi()
        self.now = NOW
        self.leads = True
        options = GangOptions(force_delete_seconds=allowed)
        spec = replace(
            gang_spec("a", SIZE),
            gvr=POD_GROUPS,
            topology_request=must("BlockLayer"),
            options=options,
        )
        cache_feeding.upsert_gang_specs(self.gang.cache, POD_GROUPS.group, spec.uid, [spec])
        self.gang.fails(1)
        given: dict[str, Any] = {"deleting": True, "gone_by": GONE_BY, **fields}
        self.pod = pod("a-1", gang="a", node="n1", cpu=4, **given)
        self.gang.cache.upsert_pod(self.pod)
        body = {"metadata": {"name": "a-1", "namespace": NAMESPACE, "uid": self.pod.uid}}
        self.api.cluster.put(PODS, body)
        self.stuck_members = StuckMembers(
            *(self.api, self.gang.cache, seconds),
            writes=Writes(lambda: self.leads),
            clock=lambda: self.now,
        )

    async def writes(self, now: int) -> list[tuple[str, int | None]]:
        """Return the writes to the pod until a moment, with the grace period of deletions."""
        self.now = now
        await self.stuck_members.look()
        return [(call.method, call.arguments.get("grace_seconds")) for call in self.api.calls]


REMOVED = [("delete_pod", 0)]


async def test_a_pod_is_removed_after_the_longer_of_both_times() -> None:
    desk = Desk(seconds=60, allowed=30)

    assert [] == await desk.writes(GONE_BY + 59)
    assert REMOVED == await desk.writes(GONE_BY + 60)

    desk = Desk(seconds=60, allowed=90)
    assert [] == await desk.writes(GONE_BY + 89)
    assert REMOVED == await desk.writes(GONE_BY + 90)


@pytest.mark.parametrize(("seconds", "allowed"), [(0, 30), (60, None)])
async def test_a_pod_is_never_removed_unless_both_allow_it(
    seconds: int, allowed: int | None
) -> None:
    assert [] == await Desk(seconds, allowed).writes(NOW + 100_000)


@pytest.mark.parametrize(("said", "removed"), [("2m", False), ("soon", False), ("20s", True)])
async def test_what_the_pod_says_itself_counts_first(said: str, removed: bool) -> None:  # noqa: FBT001
    desk = Desk(allowed=30, annotations={FORCE_DELETE_STUCK_PODS: said})

    assert REMOVED * removed == await desk.writes(GONE_BY + 100)


async def test_a_pod_whose_node_came_back_meanwhile_is_not_removed() -> None:
    desk = Desk()
    await desk.writes(GONE_BY + 50)
    desk.gang.heals(1)

    assert [] == await desk.writes(GONE_BY + 100)


async def test_the_time_begins_anew_with_the_node() -> None:
    desk = Desk()
    desk.gang.heals(1)
    broken = replace(
        desk.gang.cache.node_usage.table().nodes[0], name="n1", uid="uid-n1", ready=False
    )
    desk.gang.cache.upsert(
        desk.gang.cache.node_store, replace(broken, not_ready_since=GONE_BY + 40)
    )

    assert [] == await desk.writes(GONE_BY + 99)
    assert REMOVED == await desk.writes(GONE_BY + 100)


async def test_a_pod_that_was_not_deleted_stays() -> None:
    assert [] == await Desk(deleting=False).writes(GONE_BY + 100)


async def test_only_the_leader_removes() -> None:
    desk = Desk()
    desk.leads = False

    assert [] == await desk.writes(GONE_BY + 100)


async def test_a_pod_of_a_job_has_ended_too_so_that_the_job_lets_it_go() -> None:
    desk = Desk(job="train")

    assert [*REMOVED, ("fail_pod", None)] == await desk.writes(GONE_BY + 100)


async def test_what_was_refused_is_tried_again_later() -> None:
    desk = Desk()
    desk.api.fail("delete_pod", Fault(ApiError(403, "no")), name="a-1")

    assert REMOVED == await desk.writes(GONE_BY + 60)
    assert REMOVED == await desk.writes(GONE_BY + 60 + AGAIN_SECONDS - 1)
    assert REMOVED * 2 == await desk.writes(GONE_BY + 60 + AGAIN_SECONDS)
