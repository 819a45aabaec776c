"""A gang that runs and lost members with failed nodes, or cannot replace what it has lost."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.failed_nodes import FailedNode
from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod


class Shortage(enum.StrEnum):
    """What keeps a gang from being whole, by whose turn it is: the reasons of its condition."""

    NODES_FAILED = "NodesFailed"
    PODS_STUCK = "PodsStuck"
    NO_ROOM = "NoRoomInDomain"


class LostNode(NamedTuple):
    """A node that members were lost with; `failed` is None for one that only is not ready yet."""

    name: str
    failed: FailedNode | None


@dataclass(frozen=True, slots=True)
class Degraded:
    """What a gang lacks that has started: `lacking` of the `needed` members on healthy nodes.

    `domain` is where its members are, and where others must join them; None is the whole cluster.
    `nodes` are those that members were lost with, `on_failed` the members that are still there and
    were not deleted yet, `stuck` those that were deleted and do not go. `waiting` is how many
    members wait for a place. `refused` is why these have none, if there is no room for them.
    """

    needed: int
    lacking: int
    domain: Domain | None
    nodes: tuple[LostNode, ...] = ()
    on_failed: tuple[Pod, ...] = ()
    stuck: tuple[Pod, ...] = ()
    waiting: int = 0
    refused: Refused | None = None

    @property
    def shortage(self) -> Shortage:
        """What keeps the gang from being whole."""
        if self.refused is not None:
            return Shortage.NO_ROOM
        return Shortage.PODS_STUCK if self.stuck else Shortage.NODES_FAILED
