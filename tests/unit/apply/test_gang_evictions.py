"""A gang whose domain cannot hold it is evicted whole once its schedule timeout is over."""

from collections.abc import Sequence

import pytest

from gang_scheduler.apply.gang_evictions import DegradedEvictions
from gang_scheduler.client.writing import Writes
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
    """A gang that lost a member, and others took the room. `now` is in seconds.

    `told_at` is when an earlier process told the member that waits that it has no room.
    """

    def __init__(self, *, now: int = LATER, told_at: int = 0, marked: Sequence[int] = ()) -> None:
        self.gang = DegradedGang(free=0)
        self.gang.fails(1)
        self.gang.gone(1)
        self.gang.waits(1, told_at)
        for number in marked:
            self.gang.marks(number)
        self.gang.decide(now)
        self.now = now
        self.leads = True
        self.evictor = Evicts()
        self.evictions = DegradedEvictions(
            self.gang.cache,
            self.evictor,  # type: ignore[arg-type]  # Only submit is asked of it.
            writes=Writes(lambda: self.leads),
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

    assert TIMEOUT == desk.gang.cache.gang_queue.deadlines.timeout_of(info)
    assert [] == desk.victims(LATER + TIMEOUT - seconds)


# Restarts.


def test_the_time_goes_on_that_an_earlier_process_has_begun() -> None:
    desk = Desk(now=LATER + TIMEOUT // 2, told_at=LATER)

    assert [] == desk.victims(LATER + TIMEOUT - 1)
    assert 3 == len(desk.victims(LATER + TIMEOUT))


def test_a_member_that_waited_for_another_reason_has_the_whole_timeout() -> None:
    desk = Desk(now=LATER + TIMEOUT // 2)

    assert [] == desk.victims(LATER + TIMEOUT)
    assert 3 == len(desk.victims(LATER + TIMEOUT // 2 + TIMEOUT))


def test_an_eviction_that_was_begun_is_finished_at_once_whatever_room_there_is() -> None:
    desk = Desk(marked=[0, 2])
    desk.gang.cache.delete_pod("uid-a-0")

    assert ["a-2", "a-3"] == desk.victims(LATER + 1)
    assert ["a-2", "a-3"] == desk.victims(LATER + 2)


def test_only_the_leader_finishes_it() -> None:
    desk = Desk(marked=[0])
    desk.leads = False
    assert [] == desk.victims(LATER + 1)

    desk.leads = True
    assert 3 == len(desk.victims(LATER + 2))
