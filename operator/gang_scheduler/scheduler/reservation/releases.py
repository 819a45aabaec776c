"""Releases: the room, quota and devices that running and placed gangs give back, and their sum.

Gangs release in the order of their expected ends. Gangs with unknown ends come last, the one with
the oldest start first.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gang_scheduler.model.bound_pods import BoundGang, BoundPod, BoundPods
from gang_scheduler.model.device_needs import Uses
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.pod_affinity import number_of_columns
from gang_scheduler.scheduler.quota.charges import add_up
from gang_scheduler.scheduler.trial import Share

MOST_COLUMNS: Final = 8
"""A thousand pods with a thousand terms each would otherwise take a second to end."""
Seat = tuple[PodClass, int]
"""A pod by its class, and the row of its node."""


@dataclass(frozen=True, eq=False)
class Release:
    """The room and quota that become free once a gang has ended.

    Times are in seconds. `ends_at` is None if the end is not known. `nominated`: the pods are not
    on their nodes yet. Without a `gang`, the pods are leaving already, and the release comes first.
    The rows of `seats` are rows of `nodes`. `pods` are on nodes: they free the devices of their
    claims, and those of `ending` are free without any pod.
    """

    nodes: NodeTable
    gang: GangKey | None
    ends_at: int | None
    started_at: int
    seats: tuple[Seat, ...]
    charges: tuple[tuple[QueueRef, Charge], ...] = ()
    nominated: bool = False
    pods: tuple[BoundPod, ...] = ()
    ending: Uses = ()

    @functools.cached_property
    def uses(self) -> Uses:
        """The uses of claims that end with the release."""
        return (*self.ending, *(use for each in self.pods for use in each.pod.uses))

    @functools.cached_property
    def key(self) -> tuple[bool, bool, int, str]:
        """The sort key, computed once; the last part only makes the order unique."""
        known = self.ends_at is not None
        when = self.started_at if self.ends_at is None else self.ends_at
        return self.gang is not None, not known, when, str(self.gang or "")

    @functools.cached_property
    def others(self) -> tuple[Seat, ...]:
        """The pods that take more on a node than resources."""
        return tuple(each for each in self.seats if not _is_plain(each[0]))

    @functools.cached_property
    def room(self) -> tuple[IntArray, IntArray]:
        """The node rows of all other pods, and their requests: (pods, resources)."""
        nodes = self.nodes
        plain = [each for each in self.seats if _is_plain(each[0])]
        rows = np.array([row for _, row in plain], dtype=np.int64)
        vectors = {each: nodes.vector(each.requests) for each, _ in plain}
        requests = np.array([vectors[each] for each, _ in plain], dtype=np.int64)
        return rows, requests.reshape(len(rows), len(nodes.resources))


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, and how far ahead expected ends are trusted; in seconds."""

    now: int
    window: int

    def expected_end(self, ends_at: int | None) -> int | None:
        """Return an end if it is near enough to be trusted, but never a time in the past."""
        if ends_at is None or ends_at > self.now + self.window:
            return None
        return max(ends_at, self.now)

    def end_of(self, group: GangGroup) -> int | None:
        """Return when a group that starts now will end; None if that is unknown."""
        durations = [gang.duration for gang in group.waiting]
        known = [each for each in durations if each is not None]
        if len(known) < len(durations):
            return None
        return self.expected_end(self.now + max(known))


class Running:
    """The gangs on nodes. The release of each is computed once, and again when it loses pods."""

    def __init__(
        self, bound_pods: BoundPods, nodes: NodeTable, clock: Clock, ending: Uses = ()
    ) -> None:
        self._bound_pods = bound_pods
        self._ending = ending
        self._nodes = nodes
        self._clock = clock
        self._victims: set[str] = set()
        self._leaving = [*bound_pods.leaving]
        self._by_gang: dict[GangKey | None, Release] = {}
        # This runs for each gang on nodes in every cycle, and hardly any of them has changed.
        held, end_of = self._release, clock.expected_end
        for key, gang in bound_pods.gangs.items():
            known = gang.known.ends_at
            ends_at = None if known is None else end_of(known)
            release = gang.cached("release", (nodes, ends_at), functools.partial(held, ends_at))
            if release is not None:
                self._by_gang[key] = release
        self._sum_up()

    def releases(self, victims: Sequence[BoundPod]) -> Iterable[Release]:
        """Return the releases of all gangs, and one release for all pods that are leaving already.

        The claims of `ending`, whose users have all ended, are released with the latter.
        Pinned pods never end. `victims` are leaving, too; each call must repeat the victims of the
        last one and may add more.
        """
        new = victims[len(self._victims) :]
        if new:
            self._victims.update(each.pod.uid for each in new)
            self._leaving += new
            for key in dict.fromkeys(each.gang for each in new):
                self._compute(key)
            self._sum_up()
        return self._by_gang.values()

    def _compute(self, key: GangKey) -> None:
        """Note what a gang on nodes holds now that some of its pods are victims."""
        self._by_gang.pop(key, None)
        gang = self._bound_pods.gangs.get(key)
        if gang is None:
            return
        release = self._release(self._clock.expected_end(gang.known.ends_at), gang)
        if release is not None:
            self._by_gang[key] = release

    def _release(self, ends_at: int | None, gang: BoundGang) -> Release | None:
        """Return what a gang holds with pods that are no victims; None if no pod ever ends."""
        pods = gang.pods
        some = [each for each in pods if not (each.pod.pinned or each.pod.uid in self._victims)]
        if not some:
            return None
        began = gang.known.started_at or _start(some)
        seats, charges = _seats(some, self._nodes.rows), _charges(some, self._bound_pods)
        return Release(
            *(self._nodes, some[0].gang, ends_at, began, seats, charges), pods=tuple(some)
        )

    def _sum_up(self) -> None:
        """Note the room and quota of the pods that are leaving already."""
        if self._leaving or self._ending:
            now = self._clock.now
            self._by_gang[None] = release_of_victims(
                self._leaving, self._bound_pods, self._nodes, now, self._ending
            )


