"""Preemption leftovers: nominations that lost their room, orphaned marks, and victims that stay."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.outcomes import Outcomes, VictimStuck
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
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause, Reason, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.decisions import INCOMPLETE
from gang_scheduler.state.gangs.gang_info import HOLD_SECONDS, GangInfo
from gang_scheduler.state.memory import Reported, pruned
from gang_scheduler.state.queues import draining
from gang_scheduler.tasks import every
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

# Room that was made for a gang and was then lost, or that its members did not use in time.

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
        # The info is kept, too, because another gang of the same name has lost nothing.
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
        nominated = (pod for pod in gang.nominated_members() if pod.uid not in settled)
        lost = [pod for pod in nominated if moves.get(pod.uid) != pod.nominated]
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


# Marks and checkpoint requests that an earlier process left and that no preemption needs now.


class OrphanedMarks:
    """Finds pods that are marked for eviction, or asked to save, although no preemption needs them.

    After a restart, pods may carry the DisruptionTarget condition or the request of a preemption
    that is not planned again. Victims get these only after all members of the preemptor are
    nominated. So once every gang with nominated members has been decided, each such pod that is no
    victim in a plan is orphaned. A pod of a drained queue, or of a gang that is evicted to start
    again, is orphaned once the queue is no longer drained, or the gang no longer evicted.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._marked: set[str] | None = None
        self._unjudged: set[GangKey] = set()

    def settled(self, plan: Plan, now: int) -> list[Pod]:
        """Return the pods with orphaned marks or requests; nothing until these are certain.

        `now` is in seconds.
        """
        if self._marked is None:
            self._marked = {pod.uid for pod in self._cache.pods() if self._is_marked_or_asked(pod)}
            self._unjudged = set(self._nominated_gangs())
        if not self._marked:
            return []
        self._marked -= {each.pod.uid for made in plan.preemptions for each in made.victims}
        self._unjudged -= {placed.gang.key for placed in plan.placed}
        self._unjudged -= {refused.gang.key for refused in plan.refused}
        self._unjudged &= self._cache.gang_queue.infos.keys()
        if self._unjudged:
            return []
        found = [pod for uid in sorted(self._marked) if (pod := self._cache.pod(uid)) is not None]
        leaving = self._evictable_without_preemptor(found, now)
        self._marked = {pod.uid for pod in leaving if self._is_marked_or_asked(pod)}
        return [pod for pod in found if pod.uid not in self._marked]

    def _evictable_without_preemptor(self, pods: Sequence[Pod], now: int) -> list[Pod]:
        """Return the pods that may be evicted without a preemptor: other parts handle them."""
        gangs = {pod.gang for pod in pods if pod.starting_anew}
        gangs |= {each.gang for each in draining.all_in_drained(self._cache, now)}
        # A degraded gang is asked to save before its eviction; its pods are marked later.
        asked = {info.key for info, _ in self._cache.degraded.all(now)}
        return [pod for pod in pods if pod.gang in (gangs if pod.marked else gangs | asked)]

    def _is_marked_or_asked(self, pod: Pod) -> bool:
        """Return whether a running pod is marked or asked as a future victim."""
        told = pod.marked or self._cache.checkpoints.standing_on(pod) is not None
        return told and pod.living and bool(pod.node)

    def _nominated_gangs(self) -> Iterator[GangKey]:
        for key, info in self._cache.gang_queue.infos.items():
            if any(pod.nominated and not pod.node for pod in info.observed.living):
                yield key


# Victims that should be gone but still hold room for which gangs wait.

LOOK_SECONDS = 5.0

log = Logger()


class StuckVictims:
    """Reports each stuck pod once: it terminates, and a gang is nominated to its node.

    A pod is stuck when `timeout_seconds` have passed since the end of its grace period, or if its
    grace period is longer than gangs are willing to wait. `outcomes` then gets the waiting gang,
    and the pod.
    """

    def __init__(
        self,
        cache: Cache,
        timeout_seconds: int,
        outcomes: Outcomes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._timeout_seconds = timeout_seconds
        self._outcomes = outcomes
        self._clock = clock
        self._told: Reported[str, str] = Reported()
        self._lingering: set[str] = set()

    async def run(self) -> None:
        """Look every LOOK_SECONDS, until cancelled."""
        await every(LOOK_SECONDS, self.look, "look for pods that do not end", "all gangs")

    def look(self) -> None:
        """Report the stuck pods, and count them.

        A pod is counted until it is gone, even if its gang has found room elsewhere. Costs nothing
        while no gang waits for victims and no pod is stuck.
        """
        waiting = dict(self._waiting())
        hanging = [*self._hanging(waiting)] if waiting or self._lingering else []
        in_the_way = [pod for pod in hanging if pod.node in waiting]
        for pod in in_the_way:
            if self._told.is_news(pod.uid, pod.node):
                gang = waiting[pod.node]
                log.warning("victim_hangs", pod=pod.key, node=pod.node, preemptor=str(gang))
                self._outcomes.put(VictimStuck(gang, pod))
        self._told.keep({pod.uid for pod in in_the_way})
        self._lingering = {pod.uid for pod in hanging}
        metrics.VICTIMS_LINGERING.set(len(hanging))

    def _hanging(self, waiting: Collection[str]) -> Iterator[Pod]:
        """Yield the stuck pods on these nodes, and the stuck pods that the last call found."""
        for pod in self._cache.pods():
            if (pod.node in waiting or pod.uid in self._lingering) and self._hangs(pod):
                yield pod

    def _waiting(self) -> Iterator[tuple[str, GangKey]]:
        """Yield the nodes on which room is being made, and the gang that waits for it."""
        gang_queue = self._cache.gang_queue
        if gang_queue.waiting[Reason.WAITING_FOR_VICTIMS] <= 0:
            return
        for key, info in gang_queue.infos.items():
            nominated = (pod for pod in info.observed.living if pod.nominated and not pod.node)
            yield from ((pod.nominated, key) for pod in nominated)

    def _hangs(self, pod: Pod) -> bool:
        now = self._clock()
        is_over = pod.deleting and now >= pod.gone_by + self._timeout_seconds
        stays = self._cache.evictable_pods.leaving.stays(pod.uid, int(now))
        return not pod.terminal and (is_over or stays)
