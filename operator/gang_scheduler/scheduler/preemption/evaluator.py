"""Preemption for a group that does not fit: it waits for leaving pods, or evicts pods."""

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.evictions import Forgotten
from gang_scheduler.model.gangs import BlockCause, GangGroup, PreemptionBlock
from gang_scheduler.model.plan import Bind, Offers, Preemption, PreemptionOutcome, PreemptionVerdict
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler.placement.feasible_slots import fit_if_empty
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.leaving_pods import Departures, NominatedRoom
from gang_scheduler.scheduler.preemption.potential_victims import PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import Nominee, Placements
from gang_scheduler.scheduler.preemption.search import cheapest
from gang_scheduler.scheduler.preemption.search.cheapest import Found
from gang_scheduler.scheduler.preemption.victim_pools import VictimPools
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.ping_pong import Memory
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest
from gang_scheduler.scheduler.trial import Trial

NO_VICTIMS = PreemptionOutcome(PreemptionVerdict.NO_VICTIMS)
TERMINATING = PreemptionOutcome(PreemptionVerdict.TERMINATING)
PROMISED = PreemptionOutcome(PreemptionVerdict.PROMISED)
NOT_SEARCHED = PreemptionOutcome(PreemptionVerdict.NO_VICTIMS, cut_off=True)


class Foreseen(NamedTuple):
    """The result of a dry run: the highest eviction class, and whether the queue then borrows."""

    highest_class: int = 0
    borrows: bool = False


