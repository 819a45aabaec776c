"""What is read of `metadata`, and objects of which only the metadata is read."""

from msgspec import field

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


NO_OWNER = OwnerReference()


class Metadata(Wire, frozen=True):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: list[OwnerReference] = field(default_factory=list)


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
