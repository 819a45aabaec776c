"""Batch scripts on each member: their files, stand-ins for Slurm's commands, and refusals by line.

The script runs on every member, so `srun X` is X, and `scontrol show hostnames` prints the members.
One table says what `srun` does with each option. Its stand-in is written from that table, and
scripts are checked against it before anything is created.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from gang_scheduler.submit.training_job import TrainingJob

PLACE: Final = "/var/run/py-gang-scheduler/batch"
SCRIPT: Final = "script"
VOLUME: Final = "py-gang-scheduler-batch"

OF_MEMBER: Final = """\
if [ -n "$SLURM_JOB_ID" ]; then SLURM_JOB_ID=$(printf %d "0x${SLURM_JOB_ID%%-*}"); fi
SLURMD_NODENAME=$(echo "$SLURM_JOB_NODELIST" | cut -d, -f$((${SLURM_NODEID:-0} + 1)))
SLURM_JOBID=$SLURM_JOB_ID SLURM_SUBMIT_DIR=$PWD
export SLURM_JOB_ID SLURM_JOBID SLURMD_NODENAME SLURM_SUBMIT_DIR
"""
"""Sets the variables that a member has to find out. Scripts compute with the number of their job:
it is the beginning of the Job's uid, the same for all members."""
RUN: Final = """\
evicted= group= passed_on=
pass_on() {
  if [ -n "$group" ] && [ -z "$passed_on" ]; then
    passed_on=1
    kill -s TERM -- $group 2> /dev/null || kill -s TERM $batch 2> /dev/null
  fi
}
trap 'evicted=1; pass_on' TERM
if command -v setsid > /dev/null; then
  setsid "$batch" "$@" &
  batch=$! group=-$!
else
  "$batch" "$@" &
  batch=$! group=$!
fi
[ -z "$evicted" ] || pass_on
wait $batch; code=$?
if [ -n "$evicted" ]; then
  while kill -s 0 -- $group 2> /dev/null; do sleep 0.2; done
  wait $batch; code=$?
  [ $code != 127 ] || code=143
fi
exit $code
"""
"""Runs the script, and passes SIGTERM on to all its processes, as Slurm does. The script
could not: the first process of a container gets no signal that it does not handle, and a shell
passes none on. Then it waits for all of them, since a command may be saving its work. A SIGTERM
that comes before the script has a session of its own ends the script alone."""
KNOWN: Final = frozenset(
    {
        *("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_SUBMIT_DIR", "SLURMD_NODENAME"),
        *("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_JOB_NAME", "SLURM_NNODES"),
        *("SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE"),
        *("SLURM_TASKS_PER_NODE", "SLURM_JOB_NODELIST", "SLURM_NODELIST"),
        *("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"),
        *("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_JOB_PARTITION"),
    }
)
"""The variables that are set for a script, if the job has values for them."""


def data(job: TrainingJob) -> dict[str, str]:
    """Return the files of the ConfigMap of a job with a script."""
    text, ignored = (job.script.text, job.script.ignored) if job.script is not None else ("", ())
    if not text.startswith("#!"):
        text = f"#!/bin/sh\n{text}"
    return {SCRIPT: text.replace("\r\n", "\n"), **stand_ins(ignored)}


def command(job: TrainingJob) -> list[str]:
    """Return the command of a container: the script, with the stand-ins first on its PATH."""
    arguments = job.script.arguments if job.script is not None else ()
    run = f"{OF_MEMBER}PATH={PLACE}:$PATH; export PATH\nbatch={PLACE}/{SCRIPT}\n{RUN}"
    return ["/bin/sh", "-c", run, SCRIPT, *arguments]


def volume(name: str) -> dict[str, Any]:
    """Return the volume with the files of the ConfigMap of that name."""
    return {"name": VOLUME, "configMap": {"name": name, "defaultMode": 0o755}}


def mount() -> dict[str, Any]:
    """Return where a container has that volume."""
    return {"name": VOLUME, "mountPath": PLACE, "readOnly": True}


