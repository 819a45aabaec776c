"""The protocols between the cluster package's parts. `kubernetes` and `fake` implement the API."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod

if TYPE_CHECKING:
    from gang_scheduler.cluster.budgets import DeclaredBudget
    from gang_scheduler.cluster.declarations import Declaration  # It imports Resource from here.
    from gang_scheduler.cluster.peers.namespaces import DeclaredNamespace
    from gang_scheduler.cluster.topologies import DeclaredTopology
    from gang_scheduler.cluster.volumes.objects import VolumeObject

Body = Mapping[str, Any]


class PodRef(NamedTuple):
    """A pod of a certain life: of the same name, another uid is another pod."""

    namespace: str
    name: str
    uid: str


class ClaimRef(NamedTuple):
    """A PersistentVolumeClaim of a certain life."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.namespace}/{self.name}"


class VolumeRef(NamedTuple):
    """A PersistentVolume of a certain life."""

    name: str
    uid: str


class JobPods(NamedTuple):
    """How many pods a Job can have at once: when it began, and with what is left to do."""

    at_once: int
    left: int


class Resource(NamedTuple):
    """A kind of objects, as it stands in URLs."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        """Group and version, as in manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """Its name, as that of a CRD: `podgroups.scheduling.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of an object, or of all of them in a namespace or in the cluster."""
        path = f"/{'apis' if self.group else 'api'}/{self.api_version}"
        path += f"/namespaces/{namespace}" if namespace else ""
        return f"{path}/{self.plural}" + (f"/{name}" if name else "")


PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes")
NAMESPACES = Resource("", "v1", "namespaces")
POD_GROUPS = Resource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups")
SCHED_PLUGINS_POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups")
NATIVE_POD_GROUPS = tuple(
    Resource("scheduling.k8s.io", version, "podgroups")
    for version in ("v1beta1", "v1alpha3", "v1alpha2")
)
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes")
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses")
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes")
CSI_DRIVERS = Resource("storage.k8s.io", "v1", "csidrivers")
CSI_STORAGE_CAPACITIES = Resource("storage.k8s.io", "v1", "csistoragecapacities")
VOLUME_ATTACHMENTS = Resource("storage.k8s.io", "v1", "volumeattachments")
JOBS = Resource("batch", "v1", "jobs")
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
CLUSTER_NETWORK_TOPOLOGIES = Resource(
    "scheduling.koordinator.sh", "v1alpha1", "clusternetworktopologies"
)
KUEUE_TOPOLOGIES = tuple(
    Resource("kueue.x-k8s.io", version, "topologies")
    for version in ("v1beta2", "v1beta1", "v1alpha1")
)


class Api(Protocol):
    """The writes and reads of the scheduler beside its watches. Every method may raise ApiError."""

    async def bind(self, pod: PodRef, node: str, annotations: Mapping[str, str]) -> None:
        """Bind the pod, if it still has this uid, and add the annotations in the same write."""

    async def bound_node(self, pod: PodRef) -> str:
        """Return the node of the pod, "" while it has none; GONE if the uid is another."""

    async def delete_pod(self, pod: PodRef) -> None:
        """Delete the pod, if it still has this uid, with its own grace period."""

    async def evict(self, pod: PodRef, *, dry_run: bool = False) -> None:
        """Delete the same pod as far as budgets allow, or only ask; PROTECTED if they do not."""

    async def nominate(self, pod: PodRef, node: str) -> None:
        """Say which node room is made on for a pod; "" says that none is. REFUSED for another."""

    async def select_node(self, claim: ClaimRef, node: str) -> int:
        """Have the volume of a claim made for a node, and return the claim's version then.

        A bound claim is left alone. REFUSED if another node was selected, GONE if the uid is
        another, CONFLICT if somebody else changes the claim right now.
        """

    async def reserve(self, volume: VolumeRef, claim: ClaimRef) -> int:
        """Have a volume bound to a claim, and return the volume's version then.

        REFUSED if it is another claim's, GONE and CONFLICT as above.
        """

    async def patch_pod_condition(self, pod: PodRef, condition: Body) -> None:
        """Set one condition of a pod. REFUSED if the uid is another."""

    async def patch_status(
        self, resource: Resource, namespace: str, name: str, status: Body
    ) -> bool:
        """Merge into the status by the way the CRD allows; tell whether that was a subresource."""

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

    def pod(self, uid: str) -> Pod | None:
        """Return a pod as it is known."""

    def node_seen(self, node: Node) -> None:
        """Take in a node."""

    def node_gone(self, name: str, uid: str = "") -> None:
        """Forget a node; with a uid, only if it is still this one."""

    def described(self, api_group: str, uid: str, declared: "Iterable[Declaration]") -> None:
        """Take in what an object says of gangs."""

    def undescribed(self, api_group: str, uid: str) -> None:
        """Forget an object that described gangs."""

    def job_seen(self, uid: str, pods: "JobPods | None") -> None:
        """Note how many pods a Job can have; None forgets it."""

    def topology_seen(self, declared: "DeclaredTopology") -> None:
        """Take in an object that says how a tree of the network is made."""

    def topology_gone(self, uid: str) -> None:
        """Forget an object that said how a tree is made."""

    def budget_seen(self, declared: "DeclaredBudget") -> None:
        """Take in a PodDisruptionBudget."""

    def budget_gone(self, uid: str) -> None:
        """Forget a PodDisruptionBudget."""

    def namespace_seen(self, declared: "DeclaredNamespace") -> None:
        """Take in a Namespace."""

    def namespace_gone(self, uid: str) -> None:
        """Forget a Namespace."""

    def volume_seen(self, resource: Resource, found: "VolumeObject") -> None:
        """Take in a claim, a volume, or something that makes them."""

    def volume_gone(self, resource: Resource, uid: str) -> None:
        """Forget a claim, a volume, or something that makes them."""


class Source(Protocol):
    """Feeds a sink with pods, or with other kinds, for as long as it runs."""

    async def run(self) -> None:
        """Run until cancelled. Whatever ends a watch, it goes on with a new one."""

    async def complete(self) -> None:
        """Return when everything that was there at first is in the sink."""

    async def catch_up(self) -> None:
        """Return when all is in the sink that had happened when this was called.

        Watches that stall, or were interrupted, are not believed.
        """

    async def fresh(self) -> None:
        """Return at once, unless pods or nodes have not been told of for long: then when they are.

        What has stalled without a sign is found to after some seconds.
        """
