"""Kinds of objects, as they stand in manifests."""

from typing import Final, NamedTuple

from gang_scheduler.audit.objects.pods import mapping
from gang_scheduler.audit.stream.events import Object


class Kind(NamedTuple):
    """A kind of objects by its name in manifests."""

    group: str
    name: str

    @classmethod
    def of(cls, found: Object) -> "Kind":
        """Return the kind of an object."""
        return cls(group_of(found), str(found.get("kind") or ""))


def group_of(found: Object) -> str:
    """Return the group of an object's kind, "" for that of pods."""
    group, _, version = str(found.get("apiVersion") or "").partition("/")
    return group if version else ""


def name_of(found: Object) -> str:
    """Return `namespace/name` of an object, or its name where it has no namespace."""
    metadata = mapping(found, "metadata")
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    return f"{namespace}/{name}" if namespace else str(name)


PODS: Final = Kind("", "Pod")
NODES: Final = Kind("", "Node")