def variables(job: TrainingJob, hosts: list[str]) -> dict[str, str]:
    """Return the variables of Slurm that are the same in all members."""
    count = str(len(hosts))
    nodes = ",".join(hosts)
    found = {
        "SLURM_JOB_NAME": job.name,
        "SLURM_NNODES": count,
        "SLURM_JOB_NUM_NODES": count,
        "SLURM_NTASKS": count,
        "SLURM_NPROCS": count,
        "SLURM_NTASKS_PER_NODE": "1",
        "SLURM_TASKS_PER_NODE": f"1(x{count})" if len(hosts) > 1 else "1",
        "SLURM_LOCALID": "0",
        "SLURM_JOB_NODELIST": nodes,
        "SLURM_NODELIST": nodes,
    }
    if job.resources.gpu:
        found["SLURM_GPUS_ON_NODE"] = found["SLURM_GPUS_PER_NODE"] = str(job.resources.gpu)
    if job.resources.cpu is not None:
        cpus = str(job.resources.cpu)
        found["SLURM_CPUS_PER_TASK"] = found["SLURM_CPUS_ON_NODE"] = cpus
    if job.queue:
        found["SLURM_JOB_PARTITION"] = job.queue
    return found


# Commands of Slurm: stand-ins, and commands that do not work in a member.

SHORT: Final = {
    "l": "label",
    "u": "unbuffered",
    "K": "kill-on-bad-exit",
    "v": "verbose",
    "Q": "quiet",
    "c": "cpus-per-task",
    "J": "job-name",
    "W": "wait",
    "m": "distribution",
    "D": "chdir",
    "n": "ntasks",
    "N": "nodes",
    "w": "nodelist",
    "o": "output",
    "e": "error",
    "i": "input",
    "t": "time",
    "p": "partition",
    "A": "account",
    "q": "qos",
    "C": "constraint",
    "G": "gpus",
    "x": "exclude",
}
ALONE: Final = (
    *("label", "unbuffered", "overlap", "exclusive", "kill-on-bad-exit", "verbose", "quiet"),
)
"""Options of srun without a value; they change nothing, since each member runs the command once."""
SKIPPED: Final = (
    *("cpus-per-task", "gpus-per-node", "gpus-per-task", "gres", "job-name", "wait", "jobid"),
    *("distribution", "cpu-bind", "mem-bind", "hint", "threads-per-core"),
)
"""Options of srun with a value that change nothing."""
COUNTED: Final = ("ntasks", "nodes", "ntasks-per-node")
"""Options of srun whose number must be that of the job."""
DONE: Final = ("export", "chdir", "nodelist")
"""Options of srun that the stand-in honours."""
HONOURED: Final = frozenset({*ALONE, *SKIPPED, *COUNTED, *DONE})
LEFT_OUT_ALONE: Final = (
    *("pty", "exact", "no-container-mount-home", "container-remap-root", "container-writable"),
    *("no-kill", "preserve-env", "disable-status"),
)
LEFT_OUT: Final = (
    *("output", "error", "input", "mpi", "mem", "time", "partition", "account", "qos", "gpus"),
    *("constraint", "exclude", "gpu-bind", "open-mode", "signal", "network", "reservation"),
    *("mem-per-cpu", "mem-per-gpu", "cpus-per-gpu", "ntasks-per-core", "ntasks-per-socket"),
    *("container-image", "container-mounts", "container-name", "container-workdir"),
    *("container-env", "environment", "profile", "accel-bind", "cpu-freq", "task-prolog"),
)
"""Options that are refused unless the user leaves them out; the first without a value."""
INSTEAD: Final = {
    "container-image": "the image is that of --image",
    "container-mounts": "give --volume, or volumes in a file",
    "container-workdir": "use `cd` in the script",
    "error": "read it with `logs`",
    "mpi": "each member is a program of its own: use --type MPIJob",
    "output": "read it with `logs`",
    "pty": "use `kubectl exec -it`",
}
ABSENT: Final = {
    "module": "use an image that has the programs",
    "ml": "use an image that has the programs",
    "sbatch": "submit each job by itself",
    "salloc": "submit the job",
    **dict.fromkeys(("mpirun", "mpiexec"), "it starts processes on other nodes: use --type MPIJob"),
    **dict.fromkeys(("scancel", "squeue", "sacct", "sstat", "sinfo", "sprio"), ""),
    **dict.fromkeys(("sattach", "sbcast", "strigger", "scontrol"), ""),
}
"""Commands that a pod does not have, and what to do instead."""
STARTERS: Final = ("mpirun", "mpiexec")
"""Commands that an image may have itself; they work if the job has one member."""
SCONTROL: Final = r"""#!/bin/sh
# scontrol show hostnames: the members, one a line.
if [ "$1 $2" = "show hostnames" ] || [ "$1 $2" = "show hostname" ]; then
  printf '%s\n' "${3:-$SLURM_JOB_NODELIST}" | tr ',' '\n'
else
  echo "scontrol: only 'show hostnames' is known here" >&2; exit 2
fi
"""
NOTHING: Final = "#!/bin/sh\n# Left out with --ignore.\nexit 0\n"
_SRUN: Final = r"""#!/bin/sh
# srun: each member runs the whole script, so the command runs here, once.
where= tasks= nodes= directory= exported=
fail() { echo "srun: $1" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
{cases}
    -*) fail "$1 is not known here: each member runs the command once" ;;
    *) break ;;
  esac
done
case "$exported" in
  ''|ALL) ;;
  ALL,*)
    set -f; kept=$IFS; IFS=,
    for each in ${exported#ALL,}; do case "$each" in *=*) export "$each" ;; esac; done
    set +f; IFS=$kept ;;
  *) fail "--export: must be ALL, or begin with ALL," ;;
esac
if [ -n "$where" ]; then
  # The address of a member is the same on all members.
  case "$*" in
    "hostname --ip-address"|"hostname -i"|"hostname -I"|"hostname --all-ip-addresses") ;;
    *) fail "--nodelist: each member runs the command itself; only 'hostname -i' is known" ;;
  esac
  tries=0
  until found=$(getent hosts "$where"); do
    tries=$((tries + 1)); [ $tries -lt 60 ] || fail "no address of $where was found in 60 s"
    sleep 1
  done
  printf '%s\n' "${found%% *}"
  exit 0
fi
members=$SLURM_NNODES
[ "${tasks:-$members}" = "$members" ] || fail "$tasks tasks: must be $members, one a member"
[ "${nodes:-$members}" = "$members" ] || fail "$nodes nodes: must be $members, all of the job"
[ -z "$directory" ] || cd "$directory" || exit 2
exec "$@"
"""
_TARGETS: Final = {
    "ntasks": "tasks",
    "nodes": "nodes",
    "nodelist": "where",
    "chdir": "directory",
    "export": "exported",
}
_OPTION: Final = re.compile(r"[a-z][a-z-]+")
_ONE: Final = 'fail "--ntasks-per-node must be 1"'


