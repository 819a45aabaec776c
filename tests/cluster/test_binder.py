"""The binder under faults: what it believes in the end is what the API server holds."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable

import pytest

from cluster.rigs import Rig
from gang_scheduler.api import annotations
from gang_scheduler.cluster.binder import GIVE_UP_SECONDS, Outcome
from gang_scheduler.cluster.errors import ApiError
from gang_scheduler.cluster.fake.faults import Call, Fault, Script
from gang_scheduler.cluster.ports import PODS, PodRef

pytestmark = pytest.mark.looptime

MEMBERS = 4
LOST_ANSWER = ApiError(0, "TimeoutError")
SERVER_ERROR = ApiError(500, "etcd has no leader")
THROTTLED = ApiError(429, "too many requests", retry_after=7)
FORBIDDEN = ApiError(403, "pods/binding is forbidden")
UNREADABLE = ApiError(503, "the API server is down")


def at(victim: str, strike: Callable[[Call], Fault | None]) -> Script:
    """Return a script that befalls the first binding of one pod."""
    struck: list[Call] = []

    def script(call: Call) -> Fault | None:
        if call.method != "bind" or call.name != victim or struck:
            return None
        struck.append(call)
        return strike(call)

    return script


def bindings_of(rig: Rig, name: str) -> int:
    """Count the requests to bind a pod."""
    return sum(call.method == "bind" and call.name == name for call in rig.api.calls)


def now() -> float:
    return asyncio.get_running_loop().time()


async def bound_under(rig: Rig, script: Script) -> dict[str, Outcome]:
    """Bind a gang with a script at work; return the outcomes by name, when all is quiet."""
    rig.gang("a", MEMBERS)
    await rig.quiet()
    rig.api.scripts = [script]
    rig.cycle()
    await rig.quiet()
    (binding,) = rig.finished
    assert binding.done
    by_uid = {bind.pod.uid: bind.pod.name for bind in binding.placed.binds}
    return {by_uid[uid]: outcome for uid, outcome in binding.outcomes.items()}


victims = pytest.mark.parametrize("victim", [f"a-{number}" for number in range(MEMBERS)])


# No fault.


async def test_a_gang_is_bound_with_one_request_a_pod_and_marked_with_its_plan() -> None:
    async with Rig() as rig:
        rig.gang("a", MEMBERS)
        await rig.quiet()
        plan = rig.cycle()
        await rig.quiet()

        planned = {bind.pod.uid: bind.node for placed in plan.placed for bind in placed.binds}
        assert planned == rig.truth()
        assert ["bind"] * MEMBERS == [call.method for call in rig.api.calls]
        marks = rig.cluster.get(PODS, "default", "a-0")["metadata"]["annotations"]
        assert {annotations.PLAN_ID: "plan", annotations.PLAN_SIZE: "4"} == marks
        assert [0] == [binding.failed for binding in rig.finished]
        rig.assert_the_cache_is_right()


async def test_room_is_taken_from_submission_on() -> None:
    async with Rig(nodes=1) as rig:
        rig.gang("a", MEMBERS)
        rig.gang("b", MEMBERS)
        await rig.quiet()
        rig.api.scripts = [lambda _: Fault(delay_seconds=10)]

        assert ["a"] == [placed.gang.key.name for placed in rig.cycle().placed]
        for _ in range(5):
            await asyncio.sleep(1)
            assert () == rig.cycle().placed


async def test_an_older_state_of_a_pod_does_not_take_its_room_away() -> None:
    async with Rig(nodes=1) as rig:
        rig.gang("a", MEMBERS)
        rig.gang("b", 1)
        await rig.quiet()
        rig.api.scripts = [lambda _: Fault(delay_seconds=10)]
        rig.cycle()
        await asyncio.sleep(1)
        with rig.cluster.changing(PODS, "default", "a-1") as found:
            found["metadata"]["labels"]["changed"] = "while it is being bound"
        await asyncio.sleep(1)

        assert () == rig.cycle().placed
        await rig.quiet()
        rig.assert_the_cache_is_right()


async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    async with Rig(nodes=4, concurrency=3) as rig:
        rig.gang("a", 12)
        await rig.quiet()
        rig.api.scripts = [lambda _: Fault(delay_seconds=1)]
        rig.cycle()

        for second in range(4):
            await asyncio.sleep(0.5)
            assert 3 * (second + 1) == len(rig.api.calls)
            await asyncio.sleep(0.5)


# One fault, at every member.


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


def bind_first(rig: Rig, call: Call, node: str) -> None:
    """Bind the pod a moment before."""
    with rig.cluster.changing(PODS, call.namespace, call.name) as found:
        found["spec"]["nodeName"] = node


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


# Fencing.


async def test_without_leadership_nothing_is_written_and_all_is_forgotten() -> None:
    async with Rig(may_write=lambda: False) as rig:
        rig.gang("a", MEMBERS)
        await rig.quiet()
        rig.cycle()
        await rig.quiet()

        assert [] == rig.api.calls
        assert {Outcome.GAVE_UP} == set(rig.finished[0].outcomes.values())
        rig.assert_the_cache_is_right()


async def test_leadership_lost_between_two_members_stops_the_second() -> None:
    leading = [True]
    async with Rig(concurrency=1, may_write=lambda: bool(leading)) as rig:
        await bound_under(rig, at("a-1", lambda _: leading.clear()))

        assert ["a-0", "a-1"] == [call.name for call in rig.api.calls]
        assert ["a-0", "a-1"] == [name for name, node in rig.nodes().items() if node]
        rig.assert_the_cache_is_right()


async def test_leadership_lost_between_two_attempts_stops_the_second() -> None:
    leading = [True]

    def lose(_: Call) -> Fault:
        leading.clear()
        return Fault(SERVER_ERROR)

    async with Rig(concurrency=1, may_write=lambda: bool(leading)) as rig:
        outcomes = await bound_under(rig, at("a-2", lose))

        assert Outcome.GAVE_UP is outcomes["a-2"]
        assert 1 == bindings_of(rig, "a-2")
        rig.assert_the_cache_is_right()


# What went wrong once.


async def test_a_gang_of_which_little_was_bound_is_not_taken_for_whole() -> None:
    async with Rig(nodes=1) as rig:
        rig.gang("a", MEMBERS)
        await rig.quiet()
        refused = ("a-1", "a-2", "a-3")
        rig.api.scripts = [
            lambda call: Fault(FORBIDDEN, delay_seconds=1) if call.name in refused else None
        ]
        rig.cycle()
        await asyncio.sleep(0.5)
        rig.cycle()  # The loop is woken by the assumptions themselves.
        await rig.quiet()
        rig.api.scripts = []
        rig.node("n0", 2)
        await asyncio.sleep(2)

        assert () == rig.cycle().placed


async def test_a_long_retry_after_does_not_hold_the_room_for_longer_than_other_failures() -> None:
    async with Rig() as rig:
        started = now()
        long = ApiError(429, "too many requests", retry_after=3600)
        await bound_under(rig, at("a-1", lambda _: Fault(long)))

        assert now() - started <= GIVE_UP_SECONDS + 6


async def test_room_of_a_binding_that_may_have_happened_is_not_given_away() -> None:
    slow = [0.0]
    async with Rig(nodes=1, echo_seconds=lambda: slow[0]) as rig:
        rig.gang("a", 4)
        rig.gang("b", 4)
        await rig.quiet()
        slow[0] = 1000  # The outage holds up the watch as well.
        rig.api.scripts = [
            lambda call: Fault(LOST_ANSWER, after=True) if call.name.startswith("a") else None
        ]
        assert ["a"] == [placed.gang.key.name for placed in rig.cycle().placed]
        await asyncio.sleep(GIVE_UP_SECONDS + 100)
        assert () == rig.cycle().placed
        rig.api.scripts = []
        await rig.quiet()

        assert [0] == [binding.failed for binding in rig.finished]
        assert set() == rig.crowded
        rig.assert_the_cache_is_right()


async def test_a_gang_that_is_always_refused_is_tried_ever_less_often() -> None:
    async with Rig() as rig:
        rig.gang("a", 1)
        await rig.quiet()
        rig.api.scripts = [lambda _: Fault(FORBIDDEN)]
        started = now()
        await rig.cycles(lambda: now() > started + 600)

        assert len(rig.api.calls) <= 20


# Many faults.


class Chaos:
    """Seeded misfortune for a share of all calls."""

    ERRORS = (SERVER_ERROR, LOST_ANSWER, UNREADABLE, FORBIDDEN, ApiError(429, "later", 0.5))

    def __init__(self, rig: Rig, seed: int, share: float) -> None:
        self.rig = rig
        self.dice = random.Random(seed)  # noqa: S311 - a seed, not a secret.
        self.share = share
        self.met: Counter[str] = Counter()

    def __call__(self, call: Call) -> Fault | None:
        """Decide by dice."""
        if self.dice.random() > self.share:
            return Fault(delay_seconds=self.dice.choice([0, 0.01, 0.3]))
        kinds: list[Script] = [self.before, self.after]
        if call.method == "bind":
            kinds += [self.recreated, self.taken]
        kind = self.dice.choice(kinds)
        self.met[f"{call.method} {kind.__name__}"] += 1
        return kind(call)

    def before(self, _: Call) -> Fault:
        """Fail without an effect."""
        return Fault(self.dice.choice(self.ERRORS), delay_seconds=self.dice.random())

    def after(self, _: Call) -> Fault:
        """Lose the answer."""
        return Fault(self.dice.choice(self.ERRORS[:3]), after=True, delay_seconds=2)

    def recreated(self, call: Call) -> None:
        """Let a controller replace the pod."""
        gang = call.name.rpartition("-")[0]
        self.rig.pod(call.name, gang, uid=f"{call.name}-{self.dice.random()}")

    def taken(self, call: Call) -> None:
        """Let another scheduler be faster."""
        ref = PodRef(call.namespace, call.name, call.arguments["uid"])
        found = self.rig.cluster.get(PODS, ref.namespace, ref.name)
        if found["metadata"]["uid"] == ref.uid and not found["spec"].get("nodeName"):
            bind_first(self.rig, call, "elsewhere")


@pytest.mark.parametrize("seed", range(12))
async def test_fifty_gangs_are_whole_in_the_end_whatever_befalls_their_binding(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a seed, not a secret.
    sizes = {f"g{number}": dice.randint(1, 6) for number in range(50)}
    # Just enough room, so that a forgotten pod which is bound in truth would crowd a node.
    nodes = sum(sizes.values()) // 4 + 1
    async with Rig(nodes, concurrency=8, echo_seconds=lambda: dice.choice([0, 0.05, 1.0])) as rig:
        rig.node("elsewhere", 1000, unschedulable=True)
        for name, pods in sizes.items():
            rig.gang(name, pods)
        await rig.quiet()
        chaos = Chaos(rig, seed, share=0.4)
        rig.api.scripts = [chaos]

        await rig.cycles(rig.all_bound)

        rig.assert_the_cache_is_right()
        assert sum(sizes.values()) == len(rig.nodes())
        assert len({id(binding) for binding in rig.finished}) == len(rig.finished)
        assert all(binding.done for binding in rig.finished)
        assert 6 == len(chaos.met)
