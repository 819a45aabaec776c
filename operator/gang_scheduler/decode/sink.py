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

    def pod_seen(self, pod: Pod) -> None:
        """Take in a pod as the API server shows it."""

    def pod_gone(self, uid: str) -> None:
        """Forget a pod whose object is gone."""

    def pod(self, uid: str) -> Pod | None:
        """Return a pod as it is known."""

    def node_seen(self, node: Node) -> None:
        """Take in a node."""

    def node_gone(self, name: str, uid: str = "") -> None:
        """Forget a node; with a uid, only if it is still this one."""

    def described(self, api_group: str, uid: str, declared: Iterable[GangSpec]) -> None:
        """Take in what an object says of gangs."""

    def undescribed(self, api_group: str, uid: str) -> None:
        """Forget an object that described gangs."""

    def job_seen(self, uid: str, pods: JobPods | None) -> None:
        """Note how many pods a Job can have; None forgets it."""

    def topology_seen(self, declared: DeclaredTopology) -> None:
        """Take in an object that says how a tree of the network is made."""

    def topology_gone(self, uid: str) -> None:
        """Forget an object that said how a tree is made."""

    def budget_seen(self, declared: DeclaredBudget) -> None:
        """Take in a PodDisruptionBudget."""

    def budget_gone(self, uid: str) -> None:
        """Forget a PodDisruptionBudget."""

    def namespace_seen(self, declared: DeclaredNamespace) -> None:
        """Take in a Namespace."""

    def namespace_gone(self, uid: str) -> None:
        """Forget a Namespace."""

    def volume_seen(self, resource: GVR, found: VolumeObject) -> None:
        """Take in a claim, a volume, or something that makes them."""

    def volume_gone(self, resource: GVR, uid: str) -> None:
        """Forget a claim, a volume, or something that makes them."""
