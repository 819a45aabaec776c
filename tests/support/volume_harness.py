"""A harness with claims and what binds them in a cluster: a provisioner and the PV controller."""

import asyncio
import copy
from collections.abc import Callable
from contextlib import AbstractContextManager

from gang_scheduler.api.annotations import SELECTED_NODE
from gang_scheduler.api.kinds import (
    GVR,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_GROUPS,
    PODS,
    STORAGE_CLASSES,
)
from gang_scheduler.apply.volume_binder import HOLD_SECONDS
from gang_scheduler.client.fake.cluster import Change, Document
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.refs import GangKey
from support import api_objects, builders
from support.binder_harness import BinderHarness
from support.watches import ECHO_SECONDS

NEVER = float("inf")
AT_ONCE = 0.1
BOUND = "pv.kubernetes.io/bind-completed"
CLASSES = {"fast": "disks.example.com", "local": "kubernetes.io/no-provisioner"}
SIZE = {"storage": "1Gi"}
ACCESS = ["ReadWriteOnce"]
MANY = ["ReadWriteMany"]


class VolumeHarness(BinderHarness):
    """Volumes of class `fast` are made, those of class `local` are there.

    `makes` is how many seconds that takes by claim (`a_1` for claim a-1), else no time at all.
    Volumes of the claims `elsewhere` are made for another node than the selected one, and volumes
    of the claims `everywhere` for all nodes. `told` are the gangs that were reported, and the
    words.
    """

    def __init__(
        self,
        nodes: int = 2,
        *,
        hold_seconds: float = HOLD_SECONDS,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self.makes: dict[str, float] = {}
        self.elsewhere: set[str] = set()
        self.everywhere: set[str] = set()
        self.told: list[tuple[str, str]] = []
        super().__init__(nodes, hold_seconds=hold_seconds, may_write=may_write)
        self.cluster.watchers.append(self._react)
        for name, provisioner in CLASSES.items():
            body = {"metadata": {"name": name}, "provisioner": provisioner}
            self.cluster.put(STORAGE_CLASSES, {**body, "volumeBindingMode": "WaitForFirstConsumer"})

    @staticmethod
    def key(gang: str) -> GangKey:
        """Return the key of a gang."""
        return builders.gang_key(gang)

    def gang_with_claims(self, name: str, pods: int, storage_class: str = "fast") -> None:
        """Add a gang whose members have a claim each, of the member's name."""
        self.cluster.put(POD_GROUPS, api_objects.pod_group_body(name, min_member=pods))
        for each in (f"{name}-{number}" for number in range(pods)):
            self.cluster.put(PERSISTENT_VOLUME_CLAIMS, _claim(each, storage_class))
            volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": each}}]
            metadata = {"uid": f"uid-{each}"}
            body = api_objects.pod_body(each, gang=name, metadata=metadata, volumes=volumes)
            self.cluster.put(PODS, body)

    def gang_with_one_claim(self, name: str, pods: int) -> None:
        """Add a gang whose members share the claim `name`, that many nodes can use."""
        self.cluster.put(POD_GROUPS, api_objects.pod_group_body(name, min_member=pods))
        self.cluster.put(PERSISTENT_VOLUME_CLAIMS, _claim(name, "fast", MANY))
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        for each in (f"{name}-{number}" for number in range(pods)):
            metadata = {"uid": f"uid-{each}"}
            body = api_objects.pod_body(each, gang=name, metadata=metadata, volumes=volumes)
            self.cluster.put(PODS, body)

    def disk(self, node: str) -> None:
        """Add a volume of a node."""
        self.cluster.put(PERSISTENT_VOLUMES, _volume(f"disk-on-{node}", "local", node))

    def select(self, claim: str, node: str) -> None:
        """Select a node for a claim, as another scheduler would."""
        with self._changing(claim) as found:
            found["metadata"].setdefault("annotations", {})[SELECTED_NODE] = node

    def give_back(self, claim: str) -> None:
        """Say that no volume can be made there."""
        with self._changing(claim) as found:
            del found["metadata"]["annotations"][SELECTED_NODE]

    def wake(self, claim: str) -> None:
        """Let the provisioner look at a claim again."""
        self._react(PERSISTENT_VOLUME_CLAIMS, "MODIFIED", self._claim(claim))

    def selected(self) -> dict[str, str]:
        """Return the node that was selected for each claim, by its name."""
        return {
            each["metadata"]["name"]: each["metadata"]["annotations"][SELECTED_NODE]
            for each in self.cluster.all(PERSISTENT_VOLUME_CLAIMS)
            if SELECTED_NODE in each["metadata"].get("annotations", {})
        }

    def disks(self) -> dict[str, str]:
        """Return the node of the disk that each claim has, by its name."""
        return {
            each["metadata"]["name"]: each["spec"]["volumeName"].removeprefix("disk-on-")
            for each in self.cluster.all(PERSISTENT_VOLUME_CLAIMS)
        }

    def _told(self, gang: Gang, words: str) -> None:
        self.told.append((str(gang.key), words))

    def _claim(self, name: str) -> Document:
        return self.cluster.get(PERSISTENT_VOLUME_CLAIMS, "default", name)

    def _changing(self, claim: str) -> AbstractContextManager[Document]:
        return self.cluster.changing(PERSISTENT_VOLUME_CLAIMS, "default", claim)

    def _react(self, gvr: GVR, change: Change, body: Document) -> None:
        """Do in a moment what others would do about a change."""
        if change == "DELETED":
            return
        name = body["metadata"]["name"]
        if gvr == PERSISTENT_VOLUME_CLAIMS:
            seconds = self.makes.get(name.replace("-", "_"), AT_ONCE)
            if seconds != NEVER:
                asyncio.get_running_loop().call_later(seconds, self._make, name)
        elif gvr == PERSISTENT_VOLUMES and "claimRef" in body["spec"]:
            asyncio.get_running_loop().call_later(ECHO_SECONDS, self._bind, copy.deepcopy(body))

    def _make(self, claim: str) -> None:
        """Make the volume of a claim, if it was told where."""
        if not self.cluster.has(PERSISTENT_VOLUME_CLAIMS, "default", claim):
            return
        metadata, spec = (self._claim(claim)[key] for key in ("metadata", "spec"))
        node = metadata.get("annotations", {}).get(SELECTED_NODE)
        if node and spec["storageClassName"] == "fast" and "volumeName" not in spec:
            where = "elsewhere" if claim in self.elsewhere else node
            reference = {"namespace": "default", "name": claim, "uid": metadata["uid"]}
            made = _volume(f"made-for-{claim}", "fast", where)
            made["spec"]["claimRef"] = reference
            if claim in self.everywhere:
                del made["spec"]["nodeAffinity"]
            self.cluster.put(PERSISTENT_VOLUMES, made)

    def _bind(self, volume: Document) -> None:
        """Bind a claim to the volume that is for it, as the PV controller does."""
        reference = volume["spec"]["claimRef"]
        if not self.cluster.has(PERSISTENT_VOLUME_CLAIMS, "default", reference["name"]):
            return
        with self._changing(reference["name"]) as found:
            if "volumeName" not in found["spec"]:
                found["spec"]["volumeName"] = volume["metadata"]["name"]
                found["metadata"].setdefault("annotations", {})[BOUND] = "yes"
                found["status"] = {"phase": "Bound"}


def _claim(name: str, storage_class: str, modes: list[str] = ACCESS) -> Document:
    spec = {"accessModes": modes, "resources": {"requests": SIZE}}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**spec, "storageClassName": storage_class},
        "status": {"phase": "Pending"},
    }


def _volume(name: str, storage_class: str, node: str) -> Document:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [here]}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "storageClassName": storage_class,
            "capacity": SIZE,
            "accessModes": ACCESS,
            "nodeAffinity": {"required": terms},
        },
        "status": {"phase": "Available"},
    }
