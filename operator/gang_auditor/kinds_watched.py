"""The kinds that the auditor reads: a Role for it must let it list and watch them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from gang_auditor.objects import Kind
from gang_auditor.rules.leader import LEASE_NAME
from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR, LEASES


class Watched(NamedTuple):
    """A kind, in the API versions in which it may be served, best first.

    Without a needed kind nothing can be judged. `selector` is a field selector.
    """

    kind: str
    versions: Sequence[GVR]
    needed: bool = False
    selector: str = ""

    @property
    def name(self) -> str:
        """The CRD name of the kind."""
        return self.versions[0].name

    @property
    def in_manifests(self) -> Kind:
        """The kind as it is written in manifests."""
        return Kind(self.versions[0].group, self.kind)


WATCHED: Final = (
    Watched("Node", (kinds.NODES,), needed=True),
    Watched("Namespace", (kinds.NAMESPACES,)),
    Watched("PodGroup", (kinds.POD_GROUPS,)),
    Watched("PodGroup", (kinds.SCHED_PLUGINS_POD_GROUPS,)),
    Watched("PodGroup", kinds.NATIVE_POD_GROUPS),
    Watched("Job", (kinds.JOBS,)),
    Watched("PyTorchJob", (kinds.PYTORCH_JOBS,)),
    Watched("TFJob", (kinds.TF_JOBS,)),
    Watched("XGBoostJob", (kinds.XGBOOST_JOBS,)),
    Watched("PaddleJob", (kinds.PADDLE_JOBS,)),
    Watched("JAXJob", (kinds.JAX_JOBS,)),
    Watched("PriorityClass", (kinds.PRIORITY_CLASSES,)),
    Watched("PodDisruptionBudget", (kinds.POD_DISRUPTION_BUDGETS,)),
    Watched("PersistentVolume", (kinds.PERSISTENT_VOLUMES,)),
    Watched("PersistentVolumeClaim", (kinds.PERSISTENT_VOLUME_CLAIMS,)),
    Watched("StorageClass", (kinds.STORAGE_CLASSES,)),
    Watched("CSINode", (kinds.CSI_NODES,)),
    Watched("ResourceClaim", (kinds.RESOURCE_CLAIMS,)),
    Watched("ClusterNetworkTopology", (kinds.CLUSTER_NETWORK_TOPOLOGIES,)),
    Watched("Topology", kinds.KUEUE_TOPOLOGIES),
    Watched("Queue", (kinds.QUEUES,)),
    Watched("ResourceFlavor", (kinds.RESOURCE_FLAVORS,)),
    Watched("Lease", (LEASES,), selector=f"metadata.name={LEASE_NAME}"),
    # Pods come last: then the objects that they refer to are known.
    Watched("Pod", (kinds.PODS,), needed=True),
)