class PreemptionEvaluator:
    """The preemptions of one cycle: later gangs see the victims and nominations of earlier ones."""

    def __init__(self, snapshot: Snapshot, trial: Trial, profile: Profile) -> None:
        self._snapshot = snapshot
        self._trial = trial
        self._profile = profile
        self._bound_pods = snapshot.bound_pods or BoundPods()
        self.departures = Departures(self._bound_pods, trial, profile)
        queues = functools.partial(_queues, snapshot)
        self.nominated_room = NominatedRoom(_ranked(snapshot), trial, queues)
        self.preemptions: list[Preemption] = []
        self.reclaim_requests: ReclaimRequests | None = None
        """The rules of the queues about evictions, if there are queues."""

    @functools.cached_property
    def pools(self) -> VictimPools:
        """The pods that each group may evict."""
        return VictimPools(self._snapshot, self._trial, self._profile, self.departures)

    @functools.cached_property
    def _memory(self) -> Memory:
        return Memory(self._snapshot.yielded)

    def attempt(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        request: ReclaimRequest | None = None,
    ) -> PreemptionOutcome:
        """Make room for a group that does not fit; return the outcome.

        `nominations` is the room that was reserved for the group and is released now. The room is
        reserved again only if the group goes on waiting. A `request` tells how much quota the group
        needs from its queue; victims are then chosen to free this quota, too.
        """
        if not any(gang.lacking for gang in group.waiting):
            return NO_VICTIMS  # No pod is evicted for surplus.
        lost = self._has_lost_node(group)
        blocks = [*_blocks(group, lost=lost)]
        causes = {block.cause for block in blocks}
        may_displace = causes <= {BlockCause.UNDER_WAY}
        if request is None or not self._lacks_quota(request):
            waits = self._wait_for_leaving(
                *(group, units, nominations, request), may_displace=may_displace
            )
            if waits is not None:
                self._carry_out(group, waits, nominations)
                return TERMINATING
        if nominations and BlockCause.UNDER_WAY in causes:
            self.nominated_room.keep(nominations)
            return TERMINATING
        potential = self._potential(group, units, request)
        if potential is None:
            is_cut_off = request is not None and self._trial.effort.cut_off
            return NOT_SEARCHED if is_cut_off else NO_VICTIMS
        if blocks:
            return PreemptionOutcome(PreemptionVerdict.BLOCKED, block=min(blocks))
        return self._evict(group, units, nominations, request, potential, resumes=not lost)

    def foreseen(
        self, group: GangGroup, units: Sequence[PlacementUnit], request: ReclaimRequest
    ) -> Foreseen | None:
        """Return the class of the victims, and whether the queue borrows; None without victims.

        This is a dry run: no pod is evicted.
        """
        if not any(gang.lacking for gang in group.waiting):
            return None
        has_quota = not self._lacks_quota(request)
        if has_quota and self.departures.preemptor(units).place(None) is not None:
            return Foreseen()
        if any(gang.preemption_block is not None for gang in group.waiting):
            return None
        potential = self._potential(group, units, request)
        if potential is None or potential.judge is None:
            return None
        found = cheapest.find(self.departures.preemptor(units), potential)
        if found is None or self._exceeds_max_victims(found):
            return None
        borrows = potential.judge.borrows(found.victims)
        return Foreseen(max(found.classes.values(), default=0), borrows)

    def attempt_each(
        self,
        group: GangGroup,
        unit: PlacementUnit,
        nominations: Sequence[Nominated],
        request: ReclaimRequest | None = None,
    ) -> PreemptionOutcome:
        """Make room in one preemption for members that are each a gang of one pod."""
        before = len(self.preemptions)
        outcomes: list[PreemptionOutcome] = []
        full: set[PodClass] = set()
        for pod in unit.members:
            # If one pod finds no room, no other pod of its class does.
            if pod.uid in unit.required and pod.pod_class not in full:
                beside = unit.after(self.nominated_room.binds(group.waiting[0].key))
                alone = replace(beside, required=frozenset([pod.uid]))
                own = [each for each in nominations if each.pod.uid == pod.uid]
                asked = request.for_pods([pod]) if request is not None else None
                outcomes.append(self.attempt(group, [alone], own, asked))
                if not outcomes[-1].waits:
                    full.add(pod.pod_class)
                elif asked is not None and self.reclaim_requests is not None:
                    self.reclaim_requests.expect(asked)
        if self.reclaim_requests is not None:
            self.reclaim_requests.expect(None)
        made = self.preemptions[before:]
        if len(made) > 1:
            self.preemptions[before:] = [_joined(made)]
        victims = sum(each.victims for each in outcomes if each.waits)
        if victims:
            return _evicting(victims, cut_off=any(each.cut_off for each in outcomes))
        return next((each for each in outcomes if each.waits), outcomes[0])

    def displace(
        self, group: GangGroup, released: Sequence[Nominated], nodes: Collection[str]
    ) -> None:
        """Record that a group was placed on these nodes after reserved room was released there."""
        pods = self.nominated_room.keep_elsewhere(released, nodes)
        if pods:
            self.preemptions.append(Preemption(group.waiting, (), displaced=tuple(pods)))

    def displaceable(self, group: GangGroup) -> list[GangKey]:
        """Return the gangs of lower priority whose reserved room the group may take."""
        return self.nominated_room.below(group.priority, group.queue)

    def _wait_for_leaving(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        request: ReclaimRequest | None,
        *,
        may_displace: bool,
    ) -> Preemption | None:
        """Return the group's placement once the leaving pods are gone; None if it does not fit.

        The group stays on its nominated nodes if there is room: other gangs were placed around
        them. If it fits nowhere else, a group that may evict takes room that is reserved for lower
        priorities.
        """
        if not self.departures.room:
            return None
        preemptor = self.departures.preemptor(units)
        found = preemptor.place_as(nominations) or preemptor.place(None)
        if found is not None:
            return Preemption(group.waiting, _binds(found)) if _may_take(request, found) else None
        lower = self.displaceable(group) if may_displace else ()
        released = self.nominated_room.release(lower)
        if not released:
            return None
        found = self.departures.preemptor(units).place(None)
        if found is None or not _may_take(request, found):
            self.nominated_room.keep(released)
            return None
        binds = _binds(found)
        displaced = self.nominated_room.keep_elsewhere(released, {bind.node for bind in binds})
        return Preemption(group.waiting, binds, displaced=tuple(displaced))

    def _has_lost_node(self, group: GangGroup) -> bool:
        """Return whether a nominated node can never take its pod again, even once it is empty.

        Such a node is gone, cordoned, not ready, too small or tainted. kube-scheduler lets such a
        pod preempt again, too (PodEligibleToPreemptOthers).
        """
        members = (pod for gang in group.waiting for pod in gang.nominated_members())
        return any(not self._could_take(pod) for pod in members)

    def _could_take(self, pod: Pod) -> bool:
        row = self._trial.nodes.rows.get(pod.nominated)
        fits = fit_if_empty(pod.pod_class, self._trial, self._profile)
        return row is not None and bool(fits[row])

    def _lacks_quota(self, request: ReclaimRequest) -> bool:
        """Return whether a request lacks quota even after all leaving pods are gone."""
        if self.reclaim_requests is None:
            return False
        return bool(self.reclaim_requests.without_leaving().lacking(request.ref, request.charge))

    def _evict(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        request: ReclaimRequest | None,
        potential: PotentialVictims,
        *,
        resumes: bool,
    ) -> PreemptionOutcome:
        resumed = self._resumed(units, potential, nominations) if resumes else None
        found, released = (resumed, []) if resumed else self._cheapest(group, units, potential)
        if found is None or self._exceeds_max_victims(found):
            self.nominated_room.keep(released)
            if found is None:
                return self._none_found(units, potential)
            limit = self._profile.rules.preemption.max_victims
            too_many = PreemptionVerdict.TOO_MANY_VICTIMS
            return PreemptionOutcome(too_many, victims=len(found.victims), limit=limit)
        victims = tuple(found.victims.values())
        if not _may_take(request, found.placements, victims):
            self.nominated_room.keep(released)
            return PROMISED
        binds = _binds(found.placements)
        displaced = self.nominated_room.keep_elsewhere(released, {bind.node for bind in binds})
        preemption = Preemption(
            *(group.waiting, binds, victims, tuple(displaced), found.domain, found.classes),
            forgotten=self._remember(group, found, potential),
        )
        self._carry_out(group, preemption, nominations)
        return _evicting(len(found.victims), cut_off=self._trial.effort.cut_off)

    def _exceeds_max_victims(self, found: Found) -> bool:
        limit = self._profile.rules.preemption.max_victims
        return bool(limit) and len(found.victims) > limit

    def _remember(
        self, group: GangGroup, found: Found, potential: PotentialVictims
    ) -> tuple[Forgotten, ...]:
        """Note which gangs yield to the group; return the earlier notes that are void now."""
        if potential.judge is None:
            return ()
        yielding = potential.judge.yielding(found.victims, found.classes)
        preemptors = [gang.key for gang in group.waiting]
        return self._memory.carry_out(preemptors, yielding, self._snapshot.taken_at)

    def _resumed(
        self,
        units: Sequence[PlacementUnit],
        potential: PotentialVictims,
        nominations: Sequence[Nominated],
    ) -> Found | None:
        """Return the victims on the nominated nodes of the group, if any victim was already chosen.

        So a restarted scheduler completes a preemption that it had begun. Nominations alone do not
        prove that it had begun, since no pod has been told to leave.
        """
        nodes = {each.pod.nominated for each in nominations}
        chosen = (each.pod.node for each in self._bound_pods.pods if each.pod.is_victim)
        if not nodes or nodes.isdisjoint(chosen):
            return None
        nominee = Nominee(units, self._trial.copy(), self._profile, nominations)
        nominee.free(self.departures.room)
        # If even all potential victims make too little room, no choice among them can help.
        fits = nominee.fits(potential.shares(potential.remaining), None)
        return cheapest.find(nominee, potential) if fits else None

    def _cheapest(
        self, group: GangGroup, units: Sequence[PlacementUnit], potential: PotentialVictims
    ) -> tuple[Found | None, list[Nominated]]:
        """Return the cheapest victims, and the room reserved for other gangs that was released.

        Reserved room is taken only if victims cost less then.
        """
        found = cheapest.find(self.departures.preemptor(units), potential)
        released = self.nominated_room.release(self.displaceable(group))
        if not released:
            return found, []
        taking = cheapest.find(self.departures.preemptor(units), potential)
        if taking is None or (found is not None and found.cost <= taking.cost):
            self.nominated_room.keep(released)
            return found, []
        return taking, released

    def _none_found(
        self, units: Sequence[PlacementUnit], potential: PotentialVictims
    ) -> PreemptionOutcome:
        """Return the reason why there are no victims.

        The offers are computed last, because their search may be cut off.
        """
        is_cut_off = self._trial.effort.cut_off
        verdict = PreemptionVerdict.NONE_FOUND if is_cut_off else PreemptionVerdict.NOT_HELPFUL
        offers = self._offers(units, potential)
        return PreemptionOutcome(verdict, cut_off=is_cut_off, offers=offers)

    def _offers(self, units: Sequence[PlacementUnit], potential: PotentialVictims) -> Offers | None:
        """Return how many members domains could take once all potential victims have left.

        None for a group that need not gather.
        """
        preemptor = self.departures.preemptor(units)
        preemptor.free(potential.shares(potential.remaining))
        return preemptor.offers()

    def _potential(
        self, group: GangGroup, units: Sequence[PlacementUnit], request: ReclaimRequest | None
    ) -> PotentialVictims | None:
        """Return the pods that the group may evict, without the victims of earlier gangs."""
        if request is None:
            return self.pools.below(group)
        return self.pools.by_reclaim(group, units, request, self.reclaim_requests, self._memory)

    def _carry_out(
        self, group: GangGroup, preemption: Preemption, nominations: Sequence[Nominated]
    ) -> None:
        """Reserve the room and note the victims, unless the group has these nominations already."""
        self.nominated_room.keep(_nominations(group, preemption.nominations))
        self.pools.spare(preemption.nominations)
        self.departures.add(preemption.victims)
        self.pools.leave(preemption.victims)
        if self.reclaim_requests is not None:
            self.reclaim_requests.leave(preemption.victims)
        devices = self._trial.devices
        frees = {
            each.pod.uid: tuple(freed)
            for each in preemption.victims
            if each.pod.uses and (freed := devices.freed_by(each.pod.uses))
        }
        if frees:
            preemption = replace(preemption, frees=frees)
        before = {each.pod.uid: each.pod.nominated for each in nominations}
        after = {bind.pod.uid: bind.node for bind in preemption.nominations}
        if preemption.victims or before != after:
            self.preemptions.append(preemption)


