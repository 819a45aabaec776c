"""What is told of an event loop that is held up, and what is none: a stop of the whole process."""

import asyncio
import signal
import threading
import time
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from gang_scheduler import current_work
from gang_scheduler.current_work import DecisionCutError, DecisionTimes, Work
from gang_scheduler.event_loops import SecondLoop
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.report.events import Backpressure
from gang_scheduler.scheduler import eligibility
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.gangs.set_aside import Costly
from gang_scheduler.watchdog import CUT_SIGNAL, LOOK_SECONDS, Watchdog, cpu_clock_of
from support.builders import gang, gang_key, group, node, snapshot
from support.metric_values import growing

Logs = list[MutableMapping[str, Any]]


class Steps:
    """A cycle that decides one gang."""

    deciding: GangGroup | None = group(gang("a"))


class Clocks:
    """The time, and the CPU time of the main thread, as they are set."""

    def __init__(self) -> None:
        self.now = self.cpu = 100.0
        self.times = DecisionTimes()
        self.told: list[Sequence[Costly]] = []
        self.watchdog = Watchdog(
            *(self.times, self.told.append), clock=lambda: self.now, cpu_clock=lambda: self.cpu
        )

    def look(self, times: int = 1, *, every: float = LOOK_SECONDS, busy: float = 0.0) -> None:
        """Let time pass and look, again and again, while the loop has no turn."""
        for _ in range(times):
            self.now += every
            self.cpu += busy
            self.watchdog.look()


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as entries:
        yield entries


def held(logs: Logs) -> Logs:
    return [each for each in logs if each["event"] == "loop_held"]


async def test_a_loop_that_goes_round_is_not_reported() -> None:
    clocks = Clocks()
    with capture_logs() as logs:
        for _ in range(100):
            clocks.look(busy=LOOK_SECONDS)
            await asyncio.sleep(0)

    assert [] == logs


async def test_a_loop_that_computes_for_two_seconds_is_reported_once(logs: Logs) -> None:
    clocks = Clocks()
    with growing("pgs_loop_held_total") as grown:
        clocks.look(19, busy=LOOK_SECONDS)
        assert [] == held(logs)
        clocks.look(50, busy=LOOK_SECONDS)
    assert {("other",): 1} == grown

    (told,) = held(logs)
    assert "other" == told["work"]
    assert [pytest.approx(2, abs=0.2)] * 2 == [told["seconds"], told["cpu_seconds"]]


async def test_a_loop_that_waits_for_the_system_is_reported_too(logs: Logs) -> None:
    Clocks().look(30)

    assert [0.0] == [each["cpu_seconds"] for each in held(logs)]


async def test_a_c_function_that_keeps_the_interpreter_is_logged_after_it(logs: Logs) -> None:
    clocks = Clocks()
    clocks.look()
    clocks.look(every=5.0, busy=4.9)

    assert [4.9] == [each["seconds"] for each in held(logs)]


@pytest.mark.parametrize("seconds", [5.0, 60.0])
async def test_a_stop_of_the_process_is_not_reported(logs: Logs, seconds: float) -> None:
    clocks = Clocks()
    clocks.look(3)
    clocks.look(every=seconds)
    clocks.look(3)

    assert [] == logs


async def test_the_end_of_a_hold_is_reported_with_how_long_it_was(logs: Logs) -> None:
    clocks = Clocks()
    clocks.look(61, busy=LOOK_SECONDS)
    await asyncio.sleep(0)
    clocks.look(2)

    assert [("loop_free", 6.0)] == [(it["event"], it["seconds"]) for it in logs[1:]]


async def test_in_a_cycle_the_gang_that_is_being_decided_is_logged(logs: Logs) -> None:
    clocks = Clocks()
    clocks.times.begin(Steps())
    clocks.look(25, busy=LOOK_SECONDS)

    (told,) = held(logs)
    assert ("cycle", "default/a") == (told["work"], told["about"])
    ((key, seconds, number),) = clocks.told[-1]
    assert (gang_key("a"), 1) == (key, number)
    assert pytest.approx(2.5) == seconds
    assert [] == clocks.told[18]
    assert [pytest.approx(2.5)] == list(clocks.times.end().values())


async def test_the_stack_says_what_kind_of_work_it_is(logs: Logs) -> None:
    clocks = Clocks()
    current_work.note(Work.REPORT, "status of ns/a")

    def look() -> bool:
        clocks.look(25)
        return False

    # It asks from `report/`, as what holds the loop up could.
    await Backpressure(look).wait(0)

    (told,) = held(logs)
    assert ("report", "status of ns/a") == (told["work"], told["about"])


async def test_it_looks_from_another_thread_while_the_loop_is_held_up(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gang_scheduler.watchdog.HELD_SECONDS", 0.3)
    # On a busy machine the loop may get a few milliseconds of CPU, which are rounded to none.
    clock = cpu_clock_of(threading.get_ident())
    watchdog = Watchdog(DecisionTimes(), lambda _: None, cpu_clock=lambda: 1000 * clock())

    def hold_the_loop_up() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and not held(logs):
            pass

    async with SecondLoop() as second_loop:
        looking = asyncio.create_task(second_loop.run(watchdog.run))
        await asyncio.sleep(0.05)
        hold_the_loop_up()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)

    (told,) = held(logs)
    assert any("hold_the_loop_up" in each for each in told["frames"])
    assert told["cpu_seconds"] > 0


async def test_a_decision_without_end_is_cut_and_all_others_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(current_work, "CUT_SECONDS", 0.2)
    check, times = eligibility.check, DecisionTimes()

    def endlessly(of: GangGroup, *others: Any) -> Any:
        until = time.monotonic() + 60 * (of.name == "default/b")
        while time.monotonic() < until:
            pass
        return check(of, *others)

    monkeypatch.setattr(eligibility, "check", endlessly)
    watchdog = Watchdog(times, lambda _: None)
    before = signal.signal(CUT_SIGNAL, lambda *_: times.cut())
    try:
        async with SecondLoop() as second_loop:
            looking = asyncio.create_task(second_loop.run(watchdog.run))
            await asyncio.sleep(0.05)
            waiting = [gang(name, cpu=1) for name in "abc"]
            plan = schedule(
                snapshot([node("n1", cpu=4)], waiting), PROFILES["binpack"], begun=times.begin
            )
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
    finally:
        signal.signal(CUT_SIGNAL, before)

    assert ["a", "c"] == sorted(each.gang.key.name for each in plan.placed)
    (failure,) = plan.failures
    assert ("default/b", DecisionCutError) == (failure.group.name, type(failure.error))


def test_the_cpu_clock_is_that_of_the_thread() -> None:
    clock = cpu_clock_of(threading.get_ident())
    before = clock()
    while clock() - before < 0.01:
        pass
    other = threading.Thread(target=lambda: sum(range(1_000_000)))
    between = clock()
    other.start()
    other.join()

    assert clock() - between < 0.01
