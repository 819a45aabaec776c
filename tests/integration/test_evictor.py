"""Preemptions under faults: no pod is evicted in vain, and no mark or nomination is left over."""

import asyncio
from typing import Any

import pytest

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.model.reasons import Reason
from integration.support.victims_and_preemptor import (
    MEMBERS,
    NAMESPACE,
    NUMBERS,
    STAGES,
    VICTIMS,
    assert_the_right_ones_went,
    is_bound,
    let_go,
    workloads,
)
from support.metric_values import growing
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime


def in_order(process: SchedulerProcess) -> bool:
    """Return whether each stage was over before the next began; members with room bind at once."""
    methods = [method for method, _ in process.writes() if method != "bind"]
    return methods == sorted(methods, key=STAGES.index)


def condition(made: FakeWorkloads, name: str) -> dict[str, Any]:
    """Return the mark of a pod."""
    found = made.cluster.get(PODS, NAMESPACE, name)["status"]["conditions"]
    return next(each for each in found if each["type"] == "DisruptionTarget")


# The order.


async def test_all_are_nominated_then_marked_then_evicted_then_bound() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        await process.until(lambda: is_bound(made))

        methods = [method for method, _ in process.writes()]
        assert [method for method, n in zip(STAGES, NUMBERS, strict=True) for _ in range(n)] == (
            methods
        )
        assert_the_right_ones_went(made)


async def test_a_mark_names_the_gang_that_room_is_made_for() -> None:
    made = workloads(held=True)
    async with SchedulerProcess(made) as process:
        await process.until(lambda: made.pods()["low-0"].deleting)

    mark = condition(made, "low-0")
    assert ("True", "PreemptionByScheduler") == (mark["status"], mark["reason"])
    assert (
        "py-gang-scheduler: preempting to accommodate higher priority pods, "
        "preemptor: default/high, triggerpod: default/high-0"
    ) == mark["message"]
    assert mark["lastTransitionTime"]


async def test_victims_that_take_their_time_are_waited_for() -> None:
    made = workloads(held=True)
    async with SchedulerProcess(made) as process:
        await process.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
        with pytest.raises(TimeoutError):
            await process.until(lambda: is_bound(made), 20)
        record = next(r for key, r in process.cache.gang_queue.infos.items() if key.name == "high")
        waiting = record.verdict.refusal
        let_go(made, *(f"low-{i}" for i in range(VICTIMS)))
        await process.until(lambda: is_bound(made))

        assert waiting is not None
        assert Reason.WAITING_FOR_VICTIMS is waiting.reason
        # Waited for, and not asked to go again.
        assert VICTIMS == sum(method == "delete_pod" for method, _ in process.writes())
        assert_the_right_ones_went(made)


async def test_victims_are_counted_with_the_time_until_the_last_is_gone() -> None:
    made = workloads()
    with (
        growing("pgs_preemption_victims_total") as victims,
        growing("pgs_preemption_victims_gone_seconds_count") as gone,
    ):
        async with SchedulerProcess(made) as process:
            await process.until(lambda: is_bound(made))
            await asyncio.sleep(10)

    assert ({(): VICTIMS}, {(): 1}) == (victims, gone)


async def test_the_events_tell_both_sides() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        await process.until(lambda: is_bound(made))
        told = [process.events.take().body() for _ in range(3)]

    notes = {(each["reason"], each["regarding"]["name"]): each["note"] for each in told}
    assert notes["Preempting", "high"].startswith(
        "Evicting 4 pods to make room (all of gang default/low): "
    )
    assert notes["Preempted", "low"] == (
        "Preempted by default/high: 4 members: low-0, low-1, low-2, low-3; "
        "4 of them have no owner: no controller will create these again"
    )


# A fault at every write.


@pytest.mark.parametrize("method", STAGES)
@pytest.mark.parametrize("status", [0, 429, 500])
@pytest.mark.parametrize("after", [False, True])
async def test_a_write_that_failed_for_now_is_sent_again(
    method: str, status: int, *, after: bool
) -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        process.api.fail(method, Fault(ApiError(status, "for now"), after=after))
        await process.until(lambda: is_bound(made) and not made.nodes("low"))

        assert in_order(process)
        assert_the_right_ones_went(made)


