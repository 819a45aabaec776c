"""Bound pods of one gang that are evicted together, summed up once: their cost and their usage."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey

NOBODY: Final = -(2**31)
"""A priority below all."""


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

    A pod that is marked as a victim already costs nothing any more. Of the unmarked pods, `going`
    is the number, `highest_priority` the highest priority, `unprotected` the number of pods of Jobs
    that evictions could end for good, `lost_work` the run time in pod-seconds, `covered` the number
    of pods under one PodDisruptionBudget by that budget, and `overlapping` are the pods under
    several budgets.
    """

    def __init__(self, bound_pods: Sequence[BoundPod], now: int) -> None:
        self.bound_pods = tuple(bound_pods)
        self.gang: GangKey = bound_pods[0].gang
        pods = [each.pod for each in bound_pods if not each.pod.marked]
        self.going = len(pods)
        priorities = (each.priority for each in bound_pods if not each.pod.marked)
        self.highest_priority = max(priorities, default=NOBODY)
        self.unprotected = sum(1 for each in bound_pods if each.unprotected and not each.pod.marked)
        self.lost_work = sum([work_of(pod, now) for pod in pods])
        under_budget = [each for each in bound_pods if each.budgets and not each.pod.marked]
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


def work_of(pod: Pod, now: int) -> int:
    """Return the run time that is lost with a pod, in pod-seconds; `now` is in seconds."""
    return max(0, now - pod.started_at) if pod.started_at and not pod.marked else 0


def by_gang(bound_pods: Iterable[BoundPod]) -> dict[GangKey, list[BoundPod]]:
    """Return bound pods by gang, in their order."""
    found: dict[GangKey, list[BoundPod]] = {}
    for each in bound_pods:
        found.setdefault(each.gang, []).append(each)
    return found


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
