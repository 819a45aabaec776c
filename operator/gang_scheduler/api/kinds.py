"""The kinds of objects that are read or written, as they stand in URLs."""

from typing import NamedTuple


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
