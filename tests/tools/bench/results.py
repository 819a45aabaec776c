"""What was measured, as one JSON file: the figures, and what they hold for."""

import datetime as dt
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from tools.bench.shape import Shape
from tools.controlplane import binaries

MOST_POINTS: Final = 120
CPU_INFO: Final = Path("/proc/cpuinfo")
Point = tuple[float, int]
"""Seconds since the start of the contestant, and the pods bound by then."""


@dataclass(frozen=True)
class Result:
    """What one contestant did.

    Seconds; milliseconds of CPU a pod of the scheduler, the API server and etcd; megabytes at the
    peak; API requests a pod of all clients that wrote between pending and bound and 5 s after.
    `p50` and `p99` are from the creation of the last member of a gang to the binding of its last
    one, in milliseconds. `problems` are what is wrong with the final state. `curve` is how the
    bindings came.
    """

    contestant: str
    shape: Shape
    bound: int
    pods_per_second: float
    seconds_to_last: float
    p50: float | None
    p99: float | None
    scheduler_cpu_ms: float
    api_server_cpu_ms: float
    etcd_cpu_ms: float
    peak_megabytes: float
    requests_a_pod: float | None
    problems: tuple[str, ...] = ()
    curve: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Setting:
    """The machine and the versions that figures hold for."""

    date: str
    processor: str
    cores: int
    kubernetes: str
    python: str
    kopf: str

    def __str__(self) -> str:
        machine = f"{self.cores} cores of {self.processor}"
        versions = f"Kubernetes {self.kubernetes}, Python {self.python}, Kopf {self.kopf}"
        return f"{machine}; {versions}; {self.date}"


@dataclass(frozen=True)
class Results:
    """All that one call of `python -m tools.bench` has measured."""

    setting: Setting
    results: tuple[Result, ...]


def median(rounds: Sequence[Result]) -> Result:
    """Return the round in the middle, by p99 where pods come live, else by rate; all problems."""
    ranked = sorted(rounds, key=lambda result: (result.p99 or 0, result.pods_per_second))
    problems = tuple(dict.fromkeys(text for each in rounds for text in each.problems))
    return replace(ranked[len(ranked) // 2], problems=problems)


def here_and_now() -> Setting:
    """Return what figures hold for that are measured now."""
    return Setting(
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        processor=_processor(),
        cores=os.cpu_count() or 0,
        kubernetes=_kubernetes(),
        python=platform.python_version(),
        kopf=version("kopf"),
    )


def write(path: Path, setting: Setting, results: Iterable[Result]) -> None:
    """Write a file for `read`, and the directory that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.encode(Results(setting, tuple(results)))
    path.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")


def read(path: Path) -> Results:
    """Return what `write` has written. Raises msgspec.ValidationError for anything else."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def thinned(
    bound_at: Sequence[float], started: float, most: int = MOST_POINTS
) -> tuple[Point, ...]:
    """Return the first binding, the last, and some between, always as many pods apart."""
    last, points = len(bound_at) - 1, min(len(bound_at), most)
    indices = (round(i * last / max(points - 1, 1)) for i in range(points))
    return tuple((round(bound_at[i] - started, 3), i + 1) for i in indices)


def _processor() -> str:
    found = re.search(r"^model name\s*: (.+)$", CPU_INFO.read_text(), re.M)
    return found[1] if found else platform.machine()


def _kubernetes() -> str:
    """Ask the program: it need not be the one that is pinned."""
    command = [str(binaries.find("kube-apiserver")), "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return shown.split()[-1].removeprefix("v")
