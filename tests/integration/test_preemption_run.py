"""Runs of preemptions: which are refused, which are given up, and which take over."""

import asyncio
from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import GVR, NODES, POD_DISRUPTION_BUDGETS, PODS
from gang_scheduler.apply import preemption_run
from gang_scheduler.client.errors import BUDGET, ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.fake.cluster import Document
from gang_scheduler.client.writing import GIVE_UP_SECONDS
from gang_scheduler.model.causes.gangs import NodeFault, NominationLost
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import PodRef
from gang_scheduler.report.words.text import text_of
from integration.support.victims_and_preemptor import (
    MEMBERS,
    NAMESPACE,
    VICTIMS,
    assert_the_right_ones_went,
    is_bound,
    let_go,
    workloads,
)
from support import api_objects
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime


async def preemptions(process: SchedulerProcess, method: str, name: str) -> list[Preemption]:
    """Return what is submitted until a write takes its time, and stop the loop there."""
    submitted: list[Preemption] = []
    submit, stuck = process.evictor.submit, asyncio.Event()

    def note(preemption: Preemption) -> None:
        submitted.append(preemption)
        submit(preemption)

    def slow(call: Call) -> Fault | None:
        if (call.method, call.name) != (method, name) or stuck.is_set():
            return None
        stuck.set()
        return Fault(delay_seconds=1)

    process.api.scripts.append(slow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process.evictor, "submit", note)
        await stuck.wait()
        process.stop_deciding()
    return submitted


# Budgets.


