"""An error of ours that one gang meets, wherever that is, stops no other, and loses nothing."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from gang_scheduler import internal_errors
from gang_scheduler.apply.binder import Binder
from gang_scheduler.apply.evictor import Evictor, Stages
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.preemption_run import PreemptionRun
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.scheduler import eligibility
from gang_scheduler.scheduler.preemption.evaluator import PreemptionEvaluator
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.grouping import Grouping
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

STEPS_OF_BINDING = [
    (GangInfo, "as_gang"),
    (GangInfo, "settle"),
    (Grouping, "regroup"),
    (Grouping, "_as_group"),
    (eligibility, "check"),
    (Decisions, "placed"),
    (Evictor, "placed"),
    (Binder, "submit"),
    (Binder, "_bind"),
    (Binder, "_settle"),
    (Decisions, "bound"),
    (GangEvents, "bound"),
]
STEPS_OF_PREEMPTION = [
    (PreemptionEvaluator, "attempt"),
    (Evictor, "submit"),
    (Decisions, "preempting"),
    (Decisions, "refused"),
    (GangEvents, "_waits"),
    (GangEvents, "_preempting"),
    (GangEvents, "preempted"),
    (Stages, "nominations"),
    (Stages, "marks"),
    (Evictor, "_is_over"),
]


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[MutableMapping[str, Any]]]:
    internal_errors.forget()
    # Not written: to render a traceback reads files.
    with capture_logs() as entries:
        yield entries
    internal_errors.forget()


def concerns_bad(value: Any) -> bool:
    """Return whether something is the bad gang, or of it."""
    if isinstance(value, GangKey | str):
        return getattr(value, "name", "") == "bad" or str(value).startswith("uid-bad-")
    if isinstance(value, list | set | tuple):
        return any(map(concerns_bad, value))
    if isinstance(value, PreemptionRun):
        return concerns_bad(list(value.preemption.gangs))
    about = [getattr(value, name, None) for name in ("key", "gang", "gangs", "of")]
    return any(concerns_bad(each) for each in about if each)


class Plant:
    """Errors in a method, for the gang `bad` alone, so many times or until they are pulled up."""

    def __init__(
        self, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch, times: int = 1_000_000
    ) -> None:
        self.met = 0
        self.is_there = True
        real = getattr(owner, name)

        def planted(*args: Any, **kwargs: Any) -> Any:
            args = tuple([*each] if hasattr(each, "__next__") else each for each in args)
            if self.is_there and any(map(concerns_bad, args)):
                self.met += 1
                self.is_there = self.met < times
                raise ZeroDivisionError("planted")
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, planted)


@pytest.mark.parametrize(("owner", "name"), STEPS_OF_BINDING)
async def test_an_error_on_the_way_to_a_node_stops_no_other_gang(
    owner: Any,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    logs: list[MutableMapping[str, Any]],
) -> None:
    workloads = FakeWorkloads("n1", "n2")
    plant = Plant(owner, name, monkeypatch)
    async with SchedulerProcess(workloads) as process:
        workloads.gang("bad", 2, priority=5)
        workloads.gang("good", 2, priority=1)
        await process.until(lambda: all(workloads.nodes("good")) and plant.met > 0)
        plant.is_there = False
        workloads.pod("bad-2", gang="bad", priority=5)
        await process.until(lambda: all(workloads.nodes("bad")))

    assert {"internal_error"} == {each["event"] for each in logs if each["log_level"] == "error"}
    assert "ZeroDivisionError: planted" in internal_errors.problem()


@pytest.mark.parametrize(("owner", "name"), STEPS_OF_PREEMPTION)
async def test_an_error_while_room_is_made_stops_no_other_gang(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workloads = FakeWorkloads("n1", "n2")
    workloads.gang("low", 4, priority=1, node="n1")
    workloads.gang("lower", 4, priority=0, node="n2")
    # Not more often: three rounds are as many as a gang has in ten minutes.
    plant = Plant(owner, name, monkeypatch, times=1)
    async with SchedulerProcess(workloads) as process:
        workloads.gang("bad", 4, priority=8)
        workloads.gang("good", 4, priority=9)
        await process.until(lambda: all(workloads.nodes("good")) and plant.met > 0)
        await process.until(lambda: all(workloads.nodes("bad")))

    assert [] == [name for name in workloads.pods() if name.startswith("low")]


async def test_a_cycle_that_fails_wholly_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    workloads = FakeWorkloads("n1")
    failing = [True]
    real = LostNominations.note

    def planted(*args: Any) -> Any:
        if failing:
            raise ZeroDivisionError("planted")
        return real(*args)

    monkeypatch.setattr(LostNominations, "note", planted)
    async with SchedulerProcess(workloads) as process:
        workloads.gang("a", 2, priority=5)
        await process.until(lambda: bool(internal_errors.problem()))
        failing.clear()
        await process.until(lambda: all(workloads.nodes("a")))

    assert "internal error, cycle all gangs: ZeroDivisionError" in internal_errors.problem()


async def test_an_error_is_logged_with_its_traceback_once(
    logs: list[MutableMapping[str, Any]],
) -> None:
    for _ in range(3):
        with internal_errors.confined("decide", "default/a"):
            raise KeyError("planted")

    (entry,) = logs
    assert ("internal_error", "default/a") == (entry["event"], entry["about"])
    assert isinstance(entry["exc_info"], KeyError)
