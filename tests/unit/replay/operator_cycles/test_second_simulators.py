"""Replays against FIFO, EASY backfill and queueing theory that share nothing with them.

A job has pods of one GPU, on nodes of one GPU: it needs so many nodes, whichever these are.
"""

import heapq
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from gang_scheduler.replay.scenarios import Clusters, Given
from support.replays import Played, trace
from support.thoroughness import cases

NODES = 6
SETTINGS = "reservations: 1\nreservationAfterSeconds: 0\npreemption: false\n"
HEADER = "name,submit,duration,pods,gpu,queue,limit"
TRACES = 10
"""How many traces are replayed with each strategy; a thorough run has two hundred."""


class Row(NamedTuple):
    """The submission, the duration and the nodes of a job."""

    at: int
    lasts: int
    nodes: int


def jobs(seed: int) -> list[Row]:
    """Return random jobs of which no two are submitted at once."""
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    moments = sorted(dice.sample(range(200), 14))
    return [Row(at, dice.randrange(1, 60), dice.randrange(1, NODES + 1)) for at in moments]


def starts_of(rows: Sequence[Row], policy: str, nodes: int = NODES) -> list[int]:
    """Return when jobs start in a replay, in the time of the rows."""
    given = trace(
        *(
            f"j{place:06},{row.at},{row.lasts},{row.nodes},1,q,{row.lasts}"
            for place, row in enumerate(rows)
        ),
        header=HEADER,
    )
    wanted = Given(nodes=f"{nodes}x1", policies=[policy])
    found = Played(given, Clusters(wanted).scenarios(given)[0])
    return [found.runs(f"j{place:06}")[0][0] + rows[0].at for place in range(len(rows))]


class Second:
    """The second simulator. `easy`: later jobs may pass the first one that does not delay."""

    def __init__(self, rows: Sequence[Row], nodes: int, *, easy: bool) -> None:
        self.rows, self.free, self.easy = rows, nodes, easy
        self.starts: dict[int, int] = {}
        self._running: list[tuple[int, int]] = []
        self._queue: list[int] = []

    def run(self) -> list[int]:
        """Return when the jobs start."""
        moments = [row.at for row in self.rows]
        heapq.heapify(moments)
        come = 0
        while moments:
            now = heapq.heappop(moments)
            while self._running and self._running[0][0] <= now:
                self.free += heapq.heappop(self._running)[1]
            while come < len(self.rows) and self.rows[come].at <= now:
                self._queue.append(come)
                come += 1
            for place in self._chosen(now):
                heapq.heappush(moments, now + self.rows[place].lasts)
        return [self.starts[place] for place in range(len(self.rows))]

    def _chosen(self, now: int) -> list[int]:
        started = []
        while self._queue and self.rows[self._queue[0]].nodes <= self.free:
            started.append(self._start(self._queue.pop(0), now))
        if self._queue and self.easy:
            shadow, spare = self._shadow(self.rows[self._queue[0]].nodes)
            for place in list(self._queue[1:]):
                row = self.rows[place]
                ends = now + row.lasts <= shadow
                if row.nodes <= self.free and (ends or row.nodes <= spare):
                    spare -= 0 if ends else row.nodes
                    self._queue.remove(place)
                    started.append(self._start(place, now))
        return started

    def _shadow(self, nodes: int) -> tuple[int, int]:
        """Return when the first job can start, and how many nodes are free beside it then."""
        for end, _ in sorted(self._running):
            if self._free_at(end) >= nodes:
                return end, self._free_at(end) - nodes
        raise AssertionError("a job needs more nodes than there are")

    def _free_at(self, moment: int) -> int:
        return self.free + sum(size for end, size in self._running if end <= moment)

    def _start(self, place: int, now: int) -> int:
        row = self.rows[place]
        self.free -= row.nodes
        self.starts[place] = now
        heapq.heappush(self._running, (now + row.lasts, row.nodes))
        return place


@pytest.mark.parametrize("seed", range(cases(TRACES, thorough=200)))
def test_a_strict_queue_starts_jobs_as_a_second_simulator_does(seed: int) -> None:
    rows = jobs(seed)

    assert Second(rows, NODES, easy=False).run() == starts_of(rows, "strict-fifo")


@pytest.mark.parametrize("seed", range(cases(TRACES, thorough=200)))
def test_promises_are_those_of_easy_backfill(seed: int, tmp_path: Path) -> None:
    rows = jobs(seed)
    policy = tmp_path / "easy.yaml"
    policy.write_text(SETTINGS)

    assert Second(rows, NODES, easy=True).run() == starts_of(rows, f"easy={policy}")


def test_single_pods_wait_as_long_as_erlang_says(tmp_path: Path) -> None:
    servers, load, mean = 4, 0.6, 100_000
    number = cases(300, thorough=200_000)
    dice = Random(5)  # noqa: S311 - the same seed, the same jobs.
    at, rows = 0.0, []
    for _ in range(number):
        at += dice.expovariate(load * servers / mean)
        rows.append(Row(int(at), max(1, round(dice.expovariate(1 / mean))), 1))
    policy = tmp_path / "strict.yaml"
    policy.write_text("queueStrategy: StrictFIFO\npreemption: false\nreservations: 0\n")
    found = starts_of(rows, f"strict={policy}", servers)

    assert Second(rows, servers, easy=False).run() == found
    waits = [start - row.at for start, row in zip(found, rows, strict=True)]
    # Waits of one busy time are alike: of few jobs the mean is far from exact.
    close = 0.03 if number >= 200_000 else 0.5
    assert erlang(servers, load) * mean == pytest.approx(sum(waits) / number, rel=close)


def erlang(servers: int, load: float) -> float:
    """Return the mean wait of M/M/c, in mean durations."""
    offered = servers * load
    last = offered**servers / math.factorial(servers) / (1 - load)
    waiting = last / (sum(offered**k / math.factorial(k) for k in range(servers)) + last)
    return waiting / (servers * (1 - load))