def _joined(preemptions: Sequence[Preemption]) -> Preemption:
    """Return several preemptions of one group as one."""
    return Preemption(
        preemptions[0].gangs,
        tuple(bind for each in preemptions for bind in each.nominations),
        tuple(victim for each in preemptions for victim in each.victims),
        tuple(pod for each in preemptions for pod in each.displaced),
        classes={gang: each for made in preemptions for gang, each in made.classes.items()},
        frees={uid: each for made in preemptions for uid, each in made.frees.items()},
    )


def _blocks(group: GangGroup, *, lost: bool) -> Iterator[PreemptionBlock]:
    """Yield the reasons why gangs of a group may not evict pods.

    If nominated room is `lost`, the group no longer waits for the pods that leave there.
    """
    for gang in group.waiting:
        block = gang.preemption_block
        if block is not None and lost and block.cause is BlockCause.UNDER_WAY:
            spent = PreemptionBlock(BlockCause.TOO_MANY_ROUNDS, rounds=block.rounds)
            block = spent if block.rounds else None
        if block is not None:
            yield block


def _may_take(
    request: ReclaimRequest | None, placements: Placements, victims: Sequence[BoundPod] = ()
) -> bool:
    """Return whether a plan delays no gang that was promised a start."""
    if request is None or request.may_take is None:
        return True
    return request.may_take(request, [*placements.values()], victims)


