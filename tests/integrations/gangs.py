"""What tests ask of gangs of any kind: nodes for them, and a witness of their roles."""

import dataclasses
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from e2e.support import gang_manifests, manifests
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.networks import RACK
from e2e.support.waiting import until
from integrations.kinds import Kind
from tools import controlplane
from tools.controlplane import access
from tools.controlplane.wholeness import PodEvent

PATIENCE_SECONDS = 60.0
QUIET_SECONDS = 2.0
PAUSE_SECONDS = 0.15
DISK = {"ephemeral-storage": "100Gi"}
OWN_PREFIX = "py-gang-scheduler.io/"


class RoleWatcher(controlplane.Watcher):
    """A witness that takes the pods of a role for a gang."""

    def __init__(self, namespace: Namespace, kind: Kind) -> None:
        super().__init__(namespace.cluster, namespace.name)
        self._kind = kind

    def parts(self) -> list[str]:
        """Say which roles were bound in part, and for how long; [] as it should be."""
        quorums = {name: role.quorum for name, role in self._kind.roles.items() if role.quorum}
        return [str(each) for each in self.partial_gangs(quorums)]

    def _decode(self, pod: dict[str, Any], *, gone: bool) -> PodEvent:
        role = self._kind.role_of(pod["metadata"]["name"])
        return dataclasses.replace(super()._decode(pod, gone=gone), gang=role)


def create(namespace: Namespace, kind: Kind) -> None:
    """Create the workload, on nodes of the namespace alone."""
    gang_manifests.create(namespace, kind.manifest(on=namespace.here))


def create_in_a_rack(namespace: Namespace, kind: Kind) -> None:
    """Create the workload where each of its templates asks for one rack."""
    asking = {"kueue.x-k8s.io/podset-required-topology": RACK}
    gang_manifests.create(namespace, kind.manifest(asking, on=namespace.here))


def delete(namespace: Namespace, kind: Kind) -> None:
    """Delete the workload, and what it owns."""
    path = gang_manifests.path(namespace, kind.workload, kind.workload["metadata"]["name"])
    namespace.cluster.request("DELETE", path, {"propagationPolicy": "Background"})


def scale(namespace: Namespace, kind: Kind, more: int) -> None:
    """Set the count of the workload to so many more than it was created with."""
    assert kind.scale
    *way, last = kind.scale.path
    count = more + _at(kind.scale.path, kind.workload)
    path = gang_manifests.path(namespace, kind.workload, kind.workload["metadata"]["name"])

    def was_changed() -> bool:
        found = namespace.cluster.request("GET", path)
        _at(way, found)[last] = count
        with access.Client(namespace.cluster.access) as client:
            reply = client.request("PUT", path, found)
            return reply.status != 409 and reply.check().status == 200

    wait(was_changed)


def add_room(namespace: Namespace, cpu: int, count: int = 1, **labels: str) -> None:
    """Create nodes more."""
    at = {RACK: labels["rack"]} if labels else {}
    namespace.own_nodes(count, cpu=cpu, labels=at, devices=DISK)


def ours(namespace: Namespace) -> list[Manifest]:
    """Return the pods that are ours to schedule; what a controller adds of others is not."""
    every = namespace.every("pods")
    return [each for each in every if each["spec"]["schedulerName"] == manifests.SCHEDULER]


def all_have_waited(namespace: Namespace, at_least: int) -> bool:
    """Say whether so many pods are there and each was told why it has no node."""
    found = ours(namespace)
    told = [each for each in found if _is_told(each)]
    return len(found) >= at_least and len(told) == len(found)


def bound_by_role(namespace: Namespace, kind: Kind) -> dict[str, int]:
    """Return how many pods of each role have a node."""
    names = [each["metadata"]["name"] for each in bound(namespace)]
    return dict(Counter(role for role in map(kind.role_of, names) if role))


def has_quorum(counts: Mapping[str, int], kind: Kind) -> bool:
    """Say whether each role has as many as start together."""
    return all(counts.get(name, 0) >= role.quorum for name, role in kind.roles.items())


