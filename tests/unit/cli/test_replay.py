"""`replay` prints what became of the jobs, or all that is wrong and nothing else."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gang_scheduler.cli import main

JOBS = "name,submit,duration,pods,gpu\na,0,100,2,8\nb,10,50,1,8\n"


def replay(path: Path, *arguments: str, jobs: str = JOBS) -> Result:
    """Run the command on jobs."""
    file = path / "jobs.csv"
    file.write_text(jobs)
    return CliRunner().invoke(main, ["replay", str(file), *arguments])


def test_a_table_is_printed(tmp_path: Path) -> None:
    result = replay(tmp_path, "--nodes", "2x8")

    assert 0 == result.exit_code
    assert "2 jobs of CSV, 1 gang of several pods" in result.stdout
    assert "wait mean" in result.stdout
    assert "made 2 nodes of 8 GPUs" in result.stderr


def test_json_says_when_the_largest_gangs_ran(tmp_path: Path) -> None:
    result = replay(tmp_path, "--nodes", "2x8", "-o", "json")

    (policy,) = json.loads(result.stdout)["policies"]
    assert [[0, 100]] == policy["largest"][0]["runs"]


def test_a_report_is_written(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    result = replay(tmp_path, "--nodes", "2x8", "--report", str(report))

    assert 0 == result.exit_code
    assert report.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "there are no nodes: give --cluster FILE, or --nodes 300x8"),
        (("--nodes", "2x8", "--until", "soon"), "--until: soon must be a time such as 7d"),
        (("--nodes", "2x8", "--failures", "9d"), "--failures:"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    arguments: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    result = replay(tmp_path, *arguments)

    assert 2 == result.exit_code
    assert problem in result.stderr


def test_a_bad_file_never_gives_half_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    arguments = ("--nodes", "2x8", "--report", str(report))
    result = replay(tmp_path, *arguments, jobs=f"{JOBS}c,soon,1,1,1\n")

    assert 2 == result.exit_code
    assert "" == result.stdout
    assert "line 4, column submit" in result.stderr
    assert not report.exists()
