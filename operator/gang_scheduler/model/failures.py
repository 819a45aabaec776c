"""Failed nodes, and the degraded gangs that lost members with them or cannot replace losses."""

import enum
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.rules import GangRules
from gang_scheduler.model.topology import Domain

# A node counts as failed if it is gone, not ready for long, or has a taint that says so.

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
FAILURE_TAINTS: Final = frozenset({OUT_OF_SERVICE, UNREACHABLE})
"""The keys of taints by which Kubernetes says that nothing on a node can be relied upon."""


class NodeFailure(enum.Enum):
    """Why a node counts as failed."""

    NOT_READY = enum.auto()
    TAINTED = enum.auto()
    GONE = enum.auto()


class FailedNode(NamedTuple):
    """A node that has failed: why, and since when, in seconds since the epoch.

    `taint` is the key of the taint that says so, "" for other failures.
    """

    name: str
    failure: NodeFailure
    since: int
    taint: str = ""


def is_suspect(node: Node, rules: GangRules) -> bool:
    """Return whether a node has failed, or will have if it stays as it is."""
    return not node.ready or _taint(node, rules) != ""


def failure_of(node: Node, rules: GangRules, since: int, now: int) -> FailedNode | None:
    """Return how a node has failed that is suspect `since` then; None if it has not.

    All times are in seconds since the epoch.
    """
    taint = _taint(node, rules)
    if taint:
        return FailedNode(node.name, NodeFailure.TAINTED, since, taint)
    if not node.ready and now - since >= rules.node_failure_seconds:
        return FailedNode(node.name, NodeFailure.NOT_READY, since)
    return None


def _taint(node: Node, rules: GangRules) -> str:
    """Return the first taint that says that a node has failed, "" without any."""
    keys = (each.key for each in node.taints)
    failed = (key for key in keys if key in FAILURE_TAINTS or key in rules.node_failure_taints)
    return next(failed, "")


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
