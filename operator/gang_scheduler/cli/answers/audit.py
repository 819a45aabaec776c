"""`audit`: watches what the scheduler does, and reports broken rules."""

import asyncio
import functools
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import click
import msgspec

from gang_auditor import live, once, watch_events
from gang_auditor.auditor import Auditor, Limits
from gang_auditor.findings import FINDINGS, CannotListenError, Finding, serve_metrics
from gang_auditor.live import Recorder
from gang_auditor.rules import table
from gang_auditor.rules.simulated import Simulated
from gang_auditor.watch_events import Event, Object, UnreadableLineError
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.options import Asked

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

STDIN: Final = "-"
TICK_SECONDS: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The values of the options in one call."""

    filename: str | None
    context: str
    kubeconfig: str
    request_timeout: str
    once: bool
    lasts: str | None
    record: str | None
    metrics_port: int | None
    scheduler_names: tuple[str, ...]
    skipped: tuple[str, ...]
    skew_seconds: float
    partial_seconds: float
    leftover_seconds: float
    queue_grace_seconds: float
    simulate: bool

    @property
    def limits(self) -> Limits:
        """The time limits of the auditor, and the schedulers that it judges."""
        return Limits(
            frozenset(self.scheduler_names),
            skew=self.skew_seconds,
            partial=self.partial_seconds,
            leftover=self.leftover_seconds,
            queue_grace=self.queue_grace_seconds,
        )


class _Report:
    """Prints findings as they come, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def tell(self, findings: Iterable[Finding]) -> None:
        """Print findings."""
        for each in findings:
            self.count += 1
            FINDINGS.labels(each.rule).inc()
            click.echo(each.line)


def run(wanted: Wanted) -> None:
    """Judge a recording or a cluster; exits with a status that says whether anything was found."""
    unknown = sorted(set(wanted.skipped) - set(table.RULES))
    if unknown:
        refuse([f"--skip: no rule {unknown[0]!r}; rules are: {', '.join(table.RULES)}"])
    limits = wanted.limits
    if wanted.simulate and wanted.filename is None:
        refuse(["--simulate is for recordings: give one with -f"])
    rules = [*table.rules(limits, wanted.skipped)]
    if wanted.simulate:
        rules.append(Simulated(limits, _simulated))
    auditor = Auditor(rules, limits.skew)
    report = _Report()
    if wanted.filename is not None:
        _judge_file(wanted.filename, auditor, report)
    else:
        _judge_cluster(wanted, auditor, report)
    report.tell(auditor.finish())
    if wanted.once:
        report.tell(
            each
            for each in once.findings(auditor.world, limits, time.time())
            if each.rule not in wanted.skipped
        )
    sys.exit(Exit.NOT_TRUE if report.count else Exit.DONE)


def _simulated(objects: Sequence[Object]) -> Mapping[str, Any]:
    """Run `simulate` on objects in another process; return its decisions, None if it fails."""
    program = [sys.executable, "-m", "gang_scheduler", "simulate", "-f", "-", "-o", "json"]
    listed = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects})
    done = subprocess.run(program, input=listed, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        click.echo(done.stderr.decode(errors="replace"), err=True, nl=False)
        return {}
    decided: dict[str, Any] = msgspec.json.decode(done.stdout)
    return decided


def _judge_file(name: str, auditor: Auditor, report: _Report) -> None:
    try:
        with closing(sys.stdin.buffer if name == STDIN else Path(name).open("rb")) as lines:
            for event in live.read_recording(lines, name):
                report.tell(auditor.observe(event))
    except OSError as error:
        refuse([f"{name}: {error.strerror}"])
    except UnreadableLineError as error:
        refuse([str(error)])


def _judge_cluster(wanted: Wanted, auditor: Auditor, report: _Report) -> None:
    seconds = None if wanted.lasts is None else cluster_sources.seconds(wanted.lasts, "--for")
    asked = Asked(
        context=wanted.context,
        kubeconfig=wanted.kubeconfig,
        request_timeout=wanted.request_timeout,
    )
    with ExitStack() as stack:
        recorder = None
        try:
            if wanted.metrics_port is not None:
                serve_metrics(wanted.metrics_port, table.RULES)
            if wanted.record is not None:
                recorder = stack.enter_context(Recorder(Path(wanted.record)))
        except OSError as error:
            refuse([f"{wanted.record}: {error.strerror}"])
        except CannotListenError as error:
            refuse([f"--metrics-port: {error}"])
        witness = _Witness(auditor, report, recorder, 0.0 if wanted.once else seconds)
        cluster_sources.answer(asked, witness.watch)


class _Witness:
    """Watches a cluster and judges every change, for some `seconds`; None means without end."""

    def __init__(
        self, auditor: Auditor, report: _Report, recorder: Recorder | None, seconds: float | None
    ) -> None:
        self._auditor = auditor
        self._report = report
        self._recorder = recorder
        self._seconds = seconds

    async def watch(self, server: "Server") -> None:
        """Watch until the time is over or a signal comes. Raises ApiError if it cannot begin."""
        from gang_auditor.live import Live  # noqa: PLC0415 - files need no client.

        tell = functools.partial(click.echo, err=True)
        live = Live(server.connection, self._take, tell, server.request_seconds)
        # Only a signal or the end of the time cancels this task.
        async with anyio.create_task_group() as group:
            self._end_on_signals(group.cancel_scope)
            await live.list_all()
            click.echo("watching", err=True)
            group.start_soon(live.run)
            group.start_soon(self._tick)
            if self._seconds is not None:
                await asyncio.sleep(self._seconds)
                group.cancel_scope.cancel()
        self._take(watch_events.passed(time.time()))

    def _take(self, event: Event) -> None:
        if self._recorder is not None:
            self._recorder.write(event)
        self._report.tell(self._auditor.observe(event))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._take(watch_events.passed(time.time()))

    def _end_on_signals(self, scope: anyio.CancelScope) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, scope.cancel)
