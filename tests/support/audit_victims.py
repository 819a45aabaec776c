"""Victims, and what they are evicted for, as an auditor sees them."""

from typing import Any

from gang_scheduler.api import annotations as keys
from support.audit_streams import NAMESPACE, Manifest, bound, changed, pod

BEGINNING = "py-gang-scheduler: preempting to accommodate higher priority pods"


def marked(found: Manifest, gang: str, trigger: str) -> Manifest:
    """Return a pod that is marked as a victim of a gang, by the name of one of its pods."""
    preemptor = f"preemptor: {NAMESPACE}/{gang}, triggerpod: {NAMESPACE}/{trigger}"
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": f"{BEGINNING}, {preemptor}",
    }
    return changed(found, status={"conditions": [condition]})


def nominated(found: Manifest, node: str) -> Manifest:
    """Return a pod that is nominated to a node."""
    return changed(found, status={"nominatedNodeName": node})


def queue(name: str, **spec: Any) -> Manifest:
    """Return a Queue."""
    return {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": f"queue-{name}"},
        "spec": spec,
    }


def quota(soft: int | None = None, **amounts: int) -> dict[str, Any]:
    """Return a quota of CPUs: `hard`, `guaranteed`."""
    given = {"soft": soft, **amounts}
    return {name: {"cpu": str(count)} for name, count in given.items() if count is not None}


def queued(name: str, of: str, node: str = "n1", cpu: int = 1, **fields: Any) -> Manifest:
    """Return a pod that is bound, and charged to a queue."""
    made = pod(name, cpu=cpu, labels={keys.QUEUE: of}, **fields)
    return bound(made, node, **{keys.QUEUE: of})
