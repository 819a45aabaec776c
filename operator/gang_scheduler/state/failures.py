"""Failed nodes, and the gangs that they degrade."""

from collections.abc import Callable, Iterable, Iterator

from gang_scheduler.model import failures, refs
from gang_scheduler.model.failures import Degraded, FailedNode, LostNode, NodeFailure
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey, natural_key
from gang_scheduler.model.rules import NO_SETTINGS, GangRules
from gang_scheduler.model.topology import Domain
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.nodes import NodeUsage
from gang_scheduler.state.topologies import Topologies

# Nodes that count as failed, and nodes that soon will if nothing changes.

MOST_GONE = 100


class FailedNodes:
    """All nodes that are not healthy. Costs nothing while all are.

    `names` are the failed nodes: the same object as long as none is added or removed. A node is
    healthy again at once; grace periods end when `settle` is called.
    """

    def __init__(self, rules: GangRules = NO_SETTINGS.gangs) -> None:
        self.rules = rules
        self.names: frozenset[str] = frozenset()
        self._found: dict[str, FailedNode] = {}
        self._suspects: dict[str, tuple[Node, int | None]] = {}
        self._gone: set[str] = set()
        self._most = MOST_GONE

    def upsert(self, node: Node) -> None:
        """Add or replace a node."""
        self._gone.discard(node.name)
        if not failures.is_suspect(node, self.rules):
            self._suspects.pop(node.name, None)
            self._heal(node.name)
            return
        _, since = self._suspects.get(node.name, (node, None))
        # If its condition changes from False to Unknown, it is still not ready.
        said = node.not_ready_since or None
        known = [each for each in (since, said) if each is not None]
        self._suspects[node.name] = (node, min(known, default=None))

    def gone(self, name: str) -> None:
        """Note that a node with pods is gone."""
        self._suspects.pop(name, None)
        self._gone.add(name)

    def forget_empty(self, has_pods: Callable[[str], bool]) -> None:
        """Forget nodes that are gone and have no pods left, once there are many."""
        if len(self._gone) > self._most:
            self._forget_empty(has_pods)
            self._most = 2 * len(self._gone) + MOST_GONE

    def forget(self, name: str) -> None:
        """Note that a node without pods is gone."""
        self._suspects.pop(name, None)

    def is_suspect(self, name: str) -> bool:
        """Return whether a node has failed, or soon will if nothing changes."""
        return name in self._suspects or name in self._gone

    def get(self, name: str) -> FailedNode | None:
        """Return how a node has failed; None if it has not."""
        return self._found.get(name)

    def settle(self, now: int, has_pods: Callable[[str], bool]) -> set[str]:
        """Return the names of nodes that have newly failed or recovered.

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
            failed = failures.failure_of(node, self.rules, now if since is None else since, now)
            if failed is not None:
                found[name] = failed
        self._found = found
        changed = before.keys() ^ found.keys()
        if changed:
            self.names = frozenset(found)
        return changed

    def _heal(self, name: str) -> None:
        """Count a node as healthy immediately: members may be bound there from now on."""
        if self._found.pop(name, None) is not None:
            self.names = frozenset(self._found)

    def _forget_empty(self, has_pods: Callable[[str], bool]) -> None:
        self._gone = {name for name in self._gone if has_pods(name)}

    def _of_gone(self, name: str, now: int) -> FailedNode:
        known = self._found.get(name)
        if known is not None and known.failure is NodeFailure.GONE:
            return known
        return FailedNode(name, NodeFailure.GONE, now)


# Running gangs that have lost members with failed nodes, or that cannot replace lost members.


class DegradedGangs:
    """Tells which gangs are degraded. It keeps no facts of its own except `Losses`."""

    def __init__(
        self,
        gang_queue: GangQueue,
        failed_nodes: FailedNodes,
        node_usage: NodeUsage,
        topologies: Topologies,
        pod: Callable[[str], Pod | None],
    ) -> None:
        self._gang_queue = gang_queue
        self._failed_nodes = failed_nodes
        self._node_usage = node_usage
        self._topologies = topologies
        self._pod = pod
        self._concerned: set[GangKey] = set()

    def failing(self, node: str, keys: Iterable[GangKey]) -> None:
        """Note which gangs have members on a node that is failing or gone."""
        # In a replica that does not lead, no other code asks for these, or forgets them.
        self._concerned = self._concerned & self._gang_queue.infos.keys()
        for key in self._gang_queue.infos.keys() & set(keys):
            self._gang_queue.infos[key].losses.note([node])
            self._concerned.add(key)

    def refused(self, refused: Iterable[Refused], now: int) -> None:
        """Note the gangs that find no room for replacements of lost members.

        `now` is in seconds.
        """
        for each in refused:
            info = self._gang_queue.infos.get(each.gang.key)
            if info is not None and each.gang.replacing and _lacks_room(each):
                info.losses.refused(_reported_since(info) or now)
                self._concerned.add(info.key)

    def of(self, key: GangKey, now: int) -> Degraded | None:
        """Return how a gang is degraded; None if it is whole and healthy, or has not started."""
        info = self._gang_queue.infos.get(key)
        # This runs for every gang that changes, and nearly all are healthy.
        return None if info is None or key not in self._concerned else self._of(info, now)

    def all(self, now: int) -> Iterator[tuple[GangInfo, Degraded]]:
        """Yield all degraded gangs; forget gangs that are whole again."""
        for key in sorted(self._concerned):
            info = self._gang_queue.infos.get(key)
            found = None if info is None else self._of(info, now)
            if info is not None and found is not None:
                yield info, found
            elif info is None or not self._may_be(info):
                self._concerned.discard(key)

    def leaving(self, key: GangKey) -> tuple[Pod, ...]:
        """Return the deleted members of a gang that are still there on failed nodes."""
        info, failed = self._gang_queue.infos.get(key), self._failed_nodes.names
        if info is None or not failed:
            return ()
        members = info.observed.members.values()
        gone = (pod for pod in members if pod.deleting and not pod.terminal and pod.node in failed)
        return tuple(info.observed.in_rank_order(gone))

    def stuck(self, now: int) -> Iterator[Pod]:
        """Yield the deleted pods of all gangs on failed nodes that should be gone."""
        for name in sorted(self._failed_nodes.names):
            pods = map(self._pod, sorted(self._node_usage.uids_on(name)))
            members = (pod for pod in pods if pod is not None and self._is_ours(pod))
            yield from (pod for pod in members if _is_stuck(pod, now))

    def _is_ours(self, pod: Pod) -> bool:
        info = self._gang_queue.infos.get(pod.gang)
        return info is not None and pod.uid in info.observed.members and not pod.pinned

    def _may_be(self, info: GangInfo) -> bool:
        """Return whether a gang may still be degraded; if not, forget its losses."""
        on_suspects = {
            pod.node
            for pod in info.observed.living
            if pod.node and self._failed_nodes.is_suspect(pod.node)
        }
        info.losses.end()
        info.losses.note(on_suspects)
        return bool(on_suspects)

    def _of(self, info: GangInfo, now: int) -> Degraded | None:
        observed, attempt, failed = info.observed, info.attempt, self._failed_nodes.names
        if not attempt.was_whole or _is_of_ones(info):
            return None
        done = [pod for pod in attempt.ended() if pod.phase is PodPhase.SUCCEEDED]
        bound = observed.bound()
        healthy = [pod for pod in bound if pod.node not in failed]
        if attempt.holds_quorum([*healthy, *done]):
            return None
        refusal = info.verdict.refusal
        no_room = refusal if refusal is not None and _lacks_room(refusal) else None
        waiting = sum(1 for pod in observed.living if not pod.node)
        if not waiting:
            no_room = None
        lost = info.losses.nodes
        if not lost and no_room is None:
            return None
        return Degraded(
            needed=attempt.needed,
            lacking=max(1, attempt.needed - len(healthy) - len(done)),
            domain=self._domain_of(info, healthy or list(bound)),
            nodes=tuple(
                LostNode(name, self._failed_nodes.get(name) or self._gone(name, now))
                for name in sorted(lost, key=natural_key)
                if self._is_lost(name)
            ),
            on_failed=tuple(pod for pod in bound if pod.node in failed),
            stuck=tuple(
                observed.in_rank_order(
                    pod
                    for pod in observed.members.values()
                    if pod.node in failed and _is_stuck(pod, now)
                )
            ),
            waiting=waiting,
            refused=no_room,
        )

    def _gone(self, name: str, now: int) -> FailedNode | None:
        """Return how a node without pods has failed: it is gone, or not ready yet."""
        there = self._node_usage.has_node(name)
        return None if there else FailedNode(name, NodeFailure.GONE, now)

    def _is_lost(self, name: str) -> bool:
        """Return whether a node is gone or not healthy."""
        return self._failed_nodes.is_suspect(name) or not self._node_usage.has_node(name)

    def _domain_of(self, info: GangInfo, members: list[Pod]) -> Domain | None:
        nodes = [pod.node for pod in members]
        wanted = info.observed.wanted_topology
        return self._topologies.home_of(nodes, self._node_usage.table(), wanted)


def _is_of_ones(info: GangInfo) -> bool:
    """Return whether each member is a gang of its own, so that a lost member degrades no other."""
    spec = info.observed.spec
    return info.key.source == refs.SINGLE.name or (spec is not None and spec.each_alone)


def _reported_since(info: GangInfo) -> int | None:
    """Return since when all waiting members have reported missing room, in seconds; or None.

    An earlier process wrote that report; in this process the state is known before.
    """
    waiting = [pod for pod in info.observed.living if not pod.node]
    reported = [pod.unscheduled_at for pod in waiting if _says_no_room(pod)]
    return max(reported) if reported and len(reported) == len(waiting) and all(reported) else None


def _says_no_room(pod: Pod) -> bool:
    return pod.unscheduled is not None and pod.unscheduled[0] == Reason.UNSCHEDULABLE


def _lacks_room(refused: Refused) -> bool:
    """Return whether room was searched for members of a quorum, and not found."""
    return refused.reason is Reason.UNSCHEDULABLE and not refused.left_over


def _is_stuck(pod: Pod, now: int) -> bool:
    """Return whether a deleted pod is still there after its grace period."""
    return pod.deleting and not pod.terminal and now >= pod.gone_by
