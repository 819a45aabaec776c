"""Room that was made for gangs and then lost, or that their members did not come to in time."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.model.causes.preemption import (
    NodeFault,
    NominationExpired,
    NominationLost,
    NominationTaken,
    NominationUnused,
)
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.decisions import INCOMPLETE
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.records.preemption import HOLD_SECONDS
from gang_scheduler.state.pruning import pruned

HOLDING = INCOMPLETE | {Reason.WAITING_FOR_VICTIMS}
"""With these reasons a gang keeps its nominated room: victims leave, or a member is recreated.

While members are missing, for HOLD_SECONDS at most: those that were evicted or deleted may never
come again.
"""

MOST_REFUSALS: Final = 3
"""How often in a row the API server may refuse to bind a gang until other gangs get its room."""

REST_SECONDS: Final = 600
"""For so long the rest of a gang that is bound in part keeps its room, however often it is
refused: else others take it, and what is bound holds nodes for nothing."""


class LostNomination(NamedTuple):
    """A gang that has lost room, the cause, and the members whose nominations must end."""

    gang: GangKey
    cause: Cause
    pods: tuple[Pod, ...] = ()


class LostNominations:
    """The gangs that have lost room, with the cause, until they are bound after all."""

    def __init__(self, cache: Cache, naming: Naming) -> None:
        self._cache = cache
        self._naming = naming
        # With the info, so that another gang of the same name has lost nothing.
        self._causes: dict[GangKey, tuple[GangInfo, Cause]] = {}
        self._unused: dict[GangKey, LostNomination] = {}
        # When the API server first refused to bind the rest of a gang.
        self._in_part_since: dict[GangKey, int] = {}

    def cause(self, key: GangKey) -> Cause | None:
        """Return how a gang lost its room; None for a gang that did not."""
        info, cause = self._causes.get(key, (None, None))
        return cause if info is self._cache.gang_queue.infos.get(key) else None

    def over(self, key: GangKey) -> None:
        """Note that a gang has a place."""
        self._causes.pop(key, None)
        self._in_part_since.pop(key, None)

    def refused(self, gang: Gang, times: int, now: int, *, in_part: bool = False) -> None:
        """Note that the API server has refused so many times in a row to bind a gang.

        `now` is in seconds. The rest of a gang that is bound `in_part` has its room for longer.
        """
        if in_part:
            since = self._in_part_since.setdefault(gang.key, now)
            if now < since + REST_SECONDS:
                return
        pods = tuple(gang.nominated_members())
        if pods and times >= MOST_REFUSALS:
            cause = NominationUnused(pods[0].nominated, times)
            self._unused[gang.key] = LostNomination(gang.key, cause, pods)

    def note(self, plan: Plan, now: int) -> list[Pod]:
        """Note the room that a plan shows to be lost; return the pods whose nominations end."""
        nodes = self._cache.node_usage.table()
        displaced = {pod.uid for made in plan.preemptions for pod in made.displaced}
        found = [*_taken(plan, self._naming), *_lost(plan, nodes, displaced)]
        found += self._expired(plan, displaced, now)
        decided = {each.gang.key for each in plan.placed} | {each.gang for each in found}
        found += [each for key, each in self._unused.items() if key not in decided]
        self._unused.clear()
        infos = self._cache.gang_queue.infos
        for each in found:
            info = infos.get(each.gang)
            if info is not None:
                self._causes[each.gang] = (info, each.cause)
                self._cache.gang_queue.changed.add(each.gang)
        self._causes = pruned(self._causes, infos)
        self._in_part_since = pruned(self._in_part_since, infos)
        return [pod for each in found for pod in each.pods]

    def _expired(
        self, plan: Plan, displaced: AbstractSet[str], now: int
    ) -> Iterator[LostNomination]:
        """Yield the gangs that have lacked members for so long that others may have their room."""
        for gang in (each.gang for each in plan.refused if each.reason in INCOMPLETE):
            info = self._cache.gang_queue.infos.get(gang.key)
            held_until = info.preemptor.held_until if info is not None else None
            if held_until is None or now < held_until:
                continue
            pods = tuple(each for each in gang.nominated_members() if each.uid not in displaced)
            if pods:
                cause = NominationExpired(pods[0].nominated, HOLD_SECONDS)
                yield LostNomination(gang.key, cause, pods)


def _taken(plan: Plan, naming: Naming) -> Iterator[LostNomination]:
    """Yield the gangs whose room goes to gangs of higher priority."""
    for made in plan.preemptions:
        for pod in made.displaced:
            taker = naming.preemptor(made, pod.namespace)
            cause = NominationTaken(pod.nominated, taker)
            yield LostNomination(pod.gang, cause)


def _lost(plan: Plan, nodes: NodeTable, displaced: AbstractSet[str]) -> Iterator[LostNomination]:
    """Yield the gangs with nominated members that are neither placed nor nominated there again."""
    moves = {bind.pod.uid: bind.node for made in plan.preemptions for bind in made.nominations}
    settled = displaced | {bind.pod.uid for placed in plan.placed for bind in placed.binds}
    for gang in _judged(plan):
        nominated = (pod for pod in gang.nominated_members() if pod.uid not in settled)
        lost = [pod for pod in nominated if moves.get(pod.uid) != pod.nominated]
        if lost:
            name = lost[0].nominated
            cause = NominationLost(name, _fault_of(name, nodes))
            yield LostNomination(
                gang.key, cause, tuple(pod for pod in lost if pod.uid not in moves)
            )


def _judged(plan: Plan) -> Iterator[Gang]:
    """Yield the gangs that wait without reserved room, and those that this plan nominates."""
    for made in plan.preemptions:
        if made.nominations:
            yield from made.gangs
    for refused in plan.refused:
        if refused.reason not in HOLDING:
            yield refused.gang


def _fault_of(name: str, nodes: NodeTable) -> NodeFault:
    row = nodes.rows.get(name)
    if row is None:
        return NodeFault.GONE
    node = nodes.nodes[row]
    if not node.ready:
        return NodeFault.NOT_READY
    return NodeFault.UNSCHEDULABLE if node.unschedulable else NodeFault.FULL
