"""Room that changes hands in a cycle: pods that leave in any case, and nominated pods."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.preemptor import Preemptor, usage_of
from gang_scheduler.scheduler.trial import Share, Trial, merged, shares

NO_ROWS: Final[IntArray] = np.zeros(0, dtype=np.int64)

# Pods that leave the nodes in any case, and the room that this frees, for one cycle.


class Departures:
    """The pods that terminate, and the victims of this cycle, which are added one by one.

    `victims` are only the victims of this cycle; `room` is the room that all the pods free.
    """

    def __init__(self, bound_pods: BoundPods, trial: Trial, profile: Profile) -> None:
        self.victims: list[BoundPod] = []
        self.room = usage_of(bound_pods.leaving, trial.nodes) if bound_pods.leaving else []
        if trial.devices.ending:
            self.room.append(Share(PodClass(), NO_ROWS, NO_ROWS, uses=trial.devices.ending))
        for share in self.room:
            trial.devices.expect(share.uses)
        self._trial = trial
        self._profile = profile
        self._gone = [each for each in bound_pods.leaving if each.pod.living]
        self._numbers = Counter(each.gang for each in self._gone)

    def add(self, victims: Sequence[BoundPod]) -> None:
        """Note pods that are evicted."""
        self.victims += victims
        self._gone += victims
        self._numbers.update(each.gang for each in victims)
        room = usage_of(victims, self._trial.nodes)
        for share in room:
            self._trial.devices.expect(share.uses)
        self.room = merged([*self.room, *room])

    @property
    def gangs(self) -> Collection[GangKey]:
        """The gangs that lose members."""
        return self._numbers.keys()

    def preemptor(self, units: Sequence[PlacementUnit]) -> Preemptor:
        """Return a group as a preemptor for which the room of the leaving pods is free."""
        preemptor = Preemptor(units, self._trial.copy(), self._profile)
        preemptor.free(self.room)
        return preemptor

    def without(self, group: GangGroup) -> GangGroup:
        """Return the group without the members that are being evicted.

        The same object if no member is evicted. A gang that loses all members counts as not
        started: it needs its minMember again.
        """
        if not self._numbers:
            return group
        keys = group.declared.union(group.keys)
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
        by_role = Counter(dict(gang.bound_by_role))
        if gang.roles:
            by_role -= Counter(each.pod.role for each in self._gone if each.gang == gang.key)
        bound_members = tuple(pod for pod in gang.bound_members if pod.uid not in gone)
        return replace(
            gang,
            bound=bound,
            bound_members=bound_members,
            was_whole=gang.was_whole and bound > 0,
            bound_by_role=tuple(by_role.items()),
        )


# Room reserved for nominated pods, against all gangs of no higher priority.


class NominatedRoom:
    """The nominations of waiting pods, which hold their room on a trial until they are released.

    `queues` returns the queues of the waiting gangs; None without queues. Few cycles ask for them.
    """

    def __init__(
        self,
        nominated: Iterable[Nominated],
        trial: Trial,
        queues: Callable[[], Mapping[GangKey, QueueRef | None] | None] = lambda: None,
    ) -> None:
        self._trial = trial
        self._queues = functools.cache(queues)
        self._by_gang: dict[GangKey, list[Nominated]] = {}
        self.keep([each for each in nominated if each.pod.nominated in trial.nodes.rows])

    def below(self, priority: int, queue: QueueRef | None = None) -> list[GangKey]:
        """Return the gangs of lower priority in the same queue that room is reserved for."""
        found = [
            key for key, nominations in self._by_gang.items() if nominations[0].priority < priority
        ]
        queues = self._queues() if found else None
        if queues is None:
            return found
        return [key for key in found if queues.get(key) == queue]

    def all(self) -> list[Nominated]:
        """Return all pods that room is reserved for."""
        return [each for nominations in self._by_gang.values() for each in nominations]

    def binds(self, gang: GangKey) -> list[Bind]:
        """Return the nominated members of a gang on their nodes."""
        return [Bind(each.pod, each.pod.nominated) for each in self._by_gang.get(gang, ())]

    def release(self, gangs: Iterable[GangKey]) -> list[Nominated]:
        """Reserve no room for these gangs any more; return the nominations that were released."""
        if not self._by_gang:
            return []
        released = [each for key in gangs for each in self._by_gang.pop(key, ())]
        if released:
            self._trial.release(*self._shares(released))
        return released

    def keep_elsewhere(self, released: Sequence[Nominated], nodes: Collection[str]) -> list[Pod]:
        """Reserve room again for gangs without a pod on these nodes; return pods of other gangs."""
        displaced = {each.gang for each in released if each.pod.nominated in nodes}
        self.keep([each for each in released if each.gang not in displaced])
        return [each.pod for each in released if each.gang in displaced]

    def keep(self, nominated: Sequence[Nominated]) -> None:
        """Reserve room again that had been released."""
        if not nominated:
            return
        for each in nominated:
            self._by_gang.setdefault(each.gang, []).append(each)
        self._trial.assume(*self._shares(nominated))

    def _shares(self, nominated: Sequence[Nominated]) -> list[Share]:
        rows = self._trial.nodes.rows
        taken = shares((each.pod.pod_class, rows[each.pod.nominated]) for each in nominated)
        return [replace(share, nominated=True) for share in taken]
