"""The binder: what it believes in the end is what the API server holds."""

import asyncio

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import PODS
from gang_scheduler.apply.binder import BIND_SECONDS
from gang_scheduler.apply.outcomes import Outcome
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from integration.support.binding_faults import (
    LOST_ANSWER,
    MEMBERS,
    REFUSED,
    SERVER_ERROR,
    at,
    bindings_of,
    bound_under,
    now,
)
from support.binder_harness import BinderHarness

pytestmark = pytest.mark.looptime


# No fault.


async def test_a_gang_that_is_begun_is_bound_whole_when_the_process_ends_and_no_other_is() -> None:
    async with BinderHarness(nodes=4, concurrency=1) as harness:
        for name in "abc":
            harness.gang(name, MEMBERS)
        await harness.quiet()
        harness.api.scripts = [lambda _: Fault(delay_seconds=1)]
        harness.cycle()
        await asyncio.sleep(1.5)

        harness.binder.close()
        await harness.binder.drain()

        bound = [uid for uid, node in harness.truth().items() if node]
        assert [f"uid-a-{number}" for number in range(MEMBERS)] == sorted(bound)


async def test_a_gang_does_not_wait_behind_the_bindings_of_another_namespace() -> None:
    async with BinderHarness(nodes=16, concurrency=1) as harness:
        harness.gang("many", 60, "evil")
        harness.gang("two", 2, "good")
        await harness.quiet()
        harness.cycle()
        await harness.quiet()

        names = [call.name for call in harness.api.calls if call.method == "bind"]
        assert len(names) == 62
        assert {"two-0", "two-1"} < set(names[:4])


async def test_a_gang_is_bound_with_one_request_a_pod_and_marked_with_its_plan() -> None:
    async with BinderHarness() as harness:
        harness.gang("a", MEMBERS)
        await harness.quiet()
        plan = harness.cycle()
        await harness.quiet()

        planned = {bind.pod.uid: bind.node for placed in plan.placed for bind in placed.binds}
        assert planned == harness.truth()
        assert ["bind"] * MEMBERS == [call.method for call in harness.api.calls]
        marks = harness.cluster.get(PODS, "default", "a-0")["metadata"]["annotations"]
        own = {annotations.PLAN_GANG: "PodGroup/a"}
        assert {annotations.PLAN_ID: "plan", annotations.PLAN_SIZE: "4", **own} == marks
        assert [0] == [binding.failed for binding in harness.finished]
        harness.assert_the_cache_is_right()


async def test_room_is_taken_from_submission_on() -> None:
    async with BinderHarness(nodes=1) as harness:
        harness.gang("a", MEMBERS)
        harness.gang("b", MEMBERS)
        await harness.quiet()
        harness.api.scripts = [lambda _: Fault(delay_seconds=10)]

        assert ["a"] == [placed.gang.key.name for placed in harness.cycle().placed]
        for _ in range(5):
            await asyncio.sleep(1)
            assert () == harness.cycle().placed


async def test_an_older_state_of_a_pod_does_not_take_its_room_away() -> None:
    async with BinderHarness(nodes=1) as harness:
        harness.gang("a", MEMBERS)
        harness.gang("b", 1)
        await harness.quiet()
        harness.api.scripts = [lambda _: Fault(delay_seconds=10)]
        harness.cycle()
        await asyncio.sleep(1)
        with harness.cluster.changing(PODS, "default", "a-1") as found:
            found["metadata"]["labels"]["changed"] = "while it is being bound"
        await asyncio.sleep(1)

        assert () == harness.cycle().placed
        await harness.quiet()
        harness.assert_the_cache_is_right()


async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    async with BinderHarness(nodes=4, concurrency=3) as harness:
        harness.gang("a", 12)
        await harness.quiet()
        harness.api.scripts = [lambda _: Fault(delay_seconds=1)]
        harness.cycle()

        for second in range(4):
            await asyncio.sleep(0.5)
            assert 3 * (second + 1) == len(harness.api.calls)
            await asyncio.sleep(0.5)


