"""Kubernetes objects as plain values: what random clusters are made of.

Every object has a uid and a creation time, so that nothing depends on the order of the documents.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Manifest = dict[str, Any]

BEGAN_AT = 1_704_067_200
"""The start of 2024, in seconds since the epoch; times of objects are seconds since then."""
KOORDINATOR = "gang.scheduling.koordinator.sh/"
KUEUE = "kueue.x-k8s.io/podset-"
GPU = "nvidia.com/gpu"
NODE_LAYER = "NodeTopologyLayer"
POD_GROUP_LABEL = "pod-group.scheduling.sigs.k8s.io"
ROLES, ROLE = "py-gang-scheduler.io/roles", "py-gang-scheduler.io/role"
OTHER_LABEL = "scheduling.x-k8s.io/pod-group"
CLUSTER_SCOPED = {"Node", "Namespace", "ClusterNetworkTopology", "Topology"}


def when(seconds: int) -> str:
    """Return a time as Kubernetes writes it."""
    return datetime.fromtimestamp(BEGAN_AT + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def manifest(api_version: str, kind: str, name: str, **metadata: Any) -> Manifest:
    """Return an object of the namespace `default`, unless another one or none is right."""
    namespace = metadata.pop("namespace", "default")
    scope = {} if kind in CLUSTER_SCOPED else {"namespace": namespace}
    created = when(metadata.pop("created", 0))
    uid = f"{kind}-{'-'.join(scope.values())}-{name}".lower()
    identity = {"name": name, **scope, "uid": uid, "creationTimestamp": created}
    extra = {key: value for key, value in metadata.items() if value}
    return {"apiVersion": api_version, "kind": kind, "metadata": {**identity, **extra}}


def node(
    name: str,
    allocatable: Mapping[str, int],
    labels: Mapping[str, str],
    *,
    spec: Mapping[str, Any] | None = None,
    ready: bool = True,
    created: int = 0,
) -> Manifest:
    """Return a node."""
    named = {"kubernetes.io/hostname": name, **labels}
    body = manifest("v1", "Node", name, labels=named, created=created)
    conditions = [{"type": "Ready", "status": str(ready)}]
    offered = {key: str(amount) for key, amount in allocatable.items()}
    return {**body, "spec": dict(spec or {}), "status": _status(offered, conditions)}


def _status(offered: Mapping[str, str], conditions: list[Manifest]) -> Manifest:
    return {"allocatable": dict(offered), "conditions": conditions}


def pod(name: str, requests: Mapping[str, int], **fields: Any) -> Manifest:
    """Return a pod; `spec`, `status` and `ports` are of the pod, other fields are of its metadata.

    One with a node runs there.
    """
    spec, status = dict(fields.pop("spec", {})), dict(fields.pop("status", {}))
    ports = [{"hostPort": port, "containerPort": port} for port in fields.pop("ports", ())]
    asked = {"requests": {key: str(amount) for key, amount in requests.items()}}
    container: Manifest = {"name": "main", "image": "none", "resources": asked}
    if ports:
        container["ports"] = ports
    status.setdefault("phase", "Running" if spec.get("nodeName") else "Pending")
    return {
        **manifest("v1", "Pod", name, **fields),
        "spec": {"schedulerName": "py-gang-scheduler", "containers": [container], **spec},
        "status": status,
    }


def pod_group(name: str, minimum: int, *, foreign: bool = False, **fields: Any) -> Manifest:
    """Return a PodGroup, of our API group or of the one that it was taken from."""
    group = "scheduling.x-k8s.io" if foreign else "scheduling.sigs.k8s.io"
    spec, status = fields.pop("spec", {}), fields.pop("status", {})
    body = manifest(f"{group}/v1alpha1", "PodGroup", name, **fields)
    return {**body, "spec": {"minMember": minimum, **spec}, "status": status}


def native_pod_group(name: str, minimum: int, **fields: Any) -> Manifest:
    """Return a PodGroup of Kubernetes; with a minimum of 0 its pods are placed one by one."""
    policy = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    spec, status = fields.pop("spec", {}), fields.pop("status", {})
    body = manifest("scheduling.k8s.io/v1beta1", "PodGroup", name, **fields)
    return {**body, "spec": {"schedulingPolicy": policy, **spec}, "status": status}


def network(layers: Iterable[tuple[str, str]]) -> Manifest:
    """Return the ClusterNetworkTopology of layers, each with the key of its label."""
    listed: list[Manifest] = []
    above = ""
    for layer, key in layers:
        parent = {"parentTopologyLayer": above} if above else {}
        listed.append({"topologyLayer": layer, "labelKey": [key], **parent})
        above = layer
    listed.append(
        {"topologyLayer": NODE_LAYER, **({"parentTopologyLayer": above} if above else {})}
    )
    body = manifest("scheduling.koordinator.sh/v1alpha1", "ClusterNetworkTopology", "default")
    return {**body, "spec": {"networkTopologySpec": listed}}


def kueue_topology(name: str, keys: Iterable[str]) -> Manifest:
    """Return a Topology of Kueue."""
    levels = [{"nodeLabel": key} for key in (*keys, "kubernetes.io/hostname")]
    return {**manifest("kueue.x-k8s.io/v1beta1", "Topology", name), "spec": {"levels": levels}}


def budget(name: str, labels: Mapping[str, str], allowed: int) -> Manifest:
    """Return a PodDisruptionBudget as its controller leaves it."""
    body = manifest("policy/v1", "PodDisruptionBudget", name)
    spec = {"minAvailable": 1, "selector": {"matchLabels": dict(labels)}}
    return {**body, "spec": spec, "status": {"disruptionsAllowed": allowed}}


def gather_spec(must: str, prefer: Iterable[str], multiples: Mapping[str, int]) -> str:
    """Return a network-topology-spec; a layer with a multiple is one of the others."""
    asked = [(must, "MustGather")] if must else []
    asked += [(layer, "PreferGather") for layer in prefer]
    entries = [
        {
            "layer": layer,
            "strategy": strategy,
            **({"podCountMultiple": multiples[layer]} if layer in multiples else {}),
        }
        for layer, strategy in asked
    ]
    return json.dumps({"gatherStrategy": entries})