def wait_for_quorum(namespace: Namespace, kind: Kind) -> None:
    """Wait until each role has its quorum bound."""
    wait(lambda: has_quorum(bound_by_role(namespace, kind), kind))


def bound(namespace: Namespace) -> list[Manifest]:
    """Return the pods that are ours and have a node."""
    return [each for each in ours(namespace) if "nodeName" in each["spec"]]


def delete_pods(namespace: Namespace) -> None:
    """Delete all pods by force, and wait until none is left."""
    for each in namespace.every("pods"):
        if each["metadata"].get("finalizers"):
            _free(namespace, each["metadata"]["name"])
    namespace.delete_all("pods")
    wait(lambda: not namespace.every("pods"))


def _free(namespace: Namespace, name: str) -> None:
    """Take the finalizers off a pod, unless its controller has done so, and it is gone."""
    try:
        namespace.change_pod(name, lambda pod: pod["metadata"].pop("finalizers", None))
    except access.RefusedError as error:
        if error.status != 404:
            raise


def wait_until_alone(namespace: Namespace) -> None:
    """Wait until no pod of a namespace that is going is left to take room.

    Its controller may have made some again, which go only while other controllers run.
    """

    def no_other_is_there() -> bool:
        pods = namespace.cluster.request("GET", "/api/v1/pods")["items"]
        return {each["metadata"]["namespace"] for each in pods} <= {namespace.name}

    wait(no_other_is_there)


def wait_for_all(namespace: Namespace, kind: Kind) -> None:
    """Wait until every pod that the workload has in the end is bound."""
    wait(lambda: kind.sizes == bound_by_role(namespace, kind))


def wait_until_all_stay(namespace: Namespace, kind: Kind) -> None:
    """Wait likewise, and until the controller makes none of them again for a while."""

    def nothing_changes() -> bool:
        wait_for_all(namespace, kind)
        before = uids(namespace)
        time.sleep(QUIET_SECONDS)
        return before == uids(namespace) and kind.sizes == bound_by_role(namespace, kind)

    wait(nothing_changes)


def uids(namespace: Namespace) -> dict[str, str]:
    """Return the uids of pods by name."""
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in ours(namespace)}


def racks(namespace: Namespace, kind: Kind, role: str) -> set[str]:
    """Return the racks that the pods of a role are in."""
    nodes = namespace.cluster.request("GET", "/api/v1/nodes")["items"]
    rack_of = {each["metadata"]["name"]: each["metadata"]["labels"].get(RACK, "") for each in nodes}
    return {rack_of[node] for pod, node in namespace.bound().items() if kind.role_of(pod) == role}


def as_made_by_hand(pod: Manifest) -> Manifest:
    """Return what to create for a pod like one that a controller made, before it was bound."""
    metadata = {key: pod["metadata"].get(key) for key in ("name", "labels", "ownerReferences")}
    annotations = pod["metadata"].get("annotations", {})
    kept = {key: each for key, each in annotations.items() if not key.startswith(OWN_PREFIX)}
    spec = {key: each for key, each in pod["spec"].items() if key != "nodeName"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "annotations": kept},
        "spec": spec,
    }


def create_in_any_order(
    namespace: Namespace, pods: Sequence[Manifest], chance: random.Random
) -> list[str]:
    """Create pods in an order drawn by chance, with pauses; return their names in that order."""
    order = chance.sample(pods, len(pods))
    for each in order:
        namespace.create(each)
        time.sleep(chance.uniform(0, PAUSE_SECONDS))
    return [each["metadata"]["name"] for each in order]


def made_before_the_first_binding(events: Iterable[PodEvent]) -> dict[str, int]:
    """Return how many pods of each role there were when the first was bound."""
    there: dict[str, str] = {}
    for event in events:
        if event.gang and event.bound:
            break
        if event.gang and not event.gone:
            there[event.uid] = event.gang
    return dict(Counter(there.values()))


def wait(is_true: Callable[[], object]) -> None:
    """Wait for what controllers do."""
    until(is_true, PATIENCE_SECONDS)


def _at(path: Iterable[str | int], part: Any) -> Any:
    for key in path:
        part = part[key]
    return part


def _is_told(pod: Manifest) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "PodScheduled" and each.get("message") for each in conditions)
