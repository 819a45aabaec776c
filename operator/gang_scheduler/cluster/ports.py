"""The protocols between the cluster package's parts. `kubernetes` and `fake` implement the API."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from gang_scheduler.cluster.declarations import Declaration
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod

Body = Mapping[str, Any]


class PodRef(NamedTuple):
    """A pod of a certain life: of the same name, another uid is another pod."""

    namespace: str
    name: str
    uid: str


class Resource(NamedTuple):
    """A kind of objects, as it stands in URLs."""

    group: str
    version: str
    plural: str


PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes")
POD_GROUPS = Resource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups")
SCHED_PLUGINS_POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups")


class Api(Protocol):
    """The writes and reads of the scheduler beside its watches. Every method may raise ApiError."""

    async def bind(self, pod: PodRef, node: str, annotations: Mapping[str, str]) -> None:
        """Bind the pod, if it still has this uid, and add the annotations in the same write."""

    async def bound_node(self, pod: PodRef) -> str:
        """Return the node of the pod, "" while it has none; GONE if the uid is another."""

    async def patch_pod_condition(self, pod: PodRef, condition: Body) -> None:
        """Set one condition of a pod."""

    async def patch_status(
        self, resource: Resource, namespace: str, name: str, status: Body
    ) -> None:
        """Merge into the status of a custom resource, by the way its CRD allows."""

    async def create_event(self, namespace: str, event: Body) -> None:
        """Create an Event of events.k8s.io/v1."""

    async def uids(self, resource: Resource) -> Mapping[str, PodRef]:
        """List all objects of a kind by uid. GONE if the kind is not served."""

    async def get_lease(self, namespace: str, name: str) -> Body:
        """Return a Lease."""

    async def put_lease(self, namespace: str, name: str, lease: Body) -> Body:
        """Create a Lease without a resourceVersion, or replace the one of that version."""


class Sink(Protocol):
    """Where sources put what they see. The cache is one."""

    def pod_seen(self, pod: Pod) -> None:
        """Take in a pod as the API server shows it."""

    def pod_gone(self, uid: str) -> None:
        """Forget a pod whose object is gone."""

    def node_seen(self, node: Node) -> None:
        """Take in a node."""

    def node_gone(self, name: str) -> None:
        """Forget a node."""

    def pod_group_seen(self, declaration: Declaration) -> None:
        """Take in an object that describes a gang."""

    def pod_group_gone(self, key: GangKey, api_group: str) -> None:
        """Forget an object that described a gang."""


class Source(Protocol):
    """Feeds a sink with pods, or with other kinds, for as long as it runs."""

    async def run(self) -> None:
        """Run until cancelled. Whatever ends a watch, it goes on with a new one."""
