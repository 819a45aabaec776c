"""`python -m tools.bench.replay`: the CPU and the memory of a replay, in this process.

Jobs of 1 to 64 GPUs come so that the cluster is as full as `--load` says. The default is the case
of the figures: 10,000 jobs of a week on 1,000 nodes in 20 queues. `--openb DIRECTORY` replays the
pods of that trace instead, and `--jobs-file FILE --nodes 120` any jobs that `replay` reads.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

from rich.console import Console
from rich.table import Table

from gang_scheduler import gc_tuning
from gang_scheduler.replay import reading, side_by_side
from gang_scheduler.replay.jobs import Trace
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given, Scenario
from tools.bench import traces

SIZES: Final = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8))
WEIGHTS: Final = (50, 15, 10, 15, 5, 3, 2)
"""How often jobs have these pods and GPUs a pod: one in ten has several nodes."""


def rows(
    jobs: int, queues: int, *, gpus: int, load: float, seconds: int, seed: int
) -> Iterator[str]:
    """Yield CSV: lengths are heavy-tailed, and such that all GPUs are in use at a load of 1."""
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    chosen = dice.choices(SIZES, WEIGHTS, k=jobs)
    lengths = [dice.lognormvariate(0, 1.5) for _ in range(jobs)]
    asked = sum(pods * gpu * length for (pods, gpu), length in zip(chosen, lengths, strict=True))
    scale = load * gpus * seconds / asked
    moments = sorted(dice.randrange(seconds) for _ in range(jobs))
    yield "name,submit,duration,pods,gpu,queue,limit,priority"
    for number, ((pods, gpu), length, at) in enumerate(zip(chosen, lengths, moments, strict=True)):
        lasts = max(1, min(seconds, int(length * scale)))
        limit, queue = int(lasts * dice.uniform(1, 3)), dice.randrange(queues)
        priority = dice.choice((0, 0, 0, 10))
        yield f"job-{number},{at},{lasts},{pods},{gpu},q{queue},{limit},{priority}"


def made_trace(given: argparse.Namespace) -> tuple[Trace, Scenario]:
    """Return made jobs, and the cluster that they are to fill."""
    made = rows(
        *(given.jobs, given.queues),
        gpus=given.nodes * 8,
        load=given.load,
        seconds=int(given.days * 86_400),
        seed=given.seed,
    )
    return _on(_read("\n".join(made)), Given(nodes=f"{given.nodes}x8", policies=[given.policy]))


def jobs_of_file(given: argparse.Namespace) -> tuple[Trace, Scenario]:
    """Return the jobs of a file, and equal nodes."""
    text = given.jobs_file.read_text(encoding="utf-8")
    return _on(_read(text), Given(nodes=f"{given.nodes}x8", policies=[given.policy]))


def openb_trace(given: argparse.Namespace) -> tuple[Trace, Scenario]:
    """Return all pods with GPUs of the trace, and all of its nodes with GPUs."""
    nodes = traces.openb_nodes(given.openb / "openb_nodes.csv", 1)
    trace = _read("\n".join(traces.openb(given.openb / "openb_pods.csv", 1)))
    with tempfile.TemporaryDirectory() as directory:
        cluster = Path(directory) / "nodes.json"
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        return _on(trace, Given(cluster=[str(cluster)], policies=[given.policy]))


def _read(text: str) -> Trace:
    return reading.of_text("jobs", text, {})


def _on(trace: Trace, given: Given) -> tuple[Trace, Scenario]:
    return trace, Clusters(given).scenarios(trace)[0]


def main(arguments: Sequence[str]) -> None:
    """Measure one replay, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--queues", type=int, default=20)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument("--policy", default="as-is")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--openb", type=Path)
    parser.add_argument("--jobs-file", type=Path)
    given = parser.parse_args(arguments)
    gc_tuning.collect_rarely()
    chosen = openb_trace if given.openb else jobs_of_file if given.jobs_file else made_trace
    trace, scenario = chosen(given)
    until = int(given.days * 86_400) if given.jobs_file else None
    began = time.process_time()
    done = side_by_side.replayed(trace, scenario, Rules(until=until), lambda _: None)
    took = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cycles = sorted(done.cpu_seconds)
    table = Table("jobs", "nodes", "CPU", "memory", "cycles", "p50", "p99", "max")
    p50, p99 = (1000 * cycles[len(cycles) * part // 100] for part in (50, 99))
    table.add_row(
        *(f"{len(trace.jobs):,}", f"{len(scenario.nodes):,}", f"{took:.1f} s"),
        f"{memory:.0f} MB",
        *(f"{len(cycles):,}", f"{p50:.1f} ms", f"{p99:.1f} ms", f"{1000 * cycles[-1]:.1f} ms"),
    )
    Console().print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
