"""Reads the options in an sbatch script as fields of a job, or refuses them by line."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gang_scheduler.submit import batch_script
from gang_scheduler.submit.refusals import Faults

MARK: Final = "#SBATCH"
SHORT: Final = {
    "J": "job-name",
    "N": "nodes",
    "n": "ntasks",
    "c": "cpus-per-task",
    "t": "time",
    "p": "partition",
    "q": "qos",
    "o": "output",
    "e": "error",
    "A": "account",
    "a": "array",
    "C": "constraint",
    "d": "dependency",
    "D": "chdir",
    "G": "gpus",
    "w": "nodelist",
    "x": "exclude",
}
FLAGS: Final = frozenset({"requeue", "no-requeue", "exclusive", "hold", "wait", "overcommit"})
"""Options without a value."""
IGNORABLE: Final = "--ignore"
_TIME: Final = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_MEMORY: Final = re.compile(r"(\d+)([KMGT]?)B?", re.IGNORECASE)
_GPUS: Final = re.compile(r"(?:gpu(?::|$))?(?:([A-Za-z][\w.-]*)[:=])?(\d+)?")
_NODES: Final = re.compile(r"(\d+)(?:-(\d+))?")
_LEFT_OUT: Final = re.compile(rf"{IGNORABLE} (\S+)$")


_VARIABLE: Final = re.compile(
    r"\$(?:(?P<plain>SLURMD?_\w+)|\{#?(?P<braced>SLURMD?_\w+)(?P<default>:?[-+=?])?)"
)


class Option(NamedTuple):
    """An option as a script has it; `line` counts from 1.

    `is_late`: it stands after the first command of the script, where Slurm reads no options.
    """

    line: int
    name: str
    value: str | None
    is_late: bool = False

    @property
    def text(self) -> str:
        """The option with its value, in its long form."""
        return f"--{self.name}" + ("" if self.value is None else f"={self.value}")


@dataclass(frozen=True, slots=True)
class Honoured:
    """The fields of a job that a script sets, with the resources of each member."""

    fields: Mapping[str, Any]
    resources: Mapping[str, Any]


class _Wrong(Exception):  # noqa: N818 - what is wrong with a value.
    pass


def options(text: str) -> Iterator[Option]:
    """Yield the options of a script, and whether they come before its first command."""
    is_late = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(MARK):
            for each in _of_line(number, line.removeprefix(MARK)):
                yield each._replace(is_late=is_late)
        elif line.strip() and not line.lstrip().startswith("#"):
            is_late = True


def _of_line(number: int, rest: str) -> Iterator[Option]:
    try:
        words = shlex.split(rest, comments=True)
    except ValueError as error:
        yield Option(number, f"({rest.strip()}): {error}", None)
        return
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield Option(number, name, value if equals else _next(name, words))
        elif word.startswith("-") and word[1:2] in SHORT:
            name, value = SHORT[word[1]], word[2:].removeprefix("=")
            yield Option(number, name, value or _next(name, words))
        else:
            yield Option(number, word, None)


def _next(name: str, words: list[str]) -> str | None:
    if name in FLAGS or not words or words[0].startswith("-"):
        return None
    return words.pop(0)


def read(
    text: str, file: str, ignored: Collection[str] = (), overridden: Collection[str] = ()
) -> Honoured:
    """Return the fields that a script sets, leaving out `ignored` options. Raises Faults.

    Each option that cannot be honoured is a fault, with its line, unless it is `overridden`.
    """
    fields: dict[str, Any] = {}
    given: dict[str, Option] = {}
    faults, tasks = [], None
    for each in options(text):
        if each.name in ignored:
            continue
        try:
            if each.name == "ntasks" and not each.is_late:
                tasks = each
            else:
                made = _honoured(each)
                for key in made.keys() & given.keys():
                    _check_same(key, made, fields, given[key], each)
                fields |= made
                given |= dict.fromkeys(made, each)
        except _Wrong as error:
            if each.name in overridden:
                continue
            faults.append(f"{file}: line {each.line}: {each.text}: {error}")
    if tasks is not None and tasks.value != str(fields.get("nodes", "1")):
        nodes = fields.get("nodes", "1")
        faults.append(f"{file}: line {tasks.line}: {tasks.text}: {ONE_TASK}, and nodes is {nodes}")
    faults += _unset(text, file, ignored)
    faults += _commands(text, file, str(fields.get("nodes", "1")), ignored)
    if faults:
        raise Faults([*faults, *_left_out(faults, file)])
    resources: dict[str, Any] = {key: fields.pop(key) for key in OF_MEMBERS if key in fields}
    return Honoured(fields, resources)


def _left_out(faults: Collection[str], file: str) -> Iterator[str]:
    """Yield the line that lists all options that can be left out, if there are several."""
    names = dict.fromkeys(found[1] for each in faults if (found := _LEFT_OUT.search(each)))
    if len(names) > 1:
        options = " ".join(f"{IGNORABLE} {each}" for each in names)
        yield f"{file}: to leave out all that can be left out: {options}"


def _commands(text: str, file: str, nodes: str, ignored: Collection[str]) -> Iterator[str]:
    """Yield a line for each command that a member cannot run as the script asks."""
    for each in batch_script.faults(text, nodes, ignored):
        shown = f"{each.command} {each.word}".strip()
        name = each.word.removeprefix("--").partition("=")[0] or each.command
        leave = f", or leave it out with {IGNORABLE} {name}"
        if name in (*batch_script.COUNTED, *batch_script.DONE):
            leave = ""
        elif name in batch_script.STARTERS:
            leave = f", or let it run as it is with {IGNORABLE} {name}"
        yield f"{file}: line {each.line}: {shown}: {each.problem}{leave}"


def _check_same(
    key: str, made: Mapping[str, Any], fields: Mapping[str, Any], before: Option, now: Option
) -> None:
    """Raise _Wrong if an earlier option with another name has set a field to another value."""
    if made[key] != fields[key] and before.name != now.name:
        raise _Wrong(f"contradicts line {before.line}: {before.text}")


def _unset(text: str, file: str, ignored: Collection[str]) -> Iterator[str]:
    """Yield a line for each variable of Slurm that a script uses and that is not set here."""
    told = {*batch_script.KNOWN, *ignored}
    is_array = "array" not in ignored and any(each.name == "array" for each in options(text))
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        for found in _VARIABLE.finditer(line):
            name = found["plain"] or found["braced"]
            # Without the option, its variables are the next faults.
            of_array = is_array and name.startswith("SLURM_ARRAY_")
            if name in told or found["default"] or of_array:
                continue
            told.add(name)
            leave = f"write ${{{name}:-DEFAULT}}, or leave it with {IGNORABLE} {name}"
            yield f"{file}: line {number}: ${name}: is not set here: {leave}"


OVERRIDDEN: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("job-name",),
    "nodes": ("nodes",),
    "gpus": ("gpus", "gpus-per-node", "gpus-per-task", "gres"),
    "gpu_type": ("constraint",),
    "cpus": ("cpus-per-task", "cpus-per-gpu"),
    "mem": ("mem", "mem-per-cpu", "mem-per-gpu"),
    "time": ("time",),
    "queue": ("partition", "account"),
    "priority": ("qos",),
    "priority_class": ("qos",),
}
"""The options of a script that each flag of `submit` overrides."""
OF_MEMBERS: Final[tuple[str, ...]] = ("gpu", "cpu", "memory")
LATE: Final = "comes after the first command, where sbatch reads no options: move it up"
ONE_TASK: Final = "each member runs the script once"
INSTEAD: Final = {
    "account": "give --queue",
    "array": "submit a job for each, or create a Job without a gang",
    "begin": "use a CronJob",
    "chdir": "set the working directory in the script",
    "constraint": "give --gpu-type, or a nodeSelector in the template",
    "dependency": "use a workflow engine, or wait for the other job with `wait`",
    "error": "read it with `logs`",
    "cpus-per-gpu": "give --cpus",
    "exclusive": "ask for all GPUs and CPUs of a node",
    "export": "give env",
    "gpus": "give --gpus, which counts for each member",
    "hint": "the configuration of the nodes decides about it",
    "mail-type": "alert on metrics, or `wait`",
    "mail-user": "alert on metrics, or `wait`",
    "mem-per-cpu": "give --mem",
    "mem-per-gpu": "give --mem",
    "no-requeue": "evicted members are always created again",
    "nodelist": "give a nodeSelector in the template",
    "open-mode": "read it with `logs`",
    "output": "read it with `logs`",
    "signal": "give a checkpoint",
}


def _honoured(option: Option) -> Mapping[str, Any]:
    if option.is_late:
        raise _Wrong(f"{LATE}, or leave it out with {IGNORABLE} {option.name}")
    read = _READERS.get(option.name)
    if read is None:
        instead = INSTEAD.get(option.name)
        leave = f"leave it out with {IGNORABLE} {option.name}"
        raise _Wrong(f"is not honoured: {instead}, or {leave}" if instead else NOT_KNOWN + leave)
    if option.value is None and option.name not in FLAGS:
        raise _Wrong("needs a value")
    return read(option.value or "")


NOT_KNOWN: Final = "is not honoured: "


def _nodes(text: str) -> Mapping[str, Any]:
    found = _NODES.fullmatch(text)
    if found is None:
        raise _Wrong("must be a number such as 4, or a range such as 2-8")
    return {"nodes": f"{found[1]}:{found[2]}" if found[2] and found[2] != found[1] else found[1]}


def _gpus(text: str) -> Mapping[str, Any]:
    found = _GPUS.fullmatch(text)
    if found is None or (found[2] is None and text != "gpu"):
        raise _Wrong("must be a number of GPUs, such as 8 or gpu:8")
    kind = {"gpu_type": found[1]} if found[1] else {}
    return {"gpu": int(found[2] or 1), **kind}


def _gres(text: str) -> Mapping[str, Any]:
    if text != "gpu" and not text.startswith("gpu:"):
        raise _Wrong("must be gpu:N")
    return _gpus(text)


def _cpus(text: str) -> Mapping[str, Any]:
    if not text.isdecimal() or not int(text):
        raise _Wrong("must be a number from 1")
    return {"cpu": text}


def _memory(text: str) -> Mapping[str, Any]:
    found = _MEMORY.fullmatch(text)
    if found is None:
        raise _Wrong("must be an amount of memory such as 256G")
    if int(found[1]) == 0:
        raise _Wrong("is all memory of a node, which a pod cannot ask for: give an amount")
    return {"memory": f"{found[1]}{(found[2] or 'M').upper()}i"}


def _time(text: str) -> Mapping[str, Any]:
    if text.upper() in ("0", "UNLIMITED", "INFINITE"):
        return {}
    found = _TIME.fullmatch(text)
    if found is None:
        raise _Wrong("must be minutes, HH:MM:SS or D-HH:MM:SS")
    days, *numbers = found.groups()
    given = [int(each) for each in numbers if each is not None]
    if days is not None:
        hours, minutes, seconds = (*given, 0, 0)[:3]
    elif len(given) == 3:
        hours, minutes, seconds = given
    else:
        hours, (minutes, seconds) = 0, (*given, 0)[:2]
    whole = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    if not whole:
        return {}
    return {"time": f"{whole}s"}


def _one_task(text: str) -> Mapping[str, Any]:
    if text != "1":
        raise _Wrong(f"{ONE_TASK}: must be 1; torchrun starts a process for each GPU")
    return {}


def _requeue(text: str) -> Mapping[str, Any]:
    if text:
        raise _Wrong("takes no value")
    return {}


def _name(text: str) -> Mapping[str, Any]:
    """Return the name in Kubernetes form: lower case, and dashes for other characters."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not name or not name[0].isalpha():
        raise _Wrong("must begin with a letter: give --name")
    return {"name": name}


_READERS: Final[Mapping[str, Callable[[str], Mapping[str, Any]]]] = {
    "job-name": _name,
    "nodes": _nodes,
    "gpus-per-node": _gpus,
    "gpus-per-task": _gpus,
    "gres": _gres,
    "cpus-per-task": _cpus,
    "mem": _memory,
    "time": _time,
    "partition": lambda text: {"queue": text},
    "qos": lambda text: {"priority_class": text},
    "requeue": _requeue,
    "ntasks-per-node": _one_task,
}
