"""What becomes of a group that does not fit: it waits for pods that leave, or evicts pods."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.evictions import Forgotten
from gang_scheduler.model.gangs import BlockCause, Gang, GangGroup
from gang_scheduler.model.plan import Bind, Offers, Preemption, PreemptionOutcome, PreemptionVerdict
from gang_scheduler.model.pod_affinity import PodSelector
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption import search
from gang_scheduler.scheduler.preemption.judge import Judge
from gang_scheduler.scheduler.preemption.nominated_room import NominatedRoom
from gang_scheduler.scheduler.preemption.potential_victims import PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import Nominee, Placements, Preemptor, usage_of
from gang_scheduler.scheduler.preemption.search import ANY_PRIORITY, Found
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts
from gang_scheduler.scheduler.rights.claims import Claim
from gang_scheduler.scheduler.rights.rounds import Rounds
from gang_scheduler.scheduler.rights.yielded import Memory
from gang_scheduler.scheduler.trial import Trial, merged

NO_VICTIMS = PreemptionOutcome(PreemptionVerdict.NO_VICTIMS)
TERMINATING = PreemptionOutcome(PreemptionVerdict.TERMINATING)

PODS_A_LOOK: Final = 2
"""How many potential victims are looked at in the time of a look."""

MOST_LOOKS: Final = 1_500
"""Looks that all potential victims of one gang count as at most."""

_VictimsKey = tuple[int, frozenset[GangKey], frozenset[PodSelector]]
"""Up to which priority pods may be evicted, the gangs that are spared, and the pods that are."""


class Foreseen(NamedTuple):
    """What evictions for a group would come to: the highest class, and whether it borrows then."""

    highest_class: int = 0
    borrows: bool = False


class PreemptionEvaluator:
    """The preemptions of one cycle: later gangs see the victims and nominations of earlier ones."""

    def __init__(self, snapshot: Snapshot, trial: Trial, profile: Profile) -> None:
        self._snapshot = snapshot
        self._trial = trial
        self._profile = profile
        self._bound_pods = snapshot.bound_pods or BoundPods()
        # The room of all pods that leave in any case; victims of this cycle are added.
        self._left = usage_of(self._bound_pods.leaving, trial.nodes)
        self._victims: list[BoundPod] = []
        self._gone = [each for each in self._bound_pods.leaving if each.pod.living]
        self._numbers = Counter(each.gang for each in self._gone)
        self._by_priority: dict[_VictimsKey, PotentialVictims] = {}
        self._leant_on: frozenset[PodSelector] = frozenset()
        self._bound = frozenset(each.gang for each in self._bound_pods.pods)
        evictable = (each.priority for each in self._bound_pods.pods if each.evictable)
        self._lowest = min(evictable, default=None)
        self._memory = Memory(snapshot.yielded)
        self.nominated_room = NominatedRoom(_ranked(snapshot), trial, _queues(snapshot))
        self.preemptions: list[Preemption] = []
        self.rounds: Rounds | None = None
        """What queues say of evictions, where there are any."""

    def attempt(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        claim: Claim | None = None,
    ) -> PreemptionOutcome:
        """Make room for a group that does not fit; return the outcome.

        `nominations` is the room that was reserved for the group and is released now. The room is
        reserved again only if the group goes on waiting. A `claim` is what the group asks of its
        queue: quota is freed, too.
        """
        if not any(gang.lacking for gang in group.waiting):
            return NO_VICTIMS  # No pod is evicted for surplus.
        blocks = [each for gang in group.waiting if (each := gang.preemption_block) is not None]
        causes = {block.cause for block in blocks}
        displacing = causes <= {BlockCause.UNDER_WAY}
        will_pay = claim is None or not self._lacks_quota(claim)
        waits = (
            self._wait_for_leaving(group, units, nominations, displacing=displacing)
            if will_pay
            else None
        )
        if waits is not None:
            self._carry_out(group, waits, nominations)
            return TERMINATING
        if nominations and BlockCause.UNDER_WAY in causes:
            self.nominated_room.keep(nominations)
            return TERMINATING
        potential = self._potential_victims(group, units, claim)
        if potential is None:
            return NO_VICTIMS
        if blocks:
            return PreemptionOutcome(PreemptionVerdict.BLOCKED, block=min(blocks))
        return self._evict(group, units, nominations, potential)

    def foreseen(
        self, group: GangGroup, units: Sequence[PlacementUnit], claim: Claim
    ) -> Foreseen | None:
        """Return what an attempt would come to that finds victims; None if it finds none."""
        if not any(gang.lacking for gang in group.waiting):
            return None
        if not self._lacks_quota(claim) and self._preemptor(units).place(None) is not None:
            return Foreseen()
        if any(gang.preemption_block is not None for gang in group.waiting):
            return None
        potential = self._potential_victims(group, units, claim)
        found = search.find(self._preemptor(units), potential) if potential is not None else None
        if found is None or potential is None or potential.judge is None:
            return None
        limit = self._profile.preemption.most_victims
        if limit and len(found.victims) > limit:
            return None
        borrows = potential.judge.borrows(found.victims)
        return Foreseen(max(found.classes.values(), default=0), borrows)

    def attempt_each(
        self,
        group: GangGroup,
        unit: PlacementUnit,
        nominations: Sequence[Nominated],
        claim: Claim | None = None,
    ) -> PreemptionOutcome:
        """Make room for members that are gangs of one, for each by itself, in one preemption."""
        before = len(self.preemptions)
        outcomes: list[PreemptionOutcome] = []
        full: set[PodClass] = set()
        for pod in unit.members:
            # Without room for one pod there is none for another pod of its class.
            if pod.uid in unit.required and pod.pod_class not in full:
                beside = unit.after(self.nominated_room.binds(group.waiting[0].key))
                alone = replace(beside, required=frozenset([pod.uid]))
                own = [each for each in nominations if each.pod.uid == pod.uid]
                asked = claim.of([pod]) if claim is not None else None
                outcomes.append(self.attempt(group, [alone], own, asked))
                if not outcomes[-1].waits:
                    full.add(pod.pod_class)
                elif asked is not None and self.rounds is not None:
                    self.rounds.expect(asked)
        if self.rounds is not None:
            self.rounds.expect(None)
        made = self.preemptions[before:]
        if len(made) > 1:
            self.preemptions[before:] = [_joined(made)]
        victims = sum(each.victims for each in outcomes if each.waits)
        if victims:
            return _evicting(victims, cut_off=any(each.cut_off for each in outcomes))
        return next((each for each in outcomes if each.waits), outcomes[0])

    def without_victims(self, group: GangGroup) -> GangGroup:
        """Return the group without the members that are being evicted.

        The same object if no member is evicted. A gang that loses all members counts as not
        started: it needs its minMember again.
        """
        if not self._numbers:
            return group
        keys = {gang.key for gang in group.gangs} | group.declared
        if keys.isdisjoint(self._numbers):
            return group
        gone = {each.pod.uid for each in self._gone if each.gang in keys}
        started = tuple(pod for pod in group.started if pod.uid not in gone)
        gangs = tuple(self._without(gone, gang) for gang in group.gangs)
        return replace(group, gangs=gangs, started=started)

    def _without(self, gone: Collection[str], gang: Gang) -> Gang:
        evicted = self._numbers[gang.key]
        if not evicted:
            return gang
        bound = max(0, gang.bound - evicted)
        bound_members = tuple(pod for pod in gang.bound_members if pod.uid not in gone)
        return replace(
            gang, bound=bound, bound_members=bound_members, was_whole=gang.was_whole and bound > 0
        )

    def displace(
        self, group: GangGroup, released: Sequence[Nominated], nodes: Collection[str]
    ) -> None:
        """Note that a group was placed on these nodes after this reserved room was released."""
        pods = self.nominated_room.keep_elsewhere(released, nodes)
        if pods:
            self.preemptions.append(Preemption(group.waiting, (), displaced=tuple(pods)))

    def displaceable(self, group: GangGroup) -> list[GangKey]:
        """Return the gangs whose reserved room the group may take: of lower priority."""
        return self.nominated_room.below(group.priority, group.queue)

    def own(self, group: GangGroup) -> frozenset[GangKey]:
        """Return the gangs of the group that have pods on nodes: a group never evicts its own."""
        return group.declared & self._bound

    def _wait_for_leaving(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        *,
        displacing: bool,
    ) -> Preemption | None:
        """Return where the group fits once the leaving pods have left; None if it does not.

        The group stays on its nominated nodes if there is room: other gangs were placed around
        them. If it fits nowhere else, a group that may evict takes room that is reserved for lower
        priorities.
        """
        if not self._left:
            return None
        preemptor = self._preemptor(units)
        found = preemptor.place_as(nominations) or preemptor.place(None)
        if found is not None:
            return Preemption(group.waiting, _binds(found))
        lower = self.displaceable(group) if displacing else ()
        released = self.nominated_room.release(lower)
        if not released:
            return None
        found = self._preemptor(units).place(None)
        if found is None:
            self.nominated_room.keep(released)
            return None
        binds = _binds(found)
        displaced = self.nominated_room.keep_elsewhere(released, {bind.node for bind in binds})
        return Preemption(group.waiting, binds, displaced=tuple(displaced))

    def _lacks_quota(self, claim: Claim) -> bool:
        """Return whether a claim lacks quota even once all that leaves has left."""
        if self.rounds is None:
            return False
        return bool(self.rounds.without_leaving().lacking(claim.ref, claim.charge))

    def _evict(
        self,
        group: GangGroup,
        units: Sequence[PlacementUnit],
        nominations: Sequence[Nominated],
        potential: PotentialVictims,
    ) -> PreemptionOutcome:
        resumed = self._resumed(units, potential, nominations)
        found, released = (resumed, []) if resumed else self._cheapest(group, units, potential)
        limit = self._profile.preemption.most_victims
        if found is None or (limit and len(found.victims) > limit):
            self.nominated_room.keep(released)
            if found is None:
                return self._none_found(units, potential)
            too_many = PreemptionVerdict.TOO_MANY_VICTIMS
            return PreemptionOutcome(too_many, victims=len(found.victims), limit=limit)
        binds = _binds(found.placements)
        displaced = self.nominated_room.keep_elsewhere(released, {bind.node for bind in binds})
        victims = tuple(found.victims.values())
        preemption = Preemption(
            *(group.waiting, binds, victims, tuple(displaced), found.domain, found.classes),
            forgotten=self._remember(group, found, potential),
        )
        self._carry_out(group, preemption, nominations)
        return _evicting(len(found.victims), cut_off=self._trial.effort.cut_off)

    def _remember(
        self, group: GangGroup, found: Found, potential: PotentialVictims
    ) -> tuple[Forgotten, ...]:
        """Note which gangs yield to the group; return what must not count any longer."""
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
        """Return the victims on the nominated nodes of the group, if any is marked already.

        So a restarted scheduler goes on with the preemption that it had begun.
        """
        nodes = {each.pod.nominated for each in nominations}
        marked = (each.pod.node for each in self._bound_pods.pods if each.pod.marked)
        if not nodes or nodes.isdisjoint(marked):
            return None
        nominee = Nominee(units, self._trial.copy(), self._profile, nominations)
        nominee.free(self._left)
        # If the group does not fit without all potential victims, no choice of them need be tried.
        fits = nominee.fits(potential.shares(potential.remaining), None)
        return search.find(nominee, potential) if fits else None

    def _cheapest(
        self, group: GangGroup, units: Sequence[PlacementUnit], potential: PotentialVictims
    ) -> tuple[Found | None, list[Nominated]]:
        """Return the cheapest victims, and the room reserved for other gangs that was released.

        Reserved room is taken only if victims cost less then.
        """
        found = search.find(self._preemptor(units), potential)
        released = self.nominated_room.release(self.displaceable(group))
        if not released:
            return found, []
        taking = search.find(self._preemptor(units), potential)
        if taking is None or (found is not None and found.cost <= taking.cost):
            self.nominated_room.keep(released)
            return found, []
        return taking, released

    def _none_found(
        self, units: Sequence[PlacementUnit], potential: PotentialVictims
    ) -> PreemptionOutcome:
        """Return why there are no victims; the offers come last, because they may be cut off."""
        is_cut_off = self._trial.effort.cut_off
        verdict = PreemptionVerdict.NONE_FOUND if is_cut_off else PreemptionVerdict.NOT_HELPFUL
        return PreemptionOutcome(verdict, offers=self._potential(units, potential))

    def _potential(
        self, units: Sequence[PlacementUnit], potential: PotentialVictims
    ) -> Offers | None:
        """Return what the domains offer without any potential victim, if the group must gather."""
        preemptor = self._preemptor(units)
        preemptor.free(potential.shares(potential.remaining))
        return preemptor.offers()

    def _preemptor(self, units: Sequence[PlacementUnit]) -> Preemptor:
        """Return the group as a preemptor, with the room that the leaving pods free."""
        preemptor = Preemptor(units, self._trial.copy(), self._profile)
        preemptor.free(self._left)
        return preemptor

    def _potential_victims(
        self, group: GangGroup, units: Sequence[PlacementUnit], claim: Claim | None
    ) -> PotentialVictims | None:
        """Return the pods that the group may evict, without the victims of earlier gangs."""
        if claim is not None:
            return self._by_rights(group, units, claim)
        below = group.priority - self._profile.preemption.min_difference
        if self._lowest is None or self._lowest > below:
            return None
        own = self.own(group)
        key = below, own, self._leant_on
        if key not in self._by_priority:
            # Priorities only fall from one group to the next.
            self._by_priority = {
                key: each for key, each in self._by_priority.items() if key[0] == below
            }
            spared = _sparing(own, self._leant_on, self._bound_pods)
            potential = PotentialVictims(
                VictimCosts(spared, below, self._snapshot.taken_at), self._trial.nodes
            )
            self._by_priority[key] = potential
            potential.leave(self._victims)
        return self._by_priority[key]

    def _by_rights(
        self, group: GangGroup, units: Sequence[PlacementUnit], claim: Claim
    ) -> PotentialVictims | None:
        """Return the pods that the group may have a right to evict; None if there are none."""
        if self.rounds is None or not self._trial.effort.may_begin():
            return None
        resources = self._preemptor(units).lacking_resources()
        judge = Judge(self.rounds, self.rounds.rights(claim, resources), self._memory)
        if not judge.held:
            return None
        members = [each for gang in judge.held for each in self.rounds.members(gang)]
        # Never so much that the search itself could not begin.
        self._trial.effort.spend(min(len(members) // PODS_A_LOOK, MOST_LOOKS))
        spared = _sparing(
            self.own(group), self._leant_on, replace(self._bound_pods, pods=tuple(members))
        )
        now = self._snapshot.taken_at
        judge.costs = VictimCosts(spared, ANY_PRIORITY, now, judge.standings())
        potential = PotentialVictims(judge.costs, self._trial.nodes, judge)
        potential.leave(self._victims)
        remaining = potential.victims(potential.remaining)
        return None if not remaining or judge.lacking(remaining) else potential

    def _carry_out(
        self, group: GangGroup, preemption: Preemption, nominations: Sequence[Nominated]
    ) -> None:
        """Reserve the room and note the victims, unless the group is nominated just so already."""
        self.nominated_room.keep(_nominated(group, preemption.nominations))
        self._leant_on |= _affinities(preemption.nominations)
        self._leave(preemption.victims)
        before = {each.pod.uid: each.pod.nominated for each in nominations}
        after = {bind.pod.uid: bind.node for bind in preemption.nominations}
        if preemption.victims or before != after:
            self.preemptions.append(preemption)

    def _leave(self, victims: Sequence[BoundPod]) -> None:
        self._victims += victims
        self._gone += victims
        self._numbers.update(each.gang for each in victims)
        self._left = merged([*self._left, *usage_of(victims, self._trial.nodes)])
        if self.rounds is not None:
            self.rounds.leave(victims)
        for potential in self._by_priority.values():
            potential.leave(victims)


def _joined(preemptions: Sequence[Preemption]) -> Preemption:
    """Return several preemptions of one group as one."""
    return Preemption(
        preemptions[0].gangs,
        tuple(bind for each in preemptions for bind in each.nominations),
        tuple(victim for each in preemptions for victim in each.victims),
        tuple(pod for each in preemptions for pod in each.displaced),
        classes={gang: each for made in preemptions for gang, each in made.classes.items()},
    )


def _affinities(binds: Sequence[Bind]) -> frozenset[PodSelector]:
    """Return the selectors of the pods that members must have near: those pods must stay."""
    pod_affinity = (bind.pod.pod_class.pod_affinity for bind in binds)
    affinities = (each.affinity for each in pod_affinity if each is not None)
    return frozenset(each.selector for each in affinities if each is not None)


def _sparing(
    own: frozenset[GangKey], leant_on: frozenset[PodSelector], bound_pods: BoundPods
) -> BoundPods:
    """Return the bound pods, none evictable of the preemptor's own group or of `leant_on`."""
    if not own and not leant_on:
        return bound_pods
    spared = (
        replace(each, evictable=False)
        if each.gang in own or leant_on & each.pod.pod_class.selected_by
        else each
        for each in bound_pods.pods
    )
    return replace(bound_pods, pods=tuple(spared))


