"""Why a gang has no queue that can admit it."""

import enum
from dataclasses import dataclass

from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey


class QueueFault(enum.Enum):
    """Why a gang cannot be in the queue that it names."""

    NOT_FOUND = enum.auto()
    NO_LEAF = enum.auto()
    NOT_FOR_NAMESPACE = enum.auto()


class QueueDefault(enum.Enum):
    """Where the queue of gangs is named that name none themselves."""

    OF_NAMESPACE = enum.auto()
    OF_SETTINGS = enum.auto()


@dataclass(frozen=True, slots=True)
class QueueUnusable(Cause):
    """The queue that the gang names, of this kind, takes no gangs, or none of its namespace.

    Unless `default` is None the gang names none, and is in this queue by default.
    """

    queue: str
    fault: QueueFault
    kind: str = "queue"
    namespace: str = ""
    default: QueueDefault | None = None


class Inactivity(enum.StrEnum):
    """What is invalid about a queue, so that it admits nothing."""

    PARENT_NOT_FOUND = "ParentNotFound"
    CYCLE = "Cycle"
    FLAVOR_NOT_FOUND = "FlavorNotFound"
    INVALID_SPEC = "InvalidSpec"


@dataclass(frozen=True, slots=True)
class FieldRefused(Cause):
    """A value that is well written and cannot be meant."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class QueueInactive(Cause):
    """The queue, or the one above it that is named, is invalid."""

    queue: str
    fault: Inactivity
    cause: Cause


@dataclass(frozen=True, slots=True)
class QueueNotNamed(Cause):
    """A gang names no queue, and gangs of its namespace must."""

    namespace: str


@dataclass(frozen=True, slots=True)
class LocalQueueStopped(Cause):
    """The LocalQueue of a gang takes no new gangs."""

    name: str


@dataclass(frozen=True, slots=True)
class QueueNamesDiffer(Cause):
    """A gang names two queues, each by its kind and name."""

    first: tuple[str, str]
    second: tuple[str, str]


@dataclass(frozen=True, slots=True)
class GangsQueuesDiffer(Cause):
    """Two gangs of one group are in different queues."""

    gangs: tuple[GangKey, GangKey]
    queues: tuple[str, str]
