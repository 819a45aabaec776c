"""Which kinds and versions are known, and which spelling of one is a mistake."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gang_scheduler.api.parsing import InvalidField


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object, in the versions in which it is read."""

    name: str
    api_versions: tuple[str, ...]
    namespaced: bool = True

    @property
    def groups(self) -> set[str]:
        """The API groups of the versions; the core group is the empty string."""
        return {group_of(each) for each in self.api_versions}


NODE = Kind("Node", ("v1",), namespaced=False)
NAMESPACE = Kind("Namespace", ("v1",), namespaced=False)
POD = Kind("Pod", ("v1",))
POD_GROUP = Kind("PodGroup", ("scheduling.sigs.k8s.io/v1alpha1", "scheduling.x-k8s.io/v1alpha1"))
PRIORITY_CLASS = Kind("PriorityClass", ("scheduling.k8s.io/v1",), namespaced=False)

NATIVE_POD_GROUP = Kind(
    "PodGroup", tuple(f"scheduling.k8s.io/{v}" for v in ("v1beta1", "v1alpha3", "v1alpha2"))
)
JOB = Kind("Job", ("batch/v1",))
JOB_SET = Kind("JobSet", ("jobset.x-k8s.io/v1alpha2",))
CLUSTER_NETWORK_TOPOLOGY = Kind(
    "ClusterNetworkTopology", ("scheduling.koordinator.sh/v1alpha1",), namespaced=False
)
KUEUE_TOPOLOGY = Kind(
    "Topology",
    tuple(f"kueue.x-k8s.io/{v}" for v in ("v1beta2", "v1beta1", "v1alpha1")),
    namespaced=False,
)

POD_DISRUPTION_BUDGET = Kind("PodDisruptionBudget", ("policy/v1",))

PERSISTENT_VOLUME_CLAIM = Kind("PersistentVolumeClaim", ("v1",))
PERSISTENT_VOLUME = Kind("PersistentVolume", ("v1",), namespaced=False)
STORAGE_CLASS = Kind("StorageClass", ("storage.k8s.io/v1",), namespaced=False)
CSI_NODE = Kind("CSINode", ("storage.k8s.io/v1",), namespaced=False)
CSI_DRIVER = Kind("CSIDriver", ("storage.k8s.io/v1",), namespaced=False)
CSI_STORAGE_CAPACITY = Kind("CSIStorageCapacity", ("storage.k8s.io/v1",))
VOLUME_ATTACHMENT = Kind("VolumeAttachment", ("storage.k8s.io/v1",), namespaced=False)

ALL = (
    *(NODE, NAMESPACE, CLUSTER_NETWORK_TOPOLOGY, KUEUE_TOPOLOGY),
    *(POD, POD_GROUP, NATIVE_POD_GROUP, JOB, JOB_SET, PRIORITY_CLASS, POD_DISRUPTION_BUDGET),
    *(PERSISTENT_VOLUME_CLAIM, PERSISTENT_VOLUME, STORAGE_CLASS, VOLUME_ATTACHMENT),
    *(CSI_NODE, CSI_DRIVER, CSI_STORAGE_CAPACITY),
)


def kind_of(body: Mapping[str, Any]) -> Kind | None:
    """Return the kind of an object, None for an unknown one.

    Raises InvalidField for a misspelt kind and for a version that does not exist. The same name
    in a product's own API group is another kind, and not a mistake.
    """
    name, api_version = _text(body, "kind"), _text(body, "apiVersion")
    alike = [each for each in ALL if _plain(each.name) == _plain(name)]
    group = group_of(api_version)
    if not alike or not (is_builtin(group) or any(group in each.groups for each in alike)):
        return None
    exact = (each for each in alike if each.name == name and api_version in each.api_versions)
    found = next(exact, None)
    if found is None:
        raise _misspelt(name, api_version, alike)
    return found


def group_of(api_version: str) -> str:
    """Return the API group of an apiVersion."""
    return api_version.rpartition("/")[0]


def is_builtin(group: str) -> bool:
    """Return whether an API group is one of Kubernetes itself."""
    return "." not in group or group.endswith(".k8s.io")


def _plain(name: str) -> str:
    return name.lower().rstrip("s")


def _misspelt(name: str, api_version: str, alike: Iterable[Kind]) -> InvalidField:
    right = next(iter(alike)).name
    if name != right:
        return InvalidField("kind", name, f"must be {right}")
    versions = " or ".join(version for each in alike for version in each.api_versions)
    return InvalidField("apiVersion", api_version, f"must be {versions} for a {name}")


def _text(body: Mapping[str, Any], field: str) -> str:
    value = body.get(field)
    if value is None or value == "":
        raise InvalidField(field, None, "is required")
    if not isinstance(value, str):
        raise InvalidField(field, value, "must be a string")
    return value
