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
        (["--image", "I"], "--name: required, unless the file or the script has a name"),
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


def test_a_file_gives_a_script_what_it_cannot_say(tmp_path: Path) -> None:
    script, file = tmp_path / "job.sh", tmp_path / "job.yaml"
    script.write_text(SCRIPT)
    below = "resources: {replicaResources: {memory: 4Gi, gpu: 2}}\nimage: other\n"
    more = "volumes: [{name: home, mountPath: /home, nfs: {server: s, path: /h}}]\n"
    kind = "apiVersion: py-gang-scheduler.io/v1alpha1\nkind: TrainingJob\n"
    file.write_text(kind + below + more)

    spec = made(str(script), "-f", str(file))[0]["spec"]

    (main_container,) = spec["template"]["spec"]["containers"]
    assert (4, "other") == (spec["completions"], main_container["image"])
    assert {"memory": "4Gi", "nvidia.com/gpu": "8"} == main_container["resources"]["requests"]
    assert "home" == spec["template"]["spec"]["volumes"][0]["name"]

    file.write_text(kind + "command: [a]\nimage: i\n")
    assert "leave out command" in asked(str(script), "-f", str(file)).stderr


def test_a_flag_wins_over_an_option_that_cannot_be_honoured(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(SCRIPT.replace("--gres=gpu:8", "--mem=0 --account=me"))
    assert 2 == asked(str(file), "--image", "I").exit_code

    (found,) = made(str(file), "--image", "I", "--mem", "8Gi", "--ignore", "account")[0]["spec"][
        "template"
    ]["spec"]["containers"]

    assert {"memory": "8Gi"} == found["resources"]["requests"]


def test_claims_are_mounted_and_a_checkpoint_has_time() -> None:
    words = ("--name", "a", "--image", "I", "--volume", "home:/home", "--checkpoint-timeout", "5m")
    spec = made(*words)[0]["spec"]["template"]["spec"]

    claim = {"name": "home", "persistentVolumeClaim": {"claimName": "home"}}
    assert [claim] == spec["volumes"]
    assert [{"name": "home", "mountPath": "/home"}] == spec["containers"][0]["volumeMounts"]
    assert 300 == spec["terminationGracePeriodSeconds"]
    assert "--volume: home: must be CLAIM:/PATH\n" == asked(*words[:4], "--volume", "home").stderr
