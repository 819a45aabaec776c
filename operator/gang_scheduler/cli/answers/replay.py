"""`replay`: the jobs of a file, decided again under any policy in virtual time."""

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from gang_scheduler import gc_tuning
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.replay import document, html, moves, reading, table
from gang_scheduler.replay.jobs import Trace, UnreadableJobs
from gang_scheduler.replay.moves import Moves
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given, Scenario
from gang_scheduler.replay.side_by_side import Done, PolicyProgress, compare
from gang_scheduler.simulation.objects import UnreadableInput

_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_SIZES: Final = (86_400, 3600, 60, 1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The jobs and policies to replay, the behaviour of the cluster, and the output format."""

    jobs: str
    cluster: tuple[str, ...]
    nodes: str
    make_queues: bool
    policies: tuple[str, ...]
    until: str | None
    delays: tuple[str, str, str]
    failures: str | None
    seed: int
    cores: int
    output: str
    report: str | None
    moves: str | None
    progress: bool | None


def answer(wanted: Wanted) -> None:
    """Print the outcome of the jobs; exits with a message if an input cannot be read."""
    gc_tuning.collect_rarely()
    try:
        rules = _rules(wanted)
        given = Given(wanted.cluster, wanted.nodes, wanted.policies, make_queues=wanted.make_queues)
        jobs = reading.load(wanted.jobs)
        clusters = Clusters(given, jobs.recorded, jobs.shown)
        trace = reading.read(jobs, clusters.classes)
        scenarios = clusters.scenarios(trace)
    except (UnreadableJobs, UnreadableInput) as error:
        refuse(error.lines)
    if wanted.moves and len(scenarios) > 1:
        refuse(["--moves: has one policy: give a single --policy"])
    for note in (*trace.notes, *clusters.notes):
        click.echo(note, err=True)
    cores = wanted.cores or os.cpu_count() or 1
    with _progress(wanted, trace, scenarios, rules) as tell:
        done = compare(trace, scenarios, rules, cores, tell, with_moves=bool(wanted.moves))
    if not done:
        sys.exit(Exit.INTERRUPTED)
    found = document.of_replay(trace, scenarios, [each.document for each in done], rules)
    for each in done:
        click.echo(_cpu(each), err=True)
    _write_files(wanted, found, done[0].moves)
    click.echo(_printed(found, wanted.output), nl=False)
    if len(done) < len(scenarios) or not all(each.document["complete"] for each in done):
        sys.exit(Exit.INTERRUPTED)


def _write_files(wanted: Wanted, found: document.Json, moved: Moves | None) -> None:
    """Write the report and the moves, where they are wanted."""
    option = "--report"
    try:
        if wanted.report:
            Path(wanted.report).write_text(html.page(found), encoding="utf-8")
        option = "--moves"
        if wanted.moves and moved is not None:
            moves.write(Path(wanted.moves), moved)
    except OSError as error:
        refuse([f"{option}: {error.filename}: {error.strerror}"])


def _printed(found: document.Json, output: str) -> str:
    if output == "json":
        return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if output == "html":
        return html.page(found)
    return "\n".join(table.lines(found)) + "\n"


def _rules(wanted: Wanted) -> Rules:
    """Return the rules of how the cluster behaves. Raises UnreadableJobs."""
    names = ("--restart-delay", "--bind-latency", "--start-latency")
    delays = (_seconds(*each) for each in zip(names, wanted.delays, strict=True))
    restart, bind, start = delays
    failures = None
    if wanted.failures is not None:
        between, _, repair = wanted.failures.partition(",")
        failures = _seconds("--failures", between), _seconds("--failures", repair)
        if not all(failures):
            raise UnreadableJobs([f"--failures: {wanted.failures} must be like 90d,4h"])
    until = None if wanted.until is None else _seconds("--until", wanted.until)
    return Rules(
        restart_delay=restart,
        bind_latency=bind,
        start_latency=start,
        failures=failures,
        seed=wanted.seed,
        until=until,
    )


def _seconds(option: str, text: str) -> int:
    match = _DURATION.fullmatch(text.strip())
    if text.strip().isdigit():
        return int(text)
    if match is None or not text.strip():
        raise UnreadableJobs([f"{option}: {text} must be a time such as 7d, 1h30m or 45s"])
    return sum(int(part or 0) * size for part, size in zip(match.groups(), _SIZES, strict=True))


def _cpu(done: Done) -> str:
    """Return a line on the CPU time of the cycles. It differs each time: documents lack it."""
    name, ordered = done.document["name"], sorted(done.cpu_seconds)
    if not ordered:
        return f"{name}: no cycle"
    places = (len(ordered) // 2, len(ordered) * 99 // 100, len(ordered) - 1)
    p50, p99, most = (f"{1000 * ordered[place]:.1f}" for place in places)
    whole = f"{sum(ordered):.1f} s of CPU in {len(ordered):,} cycles"
    failed = f"; {done.failures} internal errors" if done.failures else ""
    return f"{name}: {whole}: p50 {p50}, p99 {p99}, max {most} ms{failed}"


@contextlib.contextmanager
def _progress(
    wanted: Wanted, trace: Trace, scenarios: Sequence[Scenario], rules: Rules
) -> Iterator[Callable[[PolicyProgress], None]]:
    """Show on stderr how far the replay of each policy is."""
    shown = sys.stderr.isatty() if wanted.progress is None else wanted.progress
    if not shown:
        yield lambda _: None
        return
    # Here, since it takes as long to import as a small replay.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    most = trace.jobs[-1].submit - trace.begin or 1
    most = min(most, rules.until or most)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        tasks = {each.name: bar.add_task(each.name, total=most, said="") for each in scenarios}

        def tell(now: PolicyProgress) -> None:
            said = f"{table.duration(now.seconds)}: {now.started:,} started, {now.waiting:,} wait"
            bar.update(tasks[now.policy], completed=min(now.seconds, most), said=said)

        yield tell
