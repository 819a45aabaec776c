"""Commands of Slurm in scripts: what a member cannot do as asked is refused before it waits."""

import os
import subprocess
from pathlib import Path

import pytest

from gang_scheduler.submit import batch_script
from gang_scheduler.submit.batch_script import Fault


def faults(text: str, nodes: str = "4", *ignored: str) -> list[Fault]:
    return list(batch_script.faults(text, nodes, ignored))


def words(text: str, nodes: str = "4", *ignored: str) -> list[tuple[int, str]]:
    found = faults(text, nodes, *ignored)
    return [(each.line, f"{each.command} {each.word}".strip()) for each in found]


def run(tmp_path: Path, command: str, *ignored: str) -> "subprocess.CompletedProcess[str]":
    """Run a command on a member of two, with the stand-ins first on its PATH."""
    for name, text in batch_script.stand_ins(ignored).items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return subprocess.run(
        ["/bin/sh", "-c", command],
        env={"SLURM_NNODES": "2", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


HONOURED = [
    "srun python train.py",
    "srun -l --kill-on-bad-exit=1 -c 8 --gpus-per-task=8 --jobid $SLURM_JOBID bash -c 'a; srun'",
    "srun --nodes=4 -n4 --ntasks-per-node 1 --wait=60 torchrun train.py --output out --mpi",
    "srun --export=ALL,NCCL_DEBUG=INFO -D /work python train.py",
    'ip=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address)',
    "srun -N $SLURM_NNODES --ntasks=$SLURM_NTASKS python train.py",
    "nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )",
    "host=`scontrol show hostname $SLURM_NODELIST | head -n 1`",
    "# module load cuda\necho sbatch; echo 'use squeue'; my-srun --pty x; ./srun.sh --mpi=pmix",
    "cat <<EOF > next.sh\nmodule load cuda\nsrun --mpi=pmix x\nEOF\nsrun python train.py",
    "python sbatch.py --module squeue",
    "srun $RUNNER --pty",
]
REFUSED = [
    ("set -e\nmodule load cuda\nmodule load nccl", [(2, "module")]),
    ("ml purge && ml python", [(1, "ml")]),
    ("if true; then sbatch next.sh; fi", [(1, "sbatch")]),
    ("job=$(squeue -h -j $SLURM_JOB_ID)", [(1, "squeue")]),
    ("scontrol show job $SLURM_JOB_ID", [(1, "scontrol")]),
    ("scontrol requeue $SLURM_JOB_ID", [(1, "scontrol")]),
    ("mpirun -np 32 ./solver", [(1, "mpirun")]),
    ("srun --mpi=pmix ./solver", [(1, "srun --mpi")]),
    (
        "srun -l \\\n  --container-image nvcr.io#pytorch --output=%x.log sh -c x",
        [(1, "srun --container-image"), (1, "srun --output")],
    ),
    ('ARGS="--container-image=i.sqsh --wait 60"\nsrun $ARGS x', [(2, "srun --container-image")]),
    ("srun -N1 -n1 ./setup &\nwait", [(1, "srun --nodes=1"), (1, "srun --ntasks=1")]),
    ("srun --ntasks-per-node=8 python x", [(1, "srun --ntasks-per-node=8")]),
    ('srun -w "$head" ray start --head &', [(1, "srun --nodelist")]),
    ("OMP_NUM_THREADS=1 srun --export=NONE x", [(1, "srun --export")]),
    ("srun --auto-resume=1 x", [(1, "srun --auto-resume")]),
    ("srun bash -c 'begin\n  end' ; srun --pty bash", [(2, "srun --pty")]),
    ("time srun --pty bash", [(1, "srun --pty")]),
]


@pytest.mark.parametrize("text", HONOURED)
def test_what_a_member_does_as_asked_is_no_fault(text: str) -> None:
    assert [] == words(text)


@pytest.mark.parametrize(("text", "expected"), REFUSED)
def test_what_a_member_cannot_do_is_named_with_its_line(
    text: str, expected: list[tuple[int, str]]
) -> None:
    assert expected == words(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("module load cuda", "module"),
        ("srun --output=a.log x", "output"),
        ("srun --auto-resume=1 x", "auto-resume"),
        ("mpirun x", "mpirun"),
    ],
)
def test_what_is_ignored_is_no_fault(text: str, name: str) -> None:
    assert 1 == len(words(text))
    assert [] == words(text, "4", name)


def test_an_image_may_have_an_mpirun_for_one_member() -> None:
    assert [] == words("mpirun -np 8 ./solver", "1")


@pytest.mark.parametrize("option", ["--output=a", "--output a", "-o a", "-oa", "--auto-resume=1"])
def test_the_stand_in_skips_what_is_ignored(tmp_path: Path, option: str) -> None:
    command = f"srun {option} echo ran"

    assert ("", 2) == (run(tmp_path, command).stdout, run(tmp_path, command).returncode)
    assert "ran\n" == run(tmp_path, command, "output", "auto-resume").stdout


def test_a_command_that_is_ignored_does_nothing(tmp_path: Path) -> None:
    assert 127 == run(tmp_path, "module load cuda").returncode
    done = run(tmp_path, "module load cuda && echo ran", "module")
    assert ("ran\n", "") == (done.stdout, done.stderr)
    assert "mpirun" not in batch_script.stand_ins(["mpirun"])


def test_srun_exports_the_variables_that_its_option_names(tmp_path: Path) -> None:
    done = run(tmp_path, "B=2 srun --export=ALL,A='x y',B,C=3 sh -c 'echo $A,$B,$C'")

    assert ("x y,2,3\n", "") == (done.stdout, done.stderr)
    assert "must be ALL" in run(tmp_path, "srun --export=NONE true").stderr


def test_srun_runs_in_the_directory_that_its_option_names(tmp_path: Path) -> None:
    assert "/\n" == run(tmp_path, "srun --chdir=/ pwd").stdout
    assert "/\n" == run(tmp_path, "srun -D / pwd").stdout
    nowhere = run(tmp_path, "srun -D /none pwd")
    assert ("", 2) == (nowhere.stdout, nowhere.returncode)


@pytest.mark.parametrize("option", ["--nodes=1", "-N1", "-N 1"])
def test_srun_on_fewer_nodes_is_refused(tmp_path: Path, option: str) -> None:
    done = run(tmp_path, f"srun {option} echo ran")

    assert ("", "srun: 1 nodes: must be 2, all of the job\n") == (done.stdout, done.stderr)


def test_every_option_that_is_honoured_has_a_case_in_the_stand_in() -> None:
    text = batch_script.srun()

    for each in (*batch_script.ALONE, *batch_script.SKIPPED, *batch_script.DONE):
        assert f"--{each})" in text or f"--{each}|" in text
    assert "{" + "cases}" not in text
