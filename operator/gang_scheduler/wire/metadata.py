"""What is read of `metadata`, and objects of which only the metadata is read."""

from msgspec import field, structs

from gang_scheduler.wire import texts
from gang_scheduler.wire.structs import Int64, Wire


class OwnerReference(Wire, frozen=True):
    """`metadata.ownerReferences[]`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def is_job(self) -> bool:
        """Whether the owner is a Job of Kubernetes: other products have a kind Job, too."""
        return self.kind == "Job" and self.api_version.startswith("batch/")

    @property
    def is_stateful_set(self) -> bool:
        """Whether the owner is a StatefulSet of Kubernetes."""
        return self.kind == "StatefulSet" and self.api_version.startswith("apps/")

    @property
    def is_daemon_set(self) -> bool:
        """Whether the owner is a DaemonSet of Kubernetes."""
        return self.kind == "DaemonSet" and self.api_version.startswith("apps/")

    @property
    def is_training_job(self) -> bool:
        """Whether the owner is a job of Kubeflow or of Volcano."""
        return self.api_version.startswith(("kubeflow.org/", "batch.volcano.sh/"))

    def is_node(self, name: str) -> bool:
        """Return whether the owner is the Node of this name."""
        return (self.api_version, self.kind, self.name) == ("v1", "Node", name)


NO_OWNER = OwnerReference()


class Labelled(Wire, frozen=True):
    """What has labels and annotations. None is longer than `texts` allows: what is, is cut."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Bound each label and annotation before any code can read it."""
        labels = texts.bounded(self.labels, {})
        if labels is not self.labels:
            structs.force_setattr(self, "labels", labels)
        present = texts.bounded(self.annotations, texts.LONGEST_OF)
        if present is not self.annotations:
            structs.force_setattr(self, "annotations", present)


class Metadata(Labelled, frozen=True):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: list[OwnerReference] = field(default_factory=list)

    @property
    def controller(self) -> OwnerReference:
        """The owner that controls the object, else NO_OWNER: the API server lets one do so."""
        return next((each for each in self.owner_references if each.controller), NO_OWNER)


class ListMetadata(Wire, frozen=True):
    """`metadata` of a page of a list: the version of the list, and where the next page begins."""

    resource_version: str = ""
    continue_: str = field(default="", name="continue")


class MetadataOnly(Wire, frozen=True):
    """An object of which only the metadata is read."""

    metadata: Metadata


class Identity(Wire, frozen=True):
    """The `metadata` that every object has: its identity and version."""

    uid: str = ""
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class Identified(Wire, frozen=True):
    """Any object."""

    metadata: Identity


class IdentityList(Wire, frozen=True):
    """A page of objects, of which no other field can be wrong. An empty page may come as null."""

    items: list[Identified] | None = None
    metadata: ListMetadata = ListMetadata()