def budget(made: FakeWorkloads, allowed: int) -> None:
    """Let so many pods of the cheaper gang go."""
    with made.cluster.changing(PODS, NAMESPACE, "low-0") as found:
        labels = found["metadata"]["labels"]
    body = {
        "metadata": {"name": "b", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }
    made.cluster.put(POD_DISRUPTION_BUDGETS, body)


async def test_a_budget_voids_the_plan_before_any_pod_goes() -> None:
    made = workloads()
    budget(made, allowed=0)
    async with SchedulerProcess(made, use_eviction_api=True) as process:
        with pytest.raises(TimeoutError):
            await process.until(lambda: is_bound(made), 30)
        await process.evictor.drain()

        assert {True} == {c.arguments["dry_run"] for c in process.api.calls if c.method == "evict"}
        assert ["n1"] * VICTIMS == made.nodes("low")
        assert ([], {}) == (made.marked(), made.nominated())


async def test_a_budget_that_allows_it_is_charged() -> None:
    made = workloads()
    budget(made, allowed=VICTIMS)
    async with SchedulerProcess(made, use_eviction_api=True) as process:
        await process.until(lambda: is_bound(made))

    left = made.cluster.get(POD_DISRUPTION_BUDGETS, NAMESPACE, "b")
    assert 0 == left["status"]["disruptionsAllowed"]
    assert_the_right_ones_went(made)


async def test_a_budget_that_others_used_up_meanwhile_is_waited_for() -> None:
    made = workloads()
    async with SchedulerProcess(made, use_eviction_api=True) as process:
        used_up = [None] * VICTIMS + [Fault(ApiError(429, "not now", 5, cause=BUDGET))]
        asked: list[Call] = []

        def script(call: Call) -> Fault | None:
            if call.method != "evict":
                return None
            asked.append(call)
            return used_up[len(asked) - 1] if len(asked) <= len(used_up) else None

        process.api.scripts.append(script)
        await process.until(lambda: is_bound(made) and not made.nodes("low"))

    assert_the_right_ones_went(made)


# Rounds.


async def test_a_round_that_is_given_up_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    made = workloads()
    given_up: list[Cause] = []
    async with SchedulerProcess(made) as process:
        monkeypatch.setattr(process.gang_events, "withdrawn", lambda _, why: given_up.append(why))
        process.api.fail("patch_pod_condition", Fault(ApiError(400, "invalid")), name="low-2")
        await process.until(lambda: bool(given_up))

    assert ["mark default/low-2: 400: invalid"] == [text_of(each) for each in given_up]


async def test_a_write_that_never_works_is_given_up_in_time() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        broken = [Fault(ApiError(500, "broken"))] * 1000
        process.api.fail("patch_pod_condition", *broken, name="low-2")
        await process.until(lambda: len(made.nominated()) == MEMBERS)
        await process.until(lambda: not made.nominated(), 2 * GIVE_UP_SECONDS)

        assert ["n1"] * VICTIMS == made.nodes("low")


async def test_a_nominated_gang_that_cannot_be_placed_any_more_gives_its_room_up() -> None:
    made = workloads(held=True)
    async with SchedulerProcess(made) as process:
        await process.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
        for name in ("n1", "n2"):
            with made.cluster.changing(NODES, "", name) as found:
                found["spec"]["unschedulable"] = True
        let_go(made, *(f"low-{i}" for i in range(VICTIMS)))
        await process.until(lambda: not made.nominated())

        key = next(key for key in process.cache.gang_queue.infos if key.name == "high")
        assert NominationLost("n1", NodeFault.UNSCHEDULABLE) == process.lost_nominations.cause(key)


async def test_room_that_another_scheduler_takes_is_lost_and_made_elsewhere() -> None:
    made = workloads()

    def steal(gvr: GVR, change: str, _: Document) -> None:
        if gvr == PODS and change == "DELETED" and not made.nodes("low"):
            for i in range(VICTIMS):
                body = api_objects.pod_body(f"thief-{i}", nodeName="n1", priority=100)
                body["spec"]["schedulerName"] = "default-scheduler"
                made.cluster.put(PODS, body)

    async with SchedulerProcess(made) as process:
        made.cluster.watchers.append(steal)
        key = next(key for key in process.cache.gang_queue.infos if key.name == "high")
        await process.until(lambda: bool(process.lost_nominations.cause(key)))
        cause = process.lost_nominations.cause(key)
        await process.until(lambda: is_bound(made))

        assert NominationLost("n1", NodeFault.FULL) == cause
        assert ["n2"] * MEMBERS == made.nodes("high")
        assert 2 * VICTIMS == sum(method == "delete_pod" for method, _ in process.writes())


async def test_a_preemption_that_takes_victims_over_takes_their_marks_back_if_it_fails() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        (first,) = await preemptions(process, "patch_pod_condition", "low-3")
        process.api.fail("nominate", Fault(ApiError(400, "invalid")), name="high-0")
        moved = tuple(replace(bind, node="n2") for bind in first.nominations)
        process.cache.nominate(moved)
        process.evictor.submit(replace(first, nominations=moved))
        await process.evictor.drain()

        assert ["n1"] * VICTIMS == made.nodes("low")
        assert [] == made.marked()


async def test_marks_of_another_life_are_taken_back_however_early_a_round_stops() -> None:
    made = workloads()
    async with SchedulerProcess(made) as first:
        first.hang_from(MEMBERS + VICTIMS, after=False)
        await first.until(lambda: len(first.writes()) > MEMBERS + VICTIMS)
    before = made.marked()
    for i in range(MEMBERS):
        with made.cluster.changing(PODS, NAMESPACE, f"high-{i}") as found:
            del found["status"]["nominatedNodeName"]
    async with SchedulerProcess(made) as second:
        await preemptions(second, "nominate", "high-0")
        second.evictor.placed(["uid-high-0"])
        await second.evictor.drain()

    assert (VICTIMS, []) == (len(before), made.marked())
    assert ["n1"] * VICTIMS == made.nodes("low")


async def test_a_pod_that_the_api_server_does_not_let_go_is_not_counted_as_leaving(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = workloads()
    given_up: list[Cause] = []
    async with SchedulerProcess(made) as process:
        refused = [Fault(ApiError(400, "invalid"))] * 2
        process.api.fail("delete_pod", *refused, name="low-2")
        withdrawn = process.gang_events.withdrawn

        def note(preemption: Preemption, why: Cause) -> None:
            given_up.append(why)
            process.stop_deciding()
            withdrawn(preemption, why)

        monkeypatch.setattr(process.gang_events, "withdrawn", note)
        await process.until(lambda: bool(given_up))

        assert ["evict default/low-2: 400: invalid"] == [text_of(each) for each in given_up]
        assert "uid-low-2" not in process.cache.evictable_pods.leaving
        assert ["n1"] == made.nodes("low")


async def test_a_higher_gang_takes_room_that_is_kept_and_the_lower_one_plans_again() -> None:
    made = workloads(high=VICTIMS, held=True)
    async with SchedulerProcess(made) as process:
        await process.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
        made.gang("top", VICTIMS, priority=20)
        await process.until(lambda: not made.nodes("mid"))
        let_go(made, *(f"low-{i}" for i in range(VICTIMS)))
        await process.until(lambda: is_bound(made) and all(made.nodes("top")))

        assert (["n1"] * VICTIMS, ["n2"] * VICTIMS) == (made.nodes("top"), made.nodes("high"))
        assert ([], {}) == (made.marked(), made.nominated())


async def test_only_the_same_life_of_a_pod_is_nominated() -> None:
    made = workloads()
    process = SchedulerProcess(made)

    with pytest.raises(ApiError) as refused:
        await process.api.nominate(PodRef(NAMESPACE, "high-0", "former"), "n1")

    assert preemption_run.ANOTHER_LIFE == refused.value.status
