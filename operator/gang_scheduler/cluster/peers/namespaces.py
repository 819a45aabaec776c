"""Namespaces, of which only the labels matter: selectors of pods may ask for them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.cluster import decode
from gang_scheduler.cluster.wire.metadata import MetadataOnly

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has: its name."""


@dataclass(frozen=True, slots=True)
class DeclaredNamespace:
    """A Namespace."""

    uid: str
    name: str
    labels: Mapping[str, str]


class Namespaces:
    """All namespaces. One that nobody has shown has the label of its name only."""

    def __init__(self) -> None:
        self._known: dict[str, DeclaredNamespace] = {}
        self._names: dict[str, str] = {}

    @property
    def uids(self) -> Collection[str]:
        """The uids of all of them."""
        return self._names.keys()

    def labels_of(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace."""
        found = self._known.get(name)
        return {NAME_LABEL: name} if found is None else found.labels

    def seen(self, declared: DeclaredNamespace) -> bool:
        """Add or replace a namespace; tell whether its labels are others now."""
        before = self.labels_of(declared.name)
        if declared.name in self._known:
            self._names.pop(self._known[declared.name].uid, None)
        self._known[declared.name] = declared
        self._names[declared.uid] = declared.name
        return before != declared.labels

    def gone(self, uid: str) -> str:
        """Forget a namespace; return its name, empty for one that was not known."""
        name = self._names.pop(uid, "")
        self._known.pop(name, None)
        return name


def read(body: Mapping[str, Any]) -> DeclaredNamespace:
    """Return the namespace. Raises InvalidField that names the field and the value."""
    metadata = decode.read(body, MetadataOnly).metadata
    labels = {NAME_LABEL: metadata.name, **metadata.labels}
    return DeclaredNamespace(metadata.uid, metadata.name, labels)
