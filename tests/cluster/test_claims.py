"""Claims before pods, under faults: all of a gang's claims are bound before any member is."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from cluster.disks import NEVER, DiskRig
from cluster.held_claims import SIZE, held
from gang_scheduler.api.kinds import NODES, PERSISTENT_VOLUME_CLAIMS, PODS
from gang_scheduler.apply.binder import Outcome
from gang_scheduler.apply.volume_binder import HOLD_SECONDS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.faults import Fault
from gang_scheduler.model.gangs import Reason

pytestmark = pytest.mark.looptime


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
