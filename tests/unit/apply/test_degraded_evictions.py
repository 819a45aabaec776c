"""A gang whose domain cannot hold it is evicted whole once its schedule timeout is over."""

import pytest

from gang_scheduler.apply.degraded_evictions import DegradedEvictions
from gang_scheduler.model.plan import Preemption
from support.degraded_gang import KEY, LATER, DegradedGang

TIMEOUT = 600


class Evicts:
    """Stands for the evictor: keeps what it is handed."""

    def __init__(self) -> None:
        self.submitted: list[Preemption] = []

    def submit(self, preemption: Preemption) -> None:
        """Keep it."""
        self.submitted.append(preemption)


class Desk:
    """A gang that lost a member, and others took the room. `now` is in seconds."""

    def __init__(self) -> None:
        self.gang = DegradedGang(free=0)
        self.gang.fails(1)
        self.gang.gone(1)
        self.gang.waits(1)
        self.gang.decide(LATER)
        self.now = LATER
        self.leads = True
        self.evictor = Evicts()
        self.evictions = DegradedEvictions(
            self.gang.cache,
            self.evictor,  # type: ignore[arg-type]  # Only submit is asked of it.
            may_write=lambda: self.leads,
            clock=lambda: self.now,
        )

    def victims(self, now: int) -> list[str]:
        """Return the pods that are to be evicted until a moment."""
        self.now = now
        self.evictions.look()
        return [each.pod.name for made in self.evictor.submitted for each in made.victims]


def test_all_members_go_after_the_schedule_timeout() -> None:
    desk = Desk()

    assert [] == desk.victims(LATER + TIMEOUT - 1)
    assert ["a-0", "a-2", "a-3"] == desk.victims(LATER + TIMEOUT)
    (made,) = desk.evictor.submitted
    assert made.to_start_anew
    assert ((), [KEY]) == (made.nominations, [gang.key for gang in made.gangs])


def test_they_go_once() -> None:
    desk = Desk()
    desk.victims(LATER + TIMEOUT)

    assert 3 == len(desk.victims(LATER + TIMEOUT + 1))


def test_a_gang_with_room_by_then_stays() -> None:
    desk = Desk()
    desk.gang.joins(1, "n1")
    desk.gang.heals(1)

    assert [] == desk.victims(LATER + TIMEOUT)


def test_members_that_wait_for_none_in_their_place_stay() -> None:
    desk = Desk()
    desk.gang.cache.delete_pod("new-1")

    assert [] == desk.victims(LATER + TIMEOUT)


def test_only_the_leader_evicts() -> None:
    desk = Desk()
    desk.leads = False

    assert [] == desk.victims(LATER + TIMEOUT)


@pytest.mark.parametrize("seconds", [1, 100])
def test_the_time_is_that_of_the_gang(seconds: int) -> None:
    desk = Desk()
    info = desk.gang.cache.gang_queue.infos[KEY]

    assert TIMEOUT == desk.gang.cache.gang_queue.timeout_of(info)
    assert [] == desk.victims(LATER + TIMEOUT - seconds)
