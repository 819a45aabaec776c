"""Samples of the memory of a process, and by how much it grows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.errands import Errand

SAMPLE_SECONDS = 1.0
WARM_UP = 0.3
"""This share of a run is not looked at: caches fill, and the allocator finds its size."""


@dataclass(frozen=True)
class Sample:
    """The size of a memory at a time."""

    seconds: float
    size_bytes: int


@dataclass(frozen=True)
class Growth:
    """The line of least squares through the samples after the warm-up.

    `share` is by what part of its begin it rises until the end: 0.05 for 5 %.
    """

    begin_bytes: float
    end_bytes: float
    seconds: float
    peak_bytes: int

    @property
    def share(self) -> float:
        """By what part of its begin the line rises."""
        return self.end_bytes / self.begin_bytes - 1.0

    @property
    def bytes_an_hour(self) -> float:
        """How steep the line is."""
        return (self.end_bytes - self.begin_bytes) / self.seconds * 3600.0


def growth(samples: Sequence[Sample], warm_up: float = WARM_UP) -> Growth:
    """Return the line through what is left without the warm-up. Raises ValueError for too few."""
    first, last = samples[0].seconds, samples[-1].seconds
    looked_at = [each for each in samples if each.seconds >= first + (last - first) * warm_up]
    if len(looked_at) < 3:
        raise ValueError(f"{len(looked_at)} samples after the warm-up: too few for a line")
    times = [each.seconds for each in looked_at]
    sizes = [each.size_bytes for each in looked_at]
    middle, mean = sum(times) / len(times), sum(sizes) / len(sizes)
    spread = sum((each - middle) ** 2 for each in times)
    pairs = zip(times, sizes, strict=True)
    slope = sum((at - middle) * (size - mean) for at, size in pairs) / spread
    return Growth(
        begin_bytes=mean + slope * (times[0] - middle),
        end_bytes=mean + slope * (times[-1] - middle),
        seconds=times[-1] - times[0],
        peak_bytes=max(each.size_bytes for each in samples),
    )


def resident_bytes(pid: int) -> int:
    """Return the resident size of a process (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


class Sampler(Errand):
    """Takes samples of a process until the `with` block ends."""

    def __init__(self, pid: Callable[[], int]) -> None:
        super().__init__("sampler", SAMPLE_SECONDS)
        self.samples: list[Sample] = []
        self._pid = pid
        self._begun = time.monotonic()

    def once(self) -> None:
        """Take a sample."""
        size = resident_bytes(self._pid())
        self.samples.append(Sample(time.monotonic() - self._begun, size))
