"""Jobs as `sacct -P -a -X` prints them: a header with the names of the columns, `|` between them.

Columns may be in any order; Submit, Elapsed, and NNodes or a TRES are needed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from gang_scheduler.model.wording import counted
from gang_scheduler.replay.jobs import Faults, Job, Trace, UnreadableJobs, placed_in_time, slug

COLUMNS: Final = frozenset(
    {
        *("JobID", "User", "Account", "Partition", "QOS", "Submit", "Start", "End", "Elapsed"),
        *("Timelimit", "AllocTRES", "ReqTRES", "NNodes", "State", "Priority"),
    }
)
IGNORED: Final = frozenset({"Priority", "QOS"})
"""Columns without effect: Slurm's priority changes with time, and its QOS is not in the file."""
NOTHING: Final = frozenset({"", "Unknown", "None", "N/A"})
UNLIMITED: Final = frozenset({"UNLIMITED", "Partition_Limit", *NOTHING})
_MILLI: Final = 1000
_DURATION: Final = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
_SIZE: Final = re.compile(r"([0-9.]+)([KMGTP]?)[nc]?")
_POWER: Final = {"": 2, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
"""The power of 1024 for each unit of memory; without a unit, a number is in MiB."""
_ARRAY: Final = re.compile(r"(\d+)_\[(.*?)(?:%\d+)?\]")
_NOT_YET: Final = frozenset({"PENDING", "SUSPENDED", "RESIZING"})
_LEFT: Final = {
    "step": "of a step of a job: add -X to leave these out",
    "pending": "of a job that has not run yet: its run time is unknown",
    "never": "of a job that ended without having run",
}


class Row(NamedTuple):
    """A line of the file by its columns, and its number."""

    line: int
    of: Mapping[str, str]


def is_header(line: str) -> bool:
    """Return whether a line is the header of a file from sacct."""
    names = line.strip().split("|")
    return "|" in line and "Submit" in names and bool(COLUMNS & set(names))


def read(shown: str, text: str) -> Trace:
    """Return the jobs of a text. Raises UnreadableJobs."""
    lines = text.splitlines()
    header = lines[0].strip().rstrip("|").split("|")
    lacking = [name for name in ("Submit", "Elapsed") if name not in header]
    if lacking or not {"NNodes", "AllocTRES", "ReqTRES"} & set(header):
        needs = "Submit, Elapsed, and NNodes, AllocTRES or ReqTRES"
        raise UnreadableJobs([f"{shown}: line 1: sacct must print {needs}"])
    faults = Faults(shown)
    rows = [_row(number, header, line, faults) for number, line in enumerate(lines[1:], start=2)]
    faults.check()
    reading = _Reading(faults)
    for same in _by_job([row for row in rows if row is not None], reading.left):
        reading.take(same)
    faults.check()
    placed, _ = placed_in_time(reading.jobs)
    unknown = [name for name in header if name not in COLUMNS]
    notes = [f"{shown}: ignored: column {', '.join(unknown)}"] if unknown else []
    notes += [
        f"{shown}: left out: {counted(number, 'line')} {_LEFT[why]}"
        for why, number in sorted(reading.left.items())
    ]
    notes += [f"{shown}: {counted(number, 'job')} {why}" for why, number in reading.said.items()]
    return Trace(placed, "sacct", dated=True, notes=tuple(notes))


def _row(number: int, header: Sequence[str], line: str, faults: Faults) -> Row | None:
    if not line.strip():
        return None
    values = line.split("|")
    if len(values) == len(header) + 1 and not values[-1]:
        values.pop()  # sacct -p ends each line with a bar.
    if len(values) != len(header):
        problem = f"has {len(values)} values, the header {len(header)}"
        faults.add(number, header[min(len(values), len(header)) - 1], line[:60], problem)
        return None
    return Row(number, dict(zip(header, (value.strip() for value in values), strict=True)))


def _by_job(rows: Sequence[Row], left: Counter[str]) -> list[list[Row]]:
    """Return the lines of each job: a requeued job has one for each run."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        name = row.of.get("JobID") or f"line-{row.line}"
        if "." in name:
            left["step"] += 1
        else:
            found[name].append(row)
    return [sorted(same, key=_submitted) for same in found.values()]


def _submitted(row: Row) -> tuple[str, int]:
    return row.of["Submit"], row.line


class _Reading:
    """The jobs found so far; `left` counts lines that are no jobs, `said` are notes for users."""

    def __init__(self, faults: Faults) -> None:
        self.jobs: list[Job] = []
        self.left = Counter[str]()
        self.said = Counter[str]()
        self._faults = faults

    def take(self, same: Sequence[Row]) -> None:
        """Take in the lines of one job."""
        first, last = same[0], same[-1]
        state = (last.of.get("State") or "COMPLETED").split()[0].rstrip("+")
        number = self._faults.number
        submit = self._moment(first, "Submit")
        elapsed = self._duration(last, "Elapsed") or 0
        limit = self._limit(last)
        sized = next((row for row in reversed(same) if row.of.get("AllocTRES")), last)
        nodes = self._nodes(sized)
        amounts = self._amounts(sized)
        ended = self._moment(last, "End")
        if self._faults.number > number or submit is None:
            return
        withdrawn = None
        if not elapsed:
            if state != "CANCELLED" or ended is None or not (limit or ended > submit):
                self.left["pending" if state in _NOT_YET else "never"] += len(same)
                return
            # It was given up while it waited, so it requests its room until then.
            withdrawn = max(ended, submit + 1)
            self.said["that users cancelled before they started wait until that time"] += 1
        self._say(state, same)
        job = self._job(last, submit, elapsed or limit, nodes, amounts)
        self.jobs += _expanded(job, last.of.get("JobID", ""), limit, withdrawn)

    def _say(self, state: str, same: Sequence[Row]) -> None:
        if len(same) > 1:
            self.said["that were requeued run for as long as their last run"] += 1
        elif state == "NODE_FAIL":
            self.said["that a failed node ended run for as long as they had run by then"] += 1
        elif state == "RUNNING":
            self.said["that still run end as far as the file knows"] += 1

    def _job(
        self, row: Row, submit: int, runs: int | None, nodes: int, amounts: Mapping[str, int]
    ) -> Job:
        name = row.of.get("JobID") or f"line-{row.line}"
        gpu_type = next((key[9:] for key in sorted(amounts) if key.startswith("gres/gpu:")), "")
        gpus = amounts.get("gres/gpu") or sum(
            number for key, number in amounts.items() if key.startswith("gres/gpu:")
        )
        # At least one GPU of each node, even where Slurm spread them unevenly.
        if gpus and nodes > gpus:
            nodes = gpus
            self.said["with fewer GPUs than nodes have a pod for each GPU"] += 1
        elif gpus % nodes:
            self.said["with GPUs spread unevenly over nodes are rounded up to equal pods"] += 1
        account = row.of.get("Account") or row.of.get("Partition") or ""
        return Job(
            name=name,
            submit=submit,
            duration=runs,
            pods=nodes,
            least=nodes,
            gpu=-(-gpus // nodes),
            cpu=-(-amounts.get("cpu", 0) * _MILLI // nodes),
            memory=-(-amounts.get("mem", 0) // nodes),
            gpu_type=slug(gpu_type),
            queue=slug(account),
            user=row.of.get("User", ""),
        )

    def _nodes(self, row: Row) -> int:
        given = row.of.get("NNodes", "")
        if given in NOTHING:
            return max(1, self._amounts(row).get("node", 1))
        if not given.isdigit():
            self._faults.add(row.line, "NNodes", given, "must be a number")
            return 1
        return max(1, int(given))

    def _amounts(self, row: Row) -> Mapping[str, int]:
        """Return the resources that a job was given, or if it was given none, its requests."""
        column = "AllocTRES" if row.of.get("AllocTRES") else "ReqTRES"
        found: dict[str, int] = {}
        for part in row.of.get(column, "").split(","):
            name, equals, text = part.partition("=")
            match = _SIZE.fullmatch(text)
            if not equals or name in ("billing", "energy"):
                continue
            if match is None:
                self._faults.add(row.line, column, part, "must be a number, or one with K, M, G, T")
            elif name == "mem":
                found[name] = int(float(match[1]) * 1024 ** _POWER[match[2]])
            else:
                found[name] = int(float(match[1]))
        return found

    def _moment(self, row: Row, column: str) -> int | None:
        text = row.of.get(column, "")
        if text in NOTHING:
            if column == "Submit":
                self._faults.add(row.line, column, text, "is required")
            return None
        try:
            if text.isdigit():
                return int(text)
            made = datetime.fromisoformat(text)
        except ValueError:
            self._faults.add(row.line, column, text, "must be a time such as 2026-01-05T08:00:00")
            return None
        # sacct prints local time: all that matters is the time between two jobs.
        return round((made if made.tzinfo else made.replace(tzinfo=UTC)).timestamp())

    def _limit(self, row: Row) -> int | None:
        text = row.of.get("Timelimit", "")
        return None if text in UNLIMITED else self._duration(row, "Timelimit")

    def _duration(self, row: Row, column: str) -> int | None:
        text = row.of.get(column, "")
        if text in NOTHING:
            return None
        match = _DURATION.fullmatch(text)
        if match is None:
            if text.isdigit():  # ElapsedRaw
                return int(text)
            self._faults.add(row.line, column, text, "must be a time such as 2-03:00:00")
            return None
        days, hours, minutes, seconds = (int(each or 0) for each in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _expanded(job: Job, written: str, limit: int | None, withdrawn: int | None) -> list[Job]:
    """Return the jobs of a line: a line for many tasks of an array is one job for each task."""
    kept = replace(job, limit=limit, withdrawn=withdrawn)
    match = _ARRAY.fullmatch(written)
    if match is None:
        return [kept]
    return [replace(kept, name=f"{match[1]}_{task}") for task in _tasks(match[2])]


def _tasks(text: str) -> list[int]:
    """Return the task numbers in a text such as 1-3,7 or 0-8:2."""
    found: list[int] = []
    for part in text.split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            most = min(int(last or first), int(first) + 100_000)
            found += range(int(first), most + 1, int(step) if step.isdigit() and int(step) else 1)
    return found
