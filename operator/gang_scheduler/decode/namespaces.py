"""From the wire to a namespace, of which only the labels matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.decode import fields
from gang_scheduler.wire.metadata import MetadataOnly

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has: its name."""


@dataclass(frozen=True, slots=True)
class DeclaredNamespace:
    """A Namespace."""

    uid: str
    name: str
    labels: Mapping[str, str]


def read(body: Mapping[str, Any]) -> DeclaredNamespace:
    """Return the namespace. Raises InvalidField that names the field and the value."""
    metadata = fields.read(body, MetadataOnly).metadata
    labels = {NAME_LABEL: metadata.name, **metadata.labels}
    return DeclaredNamespace(metadata.uid, metadata.name, labels)
