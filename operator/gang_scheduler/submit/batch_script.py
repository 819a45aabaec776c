"""Files for a batch script in its container: the script, and stand-ins for two commands of Slurm.

The script runs on every member, so `srun X` is X, and `scontrol show hostnames` prints the members.
"""

from typing import Any, Final

from gang_scheduler.submit.training_job import TrainingJob

PLACE: Final = "/var/run/py-gang-scheduler/batch"
SCRIPT: Final = "script"
VOLUME: Final = "py-gang-scheduler-batch"

SRUN: Final = r"""#!/bin/sh
# srun: each member runs the whole script, so the command runs here, once.
where= tasks=
fail() { echo "srun: $1" >&2; exit 2; }
check() { [ "$1" = "$SLURM_NNODES" ] || fail "$1 tasks: must be $SLURM_NNODES, one a member"; }
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
    --ntasks-per-node=1|--label|--unbuffered|--exclusive|--overlap|--kill-on-bad-exit) shift ;;
    -l|-u|-K|-K1|--kill-on-bad-exit=*|--export=*|--cpu-bind=*|--cpus-per-task=*) shift ;;
    --gpus-per-node=*|--gres=*|--job-name=*|--mpi=none|--nodes=*) shift ;;
    -N[0-9]*|-c[0-9]*) shift ;;
    --nodes|--cpus-per-task|--gpus-per-node|--gres|--job-name|--export|-N|-c|-J)
      shift; [ $# -gt 0 ] && shift ;;
    --ntasks=*|-n[0-9]*) tasks=${1#--ntasks=}; tasks=${tasks#-n}; shift ;;
    --ntasks|-n) tasks=$2; shift; [ $# -gt 0 ] && shift ;;
    --ntasks-per-node) [ "$2" = 1 ] || fail "$1 must be 1"; shift 2 ;;
    -w|--nodelist) where=$2; shift; [ $# -gt 0 ] && shift ;;
    -w*) where=${1#-w}; shift ;;
    --nodelist=*) where=${1#--nodelist=}; shift ;;
    -*) fail "$1 is not known here: each member runs the command once" ;;
    *) break ;;
  esac
done
if [ -n "$where" ]; then
  # The address of a member is the same wherever it is looked up.
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
[ -z "$tasks" ] || check "$tasks"
exec "$@"
"""
SCONTROL: Final = r"""#!/bin/sh
# scontrol show hostnames: the members, one a line.
if [ "$1 $2" = "show hostnames" ] || [ "$1 $2" = "show hostname" ]; then
  printf '%s\n' "${3:-$SLURM_JOB_NODELIST}" | tr ',' '\n'
else
  echo "scontrol: only 'show hostnames' is known here" >&2; exit 2
fi
"""


OF_MEMBER: Final = """\
if [ -n "$SLURM_JOB_ID" ]; then SLURM_JOB_ID=$(printf %d "0x${SLURM_JOB_ID%%-*}"); fi
SLURMD_NODENAME=$(echo "$SLURM_JOB_NODELIST" | cut -d, -f$((${SLURM_NODEID:-0} + 1)))
SLURM_JOBID=$SLURM_JOB_ID SLURM_SUBMIT_DIR=$PWD
export SLURM_JOB_ID SLURM_JOBID SLURMD_NODENAME SLURM_SUBMIT_DIR
"""
"""Sets the variables that a member has to find out. Scripts compute with the number of their job:
it is the beginning of the Job's uid, the same for all members."""
RUN: Final = """\
evicted=
if command -v setsid > /dev/null; then
  setsid "$batch" "$@" &
  batch=$! group=-$!
else
  "$batch" "$@" &
  batch=$! group=$!
fi
trap 'evicted=1; kill -s TERM -- $group 2> /dev/null' TERM
wait $batch; code=$?
if [ -n "$evicted" ]; then
  while kill -s 0 -- $group 2> /dev/null; do sleep 0.2; done
  wait $batch; code=$?
  [ $code != 127 ] || code=143
fi
exit $code
"""
"""Runs the script, and passes SIGTERM on to all that it has started, as Slurm does. The script
could not: the first process of a container gets no signal that it does not handle, and a shell
passes none on. Then it waits for all of them, since a command may be saving its work."""
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
"""Variables that a script finds, if what they are about is given."""


def data(job: TrainingJob) -> dict[str, str]:
    """Return the files of the ConfigMap of a job with a script."""
    text = job.script.text if job.script is not None else ""
    if not text.startswith("#!"):
        text = f"#!/bin/sh\n{text}"
    return {SCRIPT: text.replace("\r\n", "\n"), "srun": SRUN, "scontrol": SCONTROL}


def command(job: TrainingJob) -> list[str]:
    """Return the command of a container: the script, with the stand-ins first on its PATH."""
    arguments = job.script.arguments if job.script is not None else ()
    run = f"{OF_MEMBER}PATH={PLACE}:$PATH; export PATH\nbatch={PLACE}/{SCRIPT}\n{RUN}"
    return ["/bin/sh", "-c", run, SCRIPT, *arguments]


def volume(name: str) -> dict[str, Any]:
    """Return the volume of the ConfigMap of that name."""
    return {"name": VOLUME, "configMap": {"name": name, "defaultMode": 0o755}}


def mount() -> dict[str, Any]:
    """Return where a container has it."""
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
