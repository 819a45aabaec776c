"""A scheduler that is killed once it has nominated, and before any pod is told that it will go.

Nothing holds the next one to the victims of that plan. It may choose others, by what is there then;
but pods leave for one plan alone, and no nomination stays that no plan stands behind.
"""

from collections.abc import Callable

import pytest

from gang_scheduler.api.kinds import PODS
from integration.support.victims_and_preemptor import (
    MEMBERS,
    NAMESPACE,
    VICTIMS,
    is_bound,
    workloads,
)
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

SETTLED_SECONDS = 10


def nothing(_: FakeWorkloads) -> None:
    """Leave the cluster as it is."""


def cheaper_elsewhere(made: FakeWorkloads) -> None:
    """Let pods be on the other node that cost less than those of the plan."""
    end(made, "mid")
    made.gang("cheap", VICTIMS, priority=0, node="n2")


def dearer_there(made: FakeWorkloads) -> None:
    """Let pods be on the nominated node that cost more than those on the other one."""
    end(made, "low")
    made.gang("dear", VICTIMS, priority=7, node="n1")


def room_elsewhere(made: FakeWorkloads) -> None:
    """Let the other node be free."""
    end(made, "mid")


def none_may_go(made: FakeWorkloads) -> None:
    """Let only pods be there that are worth more than the preemptor."""
    for gang, node in (("low", "n1"), ("mid", "n2")):
        end(made, gang)
        made.gang(f"above{gang}", VICTIMS, priority=20, node=node)


def end(made: FakeWorkloads, gang: str) -> None:
    """Let the pods of a gang be gone."""
    for name in made.pods():
        if name.startswith(f"{gang}-"):
            made.cluster.delete(PODS, NAMESPACE, name)


@pytest.mark.parametrize("written", range(1, MEMBERS + 1))
@pytest.mark.parametrize(
    ("happens", "leave"),
    [
        (nothing, "low"),
        (cheaper_elsewhere, "cheap"),
        (dearer_there, "mid"),
        (room_elsewhere, ""),
    ],
)
async def test_pods_leave_for_one_plan_alone(
    happens: Callable[[FakeWorkloads], None], leave: str, written: int
) -> None:
    made = await killed_with_nominations(written)
    happens(made)
    before = made.pods().keys()

    async with SchedulerProcess(made) as second:
        await second.until(lambda: is_bound(made))
        await ends_without_nominations(made, second)

    gone = before - made.pods().keys()
    assert {f"{leave}-{number}" for number in range(VICTIMS if leave else 0)} == gone
    assert [] == made.marked()


@pytest.mark.parametrize("written", range(1, MEMBERS + 1))
async def test_nominations_end_that_no_plan_stands_behind(written: int) -> None:
    made = await killed_with_nominations(written)
    none_may_go(made)
    before = made.pods().keys()

    async with SchedulerProcess(made) as second:
        await ends_without_nominations(made, second)

    assert before == made.pods().keys()
    assert [] == made.marked()
    assert [""] * MEMBERS == made.nodes("high")


async def killed_with_nominations(written: int) -> FakeWorkloads:
    """Return what a scheduler leaves that is killed after so many writes, all nominations."""
    made = workloads()
    async with SchedulerProcess(made) as first:
        first.hang_from(written - 1, after=True)
        await first.until(lambda: len(made.nominated()) == written)
        assert {"nominate"} == {method for method, _ in first.writes()}
    assert [] == made.marked()
    return made


async def ends_without_nominations(made: FakeWorkloads, process: SchedulerProcess) -> None:
    """Wait until no pod is nominated, and see that it stays so."""
    await process.until(lambda: not made.nominated())
    with pytest.raises(TimeoutError):
        await process.until(lambda: bool(made.nominated()), SETTLED_SECONDS)
