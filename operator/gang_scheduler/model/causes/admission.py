"""Why a queue does not admit a gang, or not yet."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey


@dataclass(frozen=True, slots=True)
class QueueOnHold(Cause):
    """The queue admits nothing new, by its `policy`."""

    queue: str
    policy: str


class AdmissionLimit(enum.Enum):
    """What a queue may demand of a gang, whatever is free."""

    GPUS_PER_JOB = enum.auto()
    LOWEST_PRIORITY = enum.auto()
    HIGHEST_PRIORITY = enum.auto()


@dataclass(frozen=True, slots=True)
class LimitMissed(Cause):
    """The gang has `value` where the queue admits `limit`."""

    queue: str
    field: AdmissionLimit
    value: int
    limit: int


class FlavorFault(enum.Enum):
    """Why members cannot be on the nodes of a flavor."""

    NOT_DECLARED = enum.auto()
    LABELS_DIFFER = enum.auto()
    TAINT_NOT_TOLERATED = enum.auto()
    TOLERATION_NOT_ADDED = enum.auto()
    """The flavor has the toleration, but it is not written into pods that exist."""
    OTHER_TOPOLOGY = enum.auto()


class UnsuitableFlavor(NamedTuple):
    """A flavor, and what is wrong with it: `of` names the taint or the topology, if it is one."""

    flavor: str
    fault: FlavorFault
    of: str = ""


@dataclass(frozen=True, slots=True)
class FlavorsUnsuitable(Cause):
    """Members can have none of the flavors of the queue; `pod` is one of these members."""

    queue: str
    pod: str
    flavors: tuple[UnsuitableFlavor, ...]


@dataclass(frozen=True, slots=True)
class AbovePotential(Cause):
    """More is asked for than the queue could ever have. No `flavor`: it covers no such resource."""

    queue: str
    flavor: str
    resource: str
    asked: int
    potential: int


@dataclass(frozen=True, slots=True)
class JobLimit(Cause):
    """As many gangs as the queue may have at once hold quota."""

    queue: str
    most: int


@dataclass(frozen=True, slots=True)
class QuotaShort(Cause):
    """More is asked for than is left; `borrowers` are queues that have more than their own.

    "" stands for the leaf of gangs without a queue.
    """

    queue: str
    flavor: str
    resource: str
    asked: int
    available: int
    borrowers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitsEvicted(Cause):
    """A queue has `most` gangs that hold quota; some of them are evicted and have yet to end."""

    queue: str
    most: int


@dataclass(frozen=True, slots=True)
class BehindGang(Cause):
    """The queue keeps its order, and a gang before this one waits."""

    queue: str
    gang: GangKey


@dataclass(frozen=True, slots=True)
class DelaysReserved(Cause):
    """It would delay a gang of a queue that was promised a start.

    `start` is in seconds, None if it is not known. `gang` is None where its name is hidden.
    """

    queue: str
    gang: GangKey | None
    start: int | None = None


@dataclass(frozen=True, slots=True)
class ChecksUnanswered(Cause):
    """Admission checks that are not ours to answer."""

    queue: str
    checks: tuple[str, ...]
