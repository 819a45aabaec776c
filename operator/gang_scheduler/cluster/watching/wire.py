"""What is read of lists and watches themselves. Objects in them are left as they came: Raw."""

from typing import Final

from msgspec import Raw
from msgspec.json import Decoder

from gang_scheduler.cluster.wire.metadata import ListMetadata
from gang_scheduler.cluster.wire.structs import Wire


class Event(Wire, frozen=True):
    """A line of a watch."""

    type: str
    object: Raw


class Status(Wire, frozen=True):
    """The object of an event of type ERROR."""

    code: int = 0
    message: str = ""


class Page(Wire, frozen=True):
    """A page of a list. An empty one may come as null."""

    metadata: ListMetadata
    items: list[Raw] | None = None


class Identity(Wire, frozen=True):
    """The `metadata` that every object has: who it is, and in which version."""

    uid: str = ""
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class Identified(Wire, frozen=True):
    """Any object."""

    metadata: Identity


EVENT: Final = Decoder(Event)
STATUS: Final = Decoder(Status)
PAGE: Final = Decoder(Page)
IDENTIFIED: Final = Decoder(Identified)
