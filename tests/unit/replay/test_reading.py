"""Files of jobs are read by their content, and a bad one is named by line, column and value."""

from pathlib import Path

import pytest

from gang_scheduler.replay import reading
from gang_scheduler.replay.jobs import BEGIN, Job, Trace, UnreadableJobs


def read(*lines: str) -> Trace:
    """Return the jobs of a text."""
    return reading.of_text("jobs", "\n".join(lines), {"high": 100})


def problems(*lines: str) -> tuple[str, ...]:
    """Return what is wrong with a text."""
    with pytest.raises(UnreadableJobs) as caught:
        read(*lines)
    return caught.value.lines


def test_the_columns_of_csv_may_be_in_any_order() -> None:
    found = read("gpu,submit,name,duration,cpu,memory,limit", "8,10,a,60,500m,1Ki,90")

    job = Job("a", BEGIN + 10, 60, gpu=8, cpu=500, memory=1024, limit=90)
    assert (job,) == found.jobs
    assert not found.dated


def test_the_pods_of_a_job_are_its_quorum_unless_it_says_less() -> None:
    found = read("name,submit,pods,min", "a,0,4,", "b,0,4,2")

    assert [(4, 4), (4, 2)] == [(job.pods, job.least) for job in found.jobs]


@pytest.mark.parametrize("duration", ["", "never"])
def test_a_job_without_a_duration_never_ends(duration: str) -> None:
    assert read("name,submit,duration", f"a,0,{duration}").jobs[0].duration is None


def test_times_may_be_real_ones() -> None:
    found = read("name,submit,duration", "a,2026-01-01T00:00:10Z,60")

    assert BEGIN + 10 == found.jobs[0].submit
    assert found.dated


def test_a_priority_is_a_number_or_a_class_of_the_cluster() -> None:
    found = read("name,submit,priority", "a,0,7", "b,1,high")

    assert [7, 100] == [job.priority for job in found.jobs]


def test_columns_that_are_not_known_are_named_once() -> None:
    found = read("name,submit,color,taste", "a,0,red,", "b,0,blue,")

    assert ("jobs: ignored: column color, taste",) == found.notes


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("a,x,1,1", 'line 2, column submit: "x" must be seconds, or a time such as '),
        ("a,0,-1,1", 'line 2, column duration: "-1" must be more than 0 seconds'),
        ("a,0,1,0", 'line 2, column pods: "0" must be a whole number of at least 1'),
        ("a,0,1,1.5", 'line 2, column pods: "1.5" must be a whole number of at least 1'),
        (",0,1,1", 'line 2, column name: "" is required'),
        ("a,0,1", 'line 2, column duration: "a,0,1" has 3 values, the header 4'),
        ("a,2026-01-01T00:00:00,1,1", "must have a time zone"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_by_line_column_and_value(
    row: str, problem: str
) -> None:
    (line,) = problems("name,submit,duration,pods", row)

    assert problem in line


def test_a_quorum_of_more_than_all_pods_is_wrong() -> None:
    (line,) = problems("name,submit,pods,min", "a,0,2,3")

    assert 'column min: "3" must not be more than the 2 pods' in line


def test_two_jobs_have_different_names() -> None:
    (line,) = problems("name,submit", "a,0", "a,1")

    assert 'line 3, column name: "a" is the name of another row, too' in line


def test_a_file_of_another_kind_is_refused() -> None:
    (line,) = problems("kind: Pod", "metadata: {}")

    assert line.startswith("jobs: is no file of jobs")


def test_a_file_without_jobs_is_refused() -> None:
    assert ("jobs: has no job that could run",) == problems("name,submit")


def test_only_some_of_very_many_faults_are_reported() -> None:
    found = problems("name,submit", *(f"a{number},x" for number in range(50)))

    assert 21 == len(found)
    assert "jobs: and 30 further faults" == found[-1]


def test_the_content_tells_the_form_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("; MaxProcs: 4\n1 0 0 60 4 -1 -1 4 90 -1 1 1 1 1 1 1 -1 -1\n")

    assert "SWF" == reading.read(reading.load(str(path)), {}).form


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UnreadableJobs, match="cannot be read: No such file"):
        reading.load(str(tmp_path / "none"))
