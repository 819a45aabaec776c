"""The binder under one fault: each kind of it, at every member of a gang."""

import asyncio

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.apply.binder import BIND_SECONDS, LATE_SECONDS
from gang_scheduler.apply.outcomes import Outcome
from gang_scheduler.client.backoff import DENIED_SECONDS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.report.words.text import text_if_any
from integration.support.binding_faults import (
    DENIED,
    LOST_ANSWER,
    MEMBERS,
    REFUSED,
    SERVER_ERROR,
    UNREADABLE,
    at,
    bind_first,
    bindings_of,
    bound_under,
    now,
)
from support.binder_harness import BinderHarness

pytestmark = pytest.mark.looptime


THROTTLED = ApiError(429, "too many requests", retry_after=7)
victims = pytest.mark.parametrize("victim", [f"a-{number}" for number in range(MEMBERS)])


@victims
@pytest.mark.parametrize("error", [SERVER_ERROR, LOST_ANSWER, UNREADABLE])
async def test_a_request_that_failed_is_sent_again(victim: str, error: ApiError) -> None:
    async with BinderHarness() as harness:
        outcomes = await bound_under(harness, at(victim, lambda _: Fault(error)))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 2 == bindings_of(harness, victim)
        harness.assert_the_cache_is_right()


@victims
@pytest.mark.parametrize("error", [SERVER_ERROR, LOST_ANSWER])
async def test_a_binding_that_happened_unanswered_is_not_repeated(
    victim: str, error: ApiError
) -> None:
    async with BinderHarness() as harness:
        fault = Fault(error, after=True, delay_seconds=30)
        outcomes = await bound_under(harness, at(victim, lambda _: fault))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 1 == bindings_of(harness, victim)
        harness.assert_the_cache_is_right()


@victims
async def test_an_unanswered_binding_that_cannot_be_read_back_is_settled_later(victim: str) -> None:
    async with BinderHarness() as harness:
        harness.api.fail("bound_node", *[Fault(UNREADABLE)] * 3)
        unreadable = harness.api.scripts[0]
        lost = at(victim, lambda _: Fault(LOST_ANSWER, after=True))
        outcomes = await bound_under(harness, lambda call: unreadable(call) or lost(call))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 4 == bindings_of(harness, victim)
        harness.assert_the_cache_is_right()


@victims
async def test_a_throttled_request_is_sent_again_after_the_time_asked_for(victim: str) -> None:
    async with BinderHarness() as harness:
        started = now()
        outcomes = await bound_under(harness, at(victim, lambda _: Fault(THROTTLED)))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 7 <= now() - started <= 8
        harness.assert_the_cache_is_right()


@victims
async def test_a_pod_that_is_gone_is_forgotten(victim: str) -> None:
    async with BinderHarness() as harness:
        outcomes = await bound_under(
            harness,
            at(victim, lambda call: harness.cluster.delete(PODS, call.namespace, call.name)),
        )

        assert Outcome.GONE is outcomes[victim]
        assert 1 == harness.finished[0].failed
        assert victim not in harness.nodes()
        harness.assert_the_cache_is_right()


@victims
async def test_another_pod_of_the_same_name_is_left_alone_and_planned_for_itself(
    victim: str,
) -> None:
    async with BinderHarness() as harness:
        outcomes = await bound_under(
            harness, at(victim, lambda call: harness.pod(call.name, "a", uid="another"))
        )

        assert Outcome.GONE is outcomes[victim]
        assert "" == harness.truth()["another"]
        harness.assert_the_cache_is_right()
        await harness.cycles(harness.all_bound)
        harness.assert_the_cache_is_right()


@victims
async def test_a_pod_that_is_bound_where_we_want_it_counts_as_bound(victim: str) -> None:
    async with BinderHarness() as harness:
        outcomes = await bound_under(
            harness, at(victim, lambda call: bind_first(harness, call, call.arguments["node"]))
        )

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 1 == bindings_of(harness, victim)
        harness.assert_the_cache_is_right()


@victims
async def test_a_pod_that_another_scheduler_bound_is_counted_where_it_is(victim: str) -> None:
    async with BinderHarness() as harness:
        harness.node("elsewhere", 9, unschedulable=True)
        outcomes = await bound_under(
            harness, at(victim, lambda call: bind_first(harness, call, "elsewhere"))
        )

        assert Outcome.LOST is outcomes[victim]
        assert "elsewhere" == harness.nodes()[victim]
        harness.assert_the_cache_is_right()


@victims
async def test_a_pod_that_another_scheduler_bound_uses_its_room_before_the_watch_tells(
    victim: str,
) -> None:
    echo_seconds = [0.05]
    async with BinderHarness(echo_seconds=lambda: echo_seconds[0]) as harness:
        harness.node("elsewhere", 1, unschedulable=True)
        harness.gang("a", MEMBERS)
        await harness.quiet()
        echo_seconds[0] = 600
        harness.api.scripts = [at(victim, lambda call: bind_first(harness, call, "elsewhere"))]
        harness.cycle()
        await harness.binder.drain()

        assert "elsewhere" == harness.belief()[f"uid-{victim}"]


@victims
@pytest.mark.parametrize("last", [REFUSED, ApiError(409, "a conflict")])
async def test_a_request_that_comes_through_after_a_refusal_of_the_next_is_found(
    victim: str, last: ApiError
) -> None:
    """The first is held up on its way, and the second, after the timeout, is refused."""
    asked: list[str] = []

    def script(call: Call) -> Fault | None:
        if (call.method, call.name) != ("bind", victim):
            return None
        asked.append(call.arguments["node"])
        if len(asked) > 1:
            return Fault(last)
        asyncio.get_running_loop().call_later(LATE_SECONDS - 1, bind_first, harness, call, asked[0])
        return Fault(LOST_ANSWER)

    async with BinderHarness() as harness:
        outcomes = await bound_under(harness, script)

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 2 == len(asked)
        harness.assert_the_cache_is_right()


