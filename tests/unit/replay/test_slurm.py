"""What sacct prints becomes jobs: arrays, cancelled, requeued and failed ones."""

import pytest

from gang_scheduler.replay import reading
from gang_scheduler.replay.jobs import Job, Trace, UnreadableJobs
from support import sacct_files

HEADER = "JobID|Submit|Start|End|Elapsed|Timelimit|AllocTRES|ReqTRES|NNodes|State|Account"
TRES = "billing=2,cpu=32,gres/gpu:a100=16,gres/gpu=16,mem=1000G,node=2"
MONDAY = 1_767_600_000


def read(*lines: str) -> Trace:
    """Return the jobs of a text."""
    return reading.of_text("sacct.txt", "\n".join([HEADER, *lines]), {})


def line(name: str, elapsed: str = "01:00:00", state: str = "COMPLETED", tres: str = TRES) -> str:
    """Return a line of a job of two nodes that was submitted at eight."""
    times = "2026-01-05T08:00:00|2026-01-05T08:10:00|2026-01-05T09:10:00"
    return f"{name}|{times}|{elapsed}|1-02:00:00|{tres}|{TRES}|2|{state}|team_a"


def test_a_job_has_a_pod_a_node_with_its_part_of_all_resources() -> None:
    found = read(line("17"))

    assert (
        Job(
            name="17",
            submit=MONDAY,
            duration=3600,
            pods=2,
            least=2,
            gpu=8,
            cpu=16_000,
            memory=500 * 2**30,
            gpu_type="a100",
            queue="team-a",
            limit=26 * 3600,
        ),
    ) == found.jobs
    assert "sacct" == found.form


def test_each_task_of_an_array_is_a_job() -> None:
    assert ["17_1", "17_2"] == [job.name for job in read(line("17_1"), line("17_2")).jobs]


def test_a_job_that_has_not_run_is_left_out_and_counted() -> None:
    found = read(line("17"), line("18_[1-9]", "00:00:00", "PENDING", ""))

    assert 1 == len(found.jobs)
    why = "of a job that has not run yet: its run time is unknown"
    assert f"sacct.txt: left out: 1 line {why}" in found.notes


def test_a_job_that_was_cancelled_while_it_waited_waits_until_then() -> None:
    (job,) = read(line("17", "00:00:00", "CANCELLED by 1000", "")).jobs

    assert MONDAY + 70 * 60 == job.withdrawn
    assert 8 == job.gpu


def test_a_job_that_was_requeued_is_one_job_with_its_last_run() -> None:
    again = line("17", "02:00:00").replace("05T08:00:00", "05T12:00:00")
    found = read(line("17", "00:30:00", "REQUEUED"), again)

    assert [(MONDAY, 7200)] == [(job.submit, job.duration) for job in found.jobs]
    assert any("requeued" in note for note in found.notes)


def test_a_job_that_a_failed_node_ended_runs_for_as_long() -> None:
    found = read(line("17", state="NODE_FAIL"))

    assert 3600 == found.jobs[0].duration
    assert any("failed node" in note for note in found.notes)


def test_steps_are_left_out() -> None:
    found = read(line("17"), line("17.batch"), line("17.0"))

    assert 1 == len(found.jobs)
    assert any("add -X" in note for note in found.notes)


def test_a_value_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UnreadableJobs) as caught:
        read(line("17", "an hour"))

    assert 'sacct.txt: line 2, column Elapsed: "an hour" must be a time' in caught.value.lines[0]


def test_a_file_that_lacks_a_column_says_which_are_needed() -> None:
    with pytest.raises(UnreadableJobs, match="sacct must print Submit, Elapsed, and NNodes"):
        reading.of_text("sacct.txt", "JobID|Submit\n1|2026-01-05T08:00:00", {})


def test_a_made_file_of_all_kinds_is_read() -> None:
    found = reading.of_text("sacct.txt", "\n".join(sacct_files.lines(500)), {})

    assert 450 < len(found.jobs) <= 540
    assert {"team-0", "team-1"} <= {job.queue for job in found.jobs}
    assert any(job.withdrawn is not None for job in found.jobs)
    assert any("_" in job.name for job in found.jobs)
