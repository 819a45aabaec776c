"""`snapshot` on a real API server: decided as the cluster is, and with no secret in it."""

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support.manifests import Manifest, gang, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

CANARY = "canary-7f3a"
Run = subprocess.CompletedProcess[str]


def run(namespace: Namespace, *arguments: str) -> Run:
    """Return how a command ends that asks the cluster, and what it says."""
    return command(*arguments, f"--kubeconfig={namespace.cluster.kubeconfig}")


def command(*arguments: str) -> Run:
    return subprocess.run(
        [sys.executable, "-m", "gang_scheduler", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def taken(namespace: Namespace, path: Path, *options: str) -> str:
    """Return the name of a new snapshot; it must be decided as the cluster."""
    done = run(namespace, "snapshot", f"--output={path}", *options)
    assert (0, "") == (done.returncode, done.stdout), done.stderr
    return str(path)


def lines(file: str) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(Path(file).read_bytes()).splitlines()]


def with_canaries(body: Manifest) -> Manifest:
    """Return a pod with a canary wherever the scheduler does not look."""
    metadata = body["metadata"]
    (container,) = body["spec"]["containers"]
    container |= {
        "image": f"registry.example.com/{CANARY}",
        "args": [CANARY],
        "command": [f"/{CANARY}"],
        "env": [{"name": "TOKEN", "value": CANARY}],
        "envFrom": [{"secretRef": {"name": CANARY}}, {"configMapRef": {"name": CANARY}}],
    }
    notes = {"example.com/note": CANARY, "kubectl.kubernetes.io/last-applied": CANARY}
    return {**body, "metadata": {**metadata, "annotations": notes}}


def event_of_others(namespace: str) -> Manifest:
    """Return an Event about a pod that another controller tells of."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "others"},
        "eventTime": "2026-01-01T12:00:00.000000Z",
        "action": "Pull",
        "type": "Warning",
        "reason": "Failed",
        "note": CANARY,
        "reportingController": "example.com/puller",
        "reportingInstance": "puller-0",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "runs-0", "namespace": namespace},
    }


@pytest.fixture
def waiting(namespace: Namespace) -> Namespace:
    """Give a namespace with a gang that runs and one that waits, all with canaries."""
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": CANARY}}
    config = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": CANARY}}
    for each in (secret | {"stringData": {"a": CANARY}}, config | {"data": {"a": CANARY}}):
        namespace.kubectl("apply", f"--field-manager={CANARY}", "-f", "-", stdin=json.dumps(each))
    namespace.kubectl("create", "-f", "-", stdin=json.dumps(event_of_others(namespace.name)))
    gangs = [*gang("runs", 2), *gang("waits", 2, cpu=1000)]
    for each in gangs:
        made = with_canaries(each) if each["kind"] == "Pod" else each
        text = json.dumps(made)
        namespace.kubectl("create", f"--field-manager={CANARY}", "-f", "-", stdin=text)
    until(lambda: namespace.node_of("runs-0") and namespace.node_of("runs-1"))
    eventually("Unschedulable", lambda: namespace.condition_of_pod("waits-0").get("reason"))
    return namespace


def test_no_secret_is_in_it(waiting: Namespace, tmp_path: Path) -> None:
    file = taken(waiting, tmp_path / "s.jsonl.gz")

    header, *objects = lines(file)
    assert CANARY in waiting.kubectl("get", "pods", "-o", "json", "--show-managed-fields")
    assert CANARY not in json.dumps([header, *objects])
    assert "runs-0" in {each["metadata"]["name"] for each in objects}
    assert header["kubernetes"].startswith("v1.")
    assert len(objects) == sum(header["counts"].values())


def test_it_has_the_events_of_the_scheduler_and_explain_tells_them(
    waiting: Namespace, tmp_path: Path
) -> None:
    file = until(lambda: with_event_of(waiting, tmp_path / "s.jsonl.gz", "runs"))

    explained = command("explain", "-f", file, "-n", waiting.name, "runs", "-o", "json")

    history = [each["what"] for each in json.loads(explained.stdout)["history"]]
    assert [each for each in history if each.startswith("Scheduled")], history


def with_event_of(namespace: Namespace, path: Path, gang: str) -> str:
    """Return the name of a snapshot, once the Event about a gang is in it; "" before."""
    file = taken(namespace, path)
    (header, *_) = lines(file)
    there = {(each["namespace"], each["name"]) for each in header["events"]}
    return file if (namespace.name, gang) in there else ""


def test_the_answers_on_a_snapshot_are_those_on_the_cluster(
    waiting: Namespace, tmp_path: Path
) -> None:
    file = taken(waiting, tmp_path / "s.jsonl.gz")
    here = ("list", f"--namespace={waiting.name}", "--output=json")

    live, listed = run(waiting, *here), command(*here, "-f", file)
    simulated = json.loads(command("simulate", "-o", "json", "-f", file).stdout)
    explained = command("explain", "-f", file, "-n", waiting.name, "waits")

    assert told(live) == told(listed)
    refused = {each["gang"]: each["reason"] for each in simulated["unschedulable"]}
    assert "Unschedulable" == refused[f"{waiting.name}/waits"]
    assert not [each for each in simulated["bindings"] if each["gang"].startswith(waiting.name)]
    assert (0, True) == (explained.returncode, "waits" in explained.stdout)


def told(listed: Run) -> list[tuple[Any, ...]]:
    """Return what a list says of gangs, but for times."""
    gangs = json.loads(listed.stdout)["items"]
    return [
        tuple(each.get(key) for key in ("name", "state", "members", "scheduled", "reason"))
        for each in gangs
    ]


def test_without_names_it_is_decided_the_same(waiting: Namespace, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"

    file = taken(waiting, path, "--anonymize")

    text = json.dumps(lines(file))
    words = json.loads((tmp_path / "s.jsonl.gz.names.json").read_text())["words"]
    assert [] == [each for each in (waiting.name, "runs-0", "waits-0") if each in text]
    assert {"runs", "waits"} <= words.keys()


def test_for_a_namespace_it_has_no_names_of_others(waiting: Namespace, tmp_path: Path) -> None:
    with Namespace(waiting.cluster, "neighbour") as other:
        other.create(pod("theirs"))
        node = until(lambda: other.node_of("theirs"))

        file = taken(waiting, tmp_path / "s.jsonl.gz", f"--namespace={waiting.name}")

        objects = lines(file)[1:]
        assert [] == [each for each in (other.name, "theirs") if each in json.dumps(objects)]
        pods = [each for each in objects if each["kind"] == "Pod"]
        foreign = [each for each in pods if each["metadata"]["namespace"] != waiting.name]
        assert node in {each["spec"]["nodeName"] for each in foreign}


@pytest.fixture
def churn(namespace: Namespace) -> Iterator[None]:
    """Create and delete gangs until the test has ended."""
    stop = threading.Event()
    namespace.create(*gang("g0", 3))

    def go_on() -> None:
        number = 0
        while not stop.wait(0.3):
            number += 1
            namespace.create(*gang(f"g{number}", 3))
            if number > 3:
                namespace.delete("pods", f"g{number - 3}-0")

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.usefixtures("churn")
def test_while_objects_change_it_is_taken_and_read(namespace: Namespace, tmp_path: Path) -> None:
    for number in range(2):
        file = taken(namespace, tmp_path / f"{number}.jsonl.gz")

        assert 0 == command("simulate", "-f", file).returncode
