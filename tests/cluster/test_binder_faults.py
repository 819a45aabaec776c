"""The binder under one fault: each kind of it, at every member of a gang."""

import asyncio

import pytest

from cluster.binding_faults import (
    FORBIDDEN,
    LOST_ANSWER,
    MEMBERS,
    SERVER_ERROR,
    UNREADABLE,
    at,
    bind_first,
    bindings_of,
    bound_under,
    now,
)
from cluster.rigs import Rig
from gang_scheduler.api.kinds import PODS
from gang_scheduler.apply.binder import GIVE_UP_SECONDS, LATE_SECONDS, Outcome
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.faults import Call, Fault

pytestmark = pytest.mark.looptime


THROTTLED = ApiError(429, "too many requests", retry_after=7)
victims = pytest.mark.parametrize("victim", [f"a-{number}" for number in range(MEMBERS)])


@victims
@pytest.mark.parametrize("error", [SERVER_ERROR, LOST_ANSWER, UNREADABLE])
async def test_a_request_that_failed_is_sent_again(victim: str, error: ApiError) -> None:
    async with Rig() as rig:
        outcomes = await bound_under(rig, at(victim, lambda _: Fault(error)))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 2 == bindings_of(rig, victim)
        rig.assert_the_cache_is_right()


@victims
@pytest.mark.parametrize("error", [SERVER_ERROR, LOST_ANSWER])
async def test_a_binding_that_happened_unanswered_is_not_repeated(
    victim: str, error: ApiError
) -> None:
    async with Rig() as rig:
        fault = Fault(error, after=True, delay_seconds=30)
        outcomes = await bound_under(rig, at(victim, lambda _: fault))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 1 == bindings_of(rig, victim)
        rig.assert_the_cache_is_right()


@victims
async def test_an_unanswered_binding_that_cannot_be_read_back_is_settled_later(victim: str) -> None:
    async with Rig() as rig:
        rig.api.fail("bound_node", *[Fault(UNREADABLE)] * 3)
        unreadable = rig.api.scripts[0]
        lost = at(victim, lambda _: Fault(LOST_ANSWER, after=True))
        outcomes = await bound_under(rig, lambda call: unreadable(call) or lost(call))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 4 == bindings_of(rig, victim)
        rig.assert_the_cache_is_right()


@victims
async def test_a_throttled_request_is_sent_again_after_the_time_asked_for(victim: str) -> None:
    async with Rig() as rig:
        started = now()
        outcomes = await bound_under(rig, at(victim, lambda _: Fault(THROTTLED)))

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 7 <= now() - started <= 8
        rig.assert_the_cache_is_right()


@victims
async def test_a_pod_that_is_gone_is_forgotten(victim: str) -> None:
    async with Rig() as rig:
        outcomes = await bound_under(
            rig, at(victim, lambda call: rig.cluster.delete(PODS, call.namespace, call.name))
        )

        assert Outcome.GONE is outcomes[victim]
        assert 1 == rig.finished[0].failed
        assert victim not in rig.nodes()
        rig.assert_the_cache_is_right()


@victims
async def test_another_pod_of_the_same_name_is_left_alone_and_planned_for_itself(
    victim: str,
) -> None:
    async with Rig() as rig:
        outcomes = await bound_under(
            rig, at(victim, lambda call: rig.pod(call.name, "a", uid="another"))
        )

        assert Outcome.GONE is outcomes[victim]
        assert "" == rig.truth()["another"]
        rig.assert_the_cache_is_right()
        await rig.cycles(rig.all_bound)
        rig.assert_the_cache_is_right()


@victims
async def test_a_pod_that_is_bound_where_we_want_it_counts_as_bound(victim: str) -> None:
    async with Rig() as rig:
        outcomes = await bound_under(
            rig, at(victim, lambda call: bind_first(rig, call, call.arguments["node"]))
        )

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 1 == bindings_of(rig, victim)
        rig.assert_the_cache_is_right()


@victims
async def test_a_pod_that_somebody_else_bound_is_counted_where_it_is(victim: str) -> None:
    async with Rig() as rig:
        rig.node("elsewhere", 9, unschedulable=True)
        outcomes = await bound_under(
            rig, at(victim, lambda call: bind_first(rig, call, "elsewhere"))
        )

        assert Outcome.LOST is outcomes[victim]
        assert "elsewhere" == rig.nodes()[victim]
        rig.assert_the_cache_is_right()


@victims
async def test_a_pod_that_somebody_else_bound_uses_its_room_before_the_watch_tells(
    victim: str,
) -> None:
    echo_seconds = [0.05]
    async with Rig(echo_seconds=lambda: echo_seconds[0]) as rig:
        rig.node("elsewhere", 1, unschedulable=True)
        rig.gang("a", MEMBERS)
        await rig.quiet()
        echo_seconds[0] = 600
        rig.api.scripts = [at(victim, lambda call: bind_first(rig, call, "elsewhere"))]
        rig.cycle()
        await rig.binder.drain()

        assert "elsewhere" == rig.belief()[f"uid-{victim}"]


@victims
@pytest.mark.parametrize("last", [FORBIDDEN, ApiError(409, "a conflict")])
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
        asyncio.get_running_loop().call_later(LATE_SECONDS - 1, bind_first, rig, call, asked[0])
        return Fault(LOST_ANSWER)

    async with Rig() as rig:
        outcomes = await bound_under(rig, script)

        assert {Outcome.BOUND} == set(outcomes.values())
        assert 2 == len(asked)
        rig.assert_the_cache_is_right()


@victims
async def test_a_pod_that_is_being_deleted_is_refused_and_not_planned_again(victim: str) -> None:
    def delete(rig: Rig, call: Call) -> None:
        with rig.cluster.changing(PODS, call.namespace, call.name) as found:
            found["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"

    async with Rig() as rig:
        outcomes = await bound_under(rig, at(victim, lambda call: delete(rig, call)))
        for _ in range(5):
            await asyncio.sleep(1)
            rig.cycle()

        assert Outcome.REFUSED is outcomes[victim]
        assert 1 == bindings_of(rig, victim)
        rig.assert_the_cache_is_right()


@victims
async def test_a_refused_member_is_forgotten_and_planned_again(victim: str) -> None:
    async with Rig() as rig:
        outcomes = await bound_under(rig, at(victim, lambda _: Fault(FORBIDDEN)))

        assert {victim: Outcome.REFUSED} == {
            name: outcome for name, outcome in outcomes.items() if outcome is not Outcome.BOUND
        }
        assert "" == rig.nodes()[victim]
        assert "403" in rig.finished[0].problem
        rig.assert_the_cache_is_right()
        await rig.cycles(rig.all_bound)
        assert [1, 0] == [binding.failed for binding in rig.finished]
        rig.assert_the_cache_is_right()


@victims
async def test_after_two_minutes_of_failures_a_member_is_planned_anew(victim: str) -> None:
    def script(call: Call) -> Fault | None:
        return Fault(SERVER_ERROR) if (call.method, call.name) == ("bind", victim) else None

    async with Rig() as rig:
        started = now()
        outcomes = await bound_under(rig, script)

        assert Outcome.GAVE_UP is outcomes[victim]
        assert GIVE_UP_SECONDS <= now() - started <= GIVE_UP_SECONDS + 6
        assert bindings_of(rig, victim) <= 31
        rig.assert_the_cache_is_right()
