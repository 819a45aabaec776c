"""Write what pods of kinds look like into the table again.

    PYTHONPATH=tests .venv/bin/python -m integrations.record KIND...

Look at the difference before you commit it: what is drawn by chance is guessed.
"""

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from e2e.support import gang_manifests
from e2e.support.namespaces import Namespace
from integrations import kinds, looks
from integrations.kinds import Kind
from tools import controllers, controlplane
from tools.controllers import manifests

CRDS = Path(__file__).parents[2] / "crds"
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SHA = re.compile(r"[0-9a-f]{40}")
HASH_KEY = re.compile(r"(hash|uid|key)$")
RANDOM = "?????"


def main() -> None:
    """Record kinds, those of one controller beside one of it."""
    chosen = [kind for kind in kinds.every() if kind.name in sys.argv[1:]]
    for controller, some in itertools.groupby(chosen, key=lambda kind: kind.controller):
        with controlplane.start() as plane:
            plane.kubectl("apply", f"--filename={CRDS}")
            manifests.install(plane, [manifests.pod_group_crd()])
            with controllers.running(plane, *controller), controlplane.Scheduler(plane):
                for kind in some:
                    _record(plane, kind)


def _record(plane: controlplane.ControlPlane, kind: Kind) -> None:
    with Namespace(plane, kind.name) as namespace:
        namespace.own_nodes(1)
        gang_manifests.create(namespace, kind.manifest())
        pods = looks.pods(namespace, sum(role.quorum for role in kind.roles.values()))
        groups = looks.pod_groups(namespace)
    parts = {"pods": pods, "pod_groups": groups}
    file = kinds.WORKLOADS / f"{kind.name}.yaml"
    kept = file.read_text().partition("pods:\n- ")[0]
    made = {key: [_blurred(each) for each in part] for key, part in parts.items() if part}
    file.write_text(kept + yaml.safe_dump(made, sort_keys=False, width=100))


def _blurred(part: dict[str, Any]) -> dict[str, Any]:
    stem = part.get("generateName", "")
    # Pods of a StatefulSet have numbers there.
    drawn = stem and len(part["name"]) == len(stem) + len(RANDOM)
    blurred = {**part, "name": f"{stem}{RANDOM}"} if drawn else part
    return {key: _without_chance(key, each) for key, each in blurred.items()}


def _without_chance(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {each: _without_chance(each, part) for each, part in value.items()}
    if isinstance(value, str) and HASH_KEY.search(key):
        return "*"
    return SHA.sub("*", UID.sub("*", value)) if isinstance(value, str) else value


if __name__ == "__main__":
    main()
