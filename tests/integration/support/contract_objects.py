"""The objects of the contract tests, and what these look for in them."""

from typing import Any

from gang_scheduler.api.kinds import GVR, PODS
from gang_scheduler.model.refs import PodRef
from integration.support.contract_servers import Server

UNSERVED = GVR("example.com", "v1", "nothings")
MARKS = {"example.com/plan": "p1"}


async def pod(server: Server, name: str = "w-0", **metadata: Any) -> PodRef:
    """Create a pod that waits for a scheduler."""
    made = await server.create(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": server.namespace, **metadata},
            "spec": {
                "schedulerName": "nobody",
                "containers": [{"name": "c", "image": "example.com/none"}],
            },
        },
    )
    return PodRef(server.namespace, name, made["metadata"]["uid"])


async def pod_group(server: Server, gvr: GVR) -> dict[str, Any]:
    """Create a PodGroup of one of the two API groups."""
    return await server.create(
        gvr,
        {
            "apiVersion": f"{gvr.group}/{gvr.version}",
            "kind": "PodGroup",
            "metadata": {"name": "train", "namespace": server.namespace},
            "spec": {"minMember": 2},
        },
    )


def of(document: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return one condition."""
    conditions = document["status"]["conditions"]
    return next(each for each in conditions if each["type"] == kind)
