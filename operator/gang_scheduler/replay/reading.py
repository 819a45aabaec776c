"""Reads a file of jobs, in the format that its content shows, whatever its name.

CSV is read here; the other formats have a module each.
"""

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from gang_scheduler.decode import fields
from gang_scheduler.model.resources import CPU, MEMORY, amount_of
from gang_scheduler.recording import file_format, files
from gang_scheduler.recording.file_format import Recorded
from gang_scheduler.replay import recorded_jobs, slurm, swf
from gang_scheduler.replay.jobs import Faults, Job, Trace, UnreadableJobs, placed_in_time
from gang_scheduler.simulation import snapshot_files

STDIN: Final = "-"
MOST_PODS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Given:
    """The content of a file, of the name that is shown for it. A recording is read already."""

    shown: str
    text: str = ""
    recorded: Recorded | None = None


def load(name: str) -> Given:
    """Return the content of a file, of `-` for standard input. Raises UnreadableJobs.

    Of a directory, the recordings in it count as one.
    """
    shown = "<stdin>" if name == STDIN else name
    try:
        if name != STDIN and Path(name).is_dir():
            return Given(shown, recorded=file_format.read(files.content_of(Path(name))))
        raw = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
        content = snapshot_files.unpacked(raw)
        if file_format.is_recording(content):
            return Given(shown, recorded=file_format.read(content))
        return Given(shown, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UnreadableJobs(
            [f"{shown}: is not UTF-8 text: {error.reason} at byte {error.start}"]
        ) from error
    except OSError as error:
        raise UnreadableJobs([f"{shown}: cannot be read: {error.strerror}"]) from error
    except ValueError as error:
        raise UnreadableJobs([f"{shown}: {error}"]) from error


def read(given: Given, classes: Mapping[str, int]) -> Trace:
    """Return the jobs of a file. Raises UnreadableJobs.

    `classes` are the values of the PriorityClasses that rows may name.
    """
    if given.recorded is None:
        return of_text(given.shown, given.text, classes)
    return _with_jobs(given.shown, recorded_jobs.trace_of(given.shown, given.recorded))


def of_text(shown: str, text: str, classes: Mapping[str, int]) -> Trace:
    """Return the jobs of a text, in the format that its first line shows. Raises UnreadableJobs."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise UnreadableJobs([f"{shown}: is empty"])
    if slurm.is_header(first):
        return _with_jobs(shown, slurm.read(shown, text))
    if swf.is_first(first):
        return _with_jobs(shown, swf.read(shown, text))
    return _with_jobs(shown, _read_csv(shown, text, classes))


def _with_jobs(shown: str, found: Trace) -> Trace:
    if not found.jobs:
        raise UnreadableJobs([f"{shown}: has no job that could run", *found.notes])
    return found


# CSV: columns are found by the names in the header.

Value = int | str | None


class UnfitError(ValueError):
    """An invalid value; the message says which values are valid."""


def _whole(least: int, most: int = 2**53) -> Callable[[str], int]:
    def read_whole(text: str) -> int:
        try:
            found = float(text)
        except ValueError:
            raise UnfitError("must be a number") from None
        if not found.is_integer() or not least <= found <= most:
            raise UnfitError(f"must be a whole number of at least {least}")
        return int(found)

    return read_whole


def moment(text: str) -> int:
    """Return a time written in seconds, or as RFC 3339. Raises ValueError."""
    try:
        found = float(text)
    except ValueError:
        pass
    else:
        if found != found or not 0 <= found < 2**40:  # noqa: PLR0124 - NaN differs from itself.
            raise UnfitError("must be at least 0")
        return round(found)
    try:
        made = datetime.fromisoformat(text)
    except ValueError:
        raise UnfitError("must be seconds, or a time such as 2026-01-05T08:00:00Z") from None
    if made.tzinfo is None:
        raise UnfitError("must have a time zone, such as 2026-01-05T08:00:00Z")
    return round(made.timestamp())


def _seconds(text: str) -> int:
    try:
        found = float(text)
    except ValueError:
        raise UnfitError("must be seconds") from None
    if not 0 < found < 2**40:
        raise UnfitError("must be more than 0 seconds")
    return max(1, round(found))


def _amount(resource: str) -> Callable[[str], int]:
    def read_amount(text: str) -> int:
        try:
            found = amount_of(resource, text)
        except ValueError:
            raise UnfitError("must be a quantity such as 500m or 64Gi") from None
        if found < 0:
            raise UnfitError("must not be negative")
        return found

    return read_amount


def _label(text: str) -> str:
    if not fields.is_label(text):
        raise UnfitError("must be a name of letters, digits, - and .")
    return text


_READERS: Final[Mapping[str, Callable[[str], Value]]] = {
    "name": str,
    "submit": moment,
    "duration": _seconds,
    "pods": _whole(1, MOST_PODS),
    "min": _whole(1, MOST_PODS),
    "gpu": _whole(0),
    "cpu": _amount(CPU),
    "memory": _amount(MEMORY),
    "gpuType": _label,
    "namespace": _label,
    "queue": _label,
    "priority": str,
    "limit": _seconds,
    "topology": str,
    "checkpoint": _seconds,
    "user": str,
}
NEVER: Final = "never"
"""The duration of a job that does not end."""


def _read_csv(shown: str, text: str, classes: Mapping[str, int]) -> Trace:
    rows = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in next(rows, [])]
    missing = [name for name in ("name", "submit") if name not in header]
    if missing:
        raise UnreadableJobs(
            [
                (
                    f"{shown}: is no file of jobs: the first line of CSV must name the columns "
                    "name and submit, that of sacct JobID and Submit, and SWF has 18 numbers a line"
                )
            ]
        )
    twice = [name for name, number in Counter(header).items() if number > 1 and name in _READERS]
    if twice:
        raise UnreadableJobs([f"{shown}: line 1: there are two columns {twice[0]}"])
    faults, jobs, seen = Faults(shown), [], set[str]()
    try:
        for values in rows:
            if not any(value.strip() for value in values):
                continue
            job = _of_row(rows.line_num, header, values, classes, faults)
            if job is None:
                continue
            if job.key in seen:
                faults.add(rows.line_num, "name", job.name, "is the name of another row, too")
            seen.add(job.key)
            jobs.append(job)
    except csv.Error as error:
        faults.add(rows.line_num, "1", "", f"cannot be read: {error}")
    faults.check()
    unknown = [name or "(without a name)" for name in header if name not in _READERS]
    notes = [f"{shown}: ignored: column {', '.join(unknown)}"] if unknown else []
    placed, dated = placed_in_time(jobs)
    return Trace(placed, "CSV", dated, tuple(notes))


def _of_row(
    line: int,
    header: list[str],
    values: list[str],
    classes: Mapping[str, int],
    faults: Faults,
) -> Job | None:
    """Return the job of a row; None if the row has faults, which are noted."""
    before = faults.number
    if len(values) != len(header):
        problem = f"has {len(values)} values, the header {len(header)}"
        faults.add(line, header[min(len(values), len(header)) - 1], ",".join(values)[:60], problem)
        return None
    found: dict[str, Value] = {}
    for name, value in _given(header, values):
        if name == "duration" and value == NEVER:
            continue
        try:
            found[name] = _READERS[name](value)
        except UnfitError as error:
            faults.add(line, name, value, str(error))
    for name in ("name", "submit"):
        if name not in found and faults.number == before:
            faults.add(line, name, "", "is required")
    if faults.number > before:
        return None
    return _job(line, found, classes, faults)


def _given(header: Iterable[str], values: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name, value in zip(header, values, strict=True):
        if name in _READERS and value.strip():
            yield name, value.strip()


def _job(
    line: int, found: dict[str, Value], classes: Mapping[str, int], faults: Faults
) -> Job | None:
    """Return the job for the values of a row, each of which is valid."""
    number = faults.number
    name = str(found.pop("name"))
    priority, priority_class = 0, ""
    if "priority" in found:
        given = str(found.pop("priority"))
        try:
            priority = int(given)
        except ValueError:
            priority_class = given
            priority = classes.get(given, 0)
            if given not in classes:
                problem = "is neither a number nor a PriorityClass of --cluster"
                faults.add(line, "priority", given, problem)
    pods = int(str(found.pop("pods", 1)))
    least = int(str(found.pop("min", pods)))
    if least > pods:
        faults.add(line, "min", least, f"must not be more than the {pods} pods")
    topology = str(found.get("topology", ""))
    if topology and not topology.removesuffix("?").isalnum():
        faults.add(line, "topology", topology, "must be a layer, with ? where it is only preferred")
    if faults.number > number:
        return None
    given_type = found.pop("gpuType", "")
    return Job(
        name=name,
        pods=pods,
        least=least,
        priority=priority,
        priority_class=priority_class,
        gpu_type=str(given_type),
        **found,  # type: ignore[arg-type]  # Each reader returns what its field takes.
    )
