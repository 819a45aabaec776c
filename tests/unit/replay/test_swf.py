"""Files in the Standard Workload Format become jobs and nodes."""

import pytest

from gang_scheduler.replay import reading
from gang_scheduler.replay.jobs import Job, NodesWanted, Trace, UnreadableJobs

HEADER = ("; MaxNodes: 4", "; MaxProcs: 16", "; UnixStartTime: 1767225600")
FULL = "7 30 5 600 8 -1 -1 8 900 -1 1 3 1 1 2 1 -1 -1"


def read(*lines: str) -> Trace:
    """Return the jobs of a text."""
    return reading.of_text("log.swf", "\n".join([*HEADER, *lines]), {})


def test_a_job_has_a_pod_for_the_processors_of_a_node() -> None:
    found = read(FULL)

    assert (
        Job(
            name="job-7",
            submit=1_767_225_630,
            duration=600,
            pods=2,
            least=2,
            cpu=4000,
            queue="queue-2",
            limit=900,
            user="user-3",
        ),
    ) == found.jobs
    assert NodesWanted(4, cpu=4000) == found.nodes


def test_jobs_that_never_ran_are_left_out_and_counted() -> None:
    found = read(FULL, "8 31 5 -1 8 -1 -1 8 900 -1 5 3 1 1 2 1 -1 -1")

    assert 1 == len(found.jobs)
    assert any("1 line of a job that was cancelled" in note for note in found.notes)


def test_parts_of_a_job_are_left_out() -> None:
    assert 1 == len(read(FULL, FULL.replace("7 30", "8 30").replace("-1 1 3", "-1 2 3")).jobs)


def test_a_line_of_fewer_numbers_is_named() -> None:
    with pytest.raises(UnreadableJobs, match="line 4, column requested processors"):
        read("7 30 5 600 8 -1 -1 8")


def test_a_word_is_no_number() -> None:
    with pytest.raises(UnreadableJobs, match='line 4, column run: "long" must be a number'):
        read(FULL.replace("600", "long"))