def stand_ins(ignored: Collection[str] = ()) -> dict[str, str]:
    """Return the programs that stand in for commands of Slurm, by name."""
    absent = {each: NOTHING for each in ABSENT if each in ignored and each not in STARTERS}
    return {"scontrol": SCONTROL, **absent, "srun": srun(ignored)}


def srun(ignored: Collection[str] = ()) -> str:
    """Return the stand-in for srun. It skips `ignored` options."""
    alone = [*ALONE, *(each for each in LEFT_OUT_ALONE if each in ignored)]
    valued = [*SKIPPED, *(each for each in LEFT_OUT if each in ignored)]
    cases = ["--kill-on-bad-exit=*|-K[01]) shift ;;"]
    cases += [f"{'|'.join(_names(each))}) shift ;;" for each in alone]
    for each in (*valued, *_TARGETS, "ntasks-per-node"):
        cases += _with_value(each)
    known = {*ALONE, *LEFT_OUT_ALONE, *SKIPPED, *LEFT_OUT, *COUNTED, *DONE, *ABSENT}
    others = [each for each in ignored if each not in known and _OPTION.fullmatch(each)]
    cases += [f"--{each}|--{each}=*) shift ;;" for each in sorted(others)]
    return _SRUN.replace("{cases}", "\n".join(f"    {each}" for each in cases))


def _names(option: str) -> list[str]:
    return [f"--{option}", *(f"-{short}" for short, long in SHORT.items() if long == option)]


def _with_value(option: str) -> Iterator[str]:
    """Yield the cases of the shell for an option with a value, for each way to write it."""
    target = _TARGETS.get(option)
    for name in _names(option):
        stuck = f"{name}=" if name.startswith("--") else name
        rest = f"${{1#{stuck}}}"
        if option == "ntasks-per-node":
            yield f'{name}) [ "$2" = 1 ] || {_ONE}; shift 2 ;;'
            yield f'{stuck}*) [ "{rest}" = 1 ] || {_ONE}; shift ;;'
        else:
            keeps = (f'{target}="$2"; ', f'{target}="{rest}"; ') if target else ("", "")
            yield f"{name}) {keeps[0]}shift; [ $# -gt 0 ] && shift ;;"
            yield f"{stuck}*) {keeps[1]}shift ;;"


class Fault(NamedTuple):
    """A command in a script, the word in it that cannot be honoured, and the problem."""

    line: int
    command: str
    word: str
    problem: str


