"""The stand-ins for Slurm's commands do on a member what a batch script expects, in real shells."""

import os
import subprocess
from pathlib import Path

import pytest

from gang_scheduler.submit import batch_script
from gang_scheduler.submit.training_job import Script, TrainingJob

HOSTS = ["llama-0.llama", "llama-1.llama"]
VARIABLES = {"SLURM_NNODES": "2", "SLURM_JOB_NODELIST": ",".join(HOSTS)}


def run(tmp_path: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """Run a script on a member with two in all."""
    job = TrainingJob(name="llama", script=Script(text=f"#!/bin/sh\n{command}\n"))
    for name, text in batch_script.data(job).items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    return subprocess.run(
        [tmp_path / batch_script.SCRIPT],
        env={**VARIABLES, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--",
        "-l --kill-on-bad-exit=1",
        "-N 2 -n 2 --ntasks-per-node=1 --export=ALL",
        "--nodes=2 --ntasks=2 -c 8 --gres=gpu:8 --cpu-bind=none",
    ],
)
def test_srun_runs_the_command_here(tmp_path: Path, options: str) -> None:
    done = run(tmp_path, f"srun {options} printf '%s|' one 'two words' -n 7")

    assert ("one|two words|-n|7|", "", 0) == (done.stdout, done.stderr, done.returncode)


@pytest.mark.parametrize("options", ["-n 16", "--ntasks=16", "--ntasks-per-node 8", "--pty"])
def test_srun_refuses_what_would_run_otherwise(tmp_path: Path, options: str) -> None:
    done = run(tmp_path, f"srun {options} echo ran")

    assert ("", 2) == (done.stdout, done.returncode)
    assert done.stderr.startswith("srun: ")


def test_scontrol_shows_the_members(tmp_path: Path) -> None:
    done = run(tmp_path, 'scontrol show hostnames "$SLURM_JOB_NODELIST"')

    assert HOSTS == done.stdout.split()
    assert HOSTS[:1] == run(tmp_path, "scontrol show hostnames | head -n 1").stdout.split()


def test_scontrol_refuses_all_else(tmp_path: Path) -> None:
    done = run(tmp_path, "scontrol show job 1")

    assert ("", 2) == (done.stdout, done.returncode)


def test_a_script_without_a_first_line_runs_in_a_shell() -> None:
    job = TrainingJob(name="a", script=Script(text="echo a\r\n"))

    assert "#!/bin/sh\necho a\n" == batch_script.data(job)[batch_script.SCRIPT]


def test_variables_say_what_slurm_says() -> None:
    job = TrainingJob.model_validate(
        {"name": "a", "script": {"text": ""}, "resources": {"gpu": 8, "cpu": "4"}}
    )

    found = batch_script.variables(job, HOSTS)

    assert ("a", "2", "8", "4") == tuple(
        found[f"SLURM_{name}"] for name in ("JOB_NAME", "NNODES", "GPUS_ON_NODE", "CPUS_PER_TASK")
    )