def _binds(placements: Placements) -> tuple[Bind, ...]:
    return tuple(bind for placement in placements.values() for bind in placement.binds)


def _ranked(snapshot: Snapshot) -> list[Nominated]:
    """Return the nominated pods, each with the priority at which its group is decided."""
    if not snapshot.nominated:
        return []
    ranks = {gang.key: group.priority for group in snapshot.groups for gang in group.waiting}
    return [
        each._replace(priority=ranks.get(each.gang, each.priority)) for each in snapshot.nominated
    ]


def _queues(snapshot: Snapshot) -> dict[GangKey, QueueRef | None] | None:
    """Return the queues of the gangs that wait; None where there are no queues."""
    if snapshot.queues is None:
        return None
    return {gang.key: gang.queue for group in snapshot.groups for gang in group.waiting}


def _nominated(group: GangGroup, binds: Sequence[Bind]) -> list[Nominated]:
    gangs = {pod.uid: gang for gang in group.waiting for pod in gang.pending}
    return [
        Nominated(replace(bind.pod, nominated=bind.node), gang.key, group.priority)
        for bind, gang in ((bind, gangs[bind.pod.uid]) for bind in binds)
    ]


def _evicting(victims: int, *, cut_off: bool) -> PreemptionOutcome:
    return PreemptionOutcome(PreemptionVerdict.EVICTING, victims=victims, cut_off=cut_off)
