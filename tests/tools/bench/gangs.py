"""The same gangs in the words of each contestant: the objects that its users would write."""

from collections.abc import Callable, Iterator
from typing import Any

from tools.bench.shape import RACK, Body, Shape, rules_of

LABEL = "pod-group.scheduling.sigs.k8s.io"
POD_GROUP = "scheduling.sigs.k8s.io/v1alpha1"
NATIVE = "scheduling.k8s.io/v1beta1"

Dialect = Callable[[Shape, int, str], tuple[Body | None, list[dict[str, Any]]]]
"""Return the PodGroup, if there is one, and the pods of a gang, for a scheduler's name."""


def pod_groups(shape: Shape, gang: int, scheduler: str) -> tuple[Body | None, list[dict[str, Any]]]:
    """Return a PodGroup of scheduling.sigs.k8s.io and its pods."""
    name = f"g{gang}"
    spec: dict[str, Any] = {"minMember": shape.size}
    group = {"apiVersion": POD_GROUP, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}
    pods = list(_pods(shape, gang, scheduler))
    for pod in pods:
        pod["metadata"]["labels"][LABEL] = name
    return group, pods


def native(shape: Shape, gang: int, scheduler: str) -> tuple[Body | None, list[dict[str, Any]]]:
    """Return a PodGroup of Kubernetes itself and its pods."""
    name = f"g{gang}"
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": shape.size}}}
    if shape.rule == "rack":
        spec["schedulingConstraints"] = {"topology": [{"key": RACK}]}
    group = {"apiVersion": NATIVE, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}
    pods = list(_pods(shape, gang, scheduler))
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": name}
    return group, pods


def alone(shape: Shape, gang: int, scheduler: str) -> tuple[Body | None, list[dict[str, Any]]]:
    """Return the pods, with nothing that makes them a gang."""
    return None, list(_pods(shape, gang, scheduler))


def _pods(shape: Shape, gang: int, scheduler: str) -> Iterator[dict[str, Any]]:
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
    for name in shape.names(gang):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"gang": f"g{gang}"}},
            "spec": {
                "schedulerName": scheduler,
                "containers": [{"name": "main", "image": "none", "resources": resources}],
                **rules_of(shape.rule, f"g{gang}"),
            },
        }
