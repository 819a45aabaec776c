"""Manifests of the objects that tests create. A test names only what it is about."""

from collections.abc import Mapping
from typing import Any

Manifest = dict[str, Any]

SCHEDULER = "py-gang-scheduler"
GANG_LABEL = "pod-group.scheduling.sigs.k8s.io"
POD_GROUPS = "apis/scheduling.sigs.k8s.io/v1alpha1"


def gang(
    name: str,
    pods: int,
    *,
    min_member: int | None = None,
    timeout_seconds: int | None = None,
    **pod_fields: Any,
) -> list[Manifest]:
    """Return a PodGroup and its members; all of them are needed unless min_member says less."""
    group = pod_group(name, pods if min_member is None else min_member, timeout_seconds)
    return [group, *members(name, pods, **pod_fields)]


def members(gang_name: str, count: int, *, first: int = 0, **pod_fields: Any) -> list[Manifest]:
    """Return pods of a gang, numbered from `first`, without its PodGroup."""
    numbers = range(first, first + count)
    return [pod(f"{gang_name}-{i}", gang_name=gang_name, **pod_fields) for i in numbers]


def pod_group(name: str, min_member: int, timeout_seconds: int | None = None) -> Manifest:
    """Return a PodGroup."""
    timeout = {} if timeout_seconds is None else {"scheduleTimeoutSeconds": timeout_seconds}
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": min_member, **timeout},
    }


def pod(
    name: str,
    *,
    gang_name: str | None = None,
    cpu: int | str = 1,
    host_port: int | None = None,
    scheduler: str = SCHEDULER,
    on: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """Return a pod of our scheduler; `on` is its node selector, `spec` goes into its spec."""
    ports = [{"containerPort": host_port, "hostPort": host_port}] if host_port else []
    container = {
        "name": "main",
        "image": "none",
        "ports": ports,
        "resources": {"requests": {"cpu": str(cpu)}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {GANG_LABEL: gang_name} if gang_name else {}},
        "spec": {
            "schedulerName": scheduler,
            "containers": [container],
            "nodeSelector": dict(on or {}),
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }
