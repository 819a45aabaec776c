"""Jobs of the Standard Workload Format 2.2: 18 numbers a line, and comments after semicolons."""

import re
from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.wording import counted
from gang_scheduler.replay.jobs import Faults, Job, NodesWanted, Trace, placed_in_time

FIELDS: Final = (
    *("job", "submit", "wait", "run", "allocated processors", "CPU time", "memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group"),
    *("application", "queue", "partition", "preceding job", "think time"),
)
_SUBMIT, _WAIT, _RUN, _ALLOCATED, _ASKED, _LIMIT, _STATUS, _USER, _GROUP, _QUEUE = (
    *(1, 2, 3, 4, 7, 8, 10, 11, 12, 14),
)
CANCELLED: Final = 5
PARTS: Final = (2, 3, 4)
"""Statuses of lines about a part of a job; the whole job has a line of its own."""
_HEADER: Final = re.compile(r";\s*(\w+)\s*:\s*(.*?)\s*$")
_MILLI: Final = 1000


def is_first(line: str) -> bool:
    """Return whether a first line belongs to a file in this format."""
    return line.lstrip().startswith(";") or len(line.split()) == len(FIELDS)


def read(shown: str, text: str) -> Trace:
    """Return the jobs of a text. Raises UnreadableJobs."""
    faults, header, jobs = Faults(shown), dict[str, str](), list[Job]()
    parts = cancelled = empty = 0
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(";"):
            found = _HEADER.match(line.strip())
            if found:
                header.setdefault(found[1], found[2])
            continue
        if line.strip():
            rows += _numbers(number, line.split(), faults)
    faults.check()
    per_node = _per_node(header)
    for row in rows:
        if row[_STATUS] in PARTS:
            parts += 1
        elif row[_RUN] <= 0:
            cancelled += row[_STATUS] == CANCELLED
            empty += row[_STATUS] != CANCELLED
        else:
            jobs.append(_job(row, per_node, begin=_begin(header)))
    placed, dated = placed_in_time(jobs)
    notes = [
        f"{shown}: left out: {counted(number, 'line')} {why}"
        for number, why in (
            (parts, "with a part of a job"),
            (cancelled, "of a job that was cancelled before it ran"),
            (empty, "of a job without a run time"),
        )
        if number
    ]
    notes.append(f"{shown}: a pod is {counted(per_node, 'processor')}, which count as CPUs")
    return Trace(placed, "SWF", dated, tuple(notes), _nodes(header, per_node))


def _numbers(number: int, words: list[str], faults: Faults) -> list[list[float]]:
    """Return the row of a line; None if it has faults."""
    if len(words) != len(FIELDS):
        problem = f"has {len(words)} numbers, not {len(FIELDS)}"
        faults.add(number, FIELDS[min(len(words), len(FIELDS)) - 1], " ".join(words)[:60], problem)
        return []
    row = []
    for name, word in zip(FIELDS, words, strict=True):
        try:
            row.append(float(word))
        except ValueError:
            faults.add(number, name, word, "must be a number")
    for place in (_SUBMIT,):
        if len(row) == len(FIELDS) and row[place] < 0:
            faults.add(number, FIELDS[place], words[place], "must be at least 0")
    return [row] if len(row) == len(FIELDS) else []


def _job(row: list[float], per_node: int, begin: int) -> Job:
    asked = int(row[_ASKED] if row[_ASKED] > 0 else row[_ALLOCATED])
    processors = max(1, asked)
    pods = -(-processors // per_node)
    return Job(
        name=f"job-{int(row[0])}",
        submit=begin + round(row[_SUBMIT]),
        duration=max(1, round(row[_RUN])),
        pods=pods,
        least=pods,
        cpu=-(-processors * _MILLI // pods),
        queue=f"queue-{int(row[_QUEUE])}" if row[_QUEUE] >= 0 else "",
        limit=round(row[_LIMIT]) if row[_LIMIT] > 0 else None,
        user=f"user-{int(row[_USER])}" if row[_USER] >= 0 else "",
    )


def _begin(header: Mapping[str, str]) -> int:
    return _whole(header, "UnixStartTime") or 0


def _whole(header: Mapping[str, str], name: str) -> int | None:
    found = re.match(r"\d+", header.get(name, ""))
    return int(found[0]) if found else None


def _per_node(header: Mapping[str, str]) -> int:
    """Return the number of processors of a node: from the header, else 1."""
    nodes, processors = _whole(header, "MaxNodes"), _whole(header, "MaxProcs")
    if not nodes or not processors:
        return 1
    return max(1, -(-processors // nodes))


def _nodes(header: Mapping[str, str], per_node: int) -> NodesWanted | None:
    nodes = _whole(header, "MaxNodes") or _whole(header, "MaxProcs")
    return NodesWanted(nodes, cpu=per_node * _MILLI) if nodes else None
