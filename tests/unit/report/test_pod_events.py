"""A member of a gang is told why it waits and where it was bound, in turn, and not too fast."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import EVENTS
from gang_scheduler.apply.outcomes import GangBinding, Outcome
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.writing import Writes
from gang_scheduler.inspection import past_events
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.report import pod_events
from gang_scheduler.report.events import LONGEST_SECONDS, Backpressure
from gang_scheduler.report.pod_events import PodEvents
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders

pytestmark = pytest.mark.looptime

BEGAN = 1_000_000
FULL = "0/3 nodes are available: 3 Insufficient cpu."
TAINTED = "0/3 nodes are available: 3 node(s) had untolerated taint(s)."
SENT = 0.5


class Desk:
    """A gang `a` whose pods are in the cache. Times are in seconds from the beginning."""

    def __init__(self, pods: int, **how: Any) -> None:
        self.api = FakeApi()
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.gang = builders.gang("a", pods=pods)
        for pod in self.gang.pending:
            self.cache.upsert_pod(pod)
        self._clock = asyncio.get_running_loop().time
        busy = how.pop("busy", lambda: False)
        self.pod_events = PodEvents(
            *(self.api, self.cache, Backpressure(busy)),
            clock=lambda: BEGAN + self._clock(),
            stands_seconds=how.pop("stands_seconds", 5),
            writes=how.pop("writes", Writes()),
            **how,
        )

    def wait(
        self, message: str = FULL, reason: Reason = Reason.UNSCHEDULABLE, *, since: float = 0
    ) -> int | None:
        """Say why all pods wait; return when to say it again."""
        now = int(BEGAN + self._clock())
        current = filter(None, (self.cache.pod(pod.uid) for pod in self.gang.pending))
        again = self.pod_events.wait(current, reason, message, since=BEGAN + int(since), now=now)
        return None if again is None else again - BEGAN

    async def at(self, seconds: float) -> None:
        """Wait until this moment."""
        await asyncio.sleep(seconds - self._clock())

    def bind(self, *outcomes: Outcome, gang: Gang | None = None) -> None:
        """Say that members were bound, to `n0` and so on."""
        gang = gang or self.gang
        binds = tuple(Bind(pod, f"n{number}") for number, pod in enumerate(gang.pending))
        binding = GangBinding(Placed(gang, binds), "plan")
        told = outcomes or [Outcome.BOUND] * len(binds)
        binding.outcomes = {e.pod.uid: each for e, each in zip(binds, told, strict=True)}
        self.pod_events.bound(binding)

    def told(self, reason: str = "FailedScheduling") -> list[tuple[str, str, int]]:
        """Return pod, note and count of all Events with a reason, the oldest first."""
        sent = (call.name for call in self.api.calls if call.method == "create_event")
        all_events = {each["metadata"]["name"]: each for each in self.api.cluster.all(EVENTS)}
        created = (all_events[name] for name in dict.fromkeys(sent) if name in all_events)
        found = [each for each in created if each["reason"] == reason]
        return [
            (e["regarding"]["name"], e["note"], e.get("series", {}).get("count", 1)) for e in found
        ]


@asynccontextmanager
async def desk(pods: int = 1, **how: Any) -> AsyncIterator[Desk]:
    """Give a desk whose Events are sent."""
    made = Desk(pods, **how)
    sending = asyncio.create_task(made.pod_events.run())
    yield made
    sending.cancel()


# Why a pod waits.


async def test_a_pod_gets_an_event_of_a_reason_that_has_stood_for_5_seconds() -> None:
    async with desk() as here:
        assert 5 == here.wait()
        await here.at(4.9)
        assert [] == here.told()

        await here.at(5)
        here.wait()
        await here.at(5 + SENT)

        assert [("a-0", FULL, 1)] == here.told()
        (event,) = here.api.cluster.all(EVENTS)
        assert ("Warning", "Pod", "uid-a-0") == (
            event["type"],
            event["regarding"]["kind"],
            event["regarding"]["uid"],
        )


async def test_a_reason_that_ends_sooner_makes_no_event() -> None:
    async with desk() as here:
        here.wait()
        await here.at(4)
        here.wait("some members are missing", Reason.WAITING_FOR_MEMBERS, since=4)
        await here.at(8)
        here.wait("some members are missing", Reason.WAITING_FOR_MEMBERS, since=4)
        await here.at(9)
        here.wait(since=9)
        await here.at(9 + SENT)

        assert [] == here.told()


async def test_a_pod_that_joins_a_waiting_gang_gets_its_event_after_5_seconds_of_its_own() -> None:
    async with desk() as here:
        await here.at(5)
        here.wait()
        await here.at(100)
        pod = builders.pod("a-1", gang="a")
        here.cache.upsert_pod(pod)
        here.gang = replace(here.gang, pending=(pod,))

        assert 105 == here.wait()


async def test_the_event_has_the_words_of_the_condition() -> None:
    async with desk() as here:
        pod = replace(here.gang.pending[0], unscheduled=("Unschedulable", "as it was before"))
        here.cache.upsert_pod(pod)
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(5 + SENT)

        assert [("a-0", "as it was before", 1)] == here.told()


async def test_words_of_the_condition_for_another_reason_are_not_taken() -> None:
    async with desk() as here:
        pod = replace(here.gang.pending[0], unscheduled=("WaitingForMembers", "one is missing"))
        here.cache.upsert_pod(pod)
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(5 + SENT)

        assert [("a-0", FULL, 1)] == here.told()


async def test_a_reason_that_still_stands_raises_its_event_within_the_hour_it_is_kept() -> None:
    async with desk() as here:
        here.wait()
        await here.at(5)
        again = here.wait() or 0
        await here.at(again - 5)
        again = here.wait() or 0
        await here.at(again)
        here.wait()
        await here.at(again + SENT)

        assert 1800 < again < 3600
        assert [("a-0", FULL, 2)] == here.told()


async def test_a_reason_that_comes_again_raises_its_event() -> None:
    async with desk() as here:
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(10)
        assert 35 == here.wait(since=8)
        await here.at(35)
        here.wait(since=8)
        await here.at(35 + SENT)

        assert [("a-0", FULL, 2)] == here.told()


async def test_each_reason_has_an_event_of_its_own() -> None:
    async with desk() as here:
        for since, reason in ((0, "a"), (100, "b"), (200, "a"), (300, "b"), (400, "a")):
            of = Reason.UNSCHEDULABLE if reason == "a" else Reason.WAITING_FOR_MEMBERS
            for moment in (since, since + 5):
                await here.at(moment)
                here.wait(reason, of, since=since)
        await here.at(405 + SENT)

        assert [("a-0", "a", 3), ("a-0", "b", 2)] == here.told()


async def test_other_words_for_the_same_reason_are_another_event_some_minutes_later() -> None:
    async with desk() as here:
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(10)
        assert 305 == here.wait(TAINTED)
        await here.at(305)
        here.wait(TAINTED)
        await here.at(305 + SENT)

        assert [("a-0", FULL, 1), ("a-0", TAINTED, 1)] == here.told()


async def test_an_event_that_is_kept_no_longer_is_created_again() -> None:
    async with desk() as here:
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(6)
        (event,) = here.api.cluster.all(EVENTS)
        here.api.cluster.delete(EVENTS, "default", event["metadata"]["name"])
        await here.at(2000)
        here.wait()
        await here.at(2000 + SENT)

        assert [("a-0", FULL, 1)] == here.told()


async def test_a_message_that_is_too_long_is_cut_and_known_again() -> None:
    async with desk() as here:
        here.wait()
        await here.at(5)
        here.wait("x" * 2000)
        await here.at(6)

        ((_, note, _),) = here.told()
        assert (1024, " ...") == (len(note), note[-4:])
        assert (1800 + 5) == here.wait("x" * 2000)


async def test_a_pod_without_a_gang_gets_no_event_of_a_gang_member() -> None:
    async with desk() as here:
        alone = builders.pod("alone")
        here.cache.upsert_pod(alone)
        here.gang = replace(builders.gang("b", members=[alone]), key=alone.gang)
        here.wait()
        await here.at(5)
        here.wait()
        here.bind()
        await here.at(6)

        assert ([], []) == (here.told(), here.told("Scheduled"))


async def test_a_pod_without_a_gang_gets_events_that_a_gang_would_not_get() -> None:
    async with desk() as here:
        alone = builders.pod("alone")
        here.cache.upsert_pod(alone)
        here.gang = replace(builders.gang("b", members=[alone]), key=alone.gang)
        here.wait("gang c comes first", Reason.WAITING_FOR_TURN)
        await here.at(5)
        here.wait("gang c comes first", Reason.WAITING_FOR_TURN)
        await here.at(5 + SENT)

        assert [("alone", "gang c comes first", 1)] == here.told()


async def test_how_long_a_reason_must_stand_is_a_setting() -> None:
    async with desk(stands_seconds=60) as here:
        assert 60 == here.wait()
        await here.at(59)
        assert 60 == here.wait()
        await here.at(60)
        here.wait()
        await here.at(60 + SENT)

        assert [("a-0", FULL, 1)] == here.told()


# Where a pod was bound.


async def test_the_event_of_a_bound_pod_names_its_node_and_its_gang() -> None:
    async with desk(2) as here:
        here.bind()
        await here.at(SENT)

        words = "Successfully assigned default/{} to {} with 1 other member of gang default/a"
        expected = [
            (pod, words.format(pod, node), 1) for pod, node in (("a-0", "n0"), ("a-1", "n1"))
        ]
        assert expected == here.told("Scheduled")
        # The page tells of the members of a gang at once, also when they are gone.
        notes = [words for _, words, _ in here.told("Scheduled")]
        placed = [
            SchedulerEvent(namespace="default", name="", reason="", note=note, first=0)
            for note in notes
        ]
        assert ["a", "a"] == [*map(past_events.gang_of_member, placed)]
        assert {"Normal"} == {each["type"] for each in here.api.cluster.all(EVENTS)}


async def test_of_a_gang_that_is_bound_in_part_the_bound_members_are_reported() -> None:
    async with desk(2) as here:
        here.bind(Outcome.GONE, Outcome.BOUND)
        await here.at(SENT)

        words = "Successfully assigned default/a-1 to n1 as a member of gang default/a"
        assert [("a-1", words, 1)] == here.told("Scheduled")


async def test_of_more_bound_pods_than_are_kept_in_mind_the_oldest_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pod_events, "MOST_BOUND", 2)
    async with desk(3) as here:
        here.bind()
        await here.at(SENT)

        assert ["a-1", "a-2"] == [name for name, _, _ in here.told("Scheduled")]


# The rate.


async def test_many_pods_are_reported_at_a_bounded_rate_and_all_of_them_the_oldest_first() -> None:
    pods = 450
    async with desk(pods) as here:
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(9.99)
        first = len(here.told())
        here.wait()
        await here.at(30)

        # The burst, and 50 in each of five seconds.
        assert 340 <= first <= 351
        names = [name for name, _, _ in here.told()]
        assert [f"a-{number}" for number in range(pods)] == names
        assert pods == len(here.api.calls)


async def test_pods_that_wait_and_pods_that_were_bound_take_turns() -> None:
    async with desk(400) as here:
        here.wait()
        await here.at(5)
        here.wait()
        here.bind()
        await here.at(6)

        assert abs(len(here.told()) - len(here.told("Scheduled"))) <= 1


async def test_bindings_go_first() -> None:
    async with desk(9, busy=lambda: True) as here:
        here.bind()
        await here.at(LONGEST_SECONDS - 1)
        before = len(here.told("Scheduled"))
        await here.at(4 * LONGEST_SECONDS + 1)

        assert (0, 4) == (before, len(here.told("Scheduled")))


async def test_while_gangs_are_being_bound_there_are_few() -> None:
    async with desk(300) as here:
        for tenth in range(100):
            await here.at(tenth / 10)
            here.bind()
        during = len(here.told("Scheduled"))
        await here.at(14)

        assert 95 <= during <= 100
        # What is left of the burst, and 50 in each of three seconds.
        assert 240 <= len(here.told("Scheduled")) - during <= 265


async def test_what_the_api_server_has_no_time_for_is_reported_later() -> None:
    async with desk(2) as here:
        here.api.fail("create_event", Fault(ApiError(429, "too many")), Fault(ApiError(500, "no")))
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(10)

        assert ["a-0", "a-1"] == sorted(name for name, _, _ in here.told())


async def test_an_event_waits_for_as_long_as_the_api_server_asks_for() -> None:
    async with desk(1) as here:
        here.api.fail("create_event", Fault(ApiError(429, "too many", retry_after=30)))
        here.wait()
        for second in range(1, 30):
            await here.at(second)
            here.wait()
        before = len(here.told())
        await here.at(60)

        assert (0, 1) == (before, len(here.told()))


async def test_an_event_that_is_refused_is_not_sent_again_and_again() -> None:
    async with desk() as here:
        here.api.scripts.append(lambda _: Fault(ApiError(403, "forbidden")))
        here.wait()
        await here.at(5)
        for second in range(5, 100):
            await here.at(second)
            here.wait()

        assert 1 == len(here.api.calls)


# Pods that are gone, and others that are not told.


@pytest.mark.parametrize(
    "happens",
    [
        lambda here: here.cache.delete_pod("uid-a-1"),
        lambda here: here.cache.assume(Bind(here.gang.pending[1], "n0")),
    ],
    ids=["gone", "bound"],
)
async def test_a_pod_that_waits_no_longer_gets_no_event(happens: Callable[[Desk], None]) -> None:
    async with desk(2, busy=lambda: True) as here:
        here.wait()
        await here.at(5)
        here.wait()
        happens(here)
        await here.at(60)

        assert ["a-0"] == [name for name, _, _ in here.told()]


async def test_pods_that_wait_no_longer_are_forgotten() -> None:
    async with desk(2) as here:
        here.wait()
        await here.at(5)
        here.wait()
        await here.at(400)
        here.cache.delete_pod("uid-a-1")
        here.wait()

        assert {"uid-a-0"} == {uid for uid, _ in here.pod_events._sent}
        assert {"uid-a-0"} == here.pod_events._seen.keys()
        assert {"uid-a-0"} >= set(here.pod_events._waiting)


@pytest.mark.parametrize("how", [{"enabled": False}, {"writes": Writes(lambda: False)}], ids=str)
async def test_where_no_events_are_to_be_written_none_are(how: dict[str, Any]) -> None:
    async with desk(**how) as here:
        here.wait()
        await here.at(5)
        here.wait()
        here.bind()
        await here.at(60)

        assert [] == here.api.calls
