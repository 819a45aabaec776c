"""How long cycles, handlers and pauses of the loop of a replica take, written down as they happen.

A replica may be killed at any moment, so each is a record in a file at once. CPU time is that of
the thread of the event loop: a replica that is stopped by SIGSTOP uses none.
"""

import contextlib
import functools
import importlib
import os
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

RECORD: Final = struct.Struct("<Bdd")
CYCLE, HANDLER, PAUSE = range(3)
NAMES: Final = {CYCLE: "cycle", HANDLER: "handler of an event", PAUSE: "pause of the loop"}
HEADER: Final = ("", "number", "p50 ms", "p99 ms", "p99.9 ms", "longest ms", "longest, CPU ms")
SHARES: Final = (0.5, 0.99, 0.999)

Observe = Callable[[float], None]


class Row(NamedTuple):
    """All that was recorded of one kind, in milliseconds; the shares are of CPU time."""

    name: str
    number: int
    shares: tuple[float, ...]
    longest: float
    longest_cpu: float


class Stopwatch:
    """Appends records to a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._cpu = time.thread_time()

    def timed(self, kind: int, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls this one and records how long each call took."""

        @functools.wraps(call)
        def recorded(*args: object, **named: object) -> Any:
            wall, cpu = time.perf_counter(), time.thread_time()
            try:
                return call(*args, **named)
            finally:
                self._record(kind, time.perf_counter() - wall, time.thread_time() - cpu)

        return recorded

    def observing(self, observe: Observe) -> Observe:
        """Return an observer of lags that records them, too, with the CPU time since the last."""

        def recorded(lag: float) -> None:
            before, self._cpu = self._cpu, time.thread_time()
            self._record(PAUSE, lag, min(lag, self._cpu - before))
            observe(lag)

        return recorded

    def _record(self, kind: int, wall: float, cpu: float) -> None:
        os.write(self._file, RECORD.pack(kind, wall, cpu))


class _Lag:
    """In the place of the metric of lags."""

    def __init__(self, observe: Observe) -> None:
        self.observe = observe


def measure(path: Path) -> None:
    """Record in this process from now on. An older version that lacks a part goes without it."""
    from gang_scheduler.telemetry import metrics  # noqa: PLC0415 - the clock must be there before.

    watch = Stopwatch(path)
    for module, owner_name, name, kind in (
        ("scheduling_loop", "Loop", "_once", CYCLE),
        ("decode.events", "KindHandler", "_take", HANDLER),
        ("decode.events", "KindHandler", "handle_decoded", HANDLER),
    ):
        with contextlib.suppress(ImportError, AttributeError):
            owner = getattr(importlib.import_module(f"gang_scheduler.{module}"), owner_name)
            setattr(owner, name, watch.timed(kind, getattr(owner, name)))
    lag = _Lag(watch.observing(metrics.LOOP_LAG.observe))
    setattr(metrics, "LOOP_LAG", lag)  # noqa: B010 - the metric is final for the product.


def rows(paths: Iterable[Path]) -> list[Row]:
    """Return a row for each kind that these files have records of."""
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for path in paths:
        text = path.read_bytes() if path.exists() else b""
        whole = text[: len(text) - len(text) % RECORD.size]
        for kind, wall, cpu in RECORD.iter_unpack(whole):
            found[kind].append((wall, cpu))
    return [_row(NAMES[kind], times) for kind, times in sorted(found.items())]


def _row(name: str, times: list[tuple[float, float]]) -> Row:
    cpu = sorted(each for _, each in times)
    shares = tuple(1000 * cpu[min(int(len(cpu) * share), len(cpu) - 1)] for share in SHARES)
    return Row(name, len(times), shares, 1000 * max(wall for wall, _ in times), 1000 * cpu[-1])
