"""From the wire to a namespace: its labels, and which queue its gangs are in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.decode import fields
from gang_scheduler.wire.metadata import MetadataOnly

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has: its name."""


@dataclass(frozen=True, slots=True)
class DeclaredNamespace:
    """A Namespace. `default_queue` is the queue of gangs in it that name none, "" for none."""

    uid: str
    name: str
    labels: Mapping[str, str]
    default_queue: str = ""


def read(body: Mapping[str, Any]) -> DeclaredNamespace:
    """Return the namespace. Raises InvalidField that names the field and the value."""
    metadata = fields.read(body, MetadataOnly).metadata
    labels = {NAME_LABEL: metadata.name, **metadata.labels}
    default_queue = metadata.annotations.get(annotations.DEFAULT_QUEUE, "")
    return DeclaredNamespace(metadata.uid, metadata.name, labels, default_queue)
