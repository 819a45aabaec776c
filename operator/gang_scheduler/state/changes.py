"""How a change of the cluster affects gangs, and signals for parts outside of the cache."""

import asyncio
from dataclasses import dataclass, field
from enum import Enum, auto


class Change(Enum):
    """How a change of an object affects gangs. A store returns it, and the cache acts on it."""

    NOTHING = auto()
    GANGS_TOUCHED = auto()
    """The gangs are already noted as changed: a cycle may be needed."""
    ROOM_FREED = auto()
    """Gangs that are short of room may find some now."""
    TREES_CHANGED = auto()
    """Gangs may find layers now, or may be in other domains."""
    QUEUES_CHANGED = auto()
    """Queues or objects they refer to have changed: gangs may find their queue, or quota."""


@dataclass(slots=True, eq=False)
class MovedPods:
    """Assumed pods whose claims may have been bound; `news` is set when pods are added."""

    uids: set[str] = field(default_factory=set)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, *uids: str) -> None:
        """Add pods."""
        self.uids.update(uids)
        self.news.set()

    def take_all(self) -> set[str]:
        """Return the pods that were added since the last call."""
        taken, self.uids = self.uids, set()
        self.news.clear()
        return taken


class Changes:
    """Signals that the cache sets, and that other parts wait for and clear.

    Plain, so that the cache can be used without an event loop.
    """

    def __init__(self) -> None:
        self.cycle = asyncio.Event()
        """For the loop: a cycle may be needed."""
        self.topologies = asyncio.Event()
        """For the writer of topology statuses: a status may have changed."""
        self.queues = asyncio.Event()
        """Set by the loop: the figures of queues may have changed."""
        self.provisioning = asyncio.Event()
        """For the writer of requests for nodes: some may have to be created or deleted."""
        self.waits_for_claims: dict[str, MovedPods] = {}
        """For the volume binder: by uid, assumed pods that wait for claims, with their nodes."""
