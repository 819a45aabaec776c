"""Preemptions under faults: nobody goes who need not, and nothing is left over in the end."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import api_objects
from cluster.lives import Life, Town
from gang_scheduler.cluster import rounds
from gang_scheduler.cluster.errors import BUDGET, ApiError
from gang_scheduler.cluster.fake.documents import Document
from gang_scheduler.cluster.fake.faults import Call, Fault
from gang_scheduler.cluster.ports import NODES, POD_DISRUPTION_BUDGETS, PODS, PodRef, Resource
from gang_scheduler.model.gangs import Reason
from gang_scheduler.model.plan import Preemption

pytestmark = pytest.mark.looptime

NAMESPACE = "default"
MEMBERS = 2
VICTIMS = 4
STAGES = ("nominate", "patch_pod_condition", "delete_pod", "bind")
NUMBERS = (MEMBERS, VICTIMS, VICTIMS, MEMBERS)
HELD = ("example.com/held",)


def town(*, high: int = MEMBERS, held: bool = False, priority: int = 1) -> Town:
    """Return two full nodes, the cheaper gang on n1, and a gang that is worth more than both."""
    made = Town("n1", "n2")
    finalizers = HELD if held else ()
    made.gang("low", VICTIMS, priority=priority, node="n1", finalizers=finalizers)
    made.gang("mid", VICTIMS, priority=5, node="n2")
    made.gang("high", high, priority=10)
    return made


def let_go(made: Town, *names: str) -> None:
    """Take the finalizers off pods that terminate."""
    for name in names:
        with made.cluster.changing(PODS, NAMESPACE, name) as found:
            found["metadata"]["finalizers"] = []
        made.cluster.delete(PODS, NAMESPACE, name)


def in_order(life: Life) -> bool:
    """Tell whether each stage was over before the next began; who has room is bound at once."""
    methods = [method for method, _ in life.writes() if method != "bind"]
    return methods == sorted(methods, key=STAGES.index)


def condition(made: Town, name: str) -> dict[str, Any]:
    """Return the mark of a pod."""
    found = made.cluster.get(PODS, NAMESPACE, name)["status"]["conditions"]
    return next(each for each in found if each["type"] == "DisruptionTarget")


def is_bound(made: Town) -> bool:
    return bool(made.nodes("high")) and all(made.nodes("high"))


def assert_the_right_ones_went(made: Town) -> None:
    """Check that the cheaper gang has made room, and that nothing else has changed."""
    assert ["n1"] * MEMBERS == made.nodes("high")
    assert ["n2"] * VICTIMS == made.nodes("mid")
    assert [] == made.nodes("low")
    assert ([], {}) == (made.marked(), made.nominated())


async def preemptions(life: Life, method: str, name: str) -> list[Preemption]:
    """Return what is submitted until a write takes its time, and stop the loop there."""
    submitted: list[Preemption] = []
    submit, stuck = life.evictor.submit, asyncio.Event()

    def note(preemption: Preemption) -> bool:
        submitted.append(preemption)
        return submit(preemption)

    def slow(call: Call) -> Fault | None:
        if (call.method, call.name) != (method, name) or stuck.is_set():
            return None
        stuck.set()
        return Fault(delay_seconds=1)

    life.api.scripts.append(slow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(life.evictor, "submit", note)
        await stuck.wait()
        life.stop_deciding()
    return submitted


# The order.


async def test_all_are_nominated_then_marked_then_evicted_then_bound() -> None:
    made = town()
    async with Life(made) as life:
        await life.until(lambda: is_bound(made))

        methods = [method for method, _ in life.writes()]
        assert [method for method, n in zip(STAGES, NUMBERS, strict=True) for _ in range(n)] == (
            methods
        )
        assert_the_right_ones_went(made)


async def test_a_mark_says_for_whom_room_is_made() -> None:
    made = town(held=True)
    async with Life(made) as life:
        await life.until(lambda: made.pods()["low-0"].deleting)

    mark = condition(made, "low-0")
    assert ("True", "PreemptionByScheduler") == (mark["status"], mark["reason"])
    assert (
        "py-gang-scheduler: preempting to accommodate higher priority pods, "
        "preemptor: default/high, triggerpod: default/high-0"
    ) == mark["message"]
    assert mark["lastTransitionTime"]


async def test_victims_that_take_their_time_are_waited_for() -> None:
    made = town(held=True)
    async with Life(made) as life:
        await life.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
        with pytest.raises(TimeoutError):
            await life.until(lambda: is_bound(made), 20)
        record = next(r for key, r in life.cache.gangs.records.items() if key.name == "high")
        waiting = record.refusal
        let_go(made, *(f"low-{i}" for i in range(VICTIMS)))
        await life.until(lambda: is_bound(made))

        assert waiting is not None
        assert Reason.WAITING_FOR_VICTIMS is waiting.reason
        # Waited for, and not asked to go again.
        assert VICTIMS == sum(method == "delete_pod" for method, _ in life.writes())
        assert_the_right_ones_went(made)


async def test_the_events_tell_both_sides() -> None:
    made = town()
    async with Life(made) as life:
        await life.until(lambda: is_bound(made))
        told = [life.events._queue.get_nowait().event for _ in range(3)]

    notes = {(each["reason"], each["regarding"]["name"]): each["note"] for each in told}
    assert notes["Preempting", "high"].startswith("Evicting 4 pods to make room")
    assert notes["Preempted", "low"] == (
        "Preempted by default/high: 4 members: low-0, low-1, low-2, low-3; "
        "4 of them have no owner: nobody will create those again"
    )


# A fault at every write.


@pytest.mark.parametrize("method", STAGES)
@pytest.mark.parametrize("status", [0, 429, 500])
@pytest.mark.parametrize("after", [False, True])
async def test_a_write_that_failed_for_now_is_sent_again(
    method: str, status: int, *, after: bool
) -> None:
    made = town()
    async with Life(made) as life:
        life.api.fail(method, Fault(ApiError(status, "for now"), after=after))
        await life.until(lambda: is_bound(made) and not made.nodes("low"))

        assert in_order(life)
        assert_the_right_ones_went(made)


@pytest.mark.parametrize("method", ["patch_pod_condition", "delete_pod"])
async def test_a_victim_that_is_gone_already_is_as_well(method: str) -> None:
    made = town()
    async with Life(made) as life:

        def vanish(call: Call) -> None:
            if (call.method, call.name) == (method, "low-1") and "low-1" in made.pods():
                made.cluster.delete(PODS, NAMESPACE, "low-1")

        life.api.scripts.append(vanish)
        await life.until(lambda: is_bound(made))

        assert_the_right_ones_went(made)


@pytest.mark.parametrize("method", ["patch_pod_condition", "delete_pod"])
async def test_a_pod_that_was_created_again_meanwhile_is_left_alone(method: str) -> None:
    made = town()
    async with Life(made) as life:

        def again(call: Call) -> None:
            if (call.method, call.name) == (method, "low-1"):
                body = made.cluster.get(PODS, NAMESPACE, "low-1")
                body["metadata"]["uid"] = "another life"
                body["spec"].pop("nodeName", None)
                body["status"] = {"phase": "Pending"}
                made.cluster.put(PODS, body)

        life.api.scripts.append(again)
        await life.until(lambda: is_bound(made))

        left = made.pods()["low-1"]
        assert ("another life", "", False) == (left.uid, left.node, left.marked)
        assert [] == made.marked()


@pytest.mark.parametrize("method", ["nominate", "patch_pod_condition"])
async def test_before_all_is_marked_nobody_goes(method: str) -> None:
    made = town()
    async with Life(made) as life:
        refused = [Fault(ApiError(403, "forbidden"))] * 50
        life.api.fail(method, *refused, name="high-1" if method == "nominate" else "low-2")
        with pytest.raises(TimeoutError):
            await life.until(lambda: is_bound(made), 30)

        assert not any(method == "delete_pod" for method, _ in life.writes())
        assert ([], {}) == (made.marked(), made.nominated())


async def test_a_preemptor_that_is_deleted_meanwhile_takes_nobody_along() -> None:
    made = town()
    async with Life(made) as life:

        def vanish(call: Call) -> Fault | None:
            if (call.method, call.name) != ("patch_pod_condition", "low-3"):
                return None
            for name in ("high-0", "high-1"):
                if name in made.pods():
                    made.cluster.delete(PODS, NAMESPACE, name)
            return Fault(delay_seconds=1)

        life.api.scripts.append(vanish)
        await life.until(lambda: "high-0" not in made.pods() and not made.marked())
        await life.evictor.drain()

        assert ["n1"] * VICTIMS == made.nodes("low")
        assert ([], {}) == (made.marked(), made.nominated())


async def test_who_finds_room_elsewhere_evicts_nobody() -> None:
    made = town()
    async with Life(made) as life:

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

        life.api.scripts.append(grow)
        await life.until(lambda: is_bound(made) and not made.marked())
        await life.evictor.drain()

        assert ["n3"] * MEMBERS == made.nodes("high")
        assert ["n1"] * VICTIMS == made.nodes("low")


async def test_who_does_not_lead_any_more_writes_nothing() -> None:
    made, leads = town(), True
    async with Life(made, may_write=lambda: leads) as life:

        def lose(call: Call) -> None:
            nonlocal leads
            leads = leads and (call.method, call.name) != ("patch_pod_condition", "low-1")

        life.api.scripts.append(lose)
        await life.until(lambda: not leads)
        written = len(life.writes())
        await life.evictor.drain()

        assert ["n1"] * VICTIMS == made.nodes("low")
        assert written == len(life.writes())


# A kill at every write.


@pytest.mark.parametrize("number", range(sum(NUMBERS)))
@pytest.mark.parametrize("after", [False, True])
async def test_after_a_kill_between_two_writes_the_next_life_ends_as_the_first_would_have(
    number: int, *, after: bool
) -> None:
    made = town()
    async with Life(made) as first:
        first.hang_from(number, after=after)
        await first.until(lambda: len(first.writes()) > number)
    async with Life(made) as second:
        await second.until(lambda: is_bound(made) and not made.nodes("low"))

    assert_the_right_ones_went(made)


@pytest.mark.parametrize("number", range(MEMBERS + VICTIMS))
async def test_what_a_killed_life_wrote_for_a_preemptor_that_is_gone_is_withdrawn(
    number: int,
) -> None:
    made = town()
    async with Life(made) as first:
        first.hang_from(number, after=True)
        await first.until(lambda: len(first.writes()) > number)
    for i in range(MEMBERS):
        made.cluster.delete(PODS, NAMESPACE, f"high-{i}")
    made.pod("late", priority=0)
    async with Life(made) as second:
        await second.until(lambda: not made.marked())
        await second.evictor.drain()

    assert ["n1"] * VICTIMS == made.nodes("low")


async def test_a_next_life_repeats_no_write_that_is_there() -> None:
    made = town(held=True)
    async with Life(made) as first:
        await first.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
    async with Life(made) as second:
        with pytest.raises(TimeoutError):
            await second.until(lambda: is_bound(made), 10)

        assert [] == second.writes()


# Budgets.


def budget(made: Town, allowed: int) -> None:
    """Let so many pods of the cheaper gang go."""
    with made.cluster.changing(PODS, NAMESPACE, "low-0") as found:
        labels = found["metadata"]["labels"]
    body = {
        "metadata": {"name": "b", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }
    made.cluster.put(POD_DISRUPTION_BUDGETS, body)


async def test_a_budget_voids_the_plan_before_anybody_goes() -> None:
    made = town()
    budget(made, allowed=0)
    async with Life(made, use_eviction_api=True) as life:
        with pytest.raises(TimeoutError):
            await life.until(lambda: is_bound(made), 30)
        await life.evictor.drain()

        assert {True} == {c.arguments["dry_run"] for c in life.api.calls if c.method == "evict"}
        assert ["n1"] * VICTIMS == made.nodes("low")
        assert ([], {}) == (made.marked(), made.nominated())


async def test_a_budget_that_allows_it_is_charged() -> None:
    made = town()
    budget(made, allowed=VICTIMS)
    async with Life(made, use_eviction_api=True) as life:
        await life.until(lambda: is_bound(made))

    left = made.cluster.get(POD_DISRUPTION_BUDGETS, NAMESPACE, "b")
    assert 0 == left["status"]["disruptionsAllowed"]
    assert_the_right_ones_went(made)


async def test_a_budget_that_others_used_up_meanwhile_is_waited_for() -> None:
    made = town()
    async with Life(made, use_eviction_api=True) as life:
        used_up = [None] * VICTIMS + [Fault(ApiError(429, "not now", 5, cause=BUDGET))]
        asked: list[Call] = []

        def script(call: Call) -> Fault | None:
            if call.method != "evict":
                return None
            asked.append(call)
            return used_up[len(asked) - 1] if len(asked) <= len(used_up) else None

        life.api.scripts.append(script)
        await life.until(lambda: is_bound(made) and not made.nodes("low"))

    assert_the_right_ones_went(made)


# Rounds.


async def test_a_round_that_is_given_up_says_why() -> None:
    made = town()
    given_up: list[str] = []
    async with Life(made) as life:
        life.evictor.failed = lambda _, why: given_up.append(why)
        life.api.fail("patch_pod_condition", Fault(ApiError(403, "forbidden")), name="low-2")
        await life.until(lambda: bool(given_up))

    assert ["mark default/low-2: 403: forbidden"] == given_up


async def test_a_write_that_never_works_is_given_up_in_time() -> None:
    made = town()
    async with Life(made) as life:
        broken = [Fault(ApiError(500, "broken"))] * 1000
        life.api.fail("patch_pod_condition", *broken, name="low-2")
        await life.until(lambda: len(made.nominated()) == MEMBERS)
        await life.until(lambda: not made.nominated(), 2 * rounds.GIVE_UP_SECONDS)

        assert ["n1"] * VICTIMS == made.nodes("low")


async def test_a_nominated_gang_that_cannot_be_placed_any_more_gives_its_room_up() -> None:
    made = town(held=True)
    async with Life(made) as life:
        await life.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
        for name in ("n1", "n2"):
            with made.cluster.changing(NODES, "", name) as found:
                found["spec"]["unschedulable"] = True
        let_go(made, *(f"low-{i}" for i in range(VICTIMS)))
        await life.until(lambda: not made.nominated())

        key = next(key for key in life.cache.gangs.records if key.name == "high")
        assert "node n1 takes no more pods" == life.losses.cause(key)


async def test_room_that_another_scheduler_takes_is_lost_and_made_elsewhere() -> None:
    made = town()

    def steal(resource: Resource, change: str, _: Document) -> None:
        if resource == PODS and change == "DELETED" and not made.nodes("low"):
            for i in range(VICTIMS):
                body = api_objects.pod_body(f"thief-{i}", nodeName="n1", priority=100)
                body["spec"]["schedulerName"] = "default-scheduler"
                made.cluster.put(PODS, body)

    async with Life(made) as life:
        made.cluster.watchers.append(steal)
        key = next(key for key in life.cache.gangs.records if key.name == "high")
        await life.until(lambda: bool(life.losses.cause(key)))
        cause = life.losses.cause(key)
        await life.until(lambda: is_bound(made))

        assert "the room on n1 was taken" == cause
        assert ["n2"] * MEMBERS == made.nodes("high")
        assert 2 * VICTIMS == sum(method == "delete_pod" for method, _ in life.writes())


async def test_who_takes_victims_over_takes_their_marks_back_if_it_fails() -> None:
    made = town()
    async with Life(made) as life:
        (first,) = await preemptions(life, "patch_pod_condition", "low-3")
        life.api.fail("nominate", Fault(ApiError(403, "forbidden")), name="high-0")
        moved = tuple(replace(bind, node="n2") for bind in first.nominations)
        life.evictor.submit(replace(first, nominations=moved))
        await life.evictor.drain()

        assert ["n1"] * VICTIMS == made.nodes("low")
        assert [] == made.marked()


async def test_a_higher_gang_takes_room_that_is_kept_and_the_lower_one_plans_again() -> None:
    made = town(high=VICTIMS, held=True)
    async with Life(made) as life:
        await life.until(lambda: all(made.pods()[f"low-{i}"].deleting for i in range(VICTIMS)))
        made.gang("top", VICTIMS, priority=20)
        await life.until(lambda: not made.nodes("mid"))
        let_go(made, *(f"low-{i}" for i in range(VICTIMS)))
        await life.until(lambda: is_bound(made) and all(made.nodes("top")))

        assert (["n1"] * VICTIMS, ["n2"] * VICTIMS) == (made.nodes("top"), made.nodes("high"))
        assert ([], {}) == (made.marked(), made.nominated())


async def test_only_the_same_life_of_a_pod_is_nominated() -> None:
    made = town()
    life = Life(made)

    with pytest.raises(ApiError) as refused:
        await life.api.nominate(PodRef(NAMESPACE, "high-0", "former"), "n1")

    assert rounds.ANOTHER_LIFE == refused.value.status
