"""What is told of a gang whose nodes fail, once each."""

import pytest

from gang_scheduler.api.kinds import EVENTS, POD_GROUPS
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.report.failure_events import DegradedEvents
from gang_scheduler.state import pruning
from support import cache_feeding, parts
from support.degraded_gang import KEY, LATER, NOW, SIZE, DegradedGang

Told = list[tuple[str, str, str]]
"""Type, reason and kind of the object."""


class Desk:
    """The Events on a gang that are written."""

    def __init__(self, free: int = 1) -> None:
        self.gang = DegradedGang(free)
        self.api = FakeApi()
        self._events = parts.events(self.api, lambda: 0)
        self.degraded_events = DegradedEvents(self.gang.cache, self._events)

    def look(self, now: int) -> int | None:
        """Look at the gang; return when to look again."""
        self.gang.cache.settle_failed_nodes(now)
        return self.degraded_events.look(self.gang.cache.gang_queue.infos[KEY], now)

    async def told(self, now: int) -> Told:
        """Return all that was told by now, in its order."""
        self.look(now)
        while len(self._events._queue):
            await self._events._send(self._events.take())
        return [
            (each["type"], each["reason"], each["regarding"]["kind"])
            for each in self.api.cluster.all(EVENTS)
        ]


DEGRADED = ("Warning", "DegradedDomain", "PodGroup")
HEALED = ("Normal", "DomainHealed", "PodGroup")
STUCK = ("Warning", "StuckPods", "PodGroup")


async def test_a_healthy_gang_gets_no_event() -> None:
    assert [] == await Desk().told(NOW)


async def test_a_gang_gets_an_event_when_it_is_degraded_and_when_it_is_whole_again() -> None:
    desk = Desk()
    desk.gang.fails(1)

    assert [DEGRADED] == await desk.told(LATER)
    assert [DEGRADED] == await desk.told(LATER + 1)
    desk.gang.heals(1)
    assert [DEGRADED, HEALED] == sorted(await desk.told(LATER + 2), reverse=True)


async def test_pods_that_are_stuck_are_named_once_they_should_be_gone() -> None:
    desk = Desk()
    desk.gang.fails(1)
    desk.gang.deletes(1, gone_by=LATER + 5)

    assert LATER + 5 == desk.look(LATER)
    assert STUCK not in await desk.told(LATER + 4)
    assert STUCK in await desk.told(LATER + 5)
    (note,) = [e["note"] for e in desk.api.cluster.all(EVENTS) if e["reason"] == "StuckPods"]
    assert "a-1 on n1" in note


async def test_pods_are_stuck_also_when_others_have_taken_their_place() -> None:
    desk = Desk()
    desk.gang.fails(1)
    desk.gang.deletes(1, gone_by=LATER)
    desk.gang.joins(1, "n4")

    assert [STUCK] == await desk.told(LATER)


async def test_a_gang_that_is_forgotten_gets_the_event_again() -> None:
    desk = Desk()
    desk.gang.fails(1)
    await desk.told(LATER)

    desk.degraded_events.forget(KEY)
    desk.gang.heals(1)

    assert [DEGRADED] == await desk.told(LATER + 1)


async def test_gangs_that_are_gone_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "MOST_GONE", 0)
    desk = Desk()
    desk.gang.fails(1)
    desk.gang.deletes(1, gone_by=LATER)
    await desk.told(LATER)
    cache, kept = desk.gang.cache, desk.degraded_events
    writer = parts.status_writer(desk.api, cache, clock=lambda: LATER)
    writer._degraded = kept

    await writer.flush()
    assert (1, 1) == (len(kept._reported), len(kept._stuck))
    cache_feeding.delete_gang_specs(cache, POD_GROUPS.group, "uid-a")
    for number in range(SIZE):
        desk.gang.gone(number)
    await writer.flush()

    assert (0, 0) == (len(kept._reported), len(kept._stuck))
