"""Eviction units: bound pods of one gang that are evicted together, and the room they use."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.refs import GangKey

NO_PRIORITY: Final = -(2**31)
"""A priority below all."""
ANY_PRIORITY: Final = 2**31
"""A priority above all: pods of every priority may be evicted."""


ShareRank = tuple[int, Fraction]
"""A sort key of the share that a queue borrows: the queue that borrows more sorts first."""
NO_SHARE: Final[ShareRank] = (-1, Fraction(0))
"""The lowest sort key: no victim is of another queue, or there are no queues."""


Portion = GangKey | tuple[GangKey, str]
"""The members whose surplus is counted together: all members of a gang, or of one of its roles."""


class Standing(NamedTuple):
    """The rank of a gang among victims where there are queues.

    `lowest_class` is the lowest class by which the gang may be evicted. `share` is the amount that
    its queue borrows, none for the queue of the preemptor. `name` is the sort key of the gang's
    name.
    """

    lowest_class: int = 0
    share: ShareRank = NO_SHARE
    name: tuple[object, ...] = ()


NO_STANDING: Final = Standing()
"""The rank of every gang where there are no queues."""


class Usage(NamedTuple):
    """The resources that bound pods use, node row by node row.

    `used[i]` along the resource axis is the usage on node row `rows[i]`; rows ascend.
    """

    rows: IntArray
    used: IntArray
    on_row: Mapping[int, IntArray]


class Overlap(NamedTuple):
    """A pod under several budgets; pods under fewer come first, then pods with smaller uids."""

    number: int
    uid: str
    budgets: tuple[str, ...]


class EvictionUnit:
    """Bound pods of one gang, at least one, that are evicted together; `now` is in seconds.

    A pod that was already chosen as a victim costs nothing any more. Of the other pods, `going` is
    the number, `highest_priority` the highest priority, and `lost_work` the run time in
    pod-seconds, without the time before `work_since`. `unprotected` is the number of pods of Jobs
    that evictions could end for good. `covered` is the number of pods under exactly one
    PodDisruptionBudget, by budget, and `overlapping` are the pods under several budgets.
    `lowest_class` and `share` are taken from the `Standing` of the gang. `numbers` counts the pods
    of each portion of the gang; by default all are in one portion.
    """

    def __init__(
        self,
        bound_pods: Sequence[BoundPod],
        now: int,
        standing: Standing = NO_STANDING,
        numbers: Mapping[Portion, int] | None = None,
        work_since: int = 0,
    ) -> None:
        self.bound_pods = tuple(bound_pods)
        self.gang: GangKey = bound_pods[0].gang
        self.numbers = numbers or {self.gang: len(bound_pods)}
        pods = [each.pod for each in bound_pods if not each.pod.is_victim]
        self.going = len(pods)
        priorities = (each.priority for each in bound_pods if not each.pod.is_victim)
        self.highest_priority = max(priorities, default=NO_PRIORITY)
        self.unprotected = sum(
            1 for each in bound_pods if each.unprotected and not each.pod.is_victim
        )
        self.lost_work = sum([pod.lost_work(now, work_since) for pod in pods])
        self.lowest_class = standing.lowest_class if pods else 0
        self.share = standing.share if pods else NO_SHARE
        under_budget = [each for each in bound_pods if each.budgets and not each.pod.is_victim]
        self.covered = Counter(each.budgets[0] for each in under_budget if len(each.budgets) == 1)
        self.overlapping = tuple(
            Overlap(len(each.budgets), each.pod.uid, each.budgets)
            for each in under_budget
            if len(each.budgets) > 1
        )
        self._usage: Usage | None = None

    def __len__(self) -> int:
        return len(self.bound_pods)

    @functools.cached_property
    def uids(self) -> frozenset[str]:
        """The uids of the pods."""
        return frozenset(each.pod.uid for each in self.bound_pods)

    def usage(self, nodes: NodeTable) -> Usage:
        """Return the usage of the pods on existing nodes.

        Computed once: a unit is always asked with the same nodes.
        """
        if self._usage is None:
            self._usage = _usage(self.bound_pods, nodes)
        return self._usage


def of_surplus(unit: EvictionUnit) -> EvictionUnit:
    """Return a unit of surplus, ranked before whole gangs of its eviction class."""
    unit.highest_priority = NO_PRIORITY
    unit.share = NO_SHARE
    return unit


def gang_of(portion: Portion) -> GangKey:
    """Return the gang of a portion."""
    return portion if isinstance(portion, GangKey) else portion[0]


def usage_of(units: Sequence[EvictionUnit], nodes: NodeTable) -> tuple[IntArray, IntArray]:
    """Return the ascending node rows that the units use, and the resources they use on each row."""
    rooms = [each.usage(nodes) for each in units]
    if len(rooms) == 1:
        return rooms[0].rows, rooms[0].used
    if not rooms:
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(nodes.resources)), dtype=np.int64)
    rows, places = np.unique(np.concatenate([each.rows for each in rooms]), return_inverse=True)
    used = np.zeros((len(rows), len(nodes.resources)), dtype=np.int64)
    np.add.at(used, places, np.concatenate([each.used for each in rooms]))
    return rows, used


def _usage(bound_pods: Iterable[BoundPod], nodes: NodeTable) -> Usage:
    on_row: dict[int, IntArray] = {}
    for each in bound_pods:
        row = nodes.rows.get(each.pod.node)
        if row is not None:
            used = _request(each.pod.pod_class, nodes)
            on_row[row] = on_row[row] + used if row in on_row else used
    rows = sorted(on_row)
    used = np.array([on_row[row] for row in rows], dtype=np.int64)
    return Usage(
        np.array(rows, dtype=np.int64), used.reshape(len(rows), len(nodes.resources)), on_row
    )


def _request(pod_class: PodClass, nodes: NodeTable) -> IntArray:
    return nodes.cached(("request", pod_class), functools.partial(nodes.vector, pod_class.requests))


# Surplus of gangs that shrink by whole steps: members with the highest ranks go first. A step goes
# only with all steps before it. Gangs without steps lose any of their surplus.

Step = tuple[BoundPod, ...]


class SurplusSteps:
    """The steps by which elastic gangs shrink, for each gang in the order of eviction."""

    def __init__(self, bound_pods: BoundPods, may_go: Callable[[BoundPod], bool]) -> None:
        """Find the steps; a pod that must stay ends the steps of its gang."""
        uids = {uid: gang for gang, steps in bound_pods.steps.items() for s in steps for uid in s}
        pods = {each.pod.uid: each for each in bound_pods.pods if each.pod.uid in uids}
        self._steps: dict[GangKey, list[Step]] = {}
        for gang, steps in bound_pods.steps.items():
            found = self._steps[gang] = []
            for step in steps:
                members = tuple(pods[uid] for uid in step if uid in pods)
                if len(members) < len(step) or not all(map(may_go, members)):
                    break
                found.append(members)
        self._places: dict[str, int] = {}
        for gang in self._steps:
            self._count(gang)

    def __contains__(self, gang: GangKey) -> bool:
        """Return whether a gang shrinks by steps."""
        return gang in self._steps

    def number(self, gang: GangKey) -> int:
        """Return the number of pods of a gang that are in steps."""
        return sum(map(len, self._steps[gang]))

    def place(self, bound_pod: BoundPod) -> int | None:
        """Return the index of a pod's step; None if it is evicted only with its whole gang."""
        return self._places.get(bound_pod.pod.uid)

    def up_to(self, gang: GangKey, place: int) -> list[BoundPod]:
        """Return the pods that are evicted with a step: those of all steps up to this one."""
        return [each for step in self._steps[gang][: place + 1] for each in step]

    def with_all(self, gang: GangKey, pods: Collection[BoundPod]) -> list[BoundPod] | None:
        """Return all pods that leave if these are evicted; None if that is the whole gang."""
        places = [self.place(each) for each in pods]
        known = [each for each in places if each is not None]
        return None if len(known) < len(places) else self.up_to(gang, max(known, default=-1))

    def apart(self, gang: GangKey, pods: Collection[BoundPod]) -> list[list[BoundPod]]:
        """Return the pods step by step in the order of being put back: the last step first."""
        uids = {each.pod.uid for each in pods}
        steps = ([each for each in step if each.pod.uid in uids] for step in self._steps[gang])
        return [step for step in steps if step][::-1]

    def leave(self, gang: GangKey, gone: Collection[str]) -> None:
        """Record that pods have left."""
        if gang not in self._steps:
            return
        for each in (each for step in self._steps[gang] for each in step):
            self._places.pop(each.pod.uid, None)
        left = (
            tuple(each for each in step if each.pod.uid not in gone) for step in self._steps[gang]
        )
        self._steps[gang] = [step for step in left if step]
        self._count(gang)

    def _count(self, gang: GangKey) -> None:
        for place, step in enumerate(self._steps[gang]):
            self._places.update((each.pod.uid, place) for each in step)
