"""The jobs to replay, with their times and sizes, and the faults of a file of jobs."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from gang_scheduler.model.wording import counted

FIRST_MOMENT: Final = 10**8
"""A time below this counts from the beginning of the file, not from 1970."""
BEGIN: Final = 1_767_225_600
"""The start of a replay whose file has no dates: 2026-01-01, in seconds since the epoch."""
LONGEST_NAME: Final = 50
"""The most characters in the name of a job's objects, before the number of a pod."""
_UNFIT: Final = re.compile(r"[^a-z0-9.-]+")
MOST_NAMED: Final = 20
"""At most this many faults of a file are listed."""


@dataclass(frozen=True, slots=True)
class Job:
    """A gang of equal pods. Times are in seconds; `submit` is since the epoch.

    `duration` is how long it runs with all of its pods; None: it never ends. `least` is how many
    pods must start together. `cpu` of a pod is in thousandths, `memory` in bytes. `limit` is the
    duration that the user declared; the scheduler knows only this one. `checkpoint` are the seconds
    between two checkpoints; None: an eviction loses all work. `withdrawn` is when the user gave it
    up, if that was before it ended.
    """

    name: str
    submit: int
    duration: int | None = None
    pods: int = 1
    least: int = 1
    gpu: int = 0
    cpu: int = 0
    memory: int = 0
    gpu_type: str = ""
    namespace: str = "default"
    queue: str = ""
    priority: int = 0
    priority_class: str = ""
    limit: int | None = None
    topology: str = ""
    checkpoint: int | None = None
    user: str = ""
    withdrawn: int | None = None

    @property
    def key(self) -> str:
        """A name that no other job has."""
        return f"{self.namespace}/{self.name}"

    @property
    def gpus(self) -> int:
        """The GPUs of all of its pods."""
        return self.gpu * self.pods


@dataclass(frozen=True, slots=True)
class NodesWanted:
    """Equal nodes: `number` of them, each with these GPUs, and CPUs and bytes if these count."""

    number: int
    gpu: int = 0
    cpu: int | None = None
    memory: int | None = None
    gpu_type: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """The jobs of a file in the order of their times.

    `notes` are lines for users. `dated`: the times are real ones. `nodes` are the nodes that the
    file itself names.
    """

    jobs: tuple[Job, ...]
    form: str
    dated: bool
    notes: tuple[str, ...] = ()
    nodes: NodesWanted | None = None

    @property
    def begin(self) -> int:
        """When the first job is submitted."""
        return self.jobs[0].submit if self.jobs else BEGIN


@dataclass(slots=True)
class Faults:
    """The faults in the lines of a file."""

    shown: str
    lines: list[str] = field(default_factory=list)
    number: int = 0

    def add(self, line: int, column: str, value: object, problem: str) -> None:
        """Note a value that cannot be read."""
        self.number += 1
        if self.number <= MOST_NAMED:
            text = f'line {line}, column {column}: "{value}" {problem}'
            self.lines.append(f"{self.shown}: {text}")

    def check(self) -> None:
        """Raise UnreadableJobs if anything is wrong."""
        if self.number > MOST_NAMED:
            more = counted(self.number - MOST_NAMED, "further fault")
            self.lines.append(f"{self.shown}: and {more}")
        if self.lines:
            raise UnreadableJobs(self.lines)


class UnreadableJobs(Exception):  # noqa: N818 - named after the problem, like UnreadableInput
    """A file of jobs cannot be read; `lines` say why."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__(*lines)
        self.lines: tuple[str, ...] = self.args


def sorted_jobs(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Return jobs in the order in which they are submitted."""
    return tuple(sorted(jobs, key=lambda job: (job.submit, job.namespace, job.name)))


def placed_in_time(jobs: Collection[Job]) -> tuple[tuple[Job, ...], bool]:
    """Return jobs in order with times since the epoch, and whether the file had such times."""
    dated = all(job.submit >= FIRST_MOMENT for job in jobs)
    if dated:
        return sorted_jobs(jobs), True
    moved = (_later(job, BEGIN) for job in jobs)
    return sorted_jobs(moved), False


def _later(job: Job, seconds: int) -> Job:
    withdrawn = None if job.withdrawn is None else job.withdrawn + seconds
    return replace(job, submit=job.submit + seconds, withdrawn=withdrawn)


def slug(text: str) -> str:
    """Return a text as a valid object name; "" if no part of it is valid."""
    return _UNFIT.sub("-", text.lower()).strip("-.")[:LONGEST_NAME].strip("-.")
