"""The control plane itself: what other end-to-end tests, demo and benchmarks rely on."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tools import controlplane
from tools.controlplane import audit, background, directories, nodes

pytestmark = pytest.mark.e2e

TESTS = Path(__file__).parents[1]
QUIET_SECONDS = 1.0
BARE = controlplane.Options(kwok=False, controller_manager=False)
START_BARE = """
import json, os, time
from tools import controlplane
plane = controlplane.start(controlplane.Options(kwok=False, controller_manager=False))
pids = [plane.processes.pid(name) for name in plane.processes.running()]
print(json.dumps({"directory": str(plane.directory), "pids": pids}), flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    with controlplane.start(controlplane.Options(audit=True)) as started:
        yield started


@pytest.fixture
def namespace(plane: controlplane.ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    name = re.sub("[^a-z0-9]+", "-", request.node.name)[-60:].strip("-")
    plane.kubectl("create", "namespace", name)
    yield name
    plane.kubectl("delete", "namespace", name, "--wait=false")


def test_it_serves_an_administrator_with_a_private_kubeconfig(
    plane: controlplane.ControlPlane,
) -> None:
    assert stat.S_IMODE(plane.kubeconfig.stat().st_mode) == 0o600
    assert "admin" in plane.kubectl("auth", "whoami")
    assert plane.kubectl("create", "token", "default").count(".") == 2
    assert plane.cpu_seconds("kube-apiserver") > 0
    assert plane.peak_memory_bytes("etcd") > 1_000_000


def test_a_thousand_nodes_are_ready_and_placed_in_the_topology(
    plane: controlplane.ControlPlane,
) -> None:
    names = plane.nodes(
        1000,
        prefix="many-",
        labels=nodes.layers({"example.com/block": 64, "example.com/rack": 16}),
        allocatable={"cpu": "8", "memory": "32Gi", "pods": "110", "example.com/gpu": "8"},
    )

    found = plane.request("GET", "/api/v1/nodes?labelSelector=example.com/rack")["items"]
    by_name = {node["metadata"]["name"]: node for node in found}
    assert set(names) == set(by_name)
    assert by_name["many-70"]["metadata"]["labels"].items() >= {
        ("type", "kwok"),
        ("kubernetes.io/hostname", "many-70"),
        ("example.com/block", "block-1"),
        ("example.com/rack", "rack-4"),
    }
    assert by_name["many-70"]["status"]["allocatable"]["example.com/gpu"] == "8"
    assert {"True"} == {condition(node, "Ready") for node in found}


def test_kwok_runs_a_pod_bound_by_hand_and_removes_it_when_deleted(
    plane: controlplane.ControlPlane, namespace: str
) -> None:
    plane.nodes(1, prefix="hand-")
    create_pod(plane, namespace, "a")

    with controlplane.Watcher(plane, namespace) as watcher:
        bind(plane, namespace, "a", "hand-0")
        watcher.wait_until(lambda seen: seen.states["a"].phase == "Running")
        plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/a")
        watcher.wait_until(lambda seen: not seen.states)


def test_kwok_leaves_pods_alone_that_have_the_names_of_others_deleted_by_force(
    plane: controlplane.ControlPlane, namespace: str
) -> None:
    plane.nodes(1, prefix="forced-")
    names = [f"pod-{number}" for number in range(20)]

    with controlplane.Watcher(plane, namespace) as watcher:
        for name in names:
            create_pod(plane, namespace, name)
            bind(plane, namespace, name, "forced-0")
        watcher.wait_until(
            lambda seen: ["Running"] * 20 == [each.phase for each in seen.states.values()]
        )
        with plane.processes.paused("kwok"):
            for name in names:
                delete_at_once(plane, namespace, name)
                create_pod(plane, namespace, name)
        time.sleep(QUIET_SECONDS)
        assert {"Pending"} == {each.phase for each in watcher.states.values()}


def test_a_pod_that_is_deleted_before_it_has_started_ends(
    plane: controlplane.ControlPlane, namespace: str
) -> None:
    plane.nodes(1, prefix="slow-")
    path = f"/api/v1/namespaces/{namespace}/pods/held"

    with plane.processes.paused("kwok"):
        create_pod(plane, namespace, "held", finalizers=["example.com/held"])
        bind(plane, namespace, "held", "slow-0")
        plane.request("DELETE", path)

    eventually(lambda: plane.request("GET", path)["status"]["phase"] == "Failed")
    plane.request("PATCH", path, {"metadata": {"finalizers": None}})


def test_pods_of_a_job_are_made_by_the_controller_manager(
    plane: controlplane.ControlPlane, namespace: str
) -> None:
    with controlplane.Watcher(plane, namespace) as watcher:
        plane.kubectl("create", "job", "three", "--image=none", f"--namespace={namespace}")

        watcher.wait_until(lambda seen: len(seen.states) == 1)


def test_the_watcher_reports_a_gang_of_which_one_of_two_pods_is_bound(
    plane: controlplane.ControlPlane, namespace: str
) -> None:
    for gang in ("whole", "part", "refused"):
        for member in range(2):
            create_pod(plane, namespace, f"{gang}-{member}", gang)
    everyone_needs_two = {"whole": 2, "part": 2, "refused": 2}

    with controlplane.Watcher(plane, namespace) as watcher:
        bind(plane, namespace, "whole-0", "far-away")
        bind(plane, namespace, "whole-1", "far-away")
        bind(plane, namespace, "part-0", "far-away")
        watcher.wait_until(lambda seen: bool(seen.bound("part")))
        found = watcher.partial_gangs(everyone_needs_two, settle_seconds=0.5)

        # Where the machine is slow, the other one was in part as long before it was complete.
        (violation,) = [each for each in found if each.gang == "part"]
        assert (violation.gang, violation.bound, violation.min_member) == ("part", ("part-0",), 2)
        assert not violation.was_complete
        assert watcher.bound("whole") == {"whole-0": "far-away", "whole-1": "far-away"}
        assert set() == watcher.ever_bound("refused")

        bind(plane, namespace, "part-1", "far-away")
        watcher.wait_until(lambda seen: len(seen.bound("part")) == 2)
        assert watcher.partial_gangs(everyone_needs_two, settle_seconds=60) == []


def test_the_watcher_reports_a_gang_that_lost_a_member(
    plane: controlplane.ControlPlane, namespace: str
) -> None:
    with controlplane.Watcher(plane, namespace) as watcher:
        for name in ("a", "b"):
            create_pod(plane, namespace, name, "pair")
            bind(plane, namespace, name, "far-away")
        watcher.wait_until(lambda seen: len(seen.bound("pair")) == 2)
        delete_at_once(plane, namespace, "b")
        watcher.wait_until(lambda seen: len(seen.bound("pair")) == 1)

        # Where the machine is slow, it was in part for as long before it was complete.
        *_, violation = watcher.partial_gangs({"pair": 2}, settle_seconds=0.3)
    assert violation.was_complete


def test_the_audit_log_tells_the_rate_and_the_waits(
    plane: controlplane.ControlPlane, namespace: str
) -> None:
    offset = audit.end(plane.audit_log)
    for number in range(4):
        create_pod(plane, namespace, f"pod-{number}")
    time.sleep(0.5)
    for number in range(4):
        bind(plane, namespace, f"pod-{number}", "far-away")

    measured = audit.figures(plane.audit_log, offset)

    assert 4 == measured.bindings == len(measured.waits)
    assert measured.bindings_per_second > 1
    assert 0.4 < measured.wait_p50 <= measured.wait_p99 < 5


@pytest.mark.parametrize("component", ["kube-apiserver", "etcd"])
def test_a_killed_server_comes_back_with_its_data_and_its_port(
    plane: controlplane.ControlPlane, namespace: str, component: str
) -> None:
    url = plane.url
    create_pod(plane, namespace, "before")

    with controlplane.Watcher(plane, namespace) as watcher:
        plane.restart(component)
        create_pod(plane, namespace, "after")
        watcher.wait_until(lambda seen: set(seen.states) == {"before", "after"})

    assert url == plane.url


def test_two_run_side_by_side(plane: controlplane.ControlPlane) -> None:
    with controlplane.start(controlplane.Options()) as other:
        other.nodes(1, prefix="other-")
        directory = other.directory

        assert "other-0" in other.kubectl("get", "nodes")
        assert "other-0" not in plane.kubectl("get", "nodes")

    assert not directory.exists()
    with pytest.raises(controlplane.ControlPlaneError, match="etcd is not running"):
        other.stop_component("etcd")


def test_a_component_that_cannot_start_shows_its_log() -> None:
    broken = controlplane.Options(extra_args={"kube-apiserver": ("--no-such-flag",)})

    with pytest.raises(controlplane.ComponentDied, match="unknown flag: --no-such-flag"):
        controlplane.start(broken)


@pytest.mark.parametrize("victim", ["owner", "supervisor"])
def test_nothing_is_left_behind_by_a_kill(victim: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START_BARE],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout
        started = json.loads(owner.stdout.readline())
        pids, directory = started["pids"], Path(started["directory"])
        os.kill(owner.pid if victim == "owner" else parent_of(pids[0]), signal.SIGKILL)
        eventually(lambda: not any(is_alive(pid) for pid in pids))
        owner.kill()

    if victim == "supervisor":
        # No process was left to remove it; the next start does.
        directories.sweep()
    eventually(lambda: not directory.exists())


def test_up_and_down_outlive_their_commands(tmp_path: Path) -> None:
    def run(*arguments: str, check: bool = True) -> str:
        return subprocess.run(
            [sys.executable, "-m", "tools.controlplane", *arguments],
            env={**os.environ, "PYTHONPATH": str(TESTS), "CONTROLPLANE_STATE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=check,
        ).stdout

    exported = run("up", "--nodes=3")
    try:
        state = background.Running(**json.loads((tmp_path / "controlplane.json").read_text()))
        assert f"export KUBECONFIG={state.kubeconfig}" in exported
        assert exported == run("status")
        assert exported == run("up")
    finally:
        run("down")

    assert not Path(state.directory).exists()
    assert not is_alive(state.holder_pid)
    assert run("status", check=False) == ""


def test_an_existing_cluster_is_used_only_when_that_is_allowed(
    plane: controlplane.ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("E2E_KUBECONFIG", str(plane.kubeconfig))
    with pytest.raises(controlplane.ControlPlaneError, match="E2E_ALLOW_EXISTING"):
        controlplane.open_cluster()

    monkeypatch.setenv("E2E_ALLOW_EXISTING", "1")
    with controlplane.open_cluster(BARE) as cluster:
        assert "kube-system" in cluster.kubectl("get", "namespaces")
    assert "kube-system" in plane.kubectl("get", "namespaces")


def create_pod(
    plane: controlplane.ControlPlane,
    namespace: str,
    name: str,
    gang: str | None = None,
    finalizers: Sequence[str] = (),
) -> None:
    labels = {"pod-group.scheduling.sigs.k8s.io": gang} if gang else {}
    # No scheduler of that name runs: only the test binds it.
    spec = {"schedulerName": "by-hand", "containers": [{"name": "main", "image": "none"}]}
    plane.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/pods",
        {"metadata": {"name": name, "labels": labels, "finalizers": [*finalizers]}, "spec": spec},
    )


def bind(plane: controlplane.ControlPlane, namespace: str, pod: str, node: str) -> None:
    plane.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/pods/{pod}/binding",
        {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}},
    )


def delete_at_once(plane: controlplane.ControlPlane, namespace: str, pod: str) -> None:
    plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod}", {"gracePeriodSeconds": 0})


def condition(thing: dict[str, Any], kind: str) -> str:
    found = next(entry for entry in thing["status"]["conditions"] if entry["type"] == kind)
    status: str = found["status"]
    return status


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    # A zombie is dead; that its parent has not looked yet is another matter.
    return state != "Z"


def eventually(is_true: Callable[[], bool], timeout_seconds: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not is_true():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)
