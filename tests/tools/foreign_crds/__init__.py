"""CRDs of other products, so that tests run against what their users have.

Kueue's are fetched as data from its Go module, at a version that is pinned with its checksum.
Volcano publishes none as a module: `volcano-queue.yaml` declares the fields of its Queue, and
`volcano-jobs.yaml` its Jobs and PodGroups.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tools.controlplane import builds, errors

KUEUE = "sigs.k8s.io/kueue@v0.16.1"
KUEUE_SUM = "h1:67H0gT8VvY3kJKbI6XI09OyJ1UJ0eJ8mbOw0ITHJVpU="
OF_QUEUES = (
    "resourceflavors",
    "clusterqueues",
    "localqueues",
    "cohorts",
    "workloadpriorityclasses",
)
VOLCANO_QUEUE = Path(__file__).parent / "volcano-queue.yaml"
VOLCANO_JOBS = Path(__file__).parent / "volcano-jobs.yaml"


def kueue() -> Path:
    """Return the directory with Kueue's CRDs, fetched where Go has not kept it. A minute when cold.

    Raises ControlPlaneError if there is no Go, no way to the module, or another content.
    """
    command = [builds.go_program(), "mod", "download", "-json", KUEUE]
    with tempfile.TemporaryDirectory() as outside_of_any_module:
        done = subprocess.run(
            command, cwd=outside_of_any_module, capture_output=True, text=True, check=False
        )
    found = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        raise errors.ControlPlaneError(f"{KUEUE}: {found.get('Error') or done.stderr.strip()}")
    if found["Sum"] != KUEUE_SUM:
        raise errors.ControlPlaneError(f"{KUEUE}: the checksum is {found['Sum']}, not {KUEUE_SUM}")
    return Path(found["Dir"]) / "config" / "components" / "crd" / "bases"


def of_volcano() -> list[dict[str, Any]]:
    """Return the CRDs of Volcano's Queues, Jobs and PodGroups."""
    files = (VOLCANO_QUEUE, VOLCANO_JOBS)
    return [crd for each in files for crd in yaml.safe_load_all(each.read_text())]


def queues_of_kueue() -> Iterator[dict[str, Any]]:
    """Yield the CRDs of Kueue's queues in one version: nothing converts between two of them."""
    bases = kueue()
    for kind in OF_QUEUES:
        crd = yaml.safe_load((bases / f"kueue.x-k8s.io_{kind}.yaml").read_text())
        versions = [each for each in crd["spec"]["versions"] if each["name"] == "v1beta1"]
        crd["spec"]["versions"] = [{**each, "storage": True} for each in versions]
        yield crd