@pytest.mark.parametrize("method", ["patch_pod_condition", "delete_pod"])
async def test_a_victim_that_is_gone_already_is_as_well(method: str) -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:

        def vanish(call: Call) -> None:
            if (call.method, call.name) == (method, "low-1") and "low-1" in made.pods():
                made.cluster.delete(PODS, NAMESPACE, "low-1")

        process.api.scripts.append(vanish)
        await process.until(lambda: is_bound(made))

        assert_the_right_ones_went(made)


async def test_a_victim_that_has_ended_meanwhile_is_neither_marked_nor_deleted() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:

        def end(call: Call) -> Fault | None:
            if call.method != "patch_pod_condition":
                return None
            with made.cluster.changing(PODS, NAMESPACE, "low-1") as found:
                found["status"]["phase"] = "Succeeded"
            return Fault(delay_seconds=1)

        process.api.scripts.append(end)
        await process.until(lambda: is_bound(made))
        await process.evictor.drain()

        assert ["low-1"] == [name for name in made.pods() if name.startswith("low-")]
        assert not made.pods()["low-1"].marked_as_victim
        assert {} == process.evictor._by_victim


@pytest.mark.parametrize("method", ["patch_pod_condition", "delete_pod"])
async def test_a_pod_that_was_created_again_meanwhile_is_left_alone(method: str) -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:

        def again(call: Call) -> None:
            if (call.method, call.name) == (method, "low-1"):
                body = made.cluster.get(PODS, NAMESPACE, "low-1")
                body["metadata"]["uid"] = "another life"
                body["spec"].pop("nodeName", None)
                body["status"] = {"phase": "Pending"}
                made.cluster.put(PODS, body)

        process.api.scripts.append(again)
        await process.until(lambda: is_bound(made))

        left = made.pods()["low-1"]
        assert ("another life", "", False) == (left.uid, left.node, left.marked_as_victim)
        assert [] == made.marked()


@pytest.mark.parametrize("method", ["nominate", "patch_pod_condition"])
async def test_before_all_is_marked_no_pod_goes(method: str) -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        refused = [Fault(ApiError(400, "invalid"))] * 50
        process.api.fail(method, *refused, name="high-1" if method == "nominate" else "low-2")
        with pytest.raises(TimeoutError):
            await process.until(lambda: is_bound(made), 30)

        assert not any(method == "delete_pod" for method, _ in process.writes())
        assert ([], {}) == (made.marked(), made.nominated())


async def test_a_preemptor_that_is_deleted_meanwhile_takes_no_pod_along() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:

        def vanish(call: Call) -> Fault | None:
            if (call.method, call.name) != ("patch_pod_condition", "low-3"):
                return None
            for name in ("high-0", "high-1"):
                if name in made.pods():
                    made.cluster.delete(PODS, NAMESPACE, name)
            return Fault(delay_seconds=1)

        process.api.scripts.append(vanish)
        await process.until(lambda: "high-0" not in made.pods() and not made.marked())
        await process.evictor.drain()

        assert ["n1"] * VICTIMS == made.nodes("low")
        assert ([], {}) == (made.marked(), made.nominated())


async def test_a_gang_that_finds_room_elsewhere_evicts_no_pod() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:

        def grow(call: Call) -> Fault | None:
            if (call.method, call.name) != ("patch_pod_condition", "low-3"):
                return None
            offered = {"cpu": "4", "memory": "32Gi", "pods": "110"}
            made.cluster.put(
                NODES,
                {
                    "metadata": {"name": "n3"},
                    "spec": {},
                    "status": {
                        "allocatable": offered,
                        "conditions": [{"type": "Ready", "status": "True"}],
                    },
                },
            )
            return Fault(delay_seconds=5)

        process.api.scripts.append(grow)
        await process.until(lambda: is_bound(made) and not made.marked())
        await process.evictor.drain()

        assert ["n3"] * MEMBERS == made.nodes("high")
        assert ["n1"] * VICTIMS == made.nodes("low")


async def test_a_replica_that_does_not_lead_any_more_writes_nothing() -> None:
    made, leads = workloads(), True
    async with SchedulerProcess(made, may_write=lambda: leads) as process:

        def lose(call: Call) -> None:
            nonlocal leads
            leads = leads and (call.method, call.name) != ("patch_pod_condition", "low-1")

        process.api.scripts.append(lose)
        await process.until(lambda: not leads)
        written = len(process.writes())
        await process.evictor.drain()

        assert ["n1"] * VICTIMS == made.nodes("low")
        assert written == len(process.writes())
