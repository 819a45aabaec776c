"""`submit` on the command line, without a cluster: flags, files and scripts as one job."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gang_scheduler.cli import main
from support import yaml_texts

SCRIPT = """#!/bin/bash
#SBATCH --job-name=llama
#SBATCH --nodes=4 --gres=gpu:8
srun torchrun train.py
"""
FILE = """apiVersion: py-gang-scheduler.io/v1alpha1
kind: TrainingJob
metadata: {name: llama}
image: pytorch
command: [torchrun, train.py]
resources: {minReplicas: 4, maxReplicas: 4, replicaResources: {gpu: 8}}
"""


def asked(*words: str) -> Result:
    head, dashes, rest = words, [], []
    if "--" in words:
        place = words.index("--")
        head, dashes, rest = words[:place], ["--"], [*words[place + 1 :]]
    return CliRunner().invoke(main, ["submit", *head, "--dry-run=client", *dashes, *rest])


def made(*words: str) -> list[dict[str, Any]]:
    head = words[: words.index("--")] if "--" in words else words
    result = asked(*head, "-o", "yaml", *words[len(head) :])
    assert 0 == result.exit_code, result.output
    return list(yaml_texts.read_all(result.stdout))


def container(*words: str) -> dict[str, Any]:
    (found,) = made(*words)[0]["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def test_flags_say_what_a_job_is() -> None:
    job, service, group = made(
        *("--name", "llama", "--nodes", "2:8", "--gpus", "8", "--image", "I", "--time", "12h"),
        *("--must", "SpineLayer", "--env", "A=b", "--", "torchrun", "train.py", "--lr", "1"),
    )

    assert ("Job", 8, "Service") == (job["kind"], job["spec"]["completions"], service["kind"])
    assert 2 == group["spec"]["minMember"]
    (main_container,) = job["spec"]["template"]["spec"]["containers"]
    assert ["torchrun", "train.py", "--lr", "1"] == main_container["command"]
    assert {"name": "A", "value": "b"} in main_container["env"]


def test_a_table_shows_what_will_be_made(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(FILE)

    result = asked("-f", str(file))

    assert [
        "KIND      NAME   WHAT",
        "Job       llama  4 members with 8 nvidia.com/gpu each",
        "Service   llama  names of members: llama-0.llama is the first",
        "PodGroup  llama  all start together",
    ] == result.stdout.splitlines()


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(FILE)

    job = made("-f", str(file), "--nodes", "2", "--gpus", "4", "--image", "J")[0]

    assert 2 == job["spec"]["completions"]
    found = container("-f", str(file), "--gpus", "4", "--image", "J", "--", "other")
    assert ("J", ["other"]) == (found["image"], found["command"])
    assert {"nvidia.com/gpu": "4"} == found["resources"]["limits"]


def test_a_script_is_submitted_with_its_options(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(SCRIPT)

    job, script, *_ = made(str(file), "--image", "I", "--", "--epochs", "3")

    assert ("llama", 4) == (job["metadata"]["name"], job["spec"]["completions"])
    assert SCRIPT == script["data"]["script"]
    (main_container,) = job["spec"]["template"]["spec"]["containers"]
    assert ["--epochs", "3"] == main_container["command"][-2:]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--image", "I"], "--name: is required"),
        (["--name", "A", "--image", "I"], "name: A must be a name of lower-case letters"),
        (["--name", "a"], "image: is required"),
        (["--name", "a", "--image", "I", "--nodes", "x"], "nodes: x must be a number from 1"),
        (["--name", "a", "--image", "I", "--env", "x"], "--env: x: must be NAME=VALUE"),
        (["--name", "a", "--image", "I", "--type", "Pod"], "jobType: Pod input should be 'Job'"),
        (["--name", "a", "--image", "I", "--priority", "7"], "priority: 7 needs a list"),
    ],
)
def test_bad_input_is_refused_by_field(words: list[str], line: str) -> None:
    result = asked(*words)

    assert 2 == result.exit_code
    assert result.stderr.startswith(line)
    assert "" == result.stdout


def test_a_line_of_a_script_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(SCRIPT.replace("--nodes=4", "--array=1-9"))

    result = asked(str(file), "--image", "I")

    assert 2 == result.exit_code
    assert result.stderr.startswith(f"{file}: line 3: --array=1-9: is not honoured: ")
    assert 0 == asked(str(file), "--image", "I", "--ignore", "array").exit_code


def test_a_file_and_a_script_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "job"
    file.write_text(FILE)

    assert "-f, SCRIPT: give one of them\n" == asked(str(file), "-f", str(file)).stderr
