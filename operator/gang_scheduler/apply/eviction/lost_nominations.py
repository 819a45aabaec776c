"""Room that was made for gangs and then lost: a node is gone, or another pod took the room."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from gang_scheduler.apply.eviction.disruption_target import Naming
from gang_scheduler.model.causes.preemption import (
    NodeFault,
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
from gang_scheduler.model.virtual_pods import one_of_each
from gang_scheduler.state.cache import Cache

HOLDING = frozenset(
    {Reason.WAITING_FOR_VICTIMS, Reason.WAITING_FOR_MEMBERS, Reason.WAITING_FOR_GANGS}
)
"""With these reasons a gang keeps its nominated room: victims leave, or a member is recreated.

Not a gang whose members were all evicted: it must find room anew, if they come again at all.
"""

MOST_REFUSALS: Final = 3
"""How often in a row the API server may refuse to bind a gang until other gangs get its room."""


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
        self._causes: dict[GangKey, Cause] = {}
        self._unused: dict[GangKey, LostNomination] = {}

    def cause(self, key: GangKey) -> Cause | None:
        """Return how a gang lost its room; None for a gang that did not."""
        return self._causes.get(key)

    def over(self, key: GangKey) -> None:
        """Note that a gang has a place."""
        self._causes.pop(key, None)

    def refused(self, gang: Gang, times: int) -> None:
        """Note that the API server has refused so many times in a row to bind a gang."""
        pods = tuple(pod for pod in one_of_each(gang.pending) if pod.nominated)
        if pods and times >= MOST_REFUSALS:
            cause = NominationUnused(pods[0].nominated, times)
            self._unused[gang.key] = LostNomination(gang.key, cause, pods)

    def note(self, plan: Plan) -> list[Pod]:
        """Note the room that a plan shows to be lost; return the pods whose nominations end."""
        nodes = self._cache.node_usage.table()
        found = [*_taken(plan, self._naming), *_lost(plan, nodes)]
        found += self._evicted(plan, nodes, {each.gang for each in found} | _served(plan))
        decided = {each.gang.key for each in plan.placed} | {each.gang for each in found}
        found += [each for key, each in self._unused.items() if key not in decided]
        self._unused.clear()
        for each in found:
            self._causes[each.gang] = each.cause
            self._cache.gang_queue.changed.add(each.gang)
        known = self._cache.gang_queue.infos
        if len(self._causes) > len(known):
            self._causes = {key: why for key, why in self._causes.items() if key in known}
        return [pod for each in found for pod in each.pods]

    def _evicted(
        self, plan: Plan, nodes: NodeTable, known: AbstractSet[GangKey]
    ) -> Iterator[LostNomination]:
        """Yield other gangs of which all that runs is evicted for others, and some is nominated."""
        for made in plan.preemptions:
            victims = {each.pod.uid for each in made.victims}
            gangs = {each.gang for each in made.victims if not made.to_start_anew}
            for key in sorted(gangs - known):
                info = self._cache.gang_queue.infos.get(key)
                living = info.observed.living if info is not None else ()
                waiting = tuple(each for each in living if each.nominated and not each.node)
                if waiting and all(each.uid in victims for each in living if each.node):
                    name = waiting[0].nominated
                    yield LostNomination(key, NominationLost(name, _fault_of(name, nodes)), waiting)


def _taken(plan: Plan, naming: Naming) -> Iterator[LostNomination]:
    """Yield the gangs whose room goes to gangs of higher priority."""
    for made in plan.preemptions:
        for pod in made.displaced:
            taker = naming.preemptor(made, pod.namespace)
            cause = NominationTaken(pod.nominated, taker)
            yield LostNomination(pod.gang, cause)


def _lost(plan: Plan, nodes: NodeTable) -> Iterator[LostNomination]:
    """Yield the gangs with nominated members that are neither placed nor nominated there again."""
    moves = {bind.pod.uid: bind.node for made in plan.preemptions for bind in made.nominations}
    settled = {bind.pod.uid for placed in plan.placed for bind in placed.binds}
    settled.update(pod.uid for made in plan.preemptions for pod in made.displaced)
    for gang in _judged(plan):
        nominated = (
            pod for pod in one_of_each(gang.pending) if pod.nominated and pod.uid not in settled
        )
        lost = [pod for pod in nominated if moves.get(pod.uid) != pod.nominated]
        if lost:
            name = lost[0].nominated
            cause = NominationLost(name, _fault_of(name, nodes))
            yield LostNomination(
                gang.key, cause, tuple(pod for pod in lost if pod.uid not in moves)
            )


def _served(plan: Plan) -> set[GangKey]:
    """Return the gangs that a plan places or makes room for."""
    made = {gang.key for each in plan.preemptions if each.nominations for gang in each.gangs}
    return made | {each.gang.key for each in plan.placed}


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
