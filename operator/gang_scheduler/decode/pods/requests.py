"""What a pod uses of a node, as the kubelet and kube-scheduler count it.

The larger of the sum of all containers and of each init container with the restartable ones
started before it; pod-level requests replace that sum for the resources they name; then the
overhead is added. A pod on a node may be resized in place: it counts with the largest of its
requests, its allocated and its actual resources, each summed up separately. The rule is that of
component-helpers' `resource.PodRequests`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from gang_scheduler.decode.fields import amounts
from gang_scheduler.model import resources
from gang_scheduler.model.resources import Amounts
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.containers import Container

Count = Callable[[Container, str], Amounts]
"""Returns the amounts with which a container, at this field, counts."""


ADDED: Final[Mapping[str, Mapping[str, str]]] = {
    "init-pytorch": {"cpu": "50m", "memory": "10Mi"},
    "wait-gcs-ready": {"cpu": "200m", "memory": "256Mi"},
    "kubectl-delivery": {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"},
    "autoscaler": {"cpu": "500m", "memory": "512Mi"},
    "ray-job-submitter": {"cpu": "500m", "memory": "200Mi"},
}
"""The containers that operators add to pods, with what they request by default."""


def unasked(pod: pod_wire.Pod) -> frozenset[str]:
    """Return the resources that only containers ask for which an operator adds.

    Containers that ask for more than an operator's are the user's own, whatever they are called.
    """
    every = (*pod.spec.init_containers, *pod.spec.containers)
    added = [each for each in every if each.name in ADDED]
    if not added:
        return frozenset()
    found: set[str] = set()
    asked = {*pod.spec.overhead, *pod.spec.resources.requests, *pod.spec.resources.limits}
    for container in every:
        wanted = _wanted(container, "spec.containers[]")
        (found if _is_added(container, wanted) else asked).update(wanted)
    return frozenset(found - asked)


def _is_added(container: Container, wanted: Amounts) -> bool:
    most = amounts({**ADDED.get(container.name, {})}, "")
    return bool(most) and all(amount <= most.get(name, 0) for name, amount in wanted.items())


def pod_requests(pod: pod_wire.Pod) -> dict[str, int]:
    """Return the amounts, `pods: 1` included. Raises InvalidField for an invalid quantity."""
    own: Amounts = amounts(pod.spec.resources.requests, "spec.resources.requests")
    limits = amounts(pod.spec.resources.limits, "spec.resources.limits")
    overhead = amounts(pod.spec.overhead, "spec.overhead")
    # A pod-level limit is the request only if neither the pod nor a container sets a request.
    limits = {name: limit for name, limit in limits.items() if name not in own}
    if _may_be_resized(pod):
        together = _containers_in_use(pod)
        own = _whole_in_use(pod, own)
    else:
        together = _sum_of_containers(pod, _wanted)
    needed = resources.add({**limits, **together, **own}, overhead)
    clamped = {name: min(amount, resources.ENORMOUS) for name, amount in needed.items()}
    return {**clamped, resources.PODS: 1}


def said_of_a_resize(pod: pod_wire.Pod) -> tuple[object, ...]:
    """Return the status fields that the requests of a pod depend on; mostly none."""
    if not _may_be_resized(pod):
        return ()
    status = pod.status
    statuses = (status.init_container_statuses, status.container_statuses)
    return *statuses, status.resources, status.allocated_resources, _resize_infeasible(pod)


def _may_be_resized(pod: pod_wire.Pod) -> bool:
    """Return whether a pod is on a node, and its status has resources or an infeasible resize."""
    if not pod.spec.node_name:
        return False
    status = pod.status
    said = status.container_statuses or status.init_container_statuses or status.resources
    return bool(said) or _resize_infeasible(pod)


def _sum_of_containers(pod: pod_wire.Pod, count: Count) -> Amounts:
    running = resources.total(
        count(each, f"spec.containers[{i}]") for i, each in enumerate(pod.spec.containers)
    )
    sidecars: Amounts = {}
    peak: Amounts = {}
    for i, container in enumerate(pod.spec.init_containers):
        asks = count(container, f"spec.initContainers[{i}]")
        if container.restart_policy == "Always":
            sidecars = resources.add(sidecars, asks)
            asks = {}
        peak = resources.maximum(peak, resources.add(sidecars, asks))
    return resources.maximum(resources.add(running, sidecars), peak)


def _wanted(container: Container, field: str) -> Amounts:
    # The API server defaults requests to limits on creation; manifests of `simulate` lack that.
    defaulted = {**container.resources.limits, **container.resources.requests}
    return amounts(defaulted, f"{field}.resources.requests")


def _containers_in_use(pod: pod_wire.Pod) -> Amounts:
    """Return the sum of the containers during a resize; an infeasible resize does not count."""
    said = pod.status.resources
    infeasible = _resize_infeasible(pod)
    wanted = {} if infeasible else _sum_of_containers(pod, _wanted)
    if said is not None and said.requests and pod.status.allocated_resources:
        in_use = resources.maximum(_said_in_use(pod), _said_allocated(pod))
    else:
        allocated, used = _said_of_containers(pod, infeasible=infeasible)
        in_use = resources.maximum(
            _sum_of_containers(pod, allocated), _sum_of_containers(pod, used)
        )
    return resources.maximum(wanted, in_use)


def _said_of_containers(pod: pod_wire.Pod, *, infeasible: bool) -> tuple[Count, Count]:
    """Return the allocated and the actual resources of containers, as far as statuses have them."""
    known = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    statuses = {status.name: status for status in known}

    def allocated(container: Container, field: str) -> Amounts:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources:
            return amounts(status.allocated_resources, f"status of {field}.allocatedResources")
        return {} if infeasible else _wanted(container, field)

    def used(container: Container, field: str) -> Amounts:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return amounts(status.resources.requests, f"status of {field}.resources.requests")
        return allocated(container, field)

    return allocated, used


def _whole_in_use(pod: pod_wire.Pod, own: Amounts) -> Amounts:
    """Return the pod-level requests during a resize, for resources that a pod can name."""
    if not own or pod.status.resources is None:
        return own
    in_use = resources.maximum(_said_in_use(pod), _said_allocated(pod))
    wanted = {} if _resize_infeasible(pod) else own
    everything = resources.maximum(wanted, in_use)
    return {name: everything[name] for name in everything if _is_pod_level(name)}


def _said_in_use(pod: pod_wire.Pod) -> Amounts:
    said = pod.status.resources
    return amounts(said.requests, "status.resources.requests") if said is not None else {}


def _said_allocated(pod: pod_wire.Pod) -> Amounts:
    return amounts(pod.status.allocated_resources, "status.allocatedResources")


def _is_pod_level(name: str) -> bool:
    return name in (resources.CPU, resources.MEMORY) or name.startswith(resources.HUGE_PAGES)


def _resize_infeasible(pod: pod_wire.Pod) -> bool:
    pending = (each for each in pod.status.conditions if each.type == "PodResizePending")
    return any(each.reason == "Infeasible" for each in pending)
