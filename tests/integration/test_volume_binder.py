"""Claims before pods, under faults: all of a gang's claims are bound before any member is."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gang_scheduler.api.kinds import NODES, PERSISTENT_VOLUME_CLAIMS, PODS
from gang_scheduler.apply.outcomes import Outcome
from gang_scheduler.apply.volume_binder import HOLD_SECONDS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.messages import describe
from integration.support.waiting_for_claims import SIZE, held
from support.volume_harness import NEVER, VolumeHarness

pytestmark = pytest.mark.looptime


WRITES = ("select_node", "reserve")
PASSING = [
    Fault(ApiError(500, "etcd has no leader")),
    Fault(ApiError(0, "TimeoutError"), after=True),
    Fault(ApiError(429, "too many requests", retry_after=7)),
    Fault(ApiError(409, "the object has been modified")),
]
FINAL = [Fault(ApiError(422, "persistentvolumeclaims is invalid")), Fault(ApiError(404, "gone"))]


def methods(harness: VolumeHarness) -> list[str]:
    return [call.method for call in harness.api.calls]


def refusal(harness: VolumeHarness) -> tuple[Reason, str]:
    """Return why the only gang that was tried was not bound."""
    (binding,) = harness.finished
    assert {Outcome.WITHOUT_VOLUMES} == set(binding.outcomes.values())
    refused = binding.refusal()
    assert SIZE == len(refused.pods)
    return refused.reason, describe(refused)


# All is well.


async def test_all_claims_are_bound_before_any_pod() -> None:
    async with VolumeHarness() as harness:
        await held(harness, a_0=1, a_1=20, a_2=3)

        assert ["select_node"] * SIZE == methods(harness)
        await asyncio.sleep(20)
        await harness.quiet()
        assert ["bind"] * SIZE == methods(harness)[SIZE:]
        assert harness.selected() == harness.nodes()
        assert [0] == [binding.failed for binding in harness.finished]
        harness.assert_the_cache_is_right()


async def test_a_claim_for_many_nodes_is_made_once_and_serves_all_members() -> None:
    async with VolumeHarness(nodes=3) as harness:
        harness.everywhere = {"a"}
        harness.gang_with_one_claim("a", 9)
        await harness.quiet()
        harness.cycle()
        await asyncio.sleep(2)
        await harness.quiet()

        assert ["select_node"] + ["bind"] * 9 == methods(harness)
        assert 1 < len(set(harness.nodes().values()))
        harness.assert_the_cache_is_right()


async def test_a_volume_that_not_all_members_reach_lets_none_of_them_start() -> None:
    async with VolumeHarness(nodes=3) as harness:
        harness.gang_with_one_claim("a", 9)
        await harness.quiet()
        harness.cycle()
        await asyncio.sleep(2)

        assert ["select_node"] == methods(harness)
        (binding,) = harness.finished
        assert "node affinity doesn't match node" in describe(binding.refusal())


async def test_room_is_held_for_as_long_as_claims_are_not_bound() -> None:
    async with VolumeHarness(nodes=1) as harness:
        await held(harness, a_1=60)
        harness.gang("b", 2)
        await harness.quiet()

        for _ in range(5):
            await asyncio.sleep(10)
            assert () == harness.cycle().placed
        await asyncio.sleep(10)
        await harness.quiet()
        assert {"n0"} == {node for name, node in harness.nodes().items() if name.startswith("a-")}


async def test_disks_that_are_there_are_reserved_and_none_twice() -> None:
    async with VolumeHarness(nodes=6) as harness:
        for number in range(6):
            harness.disk(f"n{number}")
        harness.gang_with_claims("a", SIZE, storage_class="local")
        harness.gang_with_claims("b", SIZE, storage_class="local")
        await harness.quiet()
        harness.cycle()
        await asyncio.sleep(2)
        await harness.quiet()

        assert ["reserve"] * 2 * SIZE + ["bind"] * 2 * SIZE == sorted(
            methods(harness), reverse=True
        )
        assert harness.disks() == harness.nodes()
        assert 6 == len(set(harness.nodes().values()))


async def test_of_several_claims_one_is_named_and_the_others_are_counted() -> None:
    async with VolumeHarness() as harness:
        await held(harness, a_1=NEVER, a_2=NEVER)

        refused = harness.cache.gang_queue.infos[harness.key("a")].verdict.refusal
        words = "2 of 3 claims are not bound yet: default/a-1 (StorageClass fast) and 1 more"
        assert refused is not None
        assert words == describe(refused)


async def test_people_can_read_what_is_waited_for() -> None:
    async with VolumeHarness() as harness:
        await held(harness, a_1=NEVER)

        record = harness.cache.gang_queue.infos[harness.key("a")]
        assert record.verdict.refusal is not None
        assert Reason.WAITING_FOR_VOLUMES is record.verdict.refusal.reason
        words = "1 of 3 claims are not bound yet: default/a-1 (StorageClass fast)"
        assert words == describe(record.verdict.refusal)
        assert [] == harness.told
        await asyncio.sleep(5)
        assert [("default/a", words)] == list(dict.fromkeys(harness.told))


# Not all is well.


async def test_a_claim_that_is_never_bound_gives_the_room_back_in_the_end() -> None:
    async with VolumeHarness(nodes=1) as harness:
        await held(harness, a_1=NEVER)
        harness.gang("b", 4)
        await asyncio.sleep(HOLD_SECONDS - 10)
        assert [] == harness.finished

        await harness.cycles(lambda: bool(harness.finished))

        words = "1 of 3 claims are not bound yet: default/a-1 (StorageClass fast)"
        expected = Reason.WAITING_FOR_VOLUMES, f"given up after 600 s: {words}"
        assert expected == refusal(harness)
        assert "bind" not in methods(harness)
        # The one that failed has to wait a little.
        assert ["b"] == [placed.gang.key.name for placed in harness.cycle().placed]


async def test_it_is_planned_again_and_bound_where_its_claims_are() -> None:
    async with VolumeHarness(hold_seconds=5) as harness:
        await held(harness, a_1=NEVER)
        await asyncio.sleep(5)
        selected = harness.selected()
        harness.makes.clear()
        harness.wake("a-1")

        await harness.cycles(harness.all_bound)

        assert selected == harness.nodes()
        harness.assert_the_cache_is_right()


async def test_a_claim_that_is_given_back_ends_the_wait_at_once() -> None:
    async with VolumeHarness() as harness:
        await held(harness, a_1=NEVER)

        harness.give_back("a-1")
        await asyncio.sleep(1)

        words = 'claims of pod default/a-1: provisioning failed for PVC "a-1"'
        assert (Reason.WAITING_FOR_VOLUMES, words) == refusal(harness)
        harness.makes.clear()
        await harness.cycles(harness.all_bound)
        assert harness.selected() == harness.nodes()


ENDINGS: dict[str, Callable[[VolumeHarness], Any]] = {
    "pod default/a-1, which is gone": lambda harness: harness.cluster.delete(
        PODS, "default", "a-1"
    ),
    'persistentvolumeclaim "a-1" not found': lambda harness: harness.cluster.delete(
        PERSISTENT_VOLUME_CLAIMS, "default", "a-1"
    ),
    "node n0, on which room was held, is gone": lambda harness: harness.cluster.delete(
        NODES, "", "n0"
    ),
}


@pytest.mark.parametrize("words", ENDINGS)
async def test_what_can_come_to_nothing_ends_at_once(words: str) -> None:
    async with VolumeHarness() as harness:
        await held(harness, a_1=NEVER)

        ENDINGS[words](harness)
        await asyncio.sleep(1)

        assert words in refusal(harness)[1]
        assert "bind" not in methods(harness)
        assert [] == [pod.name for pod in harness.cache.pods() if pod.assumed]


async def test_a_volume_that_was_made_elsewhere_ends_it_at_once() -> None:
    async with VolumeHarness() as harness:
        harness.elsewhere.add("a-1")
        await held(harness)

        assert 'pod default/a-1: pv "made-for-a-1" node affinity doesn\'t' in refusal(harness)[1]
        assert "bind" not in methods(harness)


async def test_a_replica_that_leads_no_more_waits_and_writes_no_more() -> None:
    leads = [True]
    async with VolumeHarness(may_write=lambda: leads[0]) as harness:
        await held(harness, a_1=5)
        before = methods(harness)
        leads[0] = False
        await asyncio.sleep(1)

        assert "does not lead any more" in refusal(harness)[1]
        await asyncio.sleep(10)
        assert before == methods(harness)


async def test_a_binder_that_stops_binds_no_pod_whose_claims_come_later() -> None:
    async with VolumeHarness() as harness:
        await held(harness, a_1=5)

        harness.binder.close()
        await asyncio.sleep(10)

        assert "bind" not in methods(harness)


# Writes that fail.


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: str(fault.error))
async def test_a_write_that_may_pass_is_tried_again(fault: Fault) -> None:
    async with VolumeHarness() as harness:
        harness.api.fail("select_node", fault, fault)
        await held(harness)
        await asyncio.sleep(20)
        await harness.quiet()

        assert SIZE + 2 == methods(harness).count("select_node")
        assert harness.selected() == harness.nodes()
        assert [0] == [binding.failed for binding in harness.finished]


async def test_a_denial_that_passes_is_waited_out() -> None:
    async with VolumeHarness() as harness:
        denied = Fault(ApiError(403, "not yet"))
        harness.api.fail("select_node", denied, denied, name="a-1")
        await held(harness)

        (binding,) = harness.finished
        assert {Outcome.BOUND} == set(binding.outcomes.values())


@pytest.mark.parametrize("fault", FINAL, ids=lambda fault: str(fault.error))
async def test_a_write_that_cannot_pass_gives_up_at_once(fault: Fault) -> None:
    async with VolumeHarness() as harness:
        harness.api.fail("select_node", fault, name="a-1")
        await held(harness)

        assert f"claim default/a-1 cannot be written: {fault.error}" in refusal(harness)[1]
        assert "bind" not in methods(harness)


async def test_a_claim_of_which_another_scheduler_was_faster_is_followed() -> None:
    async with VolumeHarness() as harness:
        harness.makes = {"a_1": NEVER}
        harness.gang_with_claims("a", SIZE)
        await harness.quiet()
        harness.cycle()
        harness.select("a-1", "n1")
        await asyncio.sleep(2)
        assert "node n1 was selected" in refusal(harness)[1]
        harness.makes.clear()
        harness.wake("a-1")

        await harness.cycles(harness.all_bound)

        assert "n1" == harness.nodes()["a-1"]
        assert harness.selected() == harness.nodes()
