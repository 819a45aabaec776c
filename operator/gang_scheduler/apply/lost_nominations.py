"""Nominations that a gang loses: the room made for it is lost, or is not used in time."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.model.causes.gangs import (
    NodeFault,
    NominationExpired,
    NominationLost,
    NominationTaken,
    NominationUnused,
)
from gang_scheduler.model.consequences import Room
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod, one_of_each
from gang_scheduler.model.reasons import Cause, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.decisions import INCOMPLETE
from gang_scheduler.state.gangs.gang_info import HOLD_SECONDS, GangInfo
from gang_scheduler.state.pruning import pruned

HOLDING = INCOMPLETE | those_with(lambda rule: Room.KEPT in rule.room)
"""A gang that waits for one of these reasons keeps its nominated room.

Victims are still leaving, or a member is being recreated. While members are missing, the gang keeps
the room for at most HOLD_SECONDS, because evicted or deleted members may never be created again.
"""

MOST_REFUSALS: Final = 3
"""If the API server refuses to bind a gang this many times in a row, other gangs get its room."""

REST_SECONDS: Final = 600
"""How long the rest of a partially bound gang keeps its room while the API server refuses it.

If other gangs took the room, the bound members would hold their nodes in vain.
"""


class LostNomination(NamedTuple):
    """A gang that has lost its room, the cause, and the members whose nominations must end."""

    gang: GangKey
    cause: Cause
    pods: tuple[Pod, ...] = ()


class LostNominations:
    """The gangs that have lost room, with the cause, until they are bound nevertheless."""

    def __init__(self, cache: Cache, naming: Naming) -> None:
        self._cache = cache
        self._naming = naming
        # The cause counts only for this info: a later gang of the same name has another one.
        self._causes: dict[GangKey, tuple[GangInfo, Cause]] = {}
        self._unused: dict[GangKey, LostNomination] = {}
        # When the API server first refused to bind the rest of a gang.
        self._in_part_since: dict[GangKey, int] = {}

    def cause(self, key: GangKey) -> Cause | None:
        """Return how a gang lost its room; None for a gang that did not."""
        info, cause = self._causes.get(key, (None, None))
        return cause if info is self._cache.gang_queue.infos.get(key) else None

    def over(self, key: GangKey) -> None:
        """Forget a gang whose members have nodes now."""
        self._causes.pop(key, None)
        self._in_part_since.pop(key, None)

    def refused(self, gang: Gang, times: int, now: int, *, in_part: bool = False) -> None:
        """Note how many times in a row the API server has refused to bind a gang.

        `now` is in seconds.

        The rest of a gang that is bound `in_part` keeps its room longer.
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
        """Note the gangs that lose room in a plan; return the pods whose nominations end."""
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
        """Yield the gangs that have lacked members for so long that others may take their room."""
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
        # This runs for each gang that waits, and hardly any has nominated members.
        lost = [
            pod
            for pod in one_of_each(gang.pending)
            if pod.nominated and pod.uid not in settled and moves.get(pod.uid) != pod.nominated
        ]
        if lost:
            name = lost[0].nominated
            cause = NominationLost(name, _fault_of(name, nodes))
            yield LostNomination(
                gang.key, cause, tuple(pod for pod in lost if pod.uid not in moves)
            )


def _judged(plan: Plan) -> Iterator[Gang]:
    """Yield the gangs that wait without reserved room, and the gangs that this plan nominates."""
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
