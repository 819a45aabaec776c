"""A recorder beside the operator, on the embedded API server: what it writes can be replayed."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.api.kinds import JOBS, NAMESPACES, NODES, POD_GROUPS, PODS
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import Embedded
from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import GONE, Recorded
from gang_scheduler.replay import reading
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given
from gang_scheduler.simulation import snapshot_files
from support.replays import Played
from tools.controlplane import nodes

ROOM = {"cpu": "96", "memory": "768Gi", "pods": "110", "nvidia.com/gpu": "8"}
LABELS = {world.MARK: "true"}
PATIENCE_SECONDS = 30.0
APART_SECONDS = 2.5
"""Times in a recording are exact to a second: what happens is further apart."""
SPACE = world.NAMESPACE


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: no loop of ours runs here."""
    return iter(())


@pytest.fixture(scope="module")
def server() -> Iterator[Embedded]:
    """Run an API server with a node, and the operator."""
    with cluster.embedded() as found:
        for each in world.definitions():
            cluster.create(found, each.gvr, each.body)
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        cluster.create(found, NAMESPACES, space)
        cluster.create(found, NODES, nodes.manifest("acme-0", LABELS, ROOM))
        with cluster.operator(found.kubeconfig):
            yield found


@pytest.fixture
def served(server: Embedded) -> Iterator[Embedded]:
    """Give the server without gangs, before and after."""
    yield server
    for gvr in (JOBS, POD_GROUPS):
        for each in cluster.items(server, gvr, SPACE):
            path = gvr.path(SPACE, each["metadata"]["name"])
            server.request("DELETE", path, {"propagationPolicy": "Background"})
    until(lambda: not cluster.items(server, PODS, SPACE), "all pods are gone")


@contextmanager
def recorder(served: Embedded, out: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a recorder, which has begun; it is killed in the end if it is still there."""
    command = [sys.executable, "-m", "gang_scheduler", "record", "--out", str(out)]
    process = subprocess.Popen(
        [*command, f"--kubeconfig={served.kubeconfig}", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=cluster.environment(),
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("recording "):
                break
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def submit(served: Embedded, name: str, gpus: int) -> None:
    for each in world.gang(world.Gang(name, 1, gpus)):
        cluster.create(served, each.gvr, each.body)


def finish(served: Embedded, name: str) -> None:
    """Let the pods of a gang end well."""
    for each in cluster.items(served, PODS, SPACE):
        if each["metadata"]["name"].startswith(f"{name}-"):
            path = f"{PODS.path(SPACE, each['metadata']['name'])}/status"
            status = {**each["status"], "phase": "Succeeded"}
            served.request("PUT", path, {**each, "status": status})


def running(served: Embedded, name: str) -> int:
    found = cluster.items(served, PODS, SPACE)
    mine = (each for each in found if each["metadata"]["name"].startswith(f"{name}-"))
    return sum(each.get("status", {}).get("phase") == "Running" for each in mine)


def read(out: Path) -> Recorded:
    """Return what is recorded so far."""
    return file_format.read(snapshot_files.unpacked(out.read_bytes()))


def nodes_in(out: Path) -> list[str]:
    return [each["metadata"]["name"] for each in read(out).objects if each["kind"] == "Node"]


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def ended(out: Path) -> set[str]:
    return {each.gang.name for each in read(out).gangs if each.end is not None}


@pytest.mark.timeout(180)
def test_recorded_gangs_start_again_in_the_same_order(served: Embedded, tmp_path: Path) -> None:
    out = tmp_path / "week.jsonl.gz"
    with recorder(served, out) as process:
        for gang, gpus in (("a", 8), ("b", 8), ("c", 4), ("d", 4)):
            submit(served, gang, gpus)
            time.sleep(APART_SECONDS)
        for gang, following in (("a", "b"), ("b", "d")):
            finish(served, gang)
            until(lambda of=following: running(served, of) > 0, following)  # type: ignore[misc]
            time.sleep(APART_SECONDS)
        finish(served, "c")
        finish(served, "d")
        until(lambda: {"a", "b", "c", "d"} == ended(out), "all ends are recorded")
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(PATIENCE_SECONDS)
        assert process.stderr is not None
        assert "4 gangs, 4 ended" in process.stderr.read()

    lived = {each.gang.name: each for each in read(out).gangs}
    live = {name: each.end.started for name, each in lived.items() if each.end is not None}
    jobs = reading.load(str(out))
    clusters = Clusters(Given(), jobs.recorded, jobs.shown)
    trace = reading.read(jobs, clusters.classes)
    found = Played(trace, clusters.scenarios(trace)[0], Rules())
    again = {name: found.replay.measures.lives[f"{SPACE}/{name}"].runs[0][0] for name in live}
    assert sorted(live, key=lambda each: (live[each], each)) == sorted(
        again, key=lambda each: (again[each], each)
    )
    assert all(abs(again[each] - (live[each] or 0)) <= 2 for each in live)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["week.jsonl", "week.jsonl.gz"])
def test_what_a_killed_recorder_wrote_can_be_replayed(
    name: str, served: Embedded, tmp_path: Path
) -> None:
    out = tmp_path / name
    submit(served, "early", 4)
    until(lambda: running(served, "early") == 1, "it runs")
    with recorder(served, out) as process:
        submit(served, "train", 4)
        until(lambda: "train" in {each.gang.name for each in read(out).gangs}, "it is recorded")
        finish(served, "early")
        until(lambda: "early" in ended(out), "its end is recorded")
        process.send_signal(signal.SIGKILL)
        process.wait()

    done = replay(out)
    assert 0 == done.returncode, done.stderr
    (policy,) = json.loads(done.stdout)["policies"]
    assert (2, 1, 8) == (
        *(policy["jobs"]["submitted"], policy["jobs"]["finished"], policy["capacity"]),
    )


@pytest.mark.timeout(120)
def test_nodes_that_come_and_go_are_recorded(served: Embedded, tmp_path: Path) -> None:
    out = tmp_path / "week.jsonl"
    with recorder(served, out):
        cluster.create(served, NODES, nodes.manifest("acme-9", LABELS, ROOM))
        until(lambda: 2 == len(nodes_in(out)), "it is recorded")
        served.request("DELETE", NODES.path(name="acme-9"))
        until(
            lambda: ("acme-9", GONE) in {(each.name, each.state) for each in read(out).changes},
            "its end is recorded",
        )


@pytest.mark.timeout(120)
def test_with_pseudonyms_no_name_is_in_the_file(served: Embedded, tmp_path: Path) -> None:
    out = tmp_path / "week.jsonl"
    names = Path(f"{out}.names.json")
    with recorder(served, out, "--anonymize") as process:
        submit(served, "secretive", 8)
        until(lambda: 1 == len(read(out).gangs), "it is recorded")
        served.request("DELETE", JOBS.path(SPACE, "secretive"), {"propagationPolicy": "Background"})
        served.request("DELETE", POD_GROUPS.path(SPACE, "secretive"))
        until(lambda: None is not read(out).gangs[0].end, "its end is recorded")
        process.send_signal(signal.SIGINT)
        assert 0 == process.wait(PATIENCE_SECONDS)

    text = out.read_text()
    assert "acme" not in text
    assert "secretive" not in text
    meant: dict[str, Any] = json.loads(names.read_text())
    assert read(out).gangs[0].gang.name == meant["words"]["secretive"]
    assert 0 == replay(out).returncode


def replay(out: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "gang_scheduler", "replay", str(out), "-o", "json"],
        capture_output=True,
        text=True,
        check=False,
        env=cluster.environment(),
    )
