"""The auditor beside a real control plane: it finds what is wrong, and nothing else."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from e2e.support import manifests, waiting
from e2e.support.auditing import auditing
from e2e.support.namespaces import Namespace
from gang_scheduler.api import annotations as keys
from tools import controlplane

pytestmark = pytest.mark.e2e


def bind_as_planned(namespace: Namespace, pod: str, node: str) -> None:
    """Bind a pod as this scheduler would, whatever is on the node."""
    body = {
        "metadata": {"name": pod, "annotations": {keys.PLAN_ID: "other-1-1"}},
        "target": {"kind": "Node", "name": node},
    }
    namespace.cluster.request("POST", f"{namespace.path('pods')}/{pod}/binding", body)


def test_what_is_wrong_is_found_live_and_in_the_recording(
    plane: controlplane.ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    (node,) = namespace.own_nodes(1, cpu=2, kubelets=False)
    flags = ("--skew-seconds=1", "--partial-seconds=2")
    with auditing(plane, tmp_path, *flags) as audit:
        namespace.create(
            manifests.pod_group("ring", 3),
            *manifests.members("ring", 3, cpu=2, on={"none": "such"}),
        )
        for name in ("ring-0", "ring-1"):
            bind_as_planned(namespace, name, node)
        waiting.until(lambda: {"capacity", "quorum"} <= audit.rules)
        found = audit.end()

    assert 1 == audit.status
    of_rule = {each["rule"]: each for each in found}
    assert f"Pod {namespace.name}/ring-1" == of_rule["capacity"]["about"]
    assert f"Gang {namespace.name}/ring" == of_rule["quorum"]["about"]
    again = subprocess.run(
        [sys.executable, "-m", "gang_scheduler", "audit", "-f", str(audit.record), *flags],
        capture_output=True,
        check=False,
    )
    assert (1, b"") == (again.returncode, again.stderr)
    judged = [msgspec.json.decode(line) for line in again.stdout.splitlines()]
    assert {(e["rule"], e["about"]) for e in found} == {(e["rule"], e["about"]) for e in judged}


def test_a_gang_that_is_scheduled_is_right(
    plane: controlplane.ControlPlane,
    scheduler: controlplane.Scheduler,
    namespace: Namespace,
    tmp_path: Path,
) -> None:
    assert scheduler.log.exists()
    with auditing(plane, tmp_path, "--skew-seconds=1", "--partial-seconds=2") as audit:
        namespace.create(*manifests.gang("ring", 4))
        waiting.until(lambda: len(namespace.bound("ring")) == 4)
        audit.catch_up(plane)

    assert ([], 0) == (audit.findings, audit.status)
