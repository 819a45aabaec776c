"""CRDs of other products, so that tests run against what their users have.

Kueue's and that of the cluster autoscaler are fetched as data from their Go modules, at versions
that are pinned with their checksums.
Volcano publishes none as a module: `volcano-queue.yaml` declares the fields of its Queue, and
`volcano-jobs.yaml` its Jobs and PodGroups. `workload-makers.yaml` declares TrainJobs, RayJobs and
RayClusters.
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
AUTOSCALER = "k8s.io/autoscaler/cluster-autoscaler/apis@v0.0.0-20240830133931-adfbe7e45277"
AUTOSCALER_SUM = "h1:BibFadVS+A7XR6HMReIuHoY9n8I+8oWR8/4xGgf2BDE="
PROVISIONING_REQUESTS = Path("config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml")
OF_QUEUES = (
    "resourceflavors",
    "clusterqueues",
    "localqueues",
    "cohorts",
    "workloadpriorityclasses",
)
VERSIONS_OF_KUEUE = ("v1beta1", "v1beta2")
CONVERTED = ("clusterqueues", "workloads", "admissionchecks")
"""The kinds with fields that have other names in another version."""
VOLCANO_QUEUE = Path(__file__).parent / "volcano-queue.yaml"
VOLCANO_JOBS = Path(__file__).parent / "volcano-jobs.yaml"
WORKLOAD_MAKERS = Path(__file__).parent / "workload-makers.yaml"


def kueue() -> Path:
    """Return the directory with Kueue's CRDs, fetched where Go has not kept it. A minute when cold.

    Raises ControlPlaneError if there is no Go, no way to the module, or another content.
    """
    return _module(KUEUE, KUEUE_SUM) / "config" / "components" / "crd" / "bases"


def provisioning_requests() -> dict[str, Any]:
    """Return the CRD of ProvisioningRequests, in all versions. Fetched and refused as the others.

    Its version v1 is stored.
    """
    found: dict[str, Any] = yaml.safe_load(
        (_module(AUTOSCALER, AUTOSCALER_SUM) / PROVISIONING_REQUESTS).read_text()
    )
    return found


def _module(name: str, checksum: str) -> Path:
    """Return the directory of a Go module of this content."""
    command = [builds.go_program(), "mod", "download", "-json", name]
    with tempfile.TemporaryDirectory() as outside_of_any_module:
        done = subprocess.run(
            command, cwd=outside_of_any_module, capture_output=True, text=True, check=False
        )
    found = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        raise errors.ControlPlaneError(f"{name}: {found.get('Error') or done.stderr.strip()}")
    if found["Sum"] != checksum:
        raise errors.ControlPlaneError(f"{name}: the checksum is {found['Sum']}, not {checksum}")
    return Path(found["Dir"])


def of_volcano() -> list[dict[str, Any]]:
    """Return the CRDs of Volcano's Queues, Jobs and PodGroups."""
    files = (VOLCANO_QUEUE, VOLCANO_JOBS)
    return [crd for each in files for crd in yaml.safe_load_all(each.read_text())]


def of_workload_makers() -> list[dict[str, Any]]:
    """Return the CRDs of TrainJobs, RayJobs and RayClusters."""
    return [*yaml.safe_load_all(WORKLOAD_MAKERS.read_text())]


def queues_of_kueue(*more: str, current: str = "v1beta2") -> Iterator[dict[str, Any]]:
    """Yield the CRDs of Kueue's queues, and those of more kinds, by their plurals.

    A kind whose versions have the same fields is served in each of them: only the name of the
    version is to be converted, as the API server does without a webhook. Others are served in the
    `current` version alone, since nothing converts between two of them.
    """
    bases = kueue()
    for kind in (*OF_QUEUES, *more):
        crd = yaml.safe_load((bases / f"kueue.x-k8s.io_{kind}.yaml").read_text())
        served = [each for each in crd["spec"]["versions"] if each["name"] in VERSIONS_OF_KUEUE]
        if kind in CONVERTED:
            served = [each for each in served if each["name"] == current]
        crd["spec"]["versions"] = [
            {**each, "storage": each["name"] == current, "served": True} for each in served
        ]
        yield crd
