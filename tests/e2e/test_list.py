"""`list`, `queues` and `cluster` on a real API server, with many rights and with few."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from e2e.support import chart_objects, queues
from e2e.support.chart_objects import RELEASE
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects, queue
from e2e.support.waiting import eventually, until
from gang_scheduler.cli import main
from support import listed_clusters
from tools import controlplane
from tools.controlplane import access, binaries, credentials

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

ROLES = ("readerrole", "tenantroles", "profile")
FIGURES = ("nominal", "used", "borrowed", "lent", "fairShare")
PLUGIN = "gang_scheduler.cli.kubectl_gang"
UNDECIDED = ("", "WaitingForMembers", "Scheduling")
Run = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own, with the roles of the chart."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        roles = chart_objects.of_templates(ROLES)
        started.kubectl("apply", "--namespace=default", "--filename=-", input=roles)
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started, queues.objects(plane) as made:
        made.create_and_wait(queue("idle", 0))
        yield started


@pytest.fixture
def other(plane: controlplane.ControlPlane) -> Iterator[Namespace]:
    """Give a second namespace."""
    with Namespace(plane, "of-somebody-else") as made:
        yield made


def account(namespace: Namespace, directory: Path, kind: str, role: str) -> Path:
    """Return the kubeconfig of a new ServiceAccount that is bound to a ClusterRole."""
    owner = f"--serviceaccount={namespace.name}:user"
    namespace.kubectl("create", "serviceaccount", "user")
    name = f"user-{namespace.name}"
    namespace.kubectl("create", kind, name, f"--clusterrole={role}", owner)
    token = namespace.kubectl("create", "token", "user").strip()
    path = directory / "kubeconfig"
    plane = namespace.cluster
    credentials.write_kubeconfig(path, access.Access(plane.url, plane.ca_file, token))
    return path


def asked(kubeconfig: Path, *arguments: str) -> Run:
    """Return how a command ends, and what it says."""
    return subprocess.run(
        [sys.executable, "-m", "gang_scheduler", *arguments, f"--kubeconfig={kubeconfig}"],
        capture_output=True,
        text=True,
        check=False,
    )


def document(kubeconfig: Path, *arguments: str) -> dict[str, Any]:
    """Return the document of a command, held against its schema."""
    done = asked(kubeconfig, *arguments, "--output=json")
    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    listed_clusters.hold(found)
    return found


def gangs(kubeconfig: Path, namespace: Namespace) -> dict[str, dict[str, Any]]:
    items = document(kubeconfig, "list", f"--namespace={namespace.name}")["items"]
    return {each["name"]: each for each in items}


def listed(kubeconfig: Path, namespace: Namespace, name: str) -> tuple[str, str]:
    """Return why a gang waits, as it is listed."""
    found = gangs(kubeconfig, namespace)[name]
    return found["reason"], found["message"]


def told(namespace: Namespace, name: str) -> tuple[str, str]:
    """Return why a gang waits, as the operator wrote it."""
    found = namespace.condition_of_gang(name, "Scheduled")
    return found.get("reason", ""), found.get("message", "")


def test_gangs_are_listed_as_the_operator_decides(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    nodes = namespace.own_nodes(2, cpu=4)
    namespace.create(*gang("runs", 2, cpu=3, on=namespace.here))
    eventually("Running", lambda: namespace.phase("runs"))
    namespace.create(*gang("waits", 2, cpu=3, on=namespace.here))
    until(lambda: told(namespace, "waits")[0] not in UNDECIDED)

    found = gangs(plane.kubeconfig, namespace)
    assert ["waits", "runs"] == [*found]
    assert ("Running", nodes) == (found["runs"]["state"], found["runs"]["nodes"])
    eventually(told(namespace, "waits"), lambda: listed(plane.kubeconfig, namespace, "waits"))


def test_a_tenant_sees_what_is_written_in_its_namespace_and_no_other_name(
    namespace: Namespace, other: Namespace, tmp_path: Path
) -> None:
    namespace.create(*gang("own", 2, cpu=99))
    other.create(*gang("classified", 2, cpu=99))
    until(lambda: told(namespace, "own")[0] not in UNDECIDED)
    tenant = account(namespace, tmp_path, "rolebinding", "view")

    done = asked(tenant, "list", f"--namespace={namespace.name}", "--output=wide")
    assert (0, True) == (done.returncode, f"{namespace.name}/own" in done.stdout), done.stderr
    assert told(namespace, "own")[0] in done.stdout
    assert f"as the scheduler wrote it in namespace {namespace.name}" in done.stdout
    eventually(told(namespace, "own"), lambda: listed(tenant, namespace, "own"))
    everything = [
        done,
        asked(tenant, "list", f"--namespace={namespace.name}", "--output=json"),
        asked(tenant, "queues", f"--namespace={namespace.name}"),
        asked(tenant, "cluster", f"--namespace={namespace.name}"),
        asked(tenant, "list", "--all-namespaces"),
    ]
    said = "".join(each.stdout + each.stderr for each in everything)
    assert "classified" not in said
    assert other.name not in said


def test_what_is_not_allowed_is_named(
    namespace: Namespace, other: Namespace, tmp_path: Path
) -> None:
    tenant = account(namespace, tmp_path, "rolebinding", "view")
    file, week = tmp_path / "s.jsonl", tmp_path / "week.jsonl"
    anywhere, elsewhere, cluster, snapshot, record = (
        asked(tenant, "list", "--all-namespaces"),
        asked(tenant, "list", f"--namespace={other.name}"),
        asked(tenant, "cluster", f"--namespace={namespace.name}"),
        asked(tenant, "snapshot", f"--namespace={namespace.name}", f"--output={file}"),
        asked(tenant, "record", f"--out={week}", "--for=1m"),
    )

    refused = (anywhere, elsewhere, cluster, snapshot, record)
    assert [4, 4, 4, 4, 4] == [each.returncode for each in refused]
    assert 'resource "nodes"' in record.stderr
    assert "needs the rights to list and watch nodes" in record.stderr
    assert not week.exists()
    assert "cannot list resource" in snapshot.stderr
    assert "needs the rights to list nodes, and pods in all namespaces" in snapshot.stderr
    assert not file.exists()
    assert "Error from server (Forbidden): " in anywhere.stderr
    assert f'cannot list resource "pods" in API group "" in the namespace "{other.name}"' in (
        elsewhere.stderr
    )
    assert 'resource "nodes"' in cluster.stderr


def test_the_role_for_readers_is_enough(namespace: Namespace, tmp_path: Path) -> None:
    role = f"default:{RELEASE}:reader"
    reader = account(namespace, tmp_path, "clusterrolebinding", role)
    done = asked(reader, "list", "--all-namespaces")

    assert (0, "") == (done.returncode, done.stderr)
    found = document(reader, "cluster")
    assert ("live", f"default/{RELEASE}") == (found["source"], found["settingsOf"])
    assert "notReadable" not in found


def test_the_role_for_readers_is_enough_to_record(namespace: Namespace, tmp_path: Path) -> None:
    role = f"default:{RELEASE}:reader"
    reader = account(namespace, tmp_path, "clusterrolebinding", role)
    week = tmp_path / "week.jsonl.gz"
    namespace.own_nodes(2)
    namespace.create(*gang("own", 2, on=namespace.here))
    eventually("Running", lambda: namespace.phase("own"))
    done = asked(reader, "record", f"--out={week}", "--for=4s")
    again = CliRunner().invoke(main, ["replay", str(week), "--output=json"])

    assert 0 == done.returncode, done.stderr
    assert f"settings of default/{RELEASE}" in again.stderr
    assert 0 == again.exit_code, again.stderr


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    credentials.write_kubeconfig(path, access.Access("https://127.0.0.1:1", None, "token"))
    done = asked(path, "list")

    assert (5, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("Unable to connect to the server: ")


def test_figures_of_queues_are_those_of_their_status(
    plane: controlplane.ControlPlane, namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(1, cpu=8)
    team = queue("team", 8)
    objects.create(team)
    namespace.create(*queues.gang("runs", 6, "team", on=namespace.here))
    eventually(6, lambda: len(namespace.bound("runs-")))
    namespace.create(*queues.gang("more", 6, "team", on=namespace.here))
    eventually((1, 1), lambda: counts(objects.status(team)))

    def shown() -> dict[str, Any]:
        items = document(plane.kubeconfig, "queues", "team")["items"]
        return next(each for each in items if each["queue"] == "team")

    eventually((1, 1, [f"{namespace.name}/more"]), lambda: of(shown()))
    # The status follows a moment later than the counts in it.
    until(lambda: all(same(objects.status(team), each) for each in shown()["resources"]))


def same(status: dict[str, Any], shown: dict[str, Any]) -> bool:
    """Return whether the figures of one resource of a flavor are those of the status."""
    of_flavor = (status[name][shown["flavor"]][shown["resource"]] for name in FIGURES)
    return [*of_flavor] == [shown[name] for name in FIGURES]


def of(line: dict[str, Any]) -> tuple[int, int, list[str]]:
    return line["running"], line["pending"], line["gangs"]


def counts(status: dict[str, Any]) -> tuple[Any, Any]:
    return status.get("runningJobs"), status.get("pendingJobs")


def test_a_node_shows_its_pods(plane: controlplane.ControlPlane, namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1, cpu=4)
    namespace.create(*gang("here", 2, on=namespace.here))
    eventually(2, lambda: len(namespace.bound()))

    def shown() -> list[tuple[str, str]]:
        pods = document(plane.kubeconfig, "cluster", node)["pods"]
        return [(each["pod"], each["gang"]) for each in pods]

    of = f"{namespace.name}/here"
    eventually([(f"{of}-0", of), (f"{of}-1", of)], shown)
    assert 3 == asked(plane.kubeconfig, "cluster", "nowhere").returncode


def test_kubectl_runs_the_plugin_and_completes_names(
    plane: controlplane.ControlPlane,
    namespace: Namespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, called in (("kubectl-gang", "plugin"), ("kubectl_complete-gang", "complete")):
        program = tmp_path / name
        program.write_text(f"#!{sys.executable}\nfrom {PLUGIN} import {called}\n{called}()\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    namespace.create(*gang("named", 1, cpu=99))

    check_plugin(binaries.find("kubectl"), namespace.name)
    pinned = binaries.pinned("kubectl")
    if pinned is not None:
        check_plugin(pinned, namespace.name)


def check_plugin(program: Path, namespace: str) -> None:
    """Let a kubectl run the plugin that is on PATH, and complete names by it."""

    def kubectl(*arguments: str) -> Run:
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)

    def shown() -> bool:
        wide = kubectl("gang", "list", "-n", namespace, "-o", "wide")
        return f"{namespace}/named" in wide.stdout

    until(shown)
    until(lambda: "idle\n" in kubectl("__complete", "gang", "queues", "").stdout)
    own = ("gang", "explain", "-n", namespace)
    until(lambda: "named\n" in kubectl("__complete", *own, "na").stdout)
    offered = kubectl("__complete", "gang", "").stdout
    assert "list\t" in offered
    assert "run\t" not in offered
