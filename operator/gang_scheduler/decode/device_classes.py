"""DeviceClasses: which resources of containers stand for devices that claims allocate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.decode import fields
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Wire

PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""With the name of a class behind it, a resource of that class."""


class _Spec(Wire, frozen=True):
    extended_resource_name: str = ""


class _DeviceClass(Wire, frozen=True):
    metadata: Metadata
    spec: _Spec = _Spec()


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass. `resources` are the names by which containers may ask for its devices."""

    uid: str
    name: str
    created_at: float
    resources: tuple[str, ...]


def read(body: Mapping[str, Any]) -> DeviceClass:
    """Return the class. Raises InvalidField that names the field and the value."""
    source = fields.read(body, _DeviceClass)
    metadata, named = source.metadata, source.spec.extended_resource_name
    resources = (f"{PREFIX}{metadata.name}", *((named,) if named else ()))
    created_at = fields.timestamp(metadata.creation_timestamp)
    return DeviceClass(metadata.uid, metadata.name, created_at, resources)
