"""A node that counts as failed: it is gone, not ready for long, or has a taint that says so."""

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple

from gang_scheduler.model.nodes import Node

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


class FailureRules(NamedTuple):
    """After how many seconds a node that is not ready has failed, and which taints say it at once.

    `taints` are keys.
    """

    seconds: int = 30
    taints: frozenset[str] = FAILURE_TAINTS

    @classmethod
    def of(cls, seconds: int, more_taints: Iterable[str]) -> "FailureRules":
        """Return rules with further taints."""
        return cls(seconds, FAILURE_TAINTS.union(more_taints))


def is_suspect(node: Node, rules: FailureRules) -> bool:
    """Return whether a node has failed, or will have if it stays as it is."""
    return not node.ready or _taint(node, rules) != ""


def failure_of(node: Node, rules: FailureRules, since: int, now: int) -> FailedNode | None:
    """Return how a node has failed that is suspect `since` then; None if it has not.

    All times are in seconds since the epoch.
    """
    taint = _taint(node, rules)
    if taint:
        return FailedNode(node.name, NodeFailure.TAINTED, since, taint)
    if not node.ready and now - since >= rules.seconds:
        return FailedNode(node.name, NodeFailure.NOT_READY, since)
    return None


def _taint(node: Node, rules: FailureRules) -> str:
    """Return the first taint that says that a node has failed, "" without any."""
    return next((each.key for each in node.taints if each.key in rules.taints), "")
