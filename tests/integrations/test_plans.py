"""`simulate` plans the same for a manifest as for the pods that its controller made of it."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from gang_scheduler.cli import main
from integrations import gangs
from integrations.kinds import Kind
from tools.controlplane import nodes

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

CPUS = (2, 3, 1, 4, 6)
"""Of nodes of which no two are alike, so that where pods are says how they were placed."""
MADE = ("pods", "jobs", "statefulsets", "podgroups.scheduling.x-k8s.io")
MADE_BY = {"kuberay": ("rayclusters",)}


@pytest.mark.having("at_once")
@pytest.mark.usefixtures("controller")
def test_the_plan_is_the_same_for_the_manifest_and_for_the_pods(
    kind: Kind, namespace: Namespace, tmp_path: Path
) -> None:
    manifest = kind.manifest(on=namespace.here)
    manifest["metadata"]["namespace"] = namespace.name
    gangs.create(namespace, kind)
    gangs.wait(lambda: gangs.all_have_waited(namespace, kind.made_first))
    kinds = {f"{manifest['kind'].lower()}s", *MADE, *MADE_BY.get(kind.controller[0], ())}
    live = namespace.kubectl("get", ",".join(sorted(kinds)), "--output=yaml")
    room = tmp_path / "nodes.yaml"
    room.write_text(yaml.safe_dump_all(_nodes(namespace)))

    plans = []
    for text in (yaml.safe_dump(manifest), live):
        (tmp_path / "objects.yaml").write_text(text)
        plans.append(_plan(kind, room, tmp_path / "objects.yaml"))

    assert plans[0]
    assert plans[0] == plans[1]


def _nodes(namespace: Namespace) -> list[Manifest]:
    room = {"memory": "64Gi", "pods": "110", **gangs.DISK}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    made = [
        nodes.manifest(f"node-{cpu}", namespace.here, {**room, "cpu": str(cpu)}, ()) for cpu in CPUS
    ]
    return [each | {"status": {**each.get("status", {}), **ready}} for each in made]


def _plan(kind: Kind, *files: Path) -> Mapping[tuple[str | None, str], int]:
    """Return how many pods of each role are on each node."""
    arguments = [part for file in files for part in ("--filename", str(file))]
    done = CliRunner().invoke(main, ["simulate", "--until-settled", "-o", "json", *arguments])
    assert 0 == done.exit_code, done.output
    bindings: list[dict[str, Any]] = json.loads(done.stdout)["bindings"]
    return Counter((kind.role_of(each["pod"].partition("/")[2]), each["node"]) for each in bindings)
