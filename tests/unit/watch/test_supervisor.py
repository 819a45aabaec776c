"""A watch without a sign of life is restarted, once it is known that this can help."""

import asyncio
from collections.abc import Callable

import anyio
import pytest
import structlog

from gang_scheduler.watch import synced
from gang_scheduler.watch.supervisor import Tried, WatchDeadError, WatchSupervisor
from support.metric_values import growing

pytestmark = pytest.mark.looptime

KIND = "toys"
BOOKMARKS = 60.0


class World:
    """Watches that give signs of life, or none, and what a supervisor makes of that."""

    def __init__(self, *, tried: Tried = Tried.ANSWERED) -> None:
        self.tried = tried
        self.tries: list[str] = []
        self.begun: list[float] = []
        self.signs = {KIND: 0.0}
        self.listed = float("-inf")
        self.helps: Callable[[], bool] = lambda: True
        self._loop = asyncio.get_running_loop()
        self.supervisor = WatchSupervisor(
            *(self._try, self._begin_anew),
            ages=self._ages,
            idle=self._idle,
            clock=self._loop.time,
        )

    def sign(self, kind: str = KIND) -> None:
        """Let a watch give a sign of life."""
        self.signs[kind] = self._loop.time()

    async def go_on(self, seconds: float) -> None:
        """Let the supervisor look for so long."""
        with anyio.move_on_after(seconds):
            await self.supervisor.run()

    async def _try(self, kind: str) -> Tried:
        await asyncio.sleep(0.1)
        self.tries.append(kind)
        return self.tried

    def _begin_anew(self, kind: str) -> None:
        self.begun.append(self._loop.time())
        if self.helps():
            self.sign(kind)

    def _idle(self) -> dict[str, float]:
        since_list = self._loop.time() - self.listed
        return {kind: min(age, since_list) for kind, age in self._ages().items()}

    def _ages(self) -> dict[str, float]:
        return {kind: self._loop.time() - at for kind, at in self.signs.items()}


async def test_a_silent_watch_is_begun_again_counted_and_logged() -> None:
    world = World()
    with structlog.testing.capture_logs() as logs, growing("pgs_watches_begun_anew_total") as grown:
        await world.go_on(100)

    (at,) = world.begun
    assert 60 <= at < 75
    assert {(KIND,): 1} == grown
    assert ["watch_begun_anew"] == [each["event"] for each in logs]


async def test_a_quiet_kind_is_left_alone() -> None:
    world = World()
    for _ in range(20):
        await world.go_on(BOOKMARKS - 1)
        world.sign()

    assert [] == world.begun
    assert "" == world.supervisor.problem()


async def test_what_comes_back_by_itself_is_left_alone() -> None:
    world = World(tried=Tried.LOST)
    await world.go_on(600)
    world.tried = Tried.ANSWERED
    # A source has tried again before the second look that finds the API server back.
    await world.go_on(5.5)
    world.sign()
    await world.go_on(50)

    assert [] == world.begun


@pytest.mark.parametrize("tried", [Tried.LOST, Tried.REFUSED])
async def test_where_the_api_server_is_at_fault_nothing_is_done_but_it_is_said(
    tried: Tried,
) -> None:
    world = World(tried=tried)
    world.signs["others"] = 10.0
    await world.go_on(300)

    assert [] == world.begun
    assert "the watch of toys has received nothing for 300 s (and those of 1 more kinds)" == (
        world.supervisor.problem()
    )


async def test_while_no_answer_comes_one_kind_is_tried_and_not_all() -> None:
    world = World(tried=Tried.LOST)
    world.signs |= dict.fromkeys("abc", 1.0)
    await world.go_on(300)

    assert {KIND} == set(world.tries)


async def test_a_kind_that_there_is_no_more_has_no_watch() -> None:
    synced.seen(KIND)
    world = World(tried=Tried.ABSENT)
    await world.go_on(70)

    assert KIND not in synced.ages()
    assert [] == world.begun


async def test_a_watch_that_stays_silent_is_dead() -> None:
    world = World()
    world.helps = lambda: False
    with pytest.raises(WatchDeadError, match="watch of toys has received nothing for 13"):
        await world.go_on(1000)

    assert 1 == len(world.begun)
    assert "toys" in world.supervisor.problem()


async def test_a_list_that_takes_long_is_left_alone_and_is_no_watch() -> None:
    world = World()
    for _ in range(10):
        world.listed = asyncio.get_running_loop().time()
        await world.go_on(30)

    assert [] == world.begun
    assert "the watch of toys has received nothing for 300 s" == world.supervisor.problem()


async def test_a_list_that_comes_with_a_new_beginning_hides_no_dead_watch() -> None:
    world = World()

    def list_alone() -> bool:
        world.listed = asyncio.get_running_loop().time()
        return False

    world.helps = list_alone
    with pytest.raises(WatchDeadError):
        await world.go_on(200)

    assert 1 == len(world.begun)


async def test_a_watch_that_dies_again_and_again_is_dead() -> None:
    world = World()
    with pytest.raises(WatchDeadError):
        await world.go_on(1000)

    assert 2 == len(world.begun)


async def test_a_watch_that_dies_now_and_then_is_begun_anew_each_time() -> None:
    world = World()
    for _ in range(5):
        for _ in range(15):
            world.sign()
            await world.go_on(50)
        await world.go_on(80)

    assert 5 == len(world.begun)


async def test_an_outage_that_is_over_ends_nothing() -> None:
    world = World(tried=Tried.LOST)
    await world.go_on(1000)
    world.tried = Tried.ANSWERED
    await world.go_on(20)

    assert 1 == len(world.begun)
    assert "" == world.supervisor.problem()
