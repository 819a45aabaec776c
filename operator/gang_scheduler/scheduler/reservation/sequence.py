"""The gangs that hold room or quota, in the order of their expected ends.

Ends that are not known come last, the oldest start first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import Charge, QueueRef
from gang_scheduler.model.refs import GangKey

Seat = tuple[PodClass, int]
"""A pod by its class, and the row of its node."""
UNKNOWN = RunningGang()


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
    by_gang: dict[GangKey, list[BoundPod]] = {}
    leaving = list(bound_pods.leaving)
    for each in bound_pods.pods:
        if each.pod.uid in victims:
            leaving.append(each)
        elif not each.pod.pinned:
            by_gang.setdefault(each.gang, []).append(each)
    if leaving:
        yield _release(None, (clock.now, clock.now), leaving, bound_pods, rows)
    for key, pods in by_gang.items():
        known = bound_pods.gangs.get(key, UNKNOWN)
        times = clock.believed(known.ends_at), known.started_at or _start(pods)
        yield _release(key, times, pods, bound_pods, rows)


def _release(
    key: GangKey | None,
    times: tuple[int | None, int],
    pods: Iterable[BoundPod],
    bound_pods: BoundPods,
    rows: Mapping[str, int],
) -> Release:
    """Return what pods free together; `times` are their end and their start."""
    seats = tuple(
        (each.pod.pod_class, rows[each.pod.node]) for each in pods if each.pod.node in rows
    )
    charges = ((bound_pods.queues.get(each.pod.uid), each.pod.uid) for each in pods)
    charged = tuple(
        (ref, bound_pods.charges[uid])
        for ref, uid in charges
        if ref is not None and uid in bound_pods.charges
    )
    return Release(key, *times, seats, charged)


def _start(pods: Iterable[BoundPod]) -> int:
    times = (each.pod.started_at or each.pod.scheduled_at or each.pod.created_at for each in pods)
    return int(min(times))
