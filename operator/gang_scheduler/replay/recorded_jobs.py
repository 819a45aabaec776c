"""The jobs of a recording. It also has the cluster on which they are replayed.

`recording.file_format` reads the file. A gang that ran more than once runs for as long as the last
time, like a requeued job of Slurm.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from gang_scheduler.model.resources import CPU, MEMORY, amount_of
from gang_scheduler.model.wording import counted
from gang_scheduler.recording.file_format import Gang, Recorded, RecordedGang
from gang_scheduler.replay.jobs import Job, Trace, UnreadableJobs, sorted_jobs

FORM: Final = "recording"
_SAID: Final = {
    "unended": "without an end in the recording: replayed as never ending",
    "withdrawn": "deleted before the start: replayed as waiting until then at most",
    "evicted": "evicted: replayed as running for as long as the last run",
    "lost": "that ended while nothing was recorded: left out",
    "uneven": "with pods of several sizes: only the size that requests most in total is replayed",
}


def trace_of(shown: str, recorded: Recorded) -> Trace:
    """Return the jobs of a recording. Raises UnreadableJobs."""
    said = Counter[str]()
    names = dict[str, int]()
    wrong, jobs = list[str](), list[Job]()
    for each in sorted(recorded.gangs, key=lambda each: (each.gang.submit, each.gang.id)):
        if each.is_lost:
            said["lost"] += 1
            continue
        try:
            job = _job(each, _name(each.gang, names), said)
        except ValueError as error:
            wrong.append(f"{shown}: gang {each.gang.namespace}/{each.gang.name}: {error}")
            continue
        jobs.append(job)
    if wrong:
        raise UnreadableJobs(wrong)
    notes = [f"{shown}: ends amid a line, which is left out"] if recorded.is_cut else []
    notes += [f"{shown}: {counted(number, 'gang')} {_SAID[why]}" for why, number in said.items()]
    return Trace(sorted_jobs(jobs), FORM, dated=True, notes=tuple(notes))


def _name(gang: Gang, names: dict[str, int]) -> str:
    """Return a name for a gang that no other has: one may be created again under its name.

    `names` are those in use, with the last number behind each of them.
    """
    found, first = gang.name, f"{gang.namespace}/{gang.name}"
    while (key := f"{gang.namespace}/{found}") in names:
        names[first] += 1
        found = f"{gang.name}-{names[first]}"
    names[key] = 1
    return found


def _job(recorded: RecordedGang, name: str, said: Counter[str]) -> Job:
    gang, end = recorded.gang, recorded.end
    said.update(_said_of(recorded))
    duration: int | None = None
    withdrawn: int | None = None
    if end is not None:
        if end.started is None:
            # Given up while it waited: it asks for its room until then.
            withdrawn = max(recorded.ended_at, gang.submit + 1)
            duration = gang.limit
        else:
            duration = max(1, (end.stopped or recorded.ended_at) - end.started)
    pods = max(gang.pods, end.pods if end is not None else 0)
    return Job(
        name=name,
        submit=gang.submit,
        duration=duration,
        pods=pods,
        least=min(gang.least, pods),
        gpu=gang.gpu,
        cpu=amount_of(CPU, gang.cpu) if gang.cpu else 0,
        memory=amount_of(MEMORY, gang.memory) if gang.memory else 0,
        gpu_type=gang.gpu_type,
        namespace=gang.namespace,
        queue=gang.queue,
        priority=gang.priority,
        priority_class=gang.priority_class,
        limit=gang.limit,
        topology=gang.topology,
        user=gang.user,
        withdrawn=withdrawn,
    )


def _said_of(recorded: RecordedGang) -> Iterator[str]:
    if recorded.end is None:
        yield "unended"
    elif recorded.end.started is None:
        yield "withdrawn"
    elif recorded.end.evictions:
        yield "evicted"
    if recorded.gang.others:
        yield "uneven"
