"""Requests for nodes: those that are in the input, and those that the scheduler would make."""

from typing import Any

from gang_scheduler.model.provisioning import AskedPodSet, ProvisioningRequest
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.state.cache import Cache

Json = dict[str, Any]


def requests(cache: Cache) -> Json:
    """Return the requests by gang; nothing where nodes cannot be asked for."""
    state = cache.provisioning
    if not state.is_on:
        return {}
    decided = {each.request.name: each.asking.pod_sets for each in state.requests.decided.values()}
    known = sorted(state.requests.all(), key=lambda each: (each.gang, each.attempt))
    return {"provisioning": [_row(each, decided.get(each.name)) for each in known]}


def _row(request: ProvisioningRequest, new: tuple[AskedPodSet, ...] | None) -> Json:
    return {
        "gang": str(request.gang),
        "request": request.name,
        "class": request.class_name,
        "attempt": request.attempt,
        "state": request.came.value,
        "new": new is not None,
        **({} if new is None else {"podSets": [_pod_set(each) for each in new]}),
    }


def _pod_set(each: AskedPodSet) -> Json:
    asked = {name: quantity_of(name, n) for name, n in each.pod.pod_class.requests}
    asked.pop("pods", None)
    labels = {"nodeLabels": dict(each.node_labels)} if each.node_labels else {}
    return {"pod": each.pod.key, "count": each.number, "requests": asked, **labels}
