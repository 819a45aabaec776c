"""`explain` beside a real API server: it names the cause, and what it proposes starts the gang."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e.support import tenants
from e2e.support.manifests import gang, members, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


def explain(name: str, namespace: Namespace, kubeconfig: Path, *more: str) -> str:
    """Return what is printed of a gang."""
    command = [sys.executable, "-m", "gang_scheduler", "explain", name, "-n", namespace.name]
    command += [f"--kubeconfig={kubeconfig}", *more]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def document(namespace: Namespace, plane: controlplane.ControlPlane, name: str = "a") -> Any:
    return json.loads(explain(name, namespace, plane.kubeconfig, "--output=json"))


def variant(found: Mapping[str, Any], change: str) -> Any:
    return next((each for each in found["wouldStart"] if each["change"] == change), None)


def test_fewer_members_start_as_it_is_said(
    namespace: Namespace, plane: controlplane.ControlPlane
) -> None:
    namespace.own_nodes(2, cpu=4)
    namespace.create(*gang("a", 3, cpu=4, on=namespace.here))
    eventually("Unschedulable", lambda: namespace.condition_of_gang("a", "Scheduled").get("reason"))

    found = document(namespace, plane)

    assert "live" == found["source"]
    assert "2 have them" in found["summary"]
    assert 2 == variant(found, "FewerMembers")["number"]
    patch = json.dumps({"spec": {"minMember": 2}})
    namespace.kubectl("patch", "podgroup", "a", "--type=merge", f"--patch={patch}")
    eventually(2, lambda: len(namespace.bound("a")))
    eventually("Running", lambda: document(namespace, plane)["state"])


def test_a_gang_starts_once_the_pod_in_its_way_is_gone(
    namespace: Namespace, plane: controlplane.ControlPlane
) -> None:
    (node,) = namespace.own_nodes(1, cpu=4, kubelets=False)
    namespace.create(pod("x", cpu=1, on=namespace.here))
    eventually(node, lambda: namespace.node_of("x"))
    namespace.create(*gang("a", 2, cpu=2, on=namespace.here))
    eventually("Unschedulable", lambda: namespace.condition_of_gang("a", "Scheduled").get("reason"))

    (room,) = document(namespace, plane)["where"]["domains"]
    assert (1, f"{namespace.name}/x") == (room["slots"], _holders(room))

    namespace.delete("pods", "x")
    eventually(2, lambda: len(namespace.bound("a")))


def _holders(room: Mapping[str, Any]) -> str:
    return ",".join(each["gang"] for each in (room["nearest"] or {"holders": []})["holders"])


def test_missing_members_are_reported_before_they_come(
    namespace: Namespace, plane: controlplane.ControlPlane
) -> None:
    namespace.own_nodes(1, cpu=4)
    first, *late = gang("a", 2, cpu=1, on=namespace.here)
    namespace.create(first, late[0])
    until(lambda: namespace.status("a").get("members"))

    assert "It lacks members: 1 of 2 exist. Missing: a-1." == document(namespace, plane)["summary"]

    namespace.create(*members("a", 1, first=1, cpu=1, on=namespace.here))
    eventually(2, lambda: len(namespace.bound("a")))


def test_history_has_the_events_of_the_gang(
    namespace: Namespace, plane: controlplane.ControlPlane
) -> None:
    namespace.own_nodes(1, cpu=1)
    namespace.create(*gang("a", 2, cpu=1, on=namespace.here))
    until(lambda: namespace.notes("a", "FailedScheduling"))

    def told() -> bool:
        history = document(namespace, plane)["history"]
        return any(each["what"].startswith("FailedScheduling: ") for each in history)

    until(told)


def test_a_user_who_may_read_one_namespace_sees_what_is_written_there(
    namespace: Namespace, plane: controlplane.ControlPlane, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=1)
    namespace.create(*gang("a", 2, cpu=1, on=namespace.here))
    eventually("Unschedulable", lambda: namespace.condition_of_gang("a", "Scheduled").get("reason"))

    printed = explain("a", namespace, tenants.of_namespace(plane, namespace.name, tmp_path))

    assert f"{namespace.name}/a   PodGroup" in printed
    assert "It lacks room: " in printed
    assert "WHERE       not known with your rights" in printed
