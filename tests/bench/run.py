"""One contestant on a fresh control plane."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import controlplane
from bench import shape as shapes
from bench.shape import Shape
from controlplane import ControlPlane, Options, Scheduler, audit

CRDS = Path(__file__).parents[2] / "crds"
OPTIONS = Options(kwok=False, controller_manager=False, audit=True, api_priority_and_fairness=False)
POLL_SECONDS = 0.1
LONGEST_SECONDS = 600.0
BINDING_MARK = b'"subresource":"binding"'

Starter = Callable[[ControlPlane, Shape], str]
"""Start a contestant as a component; return the component's name."""


@dataclass(frozen=True)
class Result:
    """What one contestant did. Seconds, milliseconds of CPU a pod, and megabytes at the peak."""

    contestant: str
    shape: str
    bound: int
    pods_per_second: float
    seconds_from_start: float
    scheduler_cpu_ms: float
    api_server_cpu_ms: float
    peak_megabytes: float


def run(contestant: str, start: Starter, shape: Shape, say: Callable[[str], None]) -> Result:
    """Return the figures of one contestant."""
    with controlplane.start(OPTIONS) as plane:
        say(f"{contestant}: creating {shape}")
        plane.kubectl("apply", "-f", str(CRDS))
        shapes.create(plane, shape)
        offset = audit.end(plane.audit_log)
        api_cpu = plane.cpu_seconds("kube-apiserver")
        say(f"{contestant}: running")
        started = time.time()
        name = start(plane, shape)
        use = _wait_until_bound(plane, name, shape, offset)
        figures = audit.figures(plane.audit_log, offset)
        return Result(
            contestant,
            str(shape),
            figures.bindings,
            round(figures.bindings_per_second, 1),
            round(figures.last_at - started, 2),
            round(1000 * use.cpu_seconds / shape.pods, 2),
            round(1000 * (plane.cpu_seconds("kube-apiserver") - api_cpu) / shape.pods, 2),
            round(use.peak_bytes / 1e6, 1),
        )


def ours(plane: ControlPlane, _shape: Shape) -> str:
    """Start our scheduler as it is installed."""
    scheduler = Scheduler(plane)
    scheduler.start()
    return scheduler.name


def ceiling(plane: ControlPlane, shape: Shape) -> str:
    """Start the client that only binds."""
    name = "ceiling"
    here = str(Path(__file__).parents[1])
    numbers = [str(each) for each in (shape.gangs, shape.size, shape.nodes)]
    program = f"import sys; sys.path.insert(0, {here!r}); import runpy; sys.argv[0] = 'ceiling'; "
    program += "runpy.run_module('bench.ceiling', run_name='__main__')"
    access = [plane.url, str(plane.ca_file), str(plane.token)]
    plane.processes.start(name, [sys.executable, "-c", program, *access, *numbers])
    return name


CONTESTANTS: dict[str, Starter] = {"ceiling": ceiling, "py-gang-scheduler": ours}


@dataclass(frozen=True)
class _Use:
    """What a process has used so far."""

    cpu_seconds: float = 0.0
    peak_bytes: int = 0


def _wait_until_bound(plane: ControlPlane, name: str, shape: Shape, offset: int) -> _Use:
    """Return what the contestant had used when the last pod was bound."""
    deadline = time.monotonic() + LONGEST_SECONDS
    use, bound = _Use(), 0
    with plane.audit_log.open("rb") as log:
        log.seek(offset)
        while bound < shape.pods and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            # Counting a mark is cheap enough not to disturb what is measured.
            bound += log.read().count(BINDING_MARK)
            try:
                use = _Use(plane.cpu_seconds(name), plane.peak_memory_bytes(name))
            except (OSError, StopIteration):
                continue  # It has ended, and what it used is known.
    return use
