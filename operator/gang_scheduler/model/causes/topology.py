"""What is wrong with a topology request, or with where bound members are."""

import enum
from dataclasses import dataclass

from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey


@dataclass(frozen=True, slots=True)
class Requested(Cause):
    """What is wrong with a topology request; `field` is where it is written."""

    field: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class UnknownLayers(Cause):
    """Layers that are in no topology; `known` are those that are, `near` the likeliest of them."""

    layers: tuple[str, ...]
    known: tuple[str, ...] = ()
    near: str = ""


@dataclass(frozen=True, slots=True)
class LayersApart(Cause):
    """Layers of one request that are not all in one topology."""

    layers: tuple[str, ...]


class SliceFault(enum.Enum):
    """What is wrong with the layer of a slice."""

    NOT_BELOW_OTHER_SLICES = enum.auto()
    ABOVE_GATHERING = enum.auto()


@dataclass(frozen=True, slots=True)
class InvalidSlice(Cause):
    """The layer of a slice does not suit the rest of the request."""

    layer: str
    fault: SliceFault


@dataclass(frozen=True, slots=True)
class MultipleDoesNotDivide(Cause):
    """A rigid gang is no multiple of its podCountMultiple."""

    multiple: int
    members: int


@dataclass(frozen=True, slots=True)
class MultipleNeedsMore(Cause):
    """The quorum, rounded up to its podCountMultiple, is more members than exist."""

    members: int
    quorum: int


@dataclass(frozen=True, slots=True)
class Scattered(Cause):
    """Bound members are in several domains, `number` in all; the others join those in `home`."""

    number: int
    some: tuple[Domain, ...]
    home: Domain


@dataclass(frozen=True, slots=True)
class PodRequestBesideGang(Cause):
    """A member has a topology request of its own (`field`) beside that of its gang or group."""

    pod: str
    field: str
    of_gang: str


@dataclass(frozen=True, slots=True)
class GangRequestMisplaced(Cause):
    """A member says something else of what its gang as a whole asks for than its PodGroup."""

    pod: str


@dataclass(frozen=True, slots=True)
class PodsetsDiffer(Cause):
    """Two members of one podset group ask for different topologies."""

    pods: tuple[str, str]
    group: str


@dataclass(frozen=True, slots=True)
class GangsRequestsDiffer(Cause):
    """Two gangs of one group ask for different topologies: each with the field that does."""

    gangs: tuple[GangKey, GangKey]
    fields: tuple[str, str]
