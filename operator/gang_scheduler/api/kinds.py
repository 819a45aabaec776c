"""The kinds of objects that are read or written, as they are named in URLs.

A kind of job that only its own file in `workloads/` needs is named there.
"""

from typing import NamedTuple
from urllib.parse import quote


class GVR(NamedTuple):
    """A kind of objects, as in URLs."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        """Group and version, as in manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The name of the kind, as in its CRD: `podgroups.scheduling.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of an object, or of all objects in a namespace or in the cluster.

        A user may name an owner with any text, such as `?watch=true`: no name leads elsewhere.
        """
        path = f"/{'apis' if self.group else 'api'}/{self.api_version}"
        path += f"/namespaces/{_segment(namespace)}" if namespace else ""
        return f"{path}/{self.plural}" + (f"/{_segment(name)}" if name else "")


def _segment(name: str) -> str:
    # The API server has no object that is called "." or "..", but a client may shorten the path.
    return quote(name, safe="") if name.strip(".") else f"{name}%20"


PODS = GVR("", "v1", "pods")
NODES = GVR("", "v1", "nodes")
NAMESPACES = GVR("", "v1", "namespaces")
SERVICES = GVR("", "v1", "services")
CONFIG_MAPS = GVR("", "v1", "configmaps")
EVENTS = GVR("events.k8s.io", "v1", "events")
CORE_EVENTS = GVR("", "v1", "events")
"""The Events above, in the older API."""
LEASES = GVR("coordination.k8s.io", "v1", "leases")
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
POD_GROUPS = GVR("scheduling.sigs.k8s.io", "v1alpha1", "podgroups")
SCHED_PLUGINS_POD_GROUPS = GVR("scheduling.x-k8s.io", "v1alpha1", "podgroups")
NATIVE_POD_GROUPS = tuple(
    GVR("scheduling.k8s.io", version, "podgroups")
    for version in ("v1beta1", "v1alpha3", "v1alpha2")
)
PRIORITY_CLASSES = GVR("scheduling.k8s.io", "v1", "priorityclasses")
PERSISTENT_VOLUMES = GVR("", "v1", "persistentvolumes")
PERSISTENT_VOLUME_CLAIMS = GVR("", "v1", "persistentvolumeclaims")
STORAGE_CLASSES = GVR("storage.k8s.io", "v1", "storageclasses")
CSI_NODES = GVR("storage.k8s.io", "v1", "csinodes")
CSI_DRIVERS = GVR("storage.k8s.io", "v1", "csidrivers")
CSI_STORAGE_CAPACITIES = GVR("storage.k8s.io", "v1", "csistoragecapacities")
VOLUME_ATTACHMENTS = GVR("storage.k8s.io", "v1", "volumeattachments")
JOBS = GVR("batch", "v1", "jobs")
JOB_SETS = GVR("jobset.x-k8s.io", "v1alpha2", "jobsets")
DEVICE_CLASSES = GVR("resource.k8s.io", "v1", "deviceclasses")
RESOURCE_SLICES = GVR("resource.k8s.io", "v1", "resourceslices")
RESOURCE_CLAIMS = GVR("resource.k8s.io", "v1", "resourceclaims")
RESOURCE_CLAIM_TEMPLATES = GVR("resource.k8s.io", "v1", "resourceclaimtemplates")
DEVICE_TAINT_RULES = tuple(
    GVR("resource.k8s.io", version, "devicetaintrules") for version in ("v1", "v1beta2")
)
STATEFUL_SETS = GVR("apps", "v1", "statefulsets")
AUTOSCALERS = GVR("autoscaling", "v2", "horizontalpodautoscalers")
"""HorizontalPodAutoscalers: the scheduler does not scale a workload that one of them scales."""
DEPLOYMENTS = GVR("apps", "v1", "deployments")


def _kubeflow(plural: str, version: str = "v1") -> GVR:
    return GVR("kubeflow.org", version, plural)


PYTORCH_JOBS = _kubeflow("pytorchjobs")
TF_JOBS = _kubeflow("tfjobs")
XGBOOST_JOBS = _kubeflow("xgboostjobs")
PADDLE_JOBS = _kubeflow("paddlejobs")
JAX_JOBS = _kubeflow("jaxjobs")
MPI_JOBS = (_kubeflow("mpijobs", "v2beta1"), _kubeflow("mpijobs"))
POD_DISRUPTION_BUDGETS = GVR("policy", "v1", "poddisruptionbudgets")
CLUSTER_NETWORK_TOPOLOGIES = GVR(
    "scheduling.koordinator.sh", "v1alpha1", "clusternetworktopologies"
)
KUEUE_TOPOLOGIES = tuple(
    GVR("kueue.x-k8s.io", version, "topologies") for version in ("v1beta2", "v1beta1", "v1alpha1")
)
QUEUES = GVR("py-gang-scheduler.io", "v1alpha1", "queues")
RESOURCE_FLAVORS = GVR("py-gang-scheduler.io", "v1alpha1", "resourceflavors")


def _kueue(plural: str, *versions: str) -> tuple[GVR, ...]:
    return tuple(GVR("kueue.x-k8s.io", version, plural) for version in versions)


KUEUE_WORKLOADS = _kueue("workloads", "v1beta2", "v1beta1")
CLUSTER_QUEUES = _kueue("clusterqueues", "v1beta2", "v1beta1")
COHORTS = _kueue("cohorts", "v1beta2", "v1beta1", "v1alpha1")
LOCAL_QUEUES = _kueue("localqueues", "v1beta2", "v1beta1")
KUEUE_RESOURCE_FLAVORS = _kueue("resourceflavors", "v1beta2", "v1beta1")
WORKLOAD_PRIORITY_CLASSES = _kueue("workloadpriorityclasses", "v1beta2", "v1beta1")
ADMISSION_CHECKS = _kueue("admissionchecks", "v1beta2", "v1beta1")
PROVISIONING_REQUEST_CONFIGS = _kueue("provisioningrequestconfigs", "v1beta2", "v1beta1")
PROVISIONING_REQUESTS = tuple(
    GVR("autoscaling.x-k8s.io", version, "provisioningrequests") for version in ("v1", "v1beta1")
)
POD_TEMPLATES = GVR("", "v1", "podtemplates")
VOLCANO_POD_GROUPS = GVR("scheduling.volcano.sh", "v1beta1", "podgroups")
VOLCANO_JOBS = GVR("batch.volcano.sh", "v1alpha1", "jobs")
VOLCANO_QUEUES = GVR("scheduling.volcano.sh", "v1beta1", "queues")
