"""`python -m tools.bench.starvation`: one gang of 150 nodes among a stream of small jobs.

Simulated time, whole cycles through the cache, no API server. Small jobs of 1 to 8 of 200 nodes
come as fast as they can be served, and run from seconds to hours; what they declare is up to twice
as long. After two hours comes the big gang. The same stream three times:

| mode        | what                                                                     |
|-------------|--------------------------------------------------------------------------|
| passed      | no reservation: whatever fits starts                                      |
| blocked     | the queue is StrictFIFO: nothing starts before the big gang               |
| backfilled  | a reservation: what ends in time, or fits beside the big gang, starts     |
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from matplotlib import style
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from gang_scheduler.model.api_words import Strategy
from gang_scheduler.settings.policy import Policy
from support.builders import node
from support.churn import Churn, Job
from support.queue_builders import our_queue
from tools.bench import charts

NODES: Final = 200
BIG: Final = Job("big", 7200, 150, 8, 3600, 3600)
SHORTEST, LONGEST = 20, 4 * 3600
MEAN_NODES: Final = 3.0
LOAD: Final = 1.0
"""How much small jobs come, by what the cluster can serve."""
HORIZON: Final = 12 * 3600
MODES: Final = ("passed", "blocked", "backfilled")
COLOURS: Final = {"passed": "#e69f00", "blocked": "#d55e00", "backfilled": "#0072b2"}


@dataclass(frozen=True)
class Outcome:
    """What came of a stream. Times in seconds; `busy` are (time, nodes in use) at each change."""

    mode: str
    started: int | None
    promised: int | None
    used: float
    jobs: int
    horizon: int
    busy: tuple[tuple[int, int], ...]

    @property
    def waited(self) -> int | None:
        """How long the big gang waited; None: it did not start."""
        return None if self.started is None else self.started - BIG.arrives


def stream(seed: int, horizon: int = HORIZON) -> Iterator[Job]:
    """Yield the small jobs of a seed."""
    dice = Random(seed)  # noqa: S311 - the same seed, the same stream.
    lasts = [_length(dice) for _ in range(2000)]
    gap = MEAN_NODES * sum(lasts) / len(lasts) / NODES / LOAD
    at = 0.0
    number = 0
    while at < horizon:
        at += dice.expovariate(1 / gap)
        runs = _length(dice)
        declared = int(runs * dice.uniform(1, 2)) + 1
        size = min(8, 1 + int(dice.expovariate(1 / (MEAN_NODES - 0.5))))
        yield Job(f"small-{number}", int(at), size, 8, runs, declared)
        number += 1


def measure(mode: str, jobs: list[Job], horizon: int = HORIZON, nodes: int = NODES) -> Outcome:
    """Return what comes of a stream in one mode."""
    strategy = Strategy.STRICT_FIFO if mode == "blocked" else Strategy.BEST_EFFORT_FIFO
    amount = nodes * 8000
    queues = [our_queue("root", amount), our_queue("batch", amount, strategy=strategy)]
    given = Policy(reservations=1 if mode == "backfilled" else 0)
    churn = Churn(given, [node(f"n{i}", cpu=8) for i in range(nodes)], queues)
    for job in (*jobs, BIG):
        churn.submit(job)
    busy: list[tuple[int, int]] = []
    promised = None
    while churn.now < horizon and (plan := churn.advance()) is not None:
        busy.append((churn.now, sum(job.pods for job in churn.running.values())))
        promised = promised or churn.promised(plan).get("big")
    until = min(churn.starts.get("big", horizon), horizon)
    return Outcome(
        *(mode, churn.starts.get("big"), promised, _used(busy, BIG.arrives, until, nodes)),
        jobs=len(churn.starts),
        horizon=horizon,
        busy=tuple(busy),
    )


def _length(dice: Random) -> int:
    """Return a run time: short ones are as frequent as long ones on a logarithmic scale."""
    return int(SHORTEST * (LONGEST / SHORTEST) ** dice.random())


def _used(busy: list[tuple[int, int]], since: int, until: int, nodes: int) -> float:
    """Return what part of the nodes was in use between two times."""
    total = 0
    for (at, number), (after, _) in zip(busy, [*busy[1:], (until, 0)], strict=True):
        total += number * max(0, min(after, until) - max(at, since))
    return total / nodes / max(1, until - since)


def rows(outcomes: list[Outcome]) -> Iterator[tuple[str, ...]]:
    """Yield what is shown of each mode."""
    for each in outcomes:
        never = f"more than {(each.horizon - BIG.arrives) / 3600:.0f} h"
        waited = never if each.waited is None else f"{each.waited / 3600:.2f} h"
        late = "-"
        if each.promised is not None and each.started is not None:
            late = f"{(each.started - each.promised) / 60:+.0f} min"
        yield each.mode, waited, late, f"{100 * each.used:.1f} %", f"{each.jobs - 1:,}"


def draw(outcomes: list[Outcome], path: Path) -> None:
    """Draw how many nodes are in use until the big gang starts."""
    with style.context(dict(charts.STYLE)):
        figure = Figure(figsize=(charts.INCHES, 3.2), layout="constrained")
        axes = figure.subplots()
        for each in outcomes:
            hours = [at / 3600 for at, _ in each.busy]
            number = [busy for _, busy in each.busy]
            axes.step(
                hours, number, where="post", color=COLOURS[each.mode], label=each.mode, linewidth=1
            )
            if each.started is not None:
                axes.axvline(each.started / 3600, color=COLOURS[each.mode], linestyle=":")
        axes.axvline(BIG.arrives / 3600, color="#555555", linestyle="--", linewidth=0.8)
        last = max(each.started or 0 for each in outcomes)
        axes.set_xlim(0, (last + 2 * 3600) / 3600)
        axes.set_ylim(0, NODES * 1.02)
        axes.set_xlabel("hours; dashed: the gang of 150 nodes comes, dotted: it starts")
        axes.set_ylabel("nodes in use")
        axes.set_title(f"One gang of {BIG.pods} nodes among small jobs, {NODES} nodes")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def main(arguments: list[str]) -> None:
    """Measure all modes, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=float, default=HORIZON / 3600)
    parser.add_argument("--svg", type=Path, help="draw a picture there")
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args(arguments)
    horizon = int(given.hours * 3600)
    jobs = list(stream(given.seed, horizon))
    outcomes = [measure(mode, jobs, horizon) for mode in MODES]
    table = Table("mode", "big gang waits", "after the promise", "in use meanwhile", "jobs started")
    for row in rows(outcomes):
        table.add_row(*row)
    Console().print(table)
    if given.svg:
        draw(outcomes, given.svg)
    if given.json:
        figures: list[dict[str, Any]] = [asdict(each) for each in outcomes]
        given.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
