"""The watchdog of the event loop: reports from another thread which code holds the loop up.

A cycle or a handler that computes for long keeps everything else waiting: watches, bindings,
statuses. The cause can be reported only while it lasts: once a liveness probe has ended the
process, no trace is left.
"""

import _thread
import asyncio
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from gang_scheduler.background_tasks import every
from gang_scheduler.current_work import DecisionTimes, Gangs, Work, last
from gang_scheduler.state.gangs.set_aside import SHARE_SECONDS, Costly
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

HELD_SECONDS: Final = 2.0
"""A loop that does nothing else for this long is held up."""
LOOK_SECONDS: Final = 0.1
MOST_A_LOOK: Final = 2 * LOOK_SECONDS
"""A check that comes later was delayed itself, as in a stopped process: it proves nothing."""
MOST_FRAMES: Final = 40
"""At most this many frames of the stack are reported, the innermost ones."""
CUT_SIGNAL: Final = signal.SIGURG
"""A signal without effect on a process without a handler. It is not even sent: only its handler
runs."""
PACKAGE: Final = f"{Path(__file__).parent}/"
WORKS: Final = {
    "scheduling_loop": Work.CYCLE,
    "watch": Work.EVENT,
    "decode": Work.EVENT,
    "report": Work.REPORT,
    "periodic": Work.REPORT,
    "apply": Work.WRITE,
    "outcome_handler": Work.WRITE,
}
"""The kind of work, by the part of this package in which a task of the event loop begins."""

log = Logger()


class Watchdog:
    """Observes the thread that creates it, and its event loop. Runs on another loop.

    `on_costly` is called at each check, on that other loop, with the groups whose decisions have
    taken too long in the current cycle. A decision that continues for much longer is cut: the main
    thread gets CUT_SIGNAL, and checks itself whether the decision is still running.
    """

    def __init__(
        self,
        times: DecisionTimes,
        on_costly: Callable[[Sequence[Costly]], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] | None = None,
    ) -> None:
        self._times = times
        self._on_costly = on_costly
        self._clock = clock
        self._thread = threading.get_ident()
        self._cpu_clock = cpu_clock or cpu_clock_of(self._thread)
        self._loop = asyncio.get_running_loop()
        self._looked_at = clock()
        self._cpu = self._cpu_clock()
        self._asked = False
        self._held = 0.0
        self._busy = 0.0
        self._work: Work | None = None

    async def run(self) -> None:
        """Check repeatedly, until cancelled."""
        # An error of the watchdog must not end its loop.
        await every(LOOK_SECONDS, self.look, "watch over", "the event loop")

    def look(self) -> None:
        """Check the current work of the main thread, and how long it has taken."""
        now, cpu = self._clock(), self._cpu_clock()
        late, busy = now - self._looked_at, cpu - self._cpu
        self._looked_at, self._cpu = now, cpu
        taking = self._times.add(busy)
        self._on_costly(_costly(self._times.so_far()))
        if self._times.is_too_long():
            _thread.interrupt_main(CUT_SIGNAL)
        if not self._asked:
            self._goes_round()
            return
        # A C function that holds the interpreter delays this check as well, and is work.
        self._held += max(min(late, MOST_A_LOOK), busy)
        self._busy += busy
        if self._held >= HELD_SECONDS and self._work is None:
            self._tell_of_the_hold(taking)

    def _goes_round(self) -> None:
        """Note that the loop has had the turn requested last, and request its next one."""
        if self._work is not None:
            log.warning("loop_free", work=self._work, seconds=round(self._held, 1))
        self._held, self._busy, self._work = 0.0, 0.0, None
        self._asked = True
        # A closed loop has no more turns: the process ends.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._asked = False

    def _tell_of_the_hold(self, taking: tuple[Gangs, float] | None) -> None:
        # Names of functions and line numbers only: the values of variables may be secret.
        frames = _frames(sys._current_frames().get(self._thread))  # noqa: SLF001 - its public name.
        shown = frames[-MOST_FRAMES:]
        self._work = Work.CYCLE if taking is not None else _work(frames)
        metrics.LOOP_HELD.labels(self._work.value).inc()
        about = str(taking[0][0]) if taking is not None else last(self._work)
        log.error(
            "loop_held",
            work=self._work.value,
            about=about,
            seconds=round(self._held, 1),
            cpu_seconds=round(self._busy, 1),
            frames=[f"{_short(each)}:{line} {each.f_code.co_name}" for each, line in shown],
        )


def cpu_clock_of(thread: int) -> Callable[[], float]:
    """Return a clock of the CPU time of a thread, or of the process if that is unavailable."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _costly(took: Mapping[Gangs, float]) -> list[Costly]:
    return [Costly(gangs[0], it, 1) for gangs, it in took.items() if it >= SHARE_SECONDS]


def _frames(frame: FrameType | None) -> list[tuple[FrameType, int]]:
    """Return the frames of a stack and their lines, the innermost last."""
    return [] if frame is None else list(traceback.walk_stack(frame))[::-1]


def _work(frames: list[tuple[FrameType, int]]) -> Work:
    """Return the kind of work of a stack, by the part of this package in which it begins."""
    for frame, _ in frames:
        path = frame.f_code.co_filename
        if path.startswith(PACKAGE):
            part = path.removeprefix(PACKAGE).partition("/")[0].removesuffix(".py")
            if part in WORKS:
                return WORKS[part]
    return Work.OTHER


def _short(frame: FrameType) -> str:
    """Return the place of the code of a frame, without the common prefix of packages."""
    path = frame.f_code.co_filename
    return path.rpartition("site-packages/")[2].removeprefix(str(Path(PACKAGE).parent) + "/")
