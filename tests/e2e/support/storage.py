"""Claims, volumes and classes for tests, and a stand-in for what makes volumes.

The PV controller of kube-controller-manager is the real one: it binds what is here.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from tools import controlplane
from tools.controlplane import access, repeated_calls

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BY_NOBODY = "kubernetes.io/no-provisioner"
HOST_NAME = "kubernetes.io/hostname"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/persistentvolumeclaims"
SIZE = {"storage": "1Gi"}
ACCESS = ["ReadWriteOnce"]


@contextlib.contextmanager
def storage_class(
    namespace: Namespace,
    provisioner: str = BY_NOBODY,
    disks_on: tuple[str, ...] = (),
    suffix: str = "",
) -> Iterator[str]:
    """Give a class named after the namespace, with a local disk on each of these nodes."""
    name = namespace.name + suffix
    namespace.cluster.request(
        "POST",
        CLASSES,
        {
            "metadata": {"name": name},
            "provisioner": provisioner,
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    for node in disks_on:
        namespace.cluster.request("POST", VOLUMES, volume(f"{name}-on-{node}", name, node))
    yield name
    namespace.delete_all("pods")
    namespace.delete_all("persistentvolumeclaims")
    for each in namespace.cluster.request("GET", VOLUMES)["items"]:
        if each["spec"]["storageClassName"] == name:
            namespace.cluster.request("DELETE", f"{VOLUMES}/{each['metadata']['name']}")
    namespace.cluster.request("DELETE", f"{CLASSES}/{name}")


def claim(name: str, storage_class: str) -> Manifest:
    """Return a claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": _claim_spec(storage_class),
    }


def volume(name: str, storage_class: str, node: str, **spec: Any) -> Manifest:
    """Return a volume that only one node reaches; a local disk unless `spec` says otherwise."""
    here = {"key": HOST_NAME, "operator": "In", "values": [node]}
    source = {} if "csi" in spec else {"local": {"path": "/disks/0"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": SIZE,
            "accessModes": ACCESS,
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": storage_class,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            **source,
            **spec,
        },
    }


def using(claim_name: str) -> list[dict[str, Any]]:
    """Return the volumes of a pod that uses a claim."""
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]


def ephemeral(storage_class: str) -> list[dict[str, Any]]:
    """Return the volumes of a pod whose claim is made for it, and goes with it."""
    template = {"spec": _claim_spec(storage_class)}
    return [{"name": "data", "ephemeral": {"volumeClaimTemplate": template}}]


def bound_claims(namespace: Namespace) -> set[str]:
    """Return the names of the claims that are bound."""
    found = namespace.every("persistentvolumeclaims")
    return {each["metadata"]["name"] for each in found if each["status"]["phase"] == "Bound"}


def selected_nodes(namespace: Namespace) -> dict[str, str]:
    """Return the node that was selected for each claim, where one was."""
    metadata = (each["metadata"] for each in namespace.every("persistentvolumeclaims"))
    return {
        each["name"]: each["annotations"][SELECTED_NODE]
        for each in metadata
        if SELECTED_NODE in each.get("annotations", {})
    }


@contextlib.contextmanager
def provisioning(cluster: controlplane.Cluster, driver: str) -> Iterator["Provisioner"]:
    """Give a provisioner that is at work until the block ends."""
    provisioner = Provisioner(driver)
    with repeated_calls.repeating(cluster, provisioner.answer_all):
        yield provisioner


def _claim_spec(storage_class: str) -> dict[str, Any]:
    spec = {"accessModes": ACCESS, "resources": {"requests": SIZE}}
    return {**spec, "storageClassName": storage_class}


@dataclass
class Provisioner:
    """A stand-in for a CSI provisioner: makes a volume for each claim that has a node.

    It neglects the claims whose names are in `neglected`, and gives those back once that are in
    `refused`.
    """

    name: str
    neglected: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)

    def answer_all(self, client: access.Client) -> None:
        """Look at all claims once."""
        for each in client.request("GET", CLAIMS).check().body["items"]:
            self._answer(client, each)

    def _answer(self, client: access.Client, asked: dict[str, Any]) -> None:
        metadata, spec = asked["metadata"], asked["spec"]
        annotations = metadata.get("annotations", {})
        node = annotations.get(SELECTED_NODE)
        mine = annotations.get(PROVISIONER) == self.name and not spec.get("volumeName")
        if not mine or not node or metadata["name"] in self.neglected:
            return
        if metadata["name"] in self.refused:
            if self._gives_back(client, asked):
                self.refused.discard(metadata["name"])
            return
        made = volume(
            f"pvc-{metadata['uid']}",
            spec["storageClassName"],
            node,
            csi={"driver": self.name, "volumeHandle": metadata["uid"]},
            claimRef={
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                **{key: metadata[key] for key in ("namespace", "name", "uid")},
            },
        )
        made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": self.name}
        reply = client.request("POST", VOLUMES, made)
        if reply.status != 409:
            reply.check()

    def _gives_back(self, client: access.Client, asked: dict[str, Any]) -> bool:
        """Give a claim back as it was listed; return False if it was written since."""
        metadata = asked["metadata"]
        del metadata["annotations"][SELECTED_NODE]
        path = f"/api/v1/namespaces/{metadata['namespace']}/persistentvolumeclaims"
        reply = client.request("PUT", f"{path}/{metadata['name']}", asked)
        if reply.status == 409:
            return False
        reply.check()
        return True