_BEFORE: Final = (
    r"(?:^|[;&|(`]|\$\(|(?<![\w-])(?:then|do|else|exec|time|nohup|if|while|until|!)\s)"
    r"\s*(?:\w+=\S*\s+)*"
)
_COMMAND: Final = re.compile(rf"{_BEFORE}({'|'.join(('srun', *ABSENT))})(?=[\s;&|)`]|$)")
_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_LITERAL: Final = re.compile(r"""^\s*(?:export\s+)?(\w+)=(["'])(\s*-[^"'$`]*)\2\s*$""")
_NAMED: Final = re.compile(r"\$\{?(\w+)\}?")
_ENDS: Final = frozenset({";", "&", "|", ")", "`", "&&", "||", "\n"})


def faults(text: str, nodes: str, ignored: Collection[str] = ()) -> Iterator[Fault]:
    """Yield the words in a script that do not work in a member, each once.

    Words in variables, in quotes or in other files are not seen here: the stand-ins refuse them
    when the script runs.
    """
    told: set[tuple[str, str]] = set()
    literals: dict[str, str] = {}
    for number, line in _commands(text):
        if literal := _LITERAL.match(line):
            literals[literal[1]] = literal[3]
        for found in _COMMAND.finditer(line):
            words = _words(line[found.end() :], literals)
            for word, problem in _of_command(found[1], words, nodes, ignored):
                if (found[1], word) not in told:
                    told.add((found[1], word))
                    yield Fault(number, found[1], word, problem)


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, without comments and the text of here-documents."""
    until, joined, first = "", "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if until:
            until = "" if line.strip() == until else until
            continue
        if not joined and line.lstrip().startswith("#"):
            continue
        first = first if joined else number
        joined += line
        if joined.endswith("\\"):
            joined = f"{joined[:-1]} "
            continue
        if heredoc := _HEREDOC.search(joined):
            until = heredoc[2]
        yield first, joined
        joined = ""
    if joined:
        yield first, joined


def _words(rest: str, literals: dict[str, str]) -> list[str]:
    """Return the words of a command; variables are replaced if their literal value is options."""
    try:
        lexer = shlex.shlex(rest, posix=True, punctuation_chars=";&|()`")
        lexer.whitespace_split = True
        lexer.commenters = ""
        found = list(lexer)
    except ValueError:
        # Quotes that end on another line: options come before them.
        found = rest.split()
    words: list[str] = []
    for each in found:
        named = _NAMED.fullmatch(each)
        literal = literals.get(named[1]) if named else None
        words += literal.split() if literal is not None else [each]
    return words


def _of_command(
    command: str, words: Sequence[str], nodes: str, ignored: Collection[str]
) -> Iterator[tuple[str, str]]:
    if command == "srun":
        yield from _of_srun(words, nodes, ignored)
    elif command == "scontrol" and words[:1] == ["show"] and words[1:2] in _HOSTNAMES:
        return
    elif command not in ignored and (command not in STARTERS or nodes != "1"):
        instead = ABSENT[command]
        yield "", f"is not in a pod{': ' if instead else ''}{instead}"


_HOSTNAMES: Final = (["hostname"], ["hostnames"])


def _of_srun(
    words: Sequence[str], nodes: str, ignored: Collection[str]
) -> Iterator[tuple[str, str]]:
    options, command = _options(words)
    names = {name for name, _ in options}
    asks_for_address = "nodelist" in names and command[:1] == ["hostname"]
    for name, value in options:
        if name in COUNTED and not asks_for_address:
            wanted = "1" if name == "ntasks-per-node" else nodes
            if value.isdecimal() and wanted.isdecimal() and value != wanted:
                yield f"--{name}={value}", f"must be {wanted}: each member runs it once"
        elif name == "nodelist" and not asks_for_address:
            yield "--nodelist", "each member runs the command; only `hostname -i` is known"
        elif name == "export" and value.partition(",")[0] != "ALL" and "$" not in value:
            yield "--export", "must be ALL, or begin with ALL,"
        elif name not in (*HONOURED, *ignored):
            instead = INSTEAD.get(name)
            yield f"--{name}", "is not honoured" + (f": {instead}" if instead else "")


def _options(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options of srun with their values, and the command after the options."""
    found, rest = [], list(words)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--"):
            name, value, equals = name[:2], f"{name[2:]}{equals}{value}", name[2:]
            name = f"--{SHORT.get(name[1:], name[1:])}"
        name = name.removeprefix("--")
        has_value = name not in (*ALONE, *LEFT_OUT_ALONE)
        if has_value and not equals and rest and rest[0] not in _ENDS:
            value = rest.pop(0)
        found.append((name, value))
    return found, rest