def _binds(placements: Placements) -> tuple[Bind, ...]:
    return tuple(bind for placement in placements.values() for bind in placement.binds)


def _ranked(snapshot: Snapshot) -> list[Nominated]:
    """Return the nominated pods, each with the priority at which its group is decided."""
    if not snapshot.nominated:
        return []
    ranks = {gang.key: group.priority for group in snapshot.groups for gang in group.waiting}
    return [
        each if rank == each.priority else each._replace(priority=rank)
        for each in snapshot.nominated
        for rank in (ranks.get(each.gang, each.priority),)
    ]


def _queues(snapshot: Snapshot) -> dict[GangKey, QueueRef | None] | None:
    """Return the queues of the gangs that wait; None where there are no queues."""
    if snapshot.queues is None:
        return None
    return {gang.key: gang.queue for group in snapshot.groups for gang in group.waiting}


def _nominations(group: GangGroup, binds: Sequence[Bind]) -> list[Nominated]:
    gangs = {pod.uid: gang for gang in group.waiting for pod in gang.pending}
    return [
        Nominated(replace(bind.pod, nominated=bind.node), gang.key, group.priority)
        for bind, gang in ((bind, gangs[bind.pod.uid]) for bind in binds)
    ]


def _evicting(victims: int, *, cut_off: bool) -> PreemptionOutcome:
    return PreemptionOutcome(PreemptionVerdict.EVICTING, victims=victims, cut_off=cut_off)
