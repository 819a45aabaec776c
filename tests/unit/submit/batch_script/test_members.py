"""The stand-ins for Slurm's commands do on a member what a batch script expects, in real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

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


def test_a_member_works_out_its_slurm_variables_itself(tmp_path: Path) -> None:
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


SAVES: Final = """\
import os, signal, sys, time
def save(*_):
    time.sleep(0.3)
    open(sys.argv[1], "w").write("saved")
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
print("trains", flush=True)
ends = time.monotonic() + 60
while time.monotonic() < ends:  # A signal just before one long sleep would not end that sleep.
    time.sleep(0.05)
"""


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("line", ["srun {}", "{}; echo never", "srun {} &\nwait"])
def test_an_eviction_reaches_what_the_script_runs(tmp_path: Path, line: str, shell: str) -> None:
    saved = tmp_path / "saved"
    (tmp_path / "train.py").write_text(SAVES)
    command = line.format(f"{sys.executable} {tmp_path}/train.py {saved}")
    with member(tmp_path, command, shell) as started:
        assert started.stdout is not None
        assert "trains\n" == started.stdout.readline()

        started.terminate()

        assert ("", 143) == (started.communicate(timeout=20)[0], started.returncode)
    assert "saved" == saved.read_text()


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_an_eviction_while_the_script_starts_ends_it(tmp_path: Path, shell: str) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    setsid = programs / "setsid"
    setsid.write_text(
        f'#!/bin/sh\nkill -s TERM $PPID\nsleep 0.3\nexec {shutil.which("setsid")} "$@"\n'
    )
    setsid.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with member(tmp_path, "echo begins; sleep 30", shell, path) as started:
        assert ("", 143) == (started.communicate(timeout=20)[0], started.returncode)


def test_without_sessions_an_eviction_reaches_the_script(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("cut", "sleep"):
        (programs / name).symlink_to(str(shutil.which(name)))
    command = "trap 'echo saved; exit 143' TERM\necho trains\nwhile :; do sleep 0.1; done"
    with member(tmp_path, command, "/bin/sh", str(programs)) as started:
        assert started.stdout is not None
        assert "trains\n" == started.stdout.readline()

        started.terminate()

        assert ("saved\n", 143) == (started.communicate(timeout=20)[0], started.returncode)


@pytest.mark.parametrize("code", [0, 3, 143])
def test_a_member_ends_as_its_script(tmp_path: Path, code: int) -> None:
    with member(tmp_path, f"echo ran; exit {code}", "/bin/sh") as ended:
        assert ("ran\n", code) == (ended.communicate(timeout=20)[0], ended.returncode)


def member(
    tmp_path: Path, command: str, shell: str, path: str = os.environ["PATH"]
) -> "subprocess.Popen[str]":
    """Start the command of a member, with the files of the ConfigMap in a directory."""
    job = TrainingJob(name="llama", script=Script(text=f"#!{shell}\n{command}\n"))
    for name, text in batch_script.data(job).items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    _, *words = batch_script.command(job)
    real = [each.replace(batch_script.PLACE, str(tmp_path)) for each in words]
    return subprocess.Popen(
        [shell, *real], env={**VARIABLES, "PATH": path}, stdout=subprocess.PIPE, text=True
    )


def test_every_variable_that_may_be_used_is_set() -> None:
    given = {"gpu": 8, "cpu": "4"}
    job = TrainingJob.model_validate(
        {"name": "a", "queue": "team", "script": {"text": ""}, "resources": given}
    )
    of_each = {"SLURM_NODEID", "SLURM_PROCID"}
    set_by_shell = {each for each in batch_script.KNOWN if f"{each}=" in batch_script.OF_MEMBER}

    assert batch_script.KNOWN == {*batch_script.variables(job, HOSTS), *of_each, *set_by_shell}
