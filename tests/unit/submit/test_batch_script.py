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


@pytest.mark.parametrize("how", ["-w {}", "--nodelist={}", "-w{}"])
@pytest.mark.parametrize("asks", ["hostname --ip-address", "hostname -i", "hostname -I"])
def test_srun_finds_the_address_of_a_member(tmp_path: Path, how: str, asks: str) -> None:
    done = run(tmp_path, f"srun --nodes=1 --ntasks=1 {how.format('localhost')} {asks}")

    assert done.stdout.strip() in ("127.0.0.1", "::1")
    assert ("", 0) == (done.stderr, done.returncode)


def test_srun_runs_nothing_else_on_one_member(tmp_path: Path) -> None:
    done = run(tmp_path, "srun --nodes=1 --ntasks=1 -w localhost ray start --head")

    assert ("", 2) == (done.stdout, done.returncode)
    assert "each member runs the command itself" in done.stderr


def test_srun_on_one_of_two_members_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "srun --ntasks=1 echo ran")

    assert ("", "srun: 1 tasks: must be 2, one a member\n") == (done.stdout, done.stderr)


def test_a_member_finds_what_it_has_to_find_out_itself(tmp_path: Path) -> None:
    names = ("SLURM_JOB_ID", "SLURM_JOBID", "SLURMD_NODENAME", "SLURM_SUBMIT_DIR")
    shown = " ".join(f"${each}" for each in names)
    uid = "0000002a-9c1e-4a52-8f0e-5f2d8f0c7e11"
    done = subprocess.run(
        ["/bin/sh", "-c", f"{batch_script.OF_MEMBER}echo {shown}"],
        env={**VARIABLES, "SLURM_NODEID": "1", "SLURM_JOB_ID": uid, "PATH": os.environ["PATH"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert ["42", "42", HOSTS[1], str(tmp_path)] == done.stdout.split()
    assert "" == done.stderr


def test_every_variable_that_may_be_used_is_set() -> None:
    given = {"gpu": 8, "cpu": "4"}
    job = TrainingJob.model_validate(
        {"name": "a", "queue": "team", "script": {"text": ""}, "resources": given}
    )
    of_each = {"SLURM_NODEID", "SLURM_PROCID"}
    set_by_shell = {each for each in batch_script.KNOWN if f"{each}=" in batch_script.OF_MEMBER}

    assert batch_script.KNOWN == {*batch_script.variables(job, HOSTS), *of_each, *set_by_shell}
