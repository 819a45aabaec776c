"""Manifests of queues and of gangs that name them, and what tests ask of both."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from e2e.support import manifests
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.waiting import until
from tools import controlplane
from tools.controlplane import access

GROUP = "py-gang-scheduler.io"
VERSION = f"{GROUP}/v1alpha1"
QUEUE, FLAVORS = f"{GROUP}/queue", f"{GROUP}/flavors"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Objects:
    """Create, change and delete objects without a namespace; at its end none is left."""

    def __init__(self, cluster: controlplane.Cluster) -> None:
        self.cluster = cluster
        self._made: list[Manifest] = []

    def create(self, *documents: Manifest) -> None:
        """Create objects, one after the other."""
        for each in documents:
            self.cluster.request("POST", _path(each), each)
            self._made.append(each)

    def create_and_wait(self, queue: Manifest) -> None:
        """Create a Queue, and wait until the operator knows it."""
        self.create(queue)
        until(lambda: self.condition(queue, "Active") == "True")

    def change(self, document: Manifest, **fields: Any) -> None:
        """Set fields of the spec of an object, despite other writers."""
        path = _path(document, document["metadata"]["name"])

        def was_replaced() -> bool:
            with access.Client(self.cluster.access) as client:
                found = client.request("GET", path).check().body
                found["spec"].update(fields)
                reply = client.request("PUT", path, found)
            return reply.status != 409 and reply.check().status == 200

        until(was_replaced)

    def delete(self, document: Manifest) -> None:
        """Delete an object."""
        self.cluster.request("DELETE", _path(document, document["metadata"]["name"]))
        self._made.remove(document)

    def status(self, document: Manifest) -> dict[str, Any]:
        """Return the status of an object, {} while it has none."""
        found = self.cluster.request("GET", _path(document, document["metadata"]["name"]))
        status: dict[str, Any] = found.get("status", {})
        return status

    def condition(self, document: Manifest, kind: str) -> str | None:
        """Return the status of a condition of an object, None while it has none of that type."""
        conditions = self.status(document).get("conditions", [])
        return next((each["status"] for each in conditions if each["type"] == kind), None)

    def delete_all(self) -> None:
        """Delete what is left."""
        for each in reversed(list(self._made)):
            self.delete(each)


@contextlib.contextmanager
def objects(cluster: controlplane.Cluster) -> Iterator[Objects]:
    """Give what creates objects without a namespace, and delete them afterwards."""
    made = Objects(cluster)
    yield made
    made.delete_all()


def queue(name: str, cpu: int | None = None, **spec: Any) -> Manifest:
    """Return a Queue that is promised some CPUs."""
    quota = {} if cpu is None else {"quota": {"soft": {"cpu": str(cpu)}}}
    metadata = {"name": name}
    return {
        "apiVersion": VERSION,
        "kind": "Queue",
        "metadata": metadata,
        "spec": {**quota, **spec},
    }


def resource_flavor(name: str, labels: dict[str, str]) -> Manifest:
    """Return a ResourceFlavor: the nodes with these labels."""
    spec = {"nodeLabels": labels}
    return {
        "apiVersion": VERSION,
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": spec,
    }


def gang(
    name: str, pods: int, queue: str, *, key: str = QUEUE, **pod_fields: Any
) -> list[Manifest]:
    """Return a gang that names a queue by a label of its PodGroup."""
    group, *members = manifests.gang(name, pods, **pod_fields)
    group["metadata"]["labels"] = {key: queue}
    return [group, *members]


def reason(namespace: Namespace, gang: str, kind: str = "Scheduled") -> str | None:
    """Return the reason of a condition of a gang: why it waits, or that it is scheduled."""
    found: str | None = namespace.condition_of_gang(gang, kind).get("reason")
    return found


def charged_to(namespace: Namespace, gang: str) -> set[tuple[str, str]]:
    """Return the queue, and the flavors as JSON, that bound pods of a gang are charged to."""
    found = [each["metadata"] for each in namespace.every("pods") if "nodeName" in each["spec"]]
    notes = [each["annotations"] for each in found if each["name"].startswith(f"{gang}-")]
    return {(each.get(QUEUE, ""), each.get(FLAVORS, "")) for each in notes}


def install(cluster: controlplane.Cluster, *crds: Manifest) -> None:
    """Create CRDs, and wait until they are served."""
    names = [f"crd/{each['metadata']['name']}" for each in crds]
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
    cluster.kubectl("apply", "--server-side", "--filename=-", input=items)
    cluster.kubectl("wait", "--for=condition=Established", *names)
    # For a moment after that the API server has no storage for some of them.
    until(lambda: all(_is_served(cluster, each) for each in crds))


def _is_served(cluster: controlplane.Cluster, crd: Manifest) -> bool:
    """Return whether the API server lists the objects of a CRD in all of its versions."""
    spec = crd["spec"]
    served = (each["name"] for each in spec["versions"] if each["served"])
    paths = [f"/apis/{spec['group']}/{version}/{spec['names']['plural']}" for version in served]
    with access.Client(cluster.access) as client:
        return all(client.request("GET", path).status == 200 for path in paths)


def _path(document: Manifest, name: str = "") -> str:
    namespace = document["metadata"].get("namespace")
    where = f"/namespaces/{namespace}" if namespace else ""
    plural = f"/apis/{document['apiVersion']}{where}/{document['kind'].lower()}s"
    return f"{plural}/{name}" if name else plural
