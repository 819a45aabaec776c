"""Gangs that really train: the script and the manifest of an example, in pods that are processes.

Every rank computes the same: what is saved after so many steps is known beforehand.
"""

import functools
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from e2e.support import gang_manifests
from e2e.support.manifests import GANG_LABEL, Manifest
from e2e.support.namespaces import Namespace
from e2e.support.preemption import LOW
from e2e.support.waiting import until
from gang_scheduler import checkpoint
from tools import kubelet

EXAMPLE = Path(__file__).parents[3] / "examples" / "34-survive-eviction"
PREFIX = "py-gang-scheduler.io"
SCRIPTS = "fit-a-line"
ACCOUNT = "trainer"
ENDLESS = 1_000_000_000
SECONDS_PER_STEP = 0.005
EVERY = 500
"""Steps from one checkpoint to the next that are not asked for: some seconds."""


def install(namespace: Namespace) -> None:
    """Create what trainings of a namespace need: the scripts, and the rights to report."""
    files = (EXAMPLE / "train.py", Path(checkpoint.__file__))
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}
    group = "rbac.authorization.k8s.io"
    named = {"metadata": {"name": ACCOUNT}}
    gang_manifests.create(
        namespace,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": SCRIPTS},
            "data": {file.name: file.read_text() for file in files},
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", **named},
        {"apiVersion": f"{group}/v1", "kind": "Role", **named, "rules": [rule]},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            **named,
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT}],
            "roleRef": {"apiGroup": group, "kind": "Role", "name": ACCOUNT},
        },
    )


def training(
    namespace: Namespace,
    name: str,
    pods: int,
    annotations: Mapping[str, str] | None = None,
    *,
    hears: bool = True,
) -> list[Manifest]:
    """Return a PodGroup and a Job that trains without end in pods of one CPU.

    `annotations` are those of the PodGroup, without our prefix. What does not hear has no file
    that tells of requests.
    """
    group, job = yaml.safe_load_all((EXAMPLE / "job.yaml").read_text())
    group["metadata"] |= {
        "name": name,
        "annotations": {f"{PREFIX}/{key}": value for key, value in (annotations or {}).items()},
    }
    group["spec"]["minMember"] = pods
    job["metadata"]["name"] = name
    # Else the Job controller waits before it creates the next pods.
    job["spec"] |= {"completions": pods, "parallelism": pods, "backoffLimitPerIndex": 0}
    template = job["spec"]["template"]
    template["metadata"]["labels"][GANG_LABEL] = name
    template["spec"] |= {"priorityClassName": LOW, "nodeSelector": namespace.here}
    (container,) = template["spec"]["containers"]
    container["command"][-1] += "/rank-$(JOB_COMPLETION_INDEX)"
    container["args"] = [f"--steps={ENDLESS}", f"--every={EVERY}"]
    container["args"] += [f"--seconds-per-step={SECONDS_PER_STEP}"]
    for volume in template["spec"]["volumes"]:
        if "nfs" in volume:
            volume["nfs"]["path"] = f"/{namespace.name}/{name}"
    if annotations and hears:
        _hear(template["spec"])
    return [group, job]


def _hear(spec: Manifest) -> None:
    """Give pods a file that tells of requests, and the rights to report."""
    (container,) = spec["containers"]
    key = f"metadata.annotations['{PREFIX}/checkpoint-request-id']"
    directory, _, file = checkpoint.REQUEST_FILE.rpartition("/")
    item = {"path": file, "fieldRef": {"fieldPath": key}}
    spec["serviceAccountName"] = ACCOUNT
    spec["volumes"].append({"name": "podinfo", "downwardAPI": {"items": [item]}})
    container["volumeMounts"].append({"name": "podinfo", "mountPath": directory})
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    container["env"].append({"name": "POD_NAME", "valueFrom": field})


def pods_of(namespace: Namespace, name: str) -> dict[str, Manifest]:
    """Return the pods of a training that are not evicted, by uid."""
    return {
        pod["metadata"]["uid"]: pod
        for pod in namespace.every("pods")
        if pod["metadata"]["labels"].get(GANG_LABEL) == name
        and "deletionTimestamp" not in pod["metadata"]
        and pod["status"]["phase"] in ("Pending", "Running")
    }


def annotation(pod: Manifest, key: str) -> str:
    """Return an annotation of ours, "" if there is none."""
    return str(pod["metadata"].get("annotations", {}).get(f"{PREFIX}/{key}", ""))


def begun(
    namespace: Namespace,
    kubelets: kubelet.Kubelets,
    name: str,
    pods: int,
    but: Mapping[str, Manifest] | None = None,
) -> dict[str, Manifest]:
    """Wait until all pods of a training have begun, others than those `but`; return them."""

    def those_that_have() -> dict[str, Manifest]:
        found = {
            uid: pod
            for uid, pod in pods_of(namespace, name).items()
            if uid not in (but or {}) and "begins" in kubelets.log(pod)
        }
        return found if len(found) == pods else {}

    return until(those_that_have)


def saved(namespace: Namespace, name: str) -> dict[str, Any]:
    """Return what the status of a PodGroup says of the last checkpoint, {} if nothing."""
    found: dict[str, Any] = namespace.status(name).get("checkpoint", {})
    return found


@functools.cache
def script() -> Any:
    """Return the script of the example as a module."""
    sys.modules.setdefault("checkpoint", checkpoint)
    spec = importlib.util.spec_from_file_location("train", EXAMPLE / "train.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(namespace: Namespace, name: str) -> tuple[int, str]:
    """Return step and path of the last checkpoint, (0, "") while there is none."""
    found = saved(namespace, name)
    return found.get("step", 0), found.get("path", "")


def listed(namespace: Namespace, name: str) -> list[tuple[int, str]]:
    """Return step and path of all checkpoints that the status lists."""
    found = namespace.status(name).get("checkpoints", [])
    return [(each["step"], each["path"]) for each in found]


def last_beside(path: str) -> tuple[int, str]:
    """Return step and path of the last checkpoint in the directory of one."""
    beside = Path(path).parent.glob("step-*.json")
    return max((int(each.stem.removeprefix("step-")), str(each)) for each in beside)


def is_as_if_never_evicted(step: int, path: str) -> bool:
    """Return whether a checkpoint is what one process computes in so many steps."""
    line: Any = script().Line()
    for each in range(step):
        line.learn(each)
    found: dict[str, float] = json.loads(Path(path).read_text())
    return found == dict(vars(line))
