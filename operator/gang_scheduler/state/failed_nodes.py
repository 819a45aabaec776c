"""The nodes that count as failed, and those that will if they stay as they are."""

from collections.abc import Callable

from gang_scheduler.model import failed_nodes
from gang_scheduler.model.failed_nodes import FailedNode, FailureRules, NodeFailure
from gang_scheduler.model.nodes import Node

DEFAULT_RULES = FailureRules()
MOST_GONE = 100


class FailedNodes:
    """All nodes that are not healthy. Costs nothing while all are.

    `names` are those of the failed ones: the same object for as long as none comes or goes. A node
    is healthy again at once; time counts when `settle` is called.
    """

    def __init__(self, rules: FailureRules = DEFAULT_RULES) -> None:
        self.rules = rules
        self.names: frozenset[str] = frozenset()
        self._found: dict[str, FailedNode] = {}
        self._suspects: dict[str, tuple[Node, int | None]] = {}
        self._gone: set[str] = set()
        self._most = MOST_GONE

    def upsert(self, node: Node) -> None:
        """Add or replace a node."""
        self._gone.discard(node.name)
        if not failed_nodes.is_suspect(node, self.rules):
            self._suspects.pop(node.name, None)
            self._heal(node.name)
            return
        _, since = self._suspects.get(node.name, (node, None))
        # From False to Unknown its condition changes, and it is no more ready than before.
        said = node.not_ready_since or None
        known = [each for each in (since, said) if each is not None]
        self._suspects[node.name] = (node, min(known, default=None))

    def gone(self, name: str) -> None:
        """Note that a node is gone on which there are pods."""
        self._suspects.pop(name, None)
        self._gone.add(name)

    def forget_empty(self, has_pods: Callable[[str], bool]) -> None:
        """Forget nodes that are gone, and their last pods with them, once they are many."""
        if len(self._gone) > self._most:
            self._forget_empty(has_pods)
            self._most = 2 * len(self._gone) + MOST_GONE

    def forget(self, name: str) -> None:
        """Note that a node is gone on which there are no pods."""
        self._suspects.pop(name, None)

    def is_suspect(self, name: str) -> bool:
        """Return whether a node has failed, or will have if it stays as it is."""
        return name in self._suspects or name in self._gone

    def get(self, name: str) -> FailedNode | None:
        """Return how a node has failed; None if it has not."""
        return self._found.get(name)

    def settle(self, now: int, has_pods: Callable[[str], bool]) -> set[str]:
        """Return the names of the nodes that count as failed now or no longer, unlike before.

        A node that is gone is forgotten with its last pod. `now` is in seconds since the epoch.
        """
        if not (self._suspects or self._gone or self._found):
            return set()
        before = self._found
        self._forget_empty(has_pods)
        found = {name: self._of_gone(name, now) for name in self._gone}
        for name, (node, since) in self._suspects.items():
            if since is None:
                self._suspects[name] = (node, now)
            failed = failed_nodes.failure_of(node, self.rules, now if since is None else since, now)
            if failed is not None:
                found[name] = failed
        self._found = found
        changed = before.keys() ^ found.keys()
        if changed:
            self.names = frozenset(found)
        return changed

    def _heal(self, name: str) -> None:
        """Count a node as healthy at once: members may be bound there from now on."""
        if self._found.pop(name, None) is not None:
            self.names = frozenset(self._found)

    def _forget_empty(self, has_pods: Callable[[str], bool]) -> None:
        self._gone = {name for name in self._gone if has_pods(name)}

    def _of_gone(self, name: str, now: int) -> FailedNode:
        known = self._found.get(name)
        if known is not None and known.failure is NodeFailure.GONE:
            return known
        return FailedNode(name, NodeFailure.GONE, now)
