"""Gangs that run and have lost members with failed nodes, or cannot replace what they have lost."""

from collections.abc import Callable, Iterable, Iterator

from gang_scheduler.model import gang_sources
from gang_scheduler.model.degraded import Degraded, LostNode
from gang_scheduler.model.failed_nodes import FailedNode, NodeFailure
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.failed_nodes import FailedNodes
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.node_usage import NodeUsage
from gang_scheduler.state.topologies import Topologies


class DegradedGangs:
    """Tells which gangs are degraded. What it looks at is known elsewhere, but for `Losses`."""

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
        """Note which gangs have members on a node that is failing, or gone."""
        # A replica that does not lead asks for none of them, so nothing else forgets these.
        self._concerned = self._concerned & self._gang_queue.infos.keys()
        for key in self._gang_queue.infos.keys() & set(keys):
            self._gang_queue.infos[key].losses.note([node])
            self._concerned.add(key)

    def refused(self, refused: Iterable[Refused], now: int) -> None:
        """Note which gangs find no room for members that replace lost ones. `now` in seconds."""
        for each in refused:
            info = self._gang_queue.infos.get(each.gang.key)
            if info is not None and each.gang.replacing and _lacks_room(each):
                info.losses.refused(_told_since(info) or now)
                self._concerned.add(info.key)

    def of(self, key: GangKey, now: int) -> Degraded | None:
        """Return what a gang lacks; None if it is whole on healthy nodes, or has not started."""
        info = self._gang_queue.infos.get(key)
        # Asked of every gang that changes: nearly all are of no concern.
        return None if info is None or key not in self._concerned else self._of(info, now)

    def all(self, now: int) -> Iterator[tuple[GangInfo, Degraded]]:
        """Yield all gangs that are degraded, and forget those that are not any more."""
        for key in sorted(self._concerned):
            info = self._gang_queue.infos.get(key)
            found = None if info is None else self._of(info, now)
            if info is not None and found is not None:
                yield info, found
            elif info is None or not self._may_be(info):
                self._concerned.discard(key)

    def leaving(self, key: GangKey) -> tuple[Pod, ...]:
        """Return the members of a gang that were deleted, and are still there on failed nodes."""
        info, failed = self._gang_queue.infos.get(key), self._failed_nodes.names
        if info is None or not failed:
            return ()
        members = info.observed.members.values()
        gone = (pod for pod in members if pod.deleting and not pod.terminal and pod.node in failed)
        return tuple(info.observed.in_rank_order(gone))

    def stuck(self, now: int) -> Iterator[Pod]:
        """Yield the pods of all gangs on failed nodes that were deleted, and should be gone."""
        for name in sorted(self._failed_nodes.names):
            pods = map(self._pod, sorted(self._node_usage.uids_on(name)))
            members = (pod for pod in pods if pod is not None and self._is_ours(pod))
            yield from (pod for pod in members if _is_stuck(pod, now))

    def _is_ours(self, pod: Pod) -> bool:
        info = self._gang_queue.infos.get(pod.gang)
        return info is not None and pod.uid in info.observed.members and not pod.pinned

    def _may_be(self, info: GangInfo) -> bool:
        """Return whether a gang may yet be degraded by what is known; if not, forget its losses."""
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
        """Return how a node has failed that no pods are left on: it is gone, or not ready yet."""
        there = self._node_usage.has_node(name)
        return None if there else FailedNode(name, NodeFailure.GONE, now)

    def _is_lost(self, name: str) -> bool:
        """Return whether a node is not healthy, or gone."""
        return self._failed_nodes.is_suspect(name) or not self._node_usage.has_node(name)

    def _domain_of(self, info: GangInfo, members: list[Pod]) -> Domain | None:
        nodes = [pod.node for pod in members]
        return self._topologies.home_of(nodes, self._node_usage.table(), info.observed.asks)


def _is_of_ones(info: GangInfo) -> bool:
    """Return whether each member is a gang of one: then none lacks the others."""
    spec = info.observed.spec
    return info.key.source == gang_sources.SINGLE.name or (spec is not None and spec.apart)


def _told_since(info: GangInfo) -> int | None:
    """Return since when all members that wait say that they lack room, in seconds; None if not.

    Then an earlier process has found it: in this one it is found before any pod is told.
    """
    waiting = [pod for pod in info.observed.living if not pod.node]
    told = [pod.unscheduled_at for pod in waiting if _says_no_room(pod)]
    return max(told) if told and len(told) == len(waiting) and all(told) else None


def _says_no_room(pod: Pod) -> bool:
    return pod.unscheduled is not None and pod.unscheduled[0] == Reason.UNSCHEDULABLE


def _lacks_room(refused: Refused) -> bool:
    """Return whether members of a quorum were looked for room for, and there was none."""
    return refused.reason is Reason.UNSCHEDULABLE and not refused.left_over


def _is_stuck(pod: Pod, now: int) -> bool:
    """Return whether a pod was deleted, and is there after its grace period."""
    return pod.deleting and not pod.terminal and now >= pod.gone_by
