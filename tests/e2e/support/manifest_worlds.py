"""Manifests as cases write them, on an API server: for as long as one case lasts.

What cases leave out an API server wants to know: it is filled in here, and nothing that is said in
a case is changed. Pods have the priority of a PriorityClass that is made for it.
"""

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Final

from e2e.support.manifests import GANG_LABEL, SCHEDULER
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.controlplane import access

Body = dict[str, Any]

NAMESPACE: Final = "default"
NAMESPACED: Final = frozenset(
    {
        *("Pod", "PodGroup", "PersistentVolumeClaim", "LocalQueue"),
        *("ResourceClaim", "ResourceClaimTemplate"),
    }
)
PLURALS: Final = {
    "ClusterNetworkTopology": "clusternetworktopologies",
    "DeviceClass": "deviceclasses",
    "PriorityClass": "priorityclasses",
    "StorageClass": "storageclasses",
}
ORDER: Final = ("PriorityClass", "ClusterNetworkTopology", "Node", "CSINode")
"""What is there before all else; pods come last, and of these those first that have nodes."""
SIZE: Final = {"storage": "1Gi"}
VERSIONS: Final = {
    "Pod": {"apiVersion": "v1"},
    "PodGroup": {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1"},
}
AT_ONCE: Final = {"gracePeriodSeconds": 0}


class World:
    """The objects of one case at a time, in the namespace default of a cluster.

    No kubelet looks after its nodes: a pod that is evicted leaves when `remove` is told so.
    """

    def __init__(self, cluster: controlplane.Cluster) -> None:
        self.cluster = cluster
        self._made: dict[tuple[str, str], Body] = {}
        self._priorities: set[int] = set()

    def put(self, manifests: Iterable[Body]) -> None:
        """Create objects, or put these in place of those of the same names."""
        with access.Client(self.cluster.access) as client:
            for each in sorted(map(filled_in, manifests), key=_rank):
                self._prioritize(client, each)
                if self._made.get(_identity(each)) != each:
                    self._put(client, each)
                    self._made[_identity(each)] = each

    def remove(self, names: Sequence[str]) -> None:
        """Delete the objects of these names at once."""
        with access.Client(self.cluster.access) as client:
            for identity, body in list(self._made.items()):
                if identity[1] in names:
                    _delete(client, body)
                    del self._made[identity]

    def become(self, manifests: Iterable[Body]) -> None:
        """Have these objects, and no others: only what differs is touched."""
        wanted = [*manifests]
        gone = self._made.keys() - {_identity(each) for each in wanted}
        self.remove([name for _, name in gone])
        self.put(wanted)

    def clear(self) -> None:
        """Delete all objects, and wait until they are gone."""
        with access.Client(self.cluster.access) as client:
            gone = list(reversed(self._made.values()))
            for each in gone:
                _delete(client, each)
            for each in gone:
                _await_end(client, each)
        self._made.clear()

    def of_name(self, kind: str, name: str) -> list[Body]:
        """Return the gang of a name, or its pods, or the pod of that name, as they are now."""
        found = self.cluster.request("GET", _path({"kind": kind, **VERSIONS[kind]}, named=False))
        return [each for each in found["items"] if name in _names(each)]

    def waiting(self, name: str) -> list[str]:
        """Return the pods of a gang, or of that name, that have no node."""
        pods = self.of_name("Pod", name)
        return [each["metadata"]["name"] for each in pods if "nodeName" not in each["spec"]]

    def _prioritize(self, client: access.Client, body: Body) -> None:
        if body["kind"] != "Pod" or "priority" not in body["spec"]:
            return
        value = body["spec"].pop("priority")
        body["spec"]["priorityClassName"] = f"of-{value}"
        if value not in self._priorities:
            made = {"metadata": {"name": f"of-{value}"}, "value": value}
            client.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", made).check()
            self._priorities.add(value)
            # The admission of pods learns of a new class by a watch of its own.
            until(lambda: _is_taken(client, body))

    def _put(self, client: access.Client, body: Body) -> None:
        identity = _identity(body)
        if identity not in self._made:
            _create(client, body)
        elif body["kind"] == "Pod" and _differ_in_status(body, self._made[identity]):
            _write_status(client, body)
        elif body["kind"] == "Pod":
            # Next to nothing of the spec of a pod can be changed.
            _delete(client, body)
            _await_end(client, body)
            _create(client, body)
        elif body["kind"] != "PersistentVolumeClaim":
            _replace(client, body)
        if body["kind"] == "PersistentVolumeClaim" and "status" in body:
            # The controller of volumes binds it, as one of the two says.
            until(lambda: client.request("GET", _path(body)).body["status"]["phase"] == "Bound")


def _differ_in_status(one: Body, other: Body) -> bool:
    return all(one[part] == other[part] for part in ("metadata", "spec"))


def _is_taken(client: access.Client, pod: Body) -> bool:
    """Return whether the API server would create a pod, or has it."""
    asked = f"{_path(pod, named=False)}?dryRun=All"
    return client.request("POST", asked, pod).status in (201, 409)


def filled_in(manifest: Body) -> Body:
    """Return a manifest with what an API server, or a kubelet, wants in it."""
    body = copy.deepcopy(manifest)
    # That is the server's to say.
    body["metadata"].pop("creationTimestamp", None)
    match body["kind"]:
        case "Node":
            _fill_node(body)
        case "Pod":
            _fill_pod(body)
        case "PersistentVolumeClaim":
            resources = {"requests": SIZE}
            body["spec"] = {
                "accessModes": ["ReadWriteOnce"],
                "resources": resources,
                **body["spec"],
            }
    return body


def _fill_node(body: Body) -> None:
    name, ready = body["metadata"]["name"], {"type": "Ready", "status": "True"}
    own = {"kubernetes.io/hostname": name}
    body["metadata"]["labels"] = {**own, **body["metadata"].get("labels", {})}
    body["status"] = {"conditions": [ready], **body["status"]}
    body["status"]["capacity"] = body["status"]["allocatable"]


def _fill_pod(body: Body) -> None:
    spec = body.setdefault("spec", {})
    spec.setdefault("schedulerName", SCHEDULER)
    for number, each in enumerate(spec.get("volumes", [])):
        each.setdefault("name", f"volume-{number}")
    for each in spec.setdefault("containers", [{}]):
        each.setdefault("name", "c")
        each["image"] = "none"
        requests = each.get("resources", {}).get("requests", {})
        extended = {key: amount for key, amount in requests.items() if "/" in key}
        if extended:
            each["resources"]["limits"] = extended


def _create(client: access.Client, body: Body) -> None:
    client.request("POST", _path(body, named=False), body).check()
    if body["kind"] in ("Pod", "PodGroup") and "status" in body:
        _write_status(client, body)


def _write_status(client: access.Client, body: Body) -> None:
    """Write what is said of the status; conditions are of the time when the object was made."""

    def was_written() -> bool:
        found = client.request("GET", _path(body)).check().body
        status = {**found.get("status", {}), **body["status"]}
        when = {"lastTransitionTime": found["metadata"]["creationTimestamp"], "message": ""}
        status["conditions"] = [{**when, **each} for each in status.get("conditions", [])]
        reply = client.request("PUT", f"{_path(body)}/status", {**found, "status": status})
        return reply.status != 409 and reply.check().status == 200

    until(was_written)


def _replace(client: access.Client, body: Body) -> None:
    """Put an object in place of the one that is there, despite other writers."""
    parts = ("", "/status") if body["kind"] == "Node" else ("",)
    for part in parts:

        def was_replaced(part: str = part) -> bool:
            found = client.request("GET", _path(body)).check().body
            metadata = {**found["metadata"], **body["metadata"]}
            metadata["annotations"] = body["metadata"].get("annotations", {})
            metadata["labels"] = body["metadata"].get("labels", {})
            made = {**found, "spec": body.get("spec", {}), "metadata": metadata}
            made["status"] = {**found.get("status", {}), **(body.get("status", {}) if part else {})}
            reply = client.request("PUT", f"{_path(body)}{part}", made)
            return reply.status != 409 and reply.check().status == 200

        until(was_replaced)


def _delete(client: access.Client, body: Body) -> None:
    reply = client.request("DELETE", _path(body), AT_ONCE if body["kind"] == "Pod" else None)
    if reply.status != 404:
        reply.check()


def _await_end(client: access.Client, body: Body) -> None:
    eventually(404, lambda: client.request("GET", _path(body)).status)


def _names(body: Body) -> tuple[str, ...]:
    labels = body["metadata"].get("labels", {})
    return body["metadata"]["name"], labels.get(GANG_LABEL, "")


def _identity(body: Body) -> tuple[str, str]:
    return body["kind"], body["metadata"]["name"]


def _rank(body: Body) -> tuple[int, bool]:
    kind = body["kind"]
    if kind == "Pod":
        return len(ORDER) + 1, "nodeName" not in body.get("spec", {})
    return ORDER.index(kind) if kind in ORDER else len(ORDER), False


def _path(body: Body, *, named: bool = True) -> str:
    version, kind = body["apiVersion"], body["kind"]
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = f"/namespaces/{NAMESPACE}" if kind in NAMESPACED else ""
    plural = f"{prefix}{namespace}/{PLURALS.get(kind, f'{kind.lower()}s')}"
    return f"{plural}/{body['metadata']['name']}" if named else plural
