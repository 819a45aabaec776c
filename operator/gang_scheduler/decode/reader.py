"""How objects of a kind are read: one half of a row of the table in `state.kinds`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from msgspec.json import Decoder

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import texts
from gang_scheduler.wire.metadata import Metadata

Object = Mapping[str, Any]
T = TypeVar("T")


class HasMetadata(Protocol):
    """A wire struct of any kind."""

    @property
    def metadata(self) -> Metadata:
        """Its `metadata`."""


W = TypeVar("W", bound=HasMetadata)


@dataclass(frozen=True, slots=True, eq=False)
class Direct(Generic[T]):
    """A way from the bytes without a detour through dicts, for kinds of many events."""

    decoder: Decoder[Any]
    read: Callable[[Any], T]


def direct(struct: type[W], read: Callable[[W], T]) -> Direct[T]:
    """Return the way through a wire struct. `read` raises InvalidField."""
    return Direct(Decoder(struct), read)


class Unreadable(Enum):
    """What becomes of what is known of an object when a newer state of it cannot be read."""

    FORGET = "forget"
    KEEP = "keep"
    """Without it, more would be allowed than with it."""


WhatHolds = Callable[[Object, InvalidField, T | None], T | None]
"""What still holds of an object, by what is wrong and what was known of it; None: nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reader(Generic[T]):
    """A kind and how its objects are read.

    `kind` is its name in manifests. `versions` are those in which it may be served, best first.
    `read` raises InvalidField. It and `if_unreadable` get objects of which `texts` has cut what is
    too long. `best_version_counts`: a server of several versions shows every object in each of
    them, and lesser versions say less.
    """

    kind: str
    versions: tuple[GVR, ...]
    read: Callable[[Object], T]
    namespaced: bool = True
    if_unreadable: Unreadable | WhatHolds[T] = Unreadable.FORGET
    direct: Direct[T] | None = None
    best_version_counts: bool = False

    def __post_init__(self) -> None:
        """Bound what is read: no function of a kind gets an object in another way."""
        object.__setattr__(self, "read", _reading_bounded(self.read))
        if not isinstance(self.if_unreadable, Unreadable):
            holds = _holding_of_bounded(self.if_unreadable)
            object.__setattr__(self, "if_unreadable", holds)

    @property
    def gvr(self) -> GVR:
        """The kind in its best version."""
        return self.versions[0]

    @property
    def name(self) -> str:
        """Its name as that of a CRD, in whatever version it is served."""
        return self.gvr.name


def _reading_bounded(read: Callable[[Object], T]) -> Callable[[Object], T]:
    return lambda obj: read(texts.bounded(obj))


def _holding_of_bounded(rule: WhatHolds[T]) -> WhatHolds[T]:
    return lambda obj, why, known: rule(texts.bounded(obj), why, known)
