"""The operator with a wall clock that can be set: `python stepped_clock.py FILE run ...`.

Kernels let only root step a clock, and for all processes at once. So `time.time`, which is the one
wall clock of the operator, is replaced by one that adds what is in a file, 8 bytes of a double,
which another process may write at any time. Monotonic clocks go on as they are, as on a machine.
"""

import mmap
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

OFFSET = struct.Struct("d")


def stepped(path: Path) -> Callable[[], float]:
    """Return a clock that is off by what is in the file."""
    with path.open("rb") as file:
        held = mmap.mmap(file.fileno(), OFFSET.size, access=mmap.ACCESS_READ)
    real = time.time

    def now() -> float:
        (offset,) = OFFSET.unpack(held[: OFFSET.size])
        return real() + float(offset)

    return now


def step(path: Path, seconds: float) -> None:
    """Let the clock be off by so much, from now on."""
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.write(OFFSET.pack(seconds))


def times_of(clock: Path) -> Path:
    """Return the file with the times of the replica that has this clock."""
    return clock.with_name(f"{clock.name}-times")


def main() -> None:
    """Set the clock, and be the operator."""
    _, path, *arguments = sys.argv
    time.time = stepped(Path(path))
    sys.path.append(str(Path(__file__).parents[2]))
    # Not before: its modules take the clock when they are loaded.
    from gang_scheduler.cli import main as command  # noqa: PLC0415
    from tools.chaos import stopwatch  # noqa: PLC0415

    stopwatch.measure(times_of(Path(path)))
    sys.argv = ["py-gang-scheduler", *arguments]
    command()


if __name__ == "__main__":
    main()
