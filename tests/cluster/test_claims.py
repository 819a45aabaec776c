"""Claims before pods, under faults: all of a gang's claims are bound before any member is."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import api_objects
from cluster.disks import NEVER, DiskRig
from gang_scheduler.cluster.binder import Outcome
from gang_scheduler.cluster.errors import ApiError
from gang_scheduler.cluster.fake.faults import Fault
from gang_scheduler.cluster.ports import NODES, PERSISTENT_VOLUME_CLAIMS, POD_GROUPS, PODS
from gang_scheduler.cluster.volumes.book import VolumeBook
from gang_scheduler.cluster.volumes.claims import HOLD_SECONDS
from gang_scheduler.model.gangs import Reason

pytestmark = pytest.mark.looptime

SIZE = 3
WRITES = ("select_node", "reserve")
PASSING = [
    Fault(ApiError(500, "etcd has no leader")),
    Fault(ApiError(0, "TimeoutError"), after=True),
    Fault(ApiError(429, "too many requests", retry_after=7)),
    Fault(ApiError(409, "the object has been modified")),
]
FINAL = [Fault(ApiError(403, "persistentvolumeclaims is forbidden")), Fault(ApiError(404, "gone"))]


def methods(rig: DiskRig) -> list[str]:
    return [call.method for call in rig.api.calls]


def refusal(rig: DiskRig) -> tuple[Reason, str]:
    """Return why the only gang that was tried was not bound."""
    (binding,) = rig.finished
    assert {Outcome.WITHOUT_VOLUMES} == set(binding.outcomes.values())
    refused = binding.refusal()
    assert SIZE == len(refused.pods)
    return refused.reason, refused.detail


async def held(rig: DiskRig, size: int = SIZE, **makes: float) -> None:
    """Plan a gang with claims whose volumes take so long to be made, and let its writes settle."""
    rig.makes = makes
    rig.gang_with_claims("a", size)
    await rig.quiet()
    rig.cycle()
    await asyncio.sleep(2)


# All is well.


async def test_all_claims_are_bound_before_any_pod() -> None:
    async with DiskRig() as rig:
        await held(rig, a_0=1, a_1=20, a_2=3)

        assert ["select_node"] * SIZE == methods(rig)
        await asyncio.sleep(20)
        await rig.quiet()
        assert ["bind"] * SIZE == methods(rig)[SIZE:]
        assert rig.selected() == rig.nodes()
        assert [0] == [binding.failed for binding in rig.finished]
        rig.assert_the_cache_is_right()


async def test_a_claim_for_many_nodes_is_made_once_and_serves_all_members() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.everywhere = {"a"}
        rig.gang_with_one_claim("a", 9)
        await rig.quiet()
        rig.cycle()
        await asyncio.sleep(2)
        await rig.quiet()

        assert ["select_node"] + ["bind"] * 9 == methods(rig)
        assert 1 < len(set(rig.nodes().values()))
        rig.assert_the_cache_is_right()


async def test_a_volume_that_not_all_members_reach_lets_none_of_them_start() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.gang_with_one_claim("a", 9)
        await rig.quiet()
        rig.cycle()
        await asyncio.sleep(2)

        assert ["select_node"] == methods(rig)
        (binding,) = rig.finished
        assert "node affinity doesn't match node" in binding.refusal().detail


async def test_room_is_held_for_as_long_as_claims_are_not_bound() -> None:
    async with DiskRig(nodes=1) as rig:
        await held(rig, a_1=60)
        rig.gang("b", 2)
        await rig.quiet()

        for _ in range(5):
            await asyncio.sleep(10)
            assert () == rig.cycle().placed
        await asyncio.sleep(10)
        await rig.quiet()
        assert {"n0"} == {node for name, node in rig.nodes().items() if name.startswith("a-")}


async def test_disks_that_are_there_are_reserved_and_none_twice() -> None:
    async with DiskRig(nodes=6) as rig:
        for number in range(6):
            rig.disk(f"n{number}")
        rig.gang_with_claims("a", SIZE, storage_class="local")
        rig.gang_with_claims("b", SIZE, storage_class="local")
        await rig.quiet()
        rig.cycle()
        await asyncio.sleep(2)
        await rig.quiet()

        assert ["reserve"] * 2 * SIZE + ["bind"] * 2 * SIZE == sorted(methods(rig), reverse=True)
        assert rig.disks() == rig.nodes()
        assert 6 == len(set(rig.nodes().values()))


async def test_of_several_claims_one_is_named_and_the_others_are_counted() -> None:
    async with DiskRig() as rig:
        await held(rig, a_1=NEVER, a_2=NEVER)

        refused = rig.cache.gangs.records[rig.key("a")].refusal
        words = "2 of 3 claims are not bound yet: default/a-1 (StorageClass fast) and 1 more"
        assert refused is not None
        assert words == refused.detail


async def test_people_can_read_what_is_waited_for() -> None:
    async with DiskRig() as rig:
        await held(rig, a_1=NEVER)

        record = rig.cache.gangs.records[rig.key("a")]
        assert record.refusal is not None
        assert Reason.WAITING_FOR_VOLUMES is record.refusal.reason
        words = "1 of 3 claims are not bound yet: default/a-1 (StorageClass fast)"
        assert words == record.refusal.detail
        assert [] == rig.told
        await asyncio.sleep(5)
        assert [("default/a", words)] == list(dict.fromkeys(rig.told))


# Not all is well.


async def test_a_claim_that_is_never_bound_gives_the_room_back_in_the_end() -> None:
    async with DiskRig(nodes=1) as rig:
        await held(rig, a_1=NEVER)
        rig.gang("b", 4)
        await asyncio.sleep(HOLD_SECONDS - 10)
        assert [] == rig.finished

        await rig.cycles(lambda: bool(rig.finished))

        words = "1 of 3 claims are not bound yet: default/a-1 (StorageClass fast)"
        expected = Reason.WAITING_FOR_VOLUMES, f"given up after 600 s: {words}"
        assert expected == refusal(rig)
        assert "bind" not in methods(rig)
        # The one that failed has to wait a little.
        assert ["b"] == [placed.gang.key.name for placed in rig.cycle().placed]


async def test_it_is_planned_again_and_bound_where_its_claims_are() -> None:
    async with DiskRig(hold_seconds=5) as rig:
        await held(rig, a_1=NEVER)
        await asyncio.sleep(5)
        selected = rig.selected()
        rig.makes.clear()
        rig.wake("a-1")

        await rig.cycles(rig.all_bound)

        assert selected == rig.nodes()
        rig.assert_the_cache_is_right()


async def test_a_claim_that_is_given_back_ends_the_wait_at_once() -> None:
    async with DiskRig() as rig:
        await held(rig, a_1=NEVER)

        rig.give_back("a-1")
        await asyncio.sleep(1)

        words = 'claims of pod default/a-1: provisioning failed for PVC "a-1"'
        assert (Reason.WAITING_FOR_VOLUMES, words) == refusal(rig)
        rig.makes.clear()
        await rig.cycles(rig.all_bound)
        assert rig.selected() == rig.nodes()


ENDINGS: dict[str, Callable[[DiskRig], Any]] = {
    "pod default/a-1 is gone": lambda rig: rig.cluster.delete(PODS, "default", "a-1"),
    'persistentvolumeclaim "a-1" not found': lambda rig: rig.cluster.delete(
        PERSISTENT_VOLUME_CLAIMS, "default", "a-1"
    ),
    "node n0 is gone": lambda rig: rig.cluster.delete(NODES, "", "n0"),
}


@pytest.mark.parametrize("words", ENDINGS)
async def test_what_can_come_to_nothing_ends_at_once(words: str) -> None:
    async with DiskRig() as rig:
        await held(rig, a_1=NEVER)

        ENDINGS[words](rig)
        await asyncio.sleep(1)

        assert words in refusal(rig)[1]
        assert "bind" not in methods(rig)
        assert [] == [pod.name for pod in rig.cache.pods() if pod.assumed]


async def test_a_volume_that_was_made_elsewhere_ends_it_at_once() -> None:
    async with DiskRig() as rig:
        rig.elsewhere.add("a-1")
        await held(rig)

        assert 'pod default/a-1: pv "made-for-a-1" node affinity doesn\'t' in refusal(rig)[1]
        assert "bind" not in methods(rig)


async def test_who_leads_no_more_waits_and_writes_no_more() -> None:
    leads = [True]
    async with DiskRig(may_write=lambda: leads[0]) as rig:
        await held(rig, a_1=5)
        before = methods(rig)
        leads[0] = False
        await asyncio.sleep(1)

        assert "does not lead any more" in refusal(rig)[1]
        await asyncio.sleep(10)
        assert before == methods(rig)


async def test_who_stops_binds_nobody_whose_claims_come_later() -> None:
    async with DiskRig() as rig:
        await held(rig, a_1=5)

        rig.binder.close()
        await asyncio.sleep(10)

        assert "bind" not in methods(rig)


# Who starts with whom.


def two_gangs_that_start_together(rig: DiskRig) -> None:
    """Add a gang whose members have claims, and one that has none, in one group."""
    rig.gang_with_claims("a", 2)
    rig.gang("b", 2)
    marks = {"gang.scheduling.koordinator.sh/groups": '["default/a", "default/b"]'}
    for name in ("a", "b"):
        rig.cluster.put(
            POD_GROUPS,
            api_objects.pod_group_body(name, min_member=2, metadata={"annotations": marks}),
        )


def bound(rig: DiskRig) -> list[str]:
    return [name for name, node in rig.nodes().items() if node]


async def test_no_gang_of_a_group_starts_before_the_claims_of_all_are_bound() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_1": 20}
        two_gangs_that_start_together(rig)
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)
        assert [] == bound(rig)
        await asyncio.sleep(20)
        await rig.quiet()
        assert ["a-0", "a-1", "b-0", "b-1"] == bound(rig)
        rig.assert_the_cache_is_right()


async def test_gangs_of_a_group_fail_together_and_say_why() -> None:
    async with DiskRig(nodes=3, hold_seconds=5) as rig:
        rig.makes = {"a_1": NEVER}
        two_gangs_that_start_together(rig)
        await rig.quiet()
        rig.cycle()
        await asyncio.sleep(6)

        words = "given up after 5 s: 1 of 2 claims are not bound yet: default/a-1"
        refusals = [binding.refusal() for binding in rig.finished]
        assert [] == bound(rig)
        assert ["a", "b"] == [refused.gang.key.name for refused in refusals]
        assert all(refused.detail.startswith(words) for refused in refusals)
        rig.makes.clear()
        rig.wake("a-1")
        await rig.cycles(rig.all_bound)
        rig.assert_the_cache_is_right()


async def test_who_comes_late_is_not_bound_before_the_quorum() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_1": 20}
        rig.gang_with_claims("a", 2)
        await rig.quiet()
        rig.cycle()
        rig.pod("a-late", "a")
        await asyncio.sleep(10)
        rig.cycle()
        await asyncio.sleep(1)
        assert [] == bound(rig)

        await rig.cycles(rig.all_bound)

        rig.assert_the_cache_is_right()


async def test_a_quorum_does_not_wait_for_the_claims_of_others() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_2": NEVER, "a_3": 20}
        rig.gang_with_claims("a", 4)
        rig.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=2))
        rig.pod("a-plain", "a")
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)
        assert ["a-0", "a-1", "a-plain"] == bound(rig)
        await asyncio.sleep(20)
        assert ["a-0", "a-1", "a-3", "a-plain"] == bound(rig)
        await asyncio.sleep(HOLD_SECONDS)
        assert ["a-2"] == [pod.name for pod in rig.finished[-1].refusal().pods]
        rig.makes.clear()
        rig.wake("a-2")
        await rig.cycles(rig.all_bound)
        rig.assert_the_cache_is_right()


async def test_nobody_starts_before_a_quorum_whose_claims_come_late() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_0": 20}
        rig.gang_with_claims("a", 3)
        rig.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=2))
        rig.pod("a-plain", "a")
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)
        assert [] == bound(rig)
        await asyncio.sleep(20)
        assert rig.all_bound()


async def test_members_of_a_gang_that_runs_wait_for_their_own_claims_alone() -> None:
    async with DiskRig(nodes=3) as rig:
        rig.makes = {"a_0": NEVER}
        rig.gang_with_claims("a", 3)
        rig.cluster.put(POD_GROUPS, api_objects.pod_group_body("a", min_member=1))
        await rig.quiet()
        rig.cycle()

        await asyncio.sleep(10)

        assert ["a-1", "a-2"] == bound(rig)
        assert rig.cache.gangs.records[rig.key("a")].whole_once


@contextmanager
def counting(called: Callable[..., Any]) -> Iterator[list[int]]:
    """Count the calls of a function."""
    count = [0]

    def profile(frame: FrameType, event: str, _: object) -> None:
        count[0] += event == "call" and frame.f_code is called.__code__

    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("members", [50, 100])
async def test_the_wait_costs_each_claim_a_few_looks(members: int) -> None:
    async with DiskRig(nodes=members // 4 + 1) as rig:
        with counting(VolumeBook.progress) as looks:
            await held(rig, size=members, **{f"a_{number}": 3 for number in range(members)})
            await asyncio.sleep(5)

        assert rig.all_bound()
        # Four a second for the words and the state, and one for each of its events.
        assert looks[0] < 30 * members


# Writes that fail.


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: str(fault.error))
async def test_a_write_that_may_pass_is_tried_again(fault: Fault) -> None:
    async with DiskRig() as rig:
        rig.api.fail("select_node", fault, fault)
        await held(rig)
        await asyncio.sleep(20)
        await rig.quiet()

        assert SIZE + 2 == methods(rig).count("select_node")
        assert rig.selected() == rig.nodes()
        assert [0] == [binding.failed for binding in rig.finished]


@pytest.mark.parametrize("fault", FINAL, ids=lambda fault: str(fault.error))
async def test_a_write_that_cannot_pass_gives_up_at_once(fault: Fault) -> None:
    async with DiskRig() as rig:
        rig.api.fail("select_node", fault, name="a-1")
        await held(rig)

        assert f"claim default/a-1 cannot be written: {fault.error}" in refusal(rig)[1]
        assert "bind" not in methods(rig)


async def test_a_claim_of_which_another_scheduler_was_faster_is_followed() -> None:
    async with DiskRig() as rig:
        rig.makes = {"a_1": NEVER}
        rig.gang_with_claims("a", SIZE)
        await rig.quiet()
        rig.cycle()
        rig.select("a-1", "n1")
        await asyncio.sleep(2)
        assert "node n1 was selected" in refusal(rig)[1]
        rig.makes.clear()
        rig.wake("a-1")

        await rig.cycles(rig.all_bound)

        assert "n1" == rig.nodes()["a-1"]
        assert rig.selected() == rig.nodes()