@victims
async def test_a_pod_that_is_being_deleted_is_refused_and_not_planned_again(victim: str) -> None:
    def delete(harness: BinderHarness, call: Call) -> None:
        with harness.cluster.changing(PODS, call.namespace, call.name) as found:
            found["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"

    async with BinderHarness() as harness:
        outcomes = await bound_under(harness, at(victim, lambda call: delete(harness, call)))
        for _ in range(5):
            await asyncio.sleep(1)
            harness.cycle()

        assert Outcome.REFUSED is outcomes[victim]
        assert 1 == bindings_of(harness, victim)
        harness.assert_the_cache_is_right()


@victims
async def test_a_refused_member_is_forgotten_and_planned_again(victim: str) -> None:
    async with BinderHarness() as harness:
        outcomes = await bound_under(harness, at(victim, lambda _: Fault(REFUSED)))

        assert {victim: Outcome.REFUSED} == {
            name: outcome for name, outcome in outcomes.items() if outcome is not Outcome.BOUND
        }
        assert "" == harness.nodes()[victim]
        assert "422" in text_if_any(harness.finished[0].problem)
        harness.assert_the_cache_is_right()
        await harness.cycles(harness.all_bound)
        assert [1, 0] == [binding.failed for binding in harness.finished]
        harness.assert_the_cache_is_right()


@victims
@pytest.mark.parametrize("status", [401, 403])
async def test_a_denial_that_passes_is_waited_out(victim: str, status: int) -> None:
    """As of an API server that has just started, and does not know all rights yet."""
    async with BinderHarness(concurrency=1) as harness:
        healthy_at = now() + DENIED_SECONDS - 6

        def denied(call: Call) -> Fault | None:
            if call.method != "bind" or call.name != victim or now() >= healthy_at:
                return None
            return Fault(ApiError(status, "not yet"))

        outcomes = await bound_under(harness, denied)

        assert {Outcome.BOUND} == set(outcomes.values())
        assert bindings_of(harness, victim) <= 12
        harness.assert_the_cache_is_right()


async def test_a_binding_that_is_denied_holds_no_other_up() -> None:
    async with BinderHarness(nodes=3, concurrency=1) as harness:
        harness.gang("a", MEMBERS)
        harness.gang("b", MEMBERS)
        await harness.quiet()
        began = now()
        harness.api.scripts = [lambda it: Fault(DENIED) if it.name.startswith("a") else None]
        harness.cycle()
        await asyncio.sleep(1)

        assert MEMBERS == sum(name.startswith("b") for name, at in harness.nodes().items() if at)
        await harness.quiet()
        (_, denied) = harness.finished
        assert {Outcome.REFUSED} == set(denied.outcomes.values())
        assert DENIED_SECONDS <= now() - began <= DENIED_SECONDS + 8


async def test_in_a_namespace_that_is_being_deleted_a_denial_is_final() -> None:
    gone = ApiError(403, "it is being terminated", cause="NamespaceTerminating")
    async with BinderHarness() as harness:
        outcomes = await bound_under(harness, at("a-0", lambda _: Fault(gone)))

        assert Outcome.REFUSED is outcomes["a-0"]
        assert 1 == bindings_of(harness, "a-0")


async def in_part_beside_another(harness: BinderHarness, error: ApiError) -> None:
    """Bind half of gang `a`, as no more is allowed, with gang `b` waiting for the same room."""
    harness.gang("a", MEMBERS)
    await harness.quiet()
    refused = ("a-2", "a-3")
    harness.api.scripts = [lambda call: Fault(error) if call.name in refused else None]
    harness.cycle()
    harness.gang("b", MEMBERS)
    await harness.quiet()


@pytest.mark.parametrize("error", [REFUSED, DENIED])
async def test_the_rest_of_a_gang_in_part_keeps_its_room(error: ApiError) -> None:
    async with BinderHarness(nodes=1) as harness:
        await in_part_beside_another(harness, error)
        for _ in range(40):
            harness.cycle()
            await asyncio.sleep(1)
        assert {"a-0", "a-1"} == {name for name, node in harness.nodes().items() if node}

        harness.api.scripts = []
        await harness.cycles(lambda: MEMBERS == sum(map(bool, harness.nodes().values())))
        assert all(node for name, node in harness.nodes().items() if name.startswith("a"))

        assert set() == harness.crowded


async def test_a_gang_of_which_nothing_is_bound_keeps_no_room() -> None:
    async with BinderHarness(nodes=1) as harness:
        harness.gang("a", MEMBERS)
        await harness.quiet()
        harness.api.scripts = [lambda it: Fault(REFUSED) if it.name.startswith("a") else None]
        harness.cycle()
        harness.gang("b", MEMBERS)
        await harness.quiet()
        harness.cycle()
        await harness.quiet()

        assert MEMBERS == sum(name.startswith("b") for name, at in harness.nodes().items() if at)
        assert [] == [pod.name for pod in harness.cache.pods() if pod.nominated and not pod.node]


@victims
async def test_after_two_minutes_of_failures_a_member_is_planned_anew(victim: str) -> None:
    def script(call: Call) -> Fault | None:
        return Fault(SERVER_ERROR) if (call.method, call.name) == ("bind", victim) else None

    async with BinderHarness() as harness:
        started = now()
        outcomes = await bound_under(harness, script)

        assert Outcome.GAVE_UP is outcomes[victim]
        assert BIND_SECONDS <= now() - started <= BIND_SECONDS + 6
        assert bindings_of(harness, victim) <= 31
        harness.assert_the_cache_is_right()
