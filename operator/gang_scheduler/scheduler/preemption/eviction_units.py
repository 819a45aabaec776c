"""Bound pods of one gang that are evicted together, summed up once: their cost and their usage."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey

NO_PRIORITY: Final = -(2**31)
"""A priority below all."""


ShareRank = tuple[int, Fraction]
"""How much a queue borrows, so that of two the one that borrows more is less."""
NO_SHARE: Final[ShareRank] = (-1, Fraction(0))
"""Less than all: no victim is of another queue, or there are no queues."""


Portion = GangKey | tuple[GangKey, str]
"""Members whose surplus counts together: those of a gang, or of one of its roles."""


class Standing(NamedTuple):
    """How the eviction of a gang compares where there are queues.

    `lowest_class` is the lowest by which it may go, `share` what its queue borrows, none if the
    queue is that of the preemptor, and `name` the sort key of its name.
    """

    lowest_class: int = 0
    share: ShareRank = NO_SHARE
    name: tuple[object, ...] = ()


NO_STANDING: Final = Standing()
"""That of all gangs where there are no queues."""


class Usage(NamedTuple):
    """What bound pods use: `used[i]` along the resource axis on node row `rows[i]`; rows ascend."""

    rows: IntArray
    used: IntArray
    on_row: Mapping[int, IntArray]


class Overlap(NamedTuple):
    """A pod under several budgets; pods under fewer come first, then pods with smaller uids."""

    number: int
    uid: str
    budgets: tuple[str, ...]


class EvictionUnit:
    """Bound pods of one gang, at least one; `now` is in seconds.

    A pod that was chosen as a victim already costs nothing any more. Of the others, `going` is the
    number, `highest_priority` the highest priority, `unprotected` the number of pods of Jobs
    that evictions could end for good, `lost_work` the run time in pod-seconds, `covered` the number
    of pods under one PodDisruptionBudget by that budget, and `overlapping` are the pods under
    several budgets. `lowest_class` and `share` are those of its standing. `numbers` are the pods of
    each portion of the gang, all in one portion unless they are given. What the pods did before
    `work_since` is not lost.
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
        pods = [each.pod for each in bound_pods if not each.pod.chosen]
        self.going = len(pods)
        priorities = (each.priority for each in bound_pods if not each.pod.chosen)
        self.highest_priority = max(priorities, default=NO_PRIORITY)
        self.unprotected = sum(1 for each in bound_pods if each.unprotected and not each.pod.chosen)
        self.lost_work = sum([work_of(pod, now, work_since) for pod in pods])
        self.lowest_class = standing.lowest_class if pods else 0
        self.share = standing.share if pods else NO_SHARE
        under_budget = [each for each in bound_pods if each.budgets and not each.pod.chosen]
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
        """Return what the pods use on the nodes that exist.

        Computed once: a unit is always asked with the same nodes.
        """
        if self._usage is None:
            self._usage = _usage(self.bound_pods, nodes)
        return self._usage


def work_of(pod: Pod, now: int, since: int = 0) -> int:
    """Return the run time that is lost with a pod, in pod-seconds; times are in seconds.

    What it did before `since` is not lost.
    """
    if not pod.started_at or pod.chosen:
        return 0
    return max(0, now - max(pod.started_at, since))


def of_surplus(unit: EvictionUnit) -> EvictionUnit:
    """Return surplus as it compares where there are queues: before any whole gang of its class."""
    unit.highest_priority = NO_PRIORITY
    unit.share = NO_SHARE
    return unit


def gang_of(portion: Portion) -> GangKey:
    """Return the gang of a portion."""
    return portion if isinstance(portion, GangKey) else portion[0]


def usage_of(units: Sequence[EvictionUnit], nodes: NodeTable) -> tuple[IntArray, IntArray]:
    """Return the node rows that any of the units uses, ascending, and what all use on each."""
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
    return nodes.derive(("request", pod_class), functools.partial(nodes.vector, pod_class.requests))
