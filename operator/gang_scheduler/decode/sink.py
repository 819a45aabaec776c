"""The port on which decoded objects arrive. The cache is one."""

from collections.abc import Iterable
from typing import Protocol

from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.budgets import DeclaredBudget
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.namespaces import DeclaredNamespace
from gang_scheduler.decode.topologies import DeclaredTopology
from gang_scheduler.decode.volume_objects import VolumeObject
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import JobPods


class StateSink(Protocol):
    """Where sources put what they see. The cache is one."""

    def upsert_pod(self, pod: Pod) -> None:
        """Take in a pod as the API server shows it."""

    def delete_pod(self, uid: str) -> None:
        """Forget a pod whose object is gone."""

    def pod(self, uid: str) -> Pod | None:
        """Return a pod as it is known."""

    def upsert_node(self, node: Node) -> None:
        """Take in a node."""

    def delete_node(self, name: str, uid: str = "") -> None:
        """Forget a node; with a uid, only if it is still this one."""

    def upsert_gang_specs(self, api_group: str, uid: str, declared: Iterable[GangSpec]) -> None:
        """Take in what an object says of gangs."""

    def delete_gang_specs(self, api_group: str, uid: str) -> None:
        """Forget an object that described gangs."""

    def upsert_job(self, uid: str, pods: JobPods | None) -> None:
        """Note how many pods a Job can have; None forgets it."""

    def upsert_topology(self, declared: DeclaredTopology) -> None:
        """Take in an object that says how a tree of the network is made."""

    def delete_topology(self, uid: str) -> None:
        """Forget an object that said how a tree is made."""

    def upsert_budget(self, declared: DeclaredBudget) -> None:
        """Take in a PodDisruptionBudget."""

    def delete_budget(self, uid: str) -> None:
        """Forget a PodDisruptionBudget."""

    def upsert_namespace(self, declared: DeclaredNamespace) -> None:
        """Take in a Namespace."""

    def delete_namespace(self, uid: str) -> None:
        """Forget a Namespace."""

    def upsert_volume(self, resource: GVR, found: VolumeObject) -> None:
        """Take in a claim, a volume, or something that makes them."""

    def delete_volume(self, resource: GVR, uid: str) -> None:
        """Forget a claim, a volume, or something that makes them."""
