"""Builders of objects as the API server sends them. A test names only what it is about."""

from collections.abc import Mapping, Sequence
from typing import Any

from support.builders import NAMESPACE, POD_GROUP_LABEL, SCHEDULER, Amount


def container(
    name: str = "main",
    *,
    requests: Mapping[str, Amount] | None = None,
    limits: Mapping[str, Amount] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return a container of a pod body; `others` are its fields as the API server writes them."""
    named = {"requests": requests, "limits": limits}
    resources = {key: dict(each) for key, each in named.items() if each}
    return {"name": name, "image": "pause", "resources": resources, **others}


def pod_body(
    name: str = "a-0",
    *,
    gang: str = "",
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    containers: Sequence[Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a pod as the API server sends it; `spec` are further fields of its spec."""
    labels = {POD_GROUP_LABEL: gang} if gang else {}
    own = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "labels": labels}
    one = [container(requests={"cpu": "1"})]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**own, **(metadata or {})},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": one if containers is None else list(containers),
            **spec,
        },
        "status": {"phase": "Pending", **(status or {})},
    }


def node_body(
    name: str = "n1",
    *,
    allocatable: Mapping[str, Amount] | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a ready node as the API server sends it; `spec` are fields of its spec."""
    offered = allocatable or {"cpu": "8", "memory": "32Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", **(metadata or {})},
        "spec": spec,
        "status": {"allocatable": dict(offered), "conditions": ready, **(status or {})},
    }


def pod_group_body(
    name: str = "a",
    *,
    min_member: Any = 1,
    api_version: str = "scheduling.sigs.k8s.io/v1alpha1",
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a PodGroup as the API server sends it; `spec` are further fields of its spec."""
    own = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
    return {
        "apiVersion": api_version,
        "kind": "PodGroup",
        "metadata": {**own, **(metadata or {})},
        "spec": {"minMember": min_member, **spec},
        "status": dict(status or {}),
    }
