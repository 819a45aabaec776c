"""The operator's decisions in virtual time, against a second simulator that shares nothing."""

from collections.abc import Sequence
from random import Random

import pytest

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
