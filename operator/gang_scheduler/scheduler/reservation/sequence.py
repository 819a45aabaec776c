"""The gangs that hold room or quota, in the order of their expected ends.

Ends that are not known come last, the oldest start first.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.quota.charges import add_up

Seat = tuple[PodClass, int]
"""A pod by its class, and the row of its node."""


@dataclass(frozen=True, eq=False)
class Release:
    """What is free once a gang has ended: the room of its pods, and what it is charged.

    Times are in seconds. `ends_at` is None where that is not known. `nominated`: the pods are not
    on their nodes yet. Without a `gang` it is what leaves in any case: that comes first.
    """

    gang: GangKey | None
    ends_at: int | None
    started_at: int
    seats: tuple[Seat, ...]
    charges: tuple[tuple[QueueRef, Charge], ...] = ()
    nominated: bool = False

    @functools.cached_property
    def key(self) -> tuple[bool, bool, int, str]:
        """The sort key, worked out once; the last one only makes the order sure."""
        known = self.ends_at is not None
        when = self.started_at if self.ends_at is None else self.ends_at
        return self.gang is not None, not known, when, str(self.gang or "")


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, and how far ahead ends are believed; in seconds."""

    now: int
    window: int

    def believed(self, ends_at: int | None) -> int | None:
        """Return an end if it counts as known: not before now."""
        if ends_at is None or ends_at > self.now + self.window:
            return None
        return max(ends_at, self.now)

    def end_of(self, group: GangGroup) -> int | None:
        """Return when a group ends that starts now; None where that is not known."""
        durations = [gang.duration for gang in group.waiting]
        known = [each for each in durations if each is not None]
        if len(known) < len(durations):
            return None
        return self.believed(self.now + max(known))


class Running:
    """The gangs on nodes: what each holds is worked out once, and anew when it loses pods."""

    def __init__(self, bound_pods: BoundPods, rows: Mapping[str, int], clock: Clock) -> None:
        self._bound_pods = bound_pods
        self._rows = rows
        self._clock = clock
        self._victims: set[str] = set()
        self._leaving = [*bound_pods.leaving]
        self._by_gang: dict[GangKey | None, Release] = {}
        for key in bound_pods.gangs:
            self._work_out(key)
        self._sum_up()

    def releases(self, victims: Sequence[BoundPod]) -> Iterable[Release]:
        """Return the gangs without what leaves in any case, and that. Pinned pods never end.

        `victims` leave as well: those of the last call, and more.
        """
        new = victims[len(self._victims) :]
        if new:
            self._victims.update(each.pod.uid for each in new)
            self._leaving += new
            for key in dict.fromkeys(each.gang for each in new):
                self._work_out(key)
            self._sum_up()
        return self._by_gang.values()

    def _work_out(self, key: GangKey) -> None:
        """Note what a gang on nodes holds, if any pod of it ends some day."""
        self._by_gang.pop(key, None)
        gang = self._bound_pods.gangs.get(key)
        pods = gang.pods if gang is not None else ()
        some = [each for each in pods if not (each.pod.pinned or each.pod.uid in self._victims)]
        if gang is not None and some:
            began = gang.known.started_at or _start(some)
            ends_at = self._clock.believed(gang.known.ends_at)
            seats, charges = _seats(some, self._rows), _charges(some, self._bound_pods)
            self._by_gang[key] = Release(key, ends_at, began, seats, charges)

    def _sum_up(self) -> None:
        """Note what leaves in any case, if anything does."""
        if self._leaving:
            now = self._clock.now
            self._by_gang[None] = of_victims(self._leaving, self._bound_pods, self._rows, now)


def of_victims(
    victims: Iterable[BoundPod], bound_pods: BoundPods, rows: Mapping[str, int], now: int
) -> Release:
    """Return what is free once victims have gone."""
    some = [*victims]
    return Release(None, now, now, _seats(some, rows), _charges(some, bound_pods))


def _seats(pods: Iterable[BoundPod], rows: Mapping[str, int]) -> tuple[Seat, ...]:
    return tuple(
        [(each.pod.pod_class, rows[each.pod.node]) for each in pods if each.pod.node in rows]
    )


def _charges(
    pods: Iterable[BoundPod], bound_pods: BoundPods
) -> tuple[tuple[QueueRef, Charge], ...]:
    """Return what pods are charged, once for each queue."""
    charged, sums = bound_pods.charged, dict[QueueRef, dict[FlavorResource, int]]()
    for each in pods:
        if each.pod.uid in charged:
            ref, charge = charged[each.pod.uid]
            add_up(sums, ref, charge)
    return tuple(sums.items())


def _start(pods: Iterable[BoundPod]) -> int:
    times = (each.pod.started_at or each.pod.scheduled_at or each.pod.created_at for each in pods)
    return int(min(times))
