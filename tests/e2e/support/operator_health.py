"""What the operator's process and log say of its health."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tools import controlplane

UNSERVED = "has failed: 404 page not found"
"""Kopf says so of a watch, with a traceback, while the API server does not serve a kind: for a
moment when a CRD changes its versions. The source then begins the watch again."""

Start = Callable[..., controlplane.Scheduler]
"""Starts an operator with these flags."""


@contextlib.contextmanager
def starting(plane: controlplane.ControlPlane, kubeconfig: Path) -> Iterator[Start]:
    """Give a function that starts operators. Afterwards all are killed; no task may have failed."""
    begun = []

    def start(*flags: str) -> controlplane.Scheduler:
        made = controlplane.Scheduler(plane, *flags, kubeconfig=kubeconfig)
        made.start()
        begun.append(made)
        return made

    yield start
    for each in begun:
        if each.name in plane.processes.running():
            each.kill()
        assert [] == take_tracebacks(each)


class Lasting:
    """One operator that goes on from test to test, as long as these ask for the same flags."""

    def __init__(self, plane: controlplane.ControlPlane, kubeconfig: Path) -> None:
        self._plane = plane
        self._kubeconfig = kubeconfig
        self._made: tuple[tuple[str, ...], controlplane.Scheduler] | None = None

    def start(self, *flags: str) -> controlplane.Scheduler:
        """Return the one that runs if it has these flags, else a new one in its place."""
        if self._made is None or self._made[0] != flags or not self._runs(self._made[1]):
            self.end()
            made = controlplane.Scheduler(self._plane, *flags, kubeconfig=self._kubeconfig)
            made.start()
            self._made = flags, made
        return self._made[1]

    def check(self) -> None:
        """Fail if it ended by itself, or if a task of it has failed."""
        self._plane.processes.check()
        if self._made is not None:
            assert [] == take_tracebacks(self._made[1])

    def end(self) -> None:
        """Kill it, if it runs."""
        if self._made is not None and self._runs(self._made[1]):
            self._made[1].kill()
        self._made = None

    def _runs(self, made: controlplane.Scheduler) -> bool:
        return made.name in self._plane.processes.running()


@contextlib.contextmanager
def is_unharmed(scheduler: controlplane.Scheduler) -> Iterator[None]:
    """Fail unless the operator is the same process afterwards, with no traceback in its log."""
    pid, offset = scheduler.cluster.processes.pid(scheduler.name), scheduler.log.stat().st_size
    yield
    assert pid == scheduler.cluster.processes.pid(scheduler.name)
    scheduler.cluster.processes.check()
    assert [] == tracebacks(scheduler, offset)


def tracebacks(scheduler: controlplane.Scheduler, offset: int = 0) -> list[str]:
    """Return the log lines that show an unexpected exception."""
    return [
        line for line in _lines(scheduler, offset) if "Traceback" in line and UNSERVED not in line
    ]


def take_tracebacks(scheduler: controlplane.Scheduler) -> list[str]:
    """Return the same, and empty the log: what one test has met does not fail the next."""
    found = tracebacks(scheduler)
    scheduler.log.write_text("")
    return found


def log_lines(
    scheduler: controlplane.Scheduler, event: str, offset: int = 0
) -> list[dict[str, Any]]:
    """Return the structured log lines of one event."""
    parsed = (
        msgspec.json.decode(line) for line in _lines(scheduler, offset) if line.startswith("{")
    )
    return [line for line in parsed if line.get("event") == event]


def _lines(scheduler: controlplane.Scheduler, offset: int) -> list[str]:
    return scheduler.log.read_bytes()[offset:].decode(errors="replace").splitlines()
