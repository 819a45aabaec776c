"""A recording is replayed: its gangs are the jobs, and its objects the cluster."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gang_scheduler.cli import main
from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import End, Gang, Header, Line, Name
from gang_scheduler.recording.files import RotatedFiles
from gang_scheduler.replay import reading, recorded_jobs
from gang_scheduler.replay.jobs import Trace, UnreadableJobs
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given
from support import listed_clusters
from support.replays import Played

BEGIN = 1_767_225_600
HEADER = Header(
    kind=file_format.KIND,
    api_version=file_format.API_VERSION,
    version="0.2.0",
    begun_at="2026-01-01T00:00:00Z",
    profile={"preemption": False},
    profile_of="ops/gangs",
)


def node(at: int, name: str, **spec: Any) -> Line:
    return Line(at=BEGIN + at, object={**listed_clusters.node(name), "spec": spec})


def gang(number: int, name: str, submit: int, **more: Any) -> Line:
    fields = {"pods": 1, "gpu": 8, "namespace": "default", **more}
    made = Gang(id=number, name=name, submit=BEGIN + submit, **fields)
    return Line(at=BEGIN + submit, gang=made)


def ended(number: int, at: int, **more: Any) -> Line:
    return Line(at=BEGIN + at, ended=End(id=number, state="Finished", **more))


def ran(number: int, start: int, end: int, **more: Any) -> Line:
    return ended(number, end, started=BEGIN + start, **more)


def written(*lines: Header | Line) -> bytes:
    return b"".join(map(file_format.text_of, lines))


def trace(path: Path, *lines: Line) -> Trace:
    file = path / "week.jsonl"
    file.write_bytes(written(HEADER, *lines))
    return reading.read(reading.load(str(file)), {})


def played(path: Path, *lines: Line, policy: str = "as-is") -> Played:
    """Return the replay of a recording on its own nodes."""
    file = path / "week.jsonl"
    file.write_bytes(written(HEADER, *lines))
    jobs = reading.load(str(file))
    clusters = Clusters(Given(policies=[policy]), jobs.recorded, jobs.shown)
    found = reading.read(jobs, clusters.classes)
    return Played(found, clusters.scenarios(found)[0], Rules(restart_delay=5))


def replay(path: Path, content: bytes, *arguments: str, name: str = "week.jsonl") -> Result:
    """Run the command on a recording."""
    file = path / name
    file.write_bytes(content)
    return CliRunner().invoke(main, ["replay", str(file), *arguments])


def test_a_gang_becomes_a_job(tmp_path: Path) -> None:
    of = {"cpu": "500m", "memory": "64Gi", "queue": "red", "priority": 7, "limit": 3600}
    more = {"least": 2, "topology": "RackLayer?", "user": "jo", "gpu_type": "H100"}
    found = trace(tmp_path, gang(1, "train", 5, pods=4, **of, **more), ran(1, 10, 110))
    (job,) = found.jobs

    assert ("recording", True) == (found.form, found.dated)
    assert ("train", BEGIN + 5, 100, 4, 2, 8) == (
        *(job.name, job.submit, job.duration, job.pods, job.least, job.gpu),
    )
    assert (500, 64 * 2**30, "red", 7, 3600) == (
        *(job.cpu, job.memory, job.queue, job.priority, job.limit),
    )
    assert ("RackLayer?", "jo", "H100") == (job.topology, job.user, job.gpu_type)


def test_a_gang_runs_for_as_long_as_its_last_run(tmp_path: Path) -> None:
    found = trace(
        tmp_path,
        gang(1, "evicted", 0),
        ran(1, 50, 90, evictions=1),
        gang(2, "stopped", 1),
        ran(2, 10, 500, stopped=BEGIN + 30),
        gang(3, "grew", 2),
        ran(3, 10, 20, pods=5),
    )

    assert [40, 20, 10] == [job.duration for job in found.jobs]
    assert 5 == found.jobs[2].pods
    assert any(
        "1 gang evicted: replayed as running for as long as the last run" in x for x in found.notes
    )


def test_a_gang_whose_end_was_not_recorded_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "week.jsonl"
    first = written(HEADER, gang(1, "lost", 0), gang(2, "found", 1))
    file.write_bytes(first + written(HEADER, gang(1, "found", 1), ran(1, 5, 9)))
    found = reading.read(reading.load(str(file)), {})

    assert ["found"] == [job.name for job in found.jobs]
    assert any("1 gang that ended while nothing was recorded" in each for each in found.notes)


def test_the_files_of_a_directory_are_replayed(tmp_path: Path) -> None:
    rotated = RotatedFiles(tmp_path, 1, 9)
    rotated.begin([written(HEADER, node(0, "n"), gang(1, "a", 0))], 1)
    rotated.write([written(ran(1, 0, 60))])
    rotated.begin([written(HEADER, node(100, "n"), gang(1, "b", 80))], 2)
    rotated.write([written(ran(1, 90, 120))])
    done = CliRunner().invoke(main, ["replay", str(tmp_path), "-o", "json"])

    assert 0 == done.exit_code, done.output
    (policy,) = json.loads(done.stdout)["policies"]
    assert (2, 2) == (policy["jobs"]["submitted"], policy["jobs"]["finished"])


def test_a_directory_without_recordings_is_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["replay", str(tmp_path)])

    assert 2 == done.exit_code
    assert f"{tmp_path}: has no file of a recording" in done.output


def test_a_gang_that_never_started_is_withdrawn(tmp_path: Path) -> None:
    found = trace(tmp_path, gang(1, "a", 0, limit=60), ended(1, 40))
    (job,) = found.jobs

    assert (BEGIN + 40, 60) == (job.withdrawn, job.duration)


def test_a_gang_without_an_end_does_not_end(tmp_path: Path) -> None:
    found = trace(tmp_path, gang(1, "a", 0), gang(2, "b", 1))

    assert [None, None] == [job.duration for job in found.jobs]
    assert any("2 gangs without an end in the recording" in each for each in found.notes)


def test_gangs_of_one_name_are_distinguished(tmp_path: Path) -> None:
    found = trace(tmp_path, gang(1, "a", 0), ran(1, 0, 9), gang(2, "a", 20), ran(2, 20, 29))

    assert ["a", "a-2"] == [job.name for job in found.jobs]


class Names(dict[str, int]):
    """Names in use; counts how often one is looked for."""

    looked = 0

    def __contains__(self, name: object) -> bool:
        self.looked += 1
        return super().__contains__(name)


def test_a_gang_that_is_made_again_and_again_has_a_name_after_few_looks() -> None:
    names, made = Names(), Gang(id=1, name="a", submit=BEGIN)

    found = {recorded_jobs._name(made, names) for _ in range(1_000)}

    assert 1_000 == len(found)
    assert names.looked < 2_100


def test_a_gang_that_asks_for_more_than_any_cluster_has_keeps_no_other_waiting(
    tmp_path: Path,
) -> None:
    run = played(
        tmp_path,
        node(0, "n"),
        gang(1, "huge", 0, gpu=2**63 - 1, pods=100, cpu="9223372036854775807"),
        gang(2, "b", 10),
        ran(2, 10, 110),
    )

    assert [(10, 110)] == run.runs("b")


def test_recorded_gangs_start_in_the_same_order_again(tmp_path: Path) -> None:
    """Four of one node each on one node, the last with a higher priority."""
    run = played(
        tmp_path,
        node(0, "n"),
        gang(1, "a", 0),
        gang(2, "b", 10),
        gang(3, "c", 20),
        gang(4, "d", 30, priority=9),
        ran(1, 0, 100),
        ran(4, 100, 150),
        ran(2, 150, 250),
        ran(3, 250, 300),
    )

    runs = {name: run.runs(name) for name in "abcd"}
    assert {"a": [(0, 100)], "d": [(100, 150)], "b": [(150, 250)], "c": [(250, 300)]} == runs


@pytest.mark.parametrize("policy", ["as-is", "pod-by-pod"])
def test_a_node_that_came_later_takes_nothing_before(policy: str, tmp_path: Path) -> None:
    run = played(
        tmp_path,
        node(0, "n"),
        gang(1, "a", 0),
        gang(2, "b", 0),
        node(60, "late"),
        ran(1, 0, 100),
        ran(2, 60, 100),
        policy=policy,
    )

    assert [(0, 100)] == run.runs("a")
    assert [(60, 100)] == run.runs("b")


@pytest.mark.parametrize("policy", ["as-is", "pod-by-pod"])
def test_a_node_that_went_takes_its_pods_with_it(policy: str, tmp_path: Path) -> None:
    run = played(
        tmp_path,
        node(0, "n1"),
        gang(1, "a", 0),
        Line(at=BEGIN + 30, gone=Name(kind="Node", name="n1")),
        node(100, "n1"),
        ran(1, 0, 50),
        policy=policy,
    )

    assert [(0, 30), (100, 150)] == run.runs("a")
    assert 1 == run.life("a").failures


@pytest.mark.parametrize("policy", ["as-is", "pod-by-pod"])
def test_a_cordoned_node_keeps_its_pods_and_takes_no_more(policy: str, tmp_path: Path) -> None:
    run = played(
        tmp_path,
        node(0, "n"),
        gang(1, "a", 0),
        gang(2, "b", 1),
        node(10, "n", unschedulable=True),
        node(200, "n"),
        ran(1, 0, 100),
        ran(2, 200, 220),
        policy=policy,
    )

    assert [(0, 100)] == run.runs("a")
    assert [(200, 220)] == run.runs("b")


def test_time_of_a_node_that_is_gone_is_no_capacity(tmp_path: Path) -> None:
    run = played(
        tmp_path,
        node(0, "n1"),
        node(0, "n2"),
        gang(1, "a", 0),
        Line(at=BEGIN + 40, gone=Name(kind="Node", name="n2")),
        Line(at=BEGIN + 50, gone=Name(kind="Node", name="n2")),
        ran(1, 0, 100),
    )

    assert 8 * 100 + 8 * 40 == run.replay.measures.totals.capacity


CONTENT = written(
    HEADER,
    node(0, "n1"),
    node(0, "n2"),
    gang(1, "a", 0, pods=2),
    ran(1, 0, 100),
    gang(2, "b", 10),
    ran(2, 100, 130),
)


def test_a_recording_needs_no_other_cluster(tmp_path: Path) -> None:
    result = replay(tmp_path, CONTENT, "-o", "json")

    assert 0 == result.exit_code, result.stderr
    (policy,) = json.loads(result.stdout)["policies"]
    assert 16 == policy["capacity"]
    assert "settings of ops/gangs as in the recording, begun at 2026-01-01" in result.stderr


def test_a_recording_is_also_the_cluster_of_other_jobs(tmp_path: Path) -> None:
    cluster = tmp_path / "week.jsonl"
    cluster.write_bytes(CONTENT)
    content = b"name,submit,duration,pods,gpu\na,0,100,2,8\n"
    result = replay(tmp_path, content, "--cluster", str(cluster), "-o", "json", name="jobs.csv")

    assert 0 == result.exit_code, result.stderr
    (policy,) = json.loads(result.stdout)["policies"]
    assert (16, 1) == (policy["capacity"], policy["jobs"]["finished"])


def test_other_nodes_take_the_place_of_those_that_were_recorded(tmp_path: Path) -> None:
    gone = written(Line(at=BEGIN + 1, gone=Name(kind="Node", name="node-0")))
    begun = CONTENT.replace(b'"n1"', b'"node-0"')
    result = replay(tmp_path, begun + gone, "--nodes", "3x8", "-o", "json")

    (policy,) = json.loads(result.stdout)["policies"]
    assert (24, 0) == (policy["capacity"], policy["evictions"]["byFailures"])


def test_half_a_line_at_the_end_is_left_out_and_reported(tmp_path: Path) -> None:
    result = replay(tmp_path, CONTENT + b'{"at":1767225799,"gang":{"id":3,"na')

    assert 0 == result.exit_code
    assert "week.jsonl: ends amid a line, which is left out" in result.stderr


@pytest.mark.parametrize("option", [(), ("--nodes", "2x8")])
def test_a_damaged_line_is_refused_by_file_and_line(
    option: tuple[str, ...], tmp_path: Path
) -> None:
    lines = CONTENT.splitlines(keepends=True)
    result = replay(tmp_path, b"".join([*lines[:4], b'{"at":17,"ga\n', *lines[4:]]), *option)

    assert (2, "") == (result.exit_code, result.stdout)
    assert "week.jsonl: line 5: " in result.stderr


def test_a_damaged_recording_is_no_cluster_either(tmp_path: Path) -> None:
    cluster = tmp_path / "week.jsonl"
    cluster.write_bytes(CONTENT.replace(b'"at"', b'"at', 1) + b"\n")
    content = b"name,submit,duration,pods,gpu\na,0,100,2,8\n"
    result = replay(tmp_path, content, "--cluster", str(cluster), name="jobs.csv")

    assert 2 == result.exit_code
    assert "week.jsonl: line 2: " in result.stderr


def test_an_amount_that_is_none_is_refused_by_its_gang(tmp_path: Path) -> None:
    with pytest.raises(UnreadableJobs, match="gang default/a: "):
        trace(tmp_path, gang(1, "a", 0, memory="much"))


def test_a_recording_without_a_gang_has_no_job(tmp_path: Path) -> None:
    with pytest.raises(UnreadableJobs, match="has no job that could run"):
        trace(tmp_path, node(0, "n"))
