"""The gangs that hold room or quota, in the order of their expected ends.

Ends that are not known come last, the oldest start first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import Charge, QueueRef
from gang_scheduler.model.refs import GangKey

Seat = tuple[PodClass, int]
"""A pod by its class, and the row of its node."""


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What is free once a gang has ended: the room of its pods, and what it is charged.

    Times are in seconds. `ends_at` is None where that is not known. `nominated`: the pods are not
    on their nodes yet.
    """

    gang: GangKey | None
    ends_at: int | None
    started_at: int
    seats: tuple[Seat, ...]
    charges: tuple[tuple[QueueRef, Charge], ...] = ()
    nominated: bool = False

    def key(self) -> tuple[bool, int, str]:
        """Return the sort key; the last one only makes the order sure."""
        known = self.ends_at is not None
        when = self.started_at if self.ends_at is None else self.ends_at
        return not known, when, str(self.gang or "")


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


def of_running(
    bound_pods: BoundPods, rows: Mapping[str, int], clock: Clock, victims: Collection[str]
) -> Iterator[Release]:
    """Yield the gangs on nodes, those first that leave in any case. Pinned pods never end.

    `victims` are the uids of pods that leave as well.
    """
    leaving = list(bound_pods.leaving)
    if victims:
        leaving += [each for each in bound_pods.pods if each.pod.uid in victims]
    if leaving:
        seats, charges = _seats(leaving, rows), _charges(leaving, bound_pods)
        yield Release(None, clock.now, clock.now, seats, charges)
    for key, gang in bound_pods.gangs.items():
        some = [each for each in gang.pods if not each.pod.pinned and each.pod.uid not in victims]
        if some:
            began = gang.known.started_at or _start(some)
            ends_at = clock.believed(gang.known.ends_at)
            yield Release(key, ends_at, began, _seats(some, rows), _charges(some, bound_pods))


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
    charged = bound_pods.charged
    return tuple([charged[each.pod.uid] for each in pods if each.pod.uid in charged])


def _start(pods: Iterable[BoundPod]) -> int:
    times = (each.pod.started_at or each.pod.scheduled_at or each.pod.created_at for each in pods)
    return int(min(times))
