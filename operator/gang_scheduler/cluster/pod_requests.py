"""What a pod uses of a node, as the kubelet and kube-scheduler count it.

The larger of the sum of all containers and of each init container with the restartable ones
started before it; pod-level requests replace that sum for the resources they name; then the
overhead. During an in-place resize a container counts with the largest of what it asks for, what
it was allocated and what it uses. The rule is that of component-helpers' `resource.PodRequests`.
"""

from collections.abc import Mapping

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cluster import wire
from gang_scheduler.model import resources
from gang_scheduler.model.resources import Amounts


def pod_requests(pod: wire.Pod) -> dict[str, int]:
    """Return the amounts, `pods: 1` included. Raises InvalidField for what is no quantity."""
    together = _sum_of_containers(pod)
    own = amounts(pod.spec.resources.requests, "spec.resources.requests")
    limits = amounts(pod.spec.resources.limits, "spec.resources.limits")
    overhead = amounts(pod.spec.overhead, "spec.overhead")
    # A limit of the pod is its request only where neither it nor a container says another.
    needed = resources.add({**limits, **together, **own}, overhead)
    clamped = {name: min(amount, resources.ENORMOUS) for name, amount in needed.items()}
    return {**clamped, resources.PODS: 1}


def amounts(quantities: wire.Quantities, field: str) -> dict[str, int]:
    """Return the integers of a map of quantities. Raises InvalidField naming field and value."""
    result = {}
    for name, quantity in quantities.items():
        try:
            result[name] = min(resources.amount_of(name, quantity), resources.ENORMOUS)
        except ValueError as error:
            raise InvalidField(f"{field}.{name}", quantity, "must be a quantity") from error
        if result[name] < 0:
            raise InvalidField(f"{field}.{name}", quantity, "must not be negative")
    return result


def _sum_of_containers(pod: wire.Pod) -> Amounts:
    statuses = {status.name: status for status in pod.status.container_statuses}
    init_statuses = {status.name: status for status in pod.status.init_container_statuses}
    infeasible = _resize_infeasible(pod)
    running = resources.total(
        _of_container(each, statuses, f"spec.containers[{i}]", infeasible=infeasible)
        for i, each in enumerate(pod.spec.containers)
    )
    sidecars: Amounts = {}
    peak: Amounts = {}
    for i, container in enumerate(pod.spec.init_containers):
        field = f"spec.initContainers[{i}]"
        restartable = container.restart_policy == "Always"
        # Plain init containers are over before anything can be resized.
        known = init_statuses if restartable else {}
        asks = _of_container(container, known, field, infeasible=infeasible)
        if restartable:
            sidecars = resources.add(sidecars, asks)
            asks = {}
        peak = resources.maximum(peak, resources.add(sidecars, asks))
    return resources.maximum(resources.add(running, sidecars), peak)


def _of_container(
    container: wire.Container,
    statuses: Mapping[str, wire.ContainerStatus],
    field: str,
    *,
    infeasible: bool,
) -> Amounts:
    wanted = amounts(_defaulted(container.resources), f"{field}.resources.requests")
    status = statuses.get(container.name)
    if status is None or status.resources is None:
        return wanted
    actual = amounts(status.resources.requests, f"status of {field}.resources.requests")
    allocated = amounts(status.allocated_resources, f"status of {field}.allocatedResources")
    in_use = resources.maximum(actual, allocated)
    return in_use if infeasible else resources.maximum(wanted, in_use)


def _resize_infeasible(pod: wire.Pod) -> bool:
    return any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in pod.status.conditions
    )


def _defaulted(requirements: wire.ResourceRequirements) -> wire.Quantities:
    # The API server does this on creation; manifests given to `simulate` have not been there.
    return {**requirements.limits, **requirements.requests}