def release_of_victims(
    victims: Iterable[BoundPod],
    bound_pods: BoundPods,
    nodes: NodeTable,
    now: int,
    ending: Uses = (),
) -> Release:
    """Return the room, quota and devices that victims release."""
    some = tuple(victims)
    seats, charges = _seats(some, nodes.rows), _charges(some, bound_pods)
    return Release(nodes, None, now, now, seats, charges, pods=some, ending=ending)


def _seats(pods: Iterable[BoundPod], rows: Mapping[str, int]) -> tuple[Seat, ...]:
    return tuple(
        [(each.pod.pod_class, rows[each.pod.node]) for each in pods if each.pod.node in rows]
    )


def _charges(
    pods: Iterable[BoundPod], bound_pods: BoundPods
) -> tuple[tuple[QueueRef, Charge], ...]:
    """Return the charges of pods by queue."""
    charged, sums = bound_pods.charged, dict[QueueRef, dict[FlavorResource, int]]()
    for each in pods:
        if each.pod.uid in charged:
            ref, charge = charged[each.pod.uid]
            add_up(sums, ref, charge)
    return tuple(sums.items())


def _start(pods: Iterable[BoundPod]) -> int:
    times = (each.pod.ran_since for each in pods)
    return int(min(times))


class Sum:
    """The room and quota of some gangs together. Changing to other gangs costs the difference."""

    def __init__(self, nodes: NodeTable) -> None:
        self.room: IntArray = np.zeros((len(nodes), len(nodes.resources)), dtype=np.int64)
        """The resources of pods that take nothing else: (nodes, resources)."""
        self.charges: dict[QueueRef, dict[FlavorResource, int]] = {}
        self._others: dict[tuple[PodClass, bool], Counter[int]] = {}
        self._of: dict[int, Release] = {}

    def replace_with(self, releases: Sequence[Release]) -> None:
        """Become the sum of these gangs."""
        wanted = {id(each): each for each in releases}
        self._add([each for key, each in self._of.items() if key not in wanted], -1)
        self._add([each for key, each in wanted.items() if key not in self._of], 1)
        self._of = wanted

    def uses(self) -> Uses:
        """Return the uses of claims that end with these gangs. Linear in their pods."""
        return tuple(use for each in self._of.values() for use in each.uses)

    def shares(self) -> list[Share]:
        """Return the room of pods that take more than resources, for each class."""
        return [
            Share(pod_class, np.array([*rows]), np.array([*rows.values()]), nominated)
            for (pod_class, nominated), rows in self._others.items()
            if rows
        ]

    def __len__(self) -> int:
        return len(self._of)

    def _add(self, releases: Iterable[Release], sign: int) -> None:
        plain = []
        for each in releases:
            plain.append(each.room)
            for ref, charge in each.charges:
                add_up(self.charges, ref, charge, sign)
            for pod_class, row in each.others:
                others = self._others.setdefault((pod_class, each.nominated), Counter())
                others[row] += sign
                if not others[row]:
                    del others[row]
        if plain:
            rows, requests = (np.concatenate(each) for each in zip(*plain, strict=True))
            np.add.at(self.room, rows, sign * requests)


def _is_plain(pod_class: PodClass) -> bool:
    """Return whether pods of a class take nothing but resources on a node.

    Pods with very many terms about others, or very many about them, count as if they did. Their
    terms stay when they end, so a start may be promised too late, or too early for a gang that must
    be near such pods.
    """
    return _has_many_terms(pod_class) or _takes_resources_alone(pod_class)


def _has_many_terms(pod_class: PodClass) -> bool:
    has_terms = pod_class.selected_by or pod_class.pod_affinity is not None
    return bool(has_terms) and number_of_columns(pod_class) > MOST_COLUMNS


def _takes_resources_alone(pod_class: PodClass) -> bool:
    return not (pod_class.host_ports or pod_class.selected_by) and (
        pod_class.pod_affinity is None and pod_class.storage is None and pod_class.devices is None
    )
