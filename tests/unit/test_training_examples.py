"""The training scripts of examples/ save when asked and go on there, and their manifests fit."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler import checkpoint, checkpoint_files, checkpoint_store
from support import yaml_texts

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAIN = EXAMPLES / "34-survive-eviction"
WITH_STORE = EXAMPLES / "39-checkpoint-store"
WITH_SCRIPTS = sorted(each.parent for each in EXAMPLES.glob("*/train.py"))
STEPS = 4000


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """Give the directory of the ConfigMap of the plain example."""
    for file in (PLAIN / "train.py", Path(checkpoint.__file__)):
        shutil.copy(file, tmp_path)
    (tmp_path / "termination-log").touch()
    return tmp_path


def start(scripts: Path, seconds: float, **environ: str) -> subprocess.Popen[str]:
    """Start the plain script in a bare interpreter."""
    command = [sys.executable, "-E", "-S", str(scripts / "train.py"), f"--directory={scripts}"]
    log = {"CHECKPOINT_TERMINATION_LOG": str(scripts / "termination-log")}
    return subprocess.Popen(
        [*command, f"--steps={STEPS}", f"--seconds-per-step={seconds}"],
        env={**log, **environ},
        stdout=subprocess.PIPE,
        text=True,
    )


def last_line(process: subprocess.Popen[str]) -> str:
    """Wait until a process has ended well, and return what it said last."""
    said, _ = process.communicate()
    assert 0 == process.returncode
    return said.splitlines()[-1]


def test_a_training_that_was_evicted_ends_as_one_that_was_not(scripts: Path) -> None:
    process = start(scripts, 0.01)
    assert process.stdout is not None
    assert "begins at step 0 from nothing\n" == process.stdout.readline()
    process.terminate()
    process.communicate()
    assert 143 == process.returncode
    told = json.loads((scripts / "termination-log").read_text())["checkpoint"]

    resumed = start(scripts, 0.0, RESUME_FROM=told["path"], RESUME_STEP=str(told["step"]))

    assert 0 < told["step"] < STEPS
    ended = last_line(resumed)
    # One after the other: both save where the other does.
    assert last_line(start(scripts, 0.0)) == ended


def test_a_training_with_a_store_goes_on_from_what_it_published(tmp_path: Path) -> None:
    for module in (checkpoint, checkpoint_files, checkpoint_store):
        shutil.copy(str(module.__file__), tmp_path)
    shutil.copy(WITH_STORE / "train.py", tmp_path)
    log = tmp_path / "termination-log"
    log.touch()
    kept = tmp_path / "kept"

    def start_with_store(seconds: float, **environ: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(tmp_path / "train.py"), f"--store={kept}", "--steps=2000"]
        return subprocess.Popen(
            [*command, f"--seconds-per-step={seconds}"],
            env={"CHECKPOINT_TERMINATION_LOG": str(log), **environ},
            stdout=subprocess.PIPE,
            text=True,
        )

    process = start_with_store(0.01)
    assert process.stdout is not None
    assert "begins at step 0 from nothing\n" == process.stdout.readline()
    process.terminate()
    process.communicate()
    assert 143 == process.returncode
    told = json.loads(log.read_text())["checkpoint"]
    assert told["path"].startswith(f"{kept}/step-")

    resumed = start_with_store(0.0, RESUME_FROM=told["path"], RESUME_STEP=str(told["step"]))

    ended = last_line(resumed)
    kept_paths = [each.path for each in checkpoint_store.Store(kept, environ={}).list()]
    assert told["path"] in kept_paths
    assert 5 >= len(kept_paths)
    assert last_line(start_with_store(0.0)) == ended


@pytest.mark.parametrize("directory", WITH_SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_of_the_syntax_of_python_3_9(directory: Path) -> None:
    ast.parse((directory / "train.py").read_text(), feature_version=(3, 9))


@pytest.mark.parametrize("directory", WITH_SCRIPTS, ids=lambda path: path.name)
def test_a_pod_knows_where_to_go_on(directory: Path) -> None:
    env = {each["name"]: each for each in container_of(template_of(directory))["env"]}

    for name in ("RESUME_FROM", "RESUME_STEP", "RESUME_COUNT"):
        last = {"RESUME_FROM": "path"}.get(name, name.partition("_")[2].lower())
        field = f"metadata.annotations['py-gang-scheduler.io/resume-{last}']"
        assert field == env[name]["valueFrom"]["fieldRef"]["fieldPath"]


def template_of(directory: Path) -> dict[str, Any]:
    """Return the spec of the pods of the one Job in an example."""
    documents = yaml_texts.read_all((directory / "job.yaml").read_text())
    (job,) = (each for each in documents if each["kind"] == "Job")
    found: dict[str, Any] = job["spec"]["template"]["spec"]
    return found


def container_of(template: dict[str, Any]) -> dict[str, Any]:
    (found,) = template["containers"]
    assert isinstance(found, dict)
    return found
