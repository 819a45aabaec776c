"""Failed nodes, and the degraded gangs that lost members with them or cannot replace losses."""

import enum
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.rules import GangRules
from gang_scheduler.model.topology import Domain

# A node has failed if it is gone, has been not ready for long, or has a taint for failed nodes.

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
FAILURE_TAINTS: Final = frozenset({OUT_OF_SERVICE, UNREACHABLE})
"""The keys of the taints by which Kubernetes marks a node as unreliable."""


class NodeFailure(enum.Enum):
    """Why a node counts as failed."""

    NOT_READY = enum.auto()
    TAINTED = enum.auto()
    GONE = enum.auto()


class FailedNode(NamedTuple):
    """A node that has failed: why, and since when, in seconds since the epoch.

    `taint` is the key of the taint that shows the failure, "" for other failures.
    """

    name: str
    failure: NodeFailure
    since: int
    taint: str = ""


def is_suspect(node: Node, rules: GangRules) -> bool:
    """Return whether a node has failed, or soon will if nothing changes."""
    return not node.ready or _taint(node, rules) != ""


def failure_of(node: Node, rules: GangRules, since: int, now: int) -> FailedNode | None:
    """Return the failure of a node; None if the node has not failed.

    `since` is when the node became suspect. Both times are in seconds since the epoch.
    """
    taint = _taint(node, rules)
    if taint:
        return FailedNode(node.name, NodeFailure.TAINTED, since, taint)
    if not node.ready and now - since >= rules.node_failure_seconds:
        return FailedNode(node.name, NodeFailure.NOT_READY, since)
    return None


def _taint(node: Node, rules: GangRules) -> str:
    """Return the first taint that marks a node as failed, "" without any."""
    keys = (each.key for each in node.taints)
    failed = (key for key in keys if key in FAILURE_TAINTS or key in rules.node_failure_taints)
    return next(failed, "")


class DegradedReason(enum.StrEnum):
    """Why a gang lacks members on healthy nodes: the reason of its condition."""

    NODES_FAILED = "NodesFailed"
    PODS_STUCK = "PodsStuck"
    NO_ROOM = "NoRoomInDomain"


class LostNode(NamedTuple):
    """A node on which members were lost; `failed` is None if the node is only not ready yet."""

    name: str
    failed: FailedNode | None


@dataclass(frozen=True, slots=True)
class Degraded:
    """The losses of a started gang: `lacking` of the `needed` members are on no healthy node.

    `domain` is where its members are, and where replacements must be placed; None is the whole
    cluster. `nodes` are the nodes that lost members. `on_failed` are members on failed nodes that
    are not deleted yet, `stuck` members that were deleted but do not end. `waiting` is how many
    members wait for a place, and `refused` why they find none.
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
    def reason(self) -> DegradedReason:
        """Why the gang is not whole."""
        if self.refused is not None:
            return DegradedReason.NO_ROOM
        return DegradedReason.PODS_STUCK if self.stuck else DegradedReason.NODES_FAILED
