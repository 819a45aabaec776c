"""The operator's decisions in virtual time, against a second simulator that shares nothing."""

from collections.abc import Sequence
from random import Random

import pytest

from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.replay.by_operator import Operator
from support.replays import played

NODES = 6
Row = tuple[int, int, int]
"""The submission, the duration and the nodes of a job."""


def jobs(seed: int) -> list[Row]:
    """Return random jobs of which no two are submitted at once."""
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    moments = sorted(dice.sample(range(200), 14))
    return [(at, dice.randrange(1, 60), dice.randrange(2, NODES + 1)) for at in moments]


def first_come_first_served(rows: Sequence[Row]) -> list[int]:
    """Return when jobs start that start in their order, each as soon as it has its nodes."""
    ends: list[tuple[int, int]] = []
    starts: list[int] = []
    now = 0
    for submitted, lasts, nodes in rows:
        now = max(now, submitted)
        while NODES - sum(size for end, size in ends if end > now) < nodes:
            now = min(end for end, _ in ends if end > now)
        starts.append(now)
        ends.append((now + lasts, nodes))
    return starts


@pytest.mark.parametrize("seed", range(10))
def test_a_strict_queue_starts_jobs_as_a_second_simulator_does(seed: int) -> None:
    rows = jobs(seed)
    begin = rows[0][0]
    found = played(
        [f"j{place:02},{at},{lasts},{nodes},1,q" for place, (at, lasts, nodes) in enumerate(rows)],
        header="name,submit,duration,pods,gpu,queue",
        nodes=f"{NODES}x1",
        policy="strict-fifo",
    )

    starts = [found.runs(f"j{place:02}")[0][0] + begin for place in range(len(rows))]
    assert first_come_first_served(rows) == starts


@pytest.mark.parametrize("seed", range(4))
def test_the_short_way_to_a_plan_leads_to_the_same_plan(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    rows = [
        f"j{place:02},{dice.randrange(1500)},{dice.randrange(1, 200)},{dice.choice([1, 1, 2])},"
        f"{dice.choice([1, 2, 4])},{dice.choice([0, 0, 5])},q{dice.randrange(3)}"
        for place in range(40)
    ]
    header = "name,submit,duration,pods,gpu,priority,queue"
    ways: list[bool] = []
    looks = Operator._all_may_fit

    def noted(operator: Operator, snapshot: Snapshot) -> bool:
        ways.append(looks(operator, snapshot))
        return ways[-1]

    monkeypatch.setattr(Operator, "_all_may_fit", noted)
    short = played(rows, header=header).replay.log
    monkeypatch.setattr(Operator, "_all_may_fit", lambda *_: False)

    assert {True, False} == set(ways)
    assert played(rows, header=header).replay.log == short
