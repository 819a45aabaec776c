"""Options of batch scripts: each is honoured, or refused by its line."""

from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.submit import sbatch
from gang_scheduler.submit.refusals import Faults
from support import yaml_texts

SCRIPTS: list[dict[str, Any]] = yaml_texts.read(
    Path(__file__).with_name("sbatch_scripts.yaml").read_text()
)


def of(*keys: str) -> list[Any]:
    """Return the scripts that say one of these, as parameters."""
    return [pytest.param(e, id=e["name"]) for e in SCRIPTS if any(key in e for key in keys)]


def read(text: str, *ignored: str) -> dict[str, Any]:
    found = sbatch.read(text, "job.sh", ignored)
    return {**found.fields, **found.resources}


def refused(text: str) -> list[str]:
    with pytest.raises(Faults) as caught:
        sbatch.read(text, "job.sh")
    return list(caught.value.lines)


def test_there_are_twenty_scripts() -> None:
    assert 20 <= len(SCRIPTS)


@pytest.mark.parametrize("script", of("honoured"))
def test_options_become_fields(script: dict[str, Any]) -> None:
    assert script["honoured"] == read(script["text"], *script.get("ignored", ()))


@pytest.mark.parametrize("script", of("refused"))
def test_what_cannot_be_honoured_is_refused_by_its_line(script: dict[str, Any]) -> None:
    expected = [f"job.sh: line {line}: --{name}" for line, name in script["refused"].items()]

    found = refused(script["text"])

    assert expected == [each[: len(start)] for each, start in zip(found, expected, strict=True)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("30:10", 1810), ("1:00:00", 3600), ("2-0", 172_800), ("1-02:03:04", 93_784)],
)
def test_times_are_as_in_slurm(text: str, seconds: int) -> None:
    assert {"time": f"{seconds}s"} == read(f"#SBATCH --time={text}")


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("--time=soon", "must be minutes"),
        ("--gres=gpu:many", "must be a number of GPUs"),
        ("--gres=license:2", "must be gpu:N"),
        ("--nodes=all", "must be a number"),
        ("--nodes", "needs a value"),
        ("--cpus-per-task=0", "from 1"),
        ("--mem=lots", "amount of memory"),
        ("--job-name=42", "begin with a letter"),
        ("--requeue=yes", "takes no value"),
        ('--comment="open', "No closing quotation"),
        ("nodes=2", "is not honoured"),
    ],
)
def test_a_bad_value_is_refused(option: str, problem: str) -> None:
    (line,) = refused(f"#SBATCH {option}")

    assert line.startswith("job.sh: line 1: ")
    assert problem in line


def test_an_option_after_the_first_command_is_refused() -> None:
    (found,) = refused("#!/bin/sh\nset -e\n#SBATCH --nodes=8\n")

    assert found.startswith("job.sh: line 3: --nodes=8: comes after the first command, where ")
    assert {} == read("set -e\n#SBATCH --nodes=8\n", "nodes")


def test_options_that_contradict_each_other_are_refused() -> None:
    text = "#SBATCH --gres=gpu:4\n#SBATCH --gpus-per-node=8\n"

    assert ["job.sh: line 2: --gpus-per-node=8: contradicts line 1: --gres=gpu:4"] == refused(text)
    assert {"gpu": 4} == read(text.replace("8", "4"))
    assert {"nodes": "4"} == read("#SBATCH --nodes=2\n#SBATCH --nodes=4\n")


@pytest.mark.parametrize(
    "line", ["echo $SLURM_ARRAY_TASK_ID", 'cd "${SLURM_TMPDIR}"', "echo ${#SLURM_STEP_ID}"]
)
def test_a_variable_that_is_not_set_is_refused_by_its_line(line: str) -> None:
    name = line.partition("SLURM_")[2].rstrip('}"')
    ((found),) = refused(f"#!/bin/sh\n{line}\n{line}\n")

    assert found.startswith(f"job.sh: line 2: $SLURM_{name}: is not set here")
    assert {} == read(line, f"SLURM_{name}")


@pytest.mark.parametrize(
    "line",
    [
        "# echo $SLURM_ARRAY_TASK_ID",
        "echo ${SLURM_ARRAY_TASK_ID:-0} ${SLURM_TMPDIR-/tmp} ${SLURM_STEP_ID:?no step}",
        "echo $SLURM_JOB_ID $SLURM_JOBID ${SLURM_NNODES} $SLURM_SUBMIT_DIR $SLURMD_NODENAME",
    ],
)
def test_variables_with_a_default_and_those_that_are_set_may_be_used(line: str) -> None:
    assert {} == read(line)
