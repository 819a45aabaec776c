"""Marks that an earlier process left on members of a gang that is degraded.

Others: integration/test_evictor.py and integration/test_evictor_killed.py.
"""

import asyncio
import contextlib

from gang_scheduler.apply.orphaned_marks import OrphanedMarks
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.model.plan import Plan
from gang_scheduler.state.changes import Changes
from support.degraded_gang import KEY, LATER, DegradedGang
from support.parts import Parts


def degraded() -> DegradedGang:
    """Return a gang that has lost a member for which there is no room."""
    gang = DegradedGang(free=0)
    gang.lacks_room(1, LATER)
    return gang


def orphaned(gang: DegradedGang) -> list[str]:
    found = OrphanedMarks(gang.cache).settled(Plan(), LATER)
    assert gang.cache.degraded.of(KEY, LATER) is not None
    return [pod.name for pod in found]


async def written(gang: DegradedGang) -> list[tuple[str, str]]:
    """Return what is written once the marks of an earlier process are settled."""
    api = FakeApi(FakeCluster())
    evictor = Parts(api, gang.cache, Changes(), clock=lambda: LATER).evictor
    running = asyncio.create_task(evictor.run())
    evictor.withdraw_orphaned_marks(Plan())
    await evictor.drain()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    return [(call.method, call.name) for call in api.calls]


def test_the_mark_of_a_preemption_that_is_not_planned_again_is_orphaned() -> None:
    gang = degraded()
    gang.marks(2, starting_anew=False)

    assert ["a-2"] == orphaned(gang)


async def test_it_is_withdrawn_and_the_member_stays() -> None:
    gang = degraded()
    gang.marks(2, starting_anew=False)

    assert [("patch_pod_condition", "a-2")] == await written(gang)


def test_the_mark_of_a_gang_that_starts_anew_stays() -> None:
    gang = degraded()
    gang.marks(2)

    assert [] == orphaned(gang)
