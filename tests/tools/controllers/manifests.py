"""CRDs and webhooks of a controller, as its own Go module has them.

They are made by `kubectl kustomize` and kept in the cache beside the programs, so that a later
start needs no Go: as JSON, and without the descriptions in schemas, for the sake of speed. Roles,
Deployments and Services are left out: here is neither a kubelet nor a right that a bare process
could lack.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tools.controllers.table import Row
from tools.controlplane import access, binaries, builds, errors
from tools.controlplane.cluster import Cluster

CRD = "CustomResourceDefinition"
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
KINDS = (CRD, *WEBHOOKS)
POD_GROUP_CRD = "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml"
SERVED_SECONDS = 30.0
POLL_SECONDS = 0.1
Manifest = dict[str, Any]


def crds(row: Row) -> list[Manifest]:
    """Return its CRDs in the version that is stored: nothing here has an object in two."""
    found = [each for each in _documents(row) if each["kind"] == CRD]
    for each in found:
        spec = each["spec"]
        spec.pop("conversion", None)
        spec["versions"] = [version for version in spec["versions"] if version["storage"]]
    return [each for each in found if not row.kinds or each["spec"]["names"]["plural"] in row.kinds]


def webhooks(row: Row) -> list[Manifest]:
    """Return its webhook configurations, with what is asked about its kinds."""
    found = [each for each in _documents(row) if each["kind"] in WEBHOOKS]
    for each in found:
        each["webhooks"] = [hook for hook in each["webhooks"] if _is_for(hook, row)]
    return [each for each in found if each["webhooks"]]


def pod_group_crd() -> Manifest:
    """Return the CRD of PodGroups that controllers make for schedulers they do not know."""
    module = builds.files_of_module("mpi-operator", "sigs.k8s.io/scheduler-plugins")
    crd: Manifest = yaml.safe_load((module / POD_GROUP_CRD).read_text())
    return crd


def install(cluster: Cluster, crds: Iterable[Manifest]) -> None:
    """Install CRDs, and wait until they are served."""
    documents = list(crds)
    apply(cluster, documents)
    deadline = time.monotonic() + SERVED_SECONDS
    while not all(_is_served(cluster, each) for each in documents):
        if time.monotonic() > deadline:
            raise errors.ControlPlaneError("CRDs are not served")
        time.sleep(POLL_SECONDS)


def _is_served(cluster: Cluster, crd: Manifest) -> bool:
    """Say whether objects can be listed: for a moment after it is established they cannot."""
    spec = crd["spec"]
    paths = [f"/apis/{spec['group']}/{each['name']}" for each in spec["versions"] if each["served"]]
    with access.Client(cluster.access) as client:
        return all(
            client.request("GET", f"{path}/{spec['names']['plural']}").status == 200
            for path in paths
        )


def apply(cluster: Cluster, documents: Iterable[Manifest]) -> None:
    """Apply objects."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
    if listed["items"]:
        # On the server: CRDs are longer than the annotation of another apply may be.
        how = ("--server-side", "--force-conflicts", "--filename=-")
        cluster.kubectl("apply", *how, input=json.dumps(listed))


def _documents(row: Row) -> list[Manifest]:
    program = builds.cached_path(row.program)
    target = program.with_name(f"{program.name}.json")
    if not target.exists():
        directory = builds.files_of_module(row.program) / row.kustomization
        made = [_undescribed(each) for each in _kustomized(directory) if each["kind"] in KINDS]
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        unfinished.write_text(json.dumps(made))
        unfinished.rename(target)
    found: list[Manifest] = json.loads(target.read_text())
    return found


def _undescribed(part: Any) -> Any:
    if isinstance(part, list):
        return [_undescribed(each) for each in part]
    if not isinstance(part, dict):
        return part
    # A property may have that name, too: then it is no text.
    kept = {key: each for key, each in part.items() if not _is_description(key, each)}
    return {key: _undescribed(each) for key, each in kept.items()}


def _is_description(key: str, value: Any) -> bool:
    return key == "description" and isinstance(value, str)


def _is_for(hook: Manifest, row: Row) -> bool:
    asked = {resource for rule in hook["rules"] for resource in rule["resources"]}
    return not row.kinds or not asked.isdisjoint(row.kinds)


def _kustomized(directory: Path) -> Iterator[Manifest]:
    command = [str(binaries.find("kubectl")), "kustomize", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise errors.ControlPlaneError(f"kubectl kustomize {directory} failed:\n{done.stderr}")
    yield from yaml.safe_load_all(done.stdout)