# Fencing.


async def test_without_leadership_nothing_is_written_and_all_is_forgotten() -> None:
    async with BinderHarness(may_write=lambda: False) as harness:
        harness.gang("a", MEMBERS)
        await harness.quiet()
        harness.cycle()
        await harness.quiet()

        assert [] == harness.api.calls
        assert {Outcome.GAVE_UP} == set(harness.finished[0].outcomes.values())
        harness.assert_the_cache_is_right()


async def test_leadership_lost_between_two_members_stops_the_second() -> None:
    leading = [True]
    async with BinderHarness(concurrency=1, may_write=lambda: bool(leading)) as harness:
        await bound_under(harness, at("a-1", lambda _: leading.clear()))

        assert ["a-0", "a-1"] == [call.name for call in harness.api.calls]
        assert ["a-0", "a-1"] == [name for name, node in harness.nodes().items() if node]
        harness.assert_the_cache_is_right()


async def test_leadership_lost_between_two_attempts_stops_the_second() -> None:
    leading = [True]

    def lose(_: Call) -> Fault:
        leading.clear()
        return Fault(SERVER_ERROR)

    async with BinderHarness(concurrency=1, may_write=lambda: bool(leading)) as harness:
        outcomes = await bound_under(harness, at("a-2", lose))

        assert Outcome.GAVE_UP is outcomes["a-2"]
        assert 1 == bindings_of(harness, "a-2")
        harness.assert_the_cache_is_right()


# What went wrong once.


async def test_a_gang_of_which_little_was_bound_is_not_taken_for_whole() -> None:
    async with BinderHarness(nodes=1) as harness:
        harness.gang("a", MEMBERS)
        await harness.quiet()
        refused = ("a-1", "a-2", "a-3")
        harness.api.scripts = [
            lambda call: Fault(REFUSED, delay_seconds=1) if call.name in refused else None
        ]
        harness.cycle()
        await asyncio.sleep(0.5)
        harness.cycle()  # The loop is woken by the assumptions themselves.
        await harness.quiet()
        harness.api.scripts = []
        harness.node("n0", 2)
        await asyncio.sleep(2)

        assert () == harness.cycle().placed


async def test_a_long_retry_after_does_not_hold_the_room_for_longer_than_other_failures() -> None:
    async with BinderHarness() as harness:
        started = now()
        long = ApiError(429, "too many requests", retry_after=3600)
        await bound_under(harness, at("a-1", lambda _: Fault(long)))

        assert now() - started <= BIND_SECONDS + 6


async def test_room_of_a_binding_that_may_have_happened_is_not_given_away() -> None:
    slow = [0.0]
    async with BinderHarness(nodes=1, echo_seconds=lambda: slow[0]) as harness:
        harness.gang("a", 4)
        harness.gang("b", 4)
        await harness.quiet()
        slow[0] = 1000  # The outage holds up the watch as well.
        harness.api.scripts = [
            lambda call: Fault(LOST_ANSWER, after=True) if call.name.startswith("a") else None
        ]
        assert ["a"] == [placed.gang.key.name for placed in harness.cycle().placed]
        await asyncio.sleep(BIND_SECONDS + 100)
        assert () == harness.cycle().placed
        harness.api.scripts = []
        await harness.quiet()

        assert [0] == [binding.failed for binding in harness.finished]
        assert set() == harness.crowded
        harness.assert_the_cache_is_right()


async def test_a_gang_that_is_always_refused_is_tried_ever_less_often() -> None:
    async with BinderHarness() as harness:
        harness.gang("a", 1)
        await harness.quiet()
        harness.api.scripts = [lambda _: Fault(REFUSED)]
        started = now()
        await harness.cycles(lambda: now() > started + 600)

        assert len(harness.api.calls) <= 20
