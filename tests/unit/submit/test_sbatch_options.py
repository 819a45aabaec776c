"""Options of batch scripts: each is honoured, or refused by its line."""

from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.submit import sbatch_options
from gang_scheduler.submit.refusals import Faults
from support import yaml_texts

SCRIPTS: list[dict[str, Any]] = yaml_texts.read(
    Path(__file__).with_name("sbatch_scripts.yaml").read_text()
)


LEFT_OUT = "to leave out all that can be left out"


def of(*keys: str) -> list[Any]:
    """Return the scripts that say one of these, as parameters."""
    return [pytest.param(e, id=e["name"]) for e in SCRIPTS if any(key in e for key in keys)]


def read(text: str, *ignored: str) -> dict[str, Any]:
    found = sbatch_options.read(text, "job.sh", ignored)
    return {**found.fields, **found.resources}


def refused(text: str) -> list[str]:
    with pytest.raises(Faults) as caught:
        sbatch_options.read(text, "job.sh")
    return list(caught.value.lines)


def test_there_are_twenty_scripts() -> None:
    assert 20 <= len(SCRIPTS)


@pytest.mark.parametrize("script", of("honoured"))
def test_options_become_fields(script: dict[str, Any]) -> None:
    assert script["honoured"] == read(script["text"], *script.get("ignored", ()))


@pytest.mark.parametrize("script", of("refused", "commands"))
def test_what_cannot_be_honoured_is_refused_by_its_line(script: dict[str, Any]) -> None:
    named = [(line, f"--{name}") for line, name in script.get("refused", {}).items()]
    named += [(int(line), word) for line, word in script.get("commands", {}).items()]
    expected = sorted(f"job.sh: line {line}: {word}" for line, word in named)

    found = sorted(each for each in refused(script["text"]) if LEFT_OUT not in each)

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


def test_all_that_can_be_left_out_is_said_once() -> None:
    text = "#SBATCH --output=o\n#SBATCH --array=1-3\nmodule load cuda\n"

    *_, said = refused(text)

    ignored = ("output", "array", "module")
    assert f"job.sh: {LEFT_OUT}: {' '.join(f'--ignore {each}' for each in ignored)}" == said
    assert {} == read(text, *ignored)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("module load cuda", "module: is not in a pod: use an image that has the programs, or"),
        ("srun -n 8 x", "srun --ntasks=8: must be 2: each member runs it once"),
        ("srun --mpi=pmix x", "srun --mpi: is not honoured: each member is a program of its own"),
        ("mpirun x", "mpirun: is not in a pod: it starts processes on other nodes: use --type"),
    ],
)
def test_commands_that_a_member_cannot_run_are_refused_by_their_line(line: str, said: str) -> None:
    (found,) = refused(f"#!/bin/sh\n#SBATCH --nodes=2\n{line}\n")

    assert found.startswith(f"job.sh: line 3: {said}")


def test_an_option_that_a_flag_overrides_may_be_anything() -> None:
    text = "#SBATCH --mem=0\n#SBATCH --job-name=13B\n#SBATCH --nodes=2\n"

    assert 2 == len(refused(text))
    assert {"nodes": "2"} == dict(
        sbatch_options.read(text, "job.sh", (), ("mem", "job-name")).fields
    )


def test_gpus_of_a_task_are_those_of_its_member() -> None:
    assert {"nodes": "2", "gpu": 8} == read("#SBATCH -N 2\n#SBATCH --gpus-per-task=8\n")


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
