"""The same gangs in the words of each contestant: the objects that its users would write."""

from collections.abc import Callable, Iterator
from typing import Any

from support import device_objects
from tools.bench.shape import RACK, Body, Shape, rules_of

LABEL = "pod-group.scheduling.sigs.k8s.io"
POD_GROUP = "scheduling.sigs.k8s.io/v1alpha1"
NATIVE = "scheduling.k8s.io/v1beta1"
QUEUES = "py-gang-scheduler.io/v1alpha1"
QUEUE = "py-gang-scheduler.io/queue"
QUEUES_OF_TEAM = 10
CLAIM_TEMPLATE = "one"

Dialect = Callable[[Shape, int, str], tuple[Body | None, list[dict[str, Any]]]]
"""Return the PodGroup, if there is one, and the pods of a gang, for a scheduler's name."""


def pod_groups(shape: Shape, gang: int, scheduler: str) -> tuple[Body | None, list[dict[str, Any]]]:
    """Return a PodGroup of scheduling.sigs.k8s.io and its pods."""
    name = f"g{gang}"
    spec: dict[str, Any] = {"minMember": shape.size}
    labels = {QUEUE: queue_of(shape, gang)} if shape.queues else {}
    metadata = {"name": name, "labels": labels}
    group = {"apiVersion": POD_GROUP, "kind": "PodGroup", "metadata": metadata, "spec": spec}
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


def queues(shape: Shape) -> Iterator[Body]:
    """Yield teams and their queues, which are promised half of what their gangs ask for."""
    teams = [f"team-{number}" for number in range(-(-shape.queues // QUEUES_OF_TEAM))]
    for team in teams:
        yield _queue(team, {})
    cpus = shape.pods // (2 * shape.queues) if shape.queues else 0
    for number in range(shape.queues):
        promised = {"soft": {"cpu": str(cpus), "memory": f"{cpus}Gi"}}
        above = teams[number // QUEUES_OF_TEAM]
        spec = {"parent": above, "quota": promised, "borrowing": {"enabled": True}}
        yield _queue(queue_of(shape, number), spec)


def queue_of(shape: Shape, gang: int) -> str:
    """Return the name of the queue that a gang is in."""
    return f"q-{gang % shape.queues}"


def _queue(name: str, spec: Body) -> Body:
    spec = {"borrowing": {"enabled": True}, **spec}
    return {"apiVersion": QUEUES, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _pods(shape: Shape, gang: int, scheduler: str) -> Iterator[dict[str, Any]]:
    resources: dict[str, Any] = {"requests": {"cpu": "1", "memory": "1Gi"}}
    claims = {}
    if shape.claims:
        resources["claims"] = [{"name": "gpu"}]
        claims = {"resourceClaims": [device_objects.by_template(CLAIM_TEMPLATE)]}
    for name in shape.names(gang):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"gang": f"g{gang}"}},
            "spec": {
                "schedulerName": scheduler,
                "containers": [{"name": "main", "image": "none", "resources": resources}],
                **rules_of(shape.rule, f"g{gang}"),
                **claims,
            },
        }
