"""How many members of one class would fit on some nodes, as victims leave them one by one."""

import copy
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit, usage_of
from gang_scheduler.scheduler.trial import Share, Trial

MOST: Final = 1_000_000
"""Slots a node of pods that ask for nothing."""


class Slots:
    """The slots of a class, a row a node, before and after some bound pods are evicted.

    `open_rows` are the rows where members may be, and `request` is what one of them asks for. Only
    requests count: ports, volumes and affinities are looked at when the members are placed.
    """

    def __init__(self, pod_class: PodClass, open_rows: BoolArray, trial: Trial) -> None:
        self.nodes = trial.nodes
        self.effort = trial.effort
        self._open = open_rows
        self.request = trial.nodes.vector(pod_class.requests)
        self._asked = np.flatnonzero(self.request)
        self.free: IntArray = trial.free.copy()
        self.nothing: IntArray = np.zeros_like(self.request)
        self.slots = self._on_all(self.free)

    @property
    def total(self) -> int:
        """How many members fit now."""
        return int(self.slots.sum())

    def at(self, rows: IntArray, free: IntArray) -> IntArray:
        """Return the slots of nodes with so much free on them."""
        if not len(self._asked):
            return np.where(self._open[rows], MOST, 0)
        times = free[:, self._asked] // self.request[self._asked]
        slots: IntArray = np.where(self._open[rows], times.min(axis=1).clip(0, MOST), 0)
        return slots

    def clears(self, row: int, freed: IntArray) -> bool:
        """Return whether a node has one more slot with so much more free on it."""
        if not len(self._asked) or not self._open[row]:
            return False
        # A row alone, and often: at() would take three times as long.
        times = (self.free[row] + freed)[self._asked] // self.request[self._asked]
        return bool(times.min() > self.slots[row])

    def gain(self, units: Sequence[EvictionUnit], sign: int = 1) -> int:
        """Return how many slots more there are without units; with the sign -1, with them back."""
        rows, used = usage_of(units, self.nodes)
        return int((self.at(rows, self.free[rows] + sign * used) - self.slots[rows]).sum())

    def total_with(self, spared: Sequence[EvictionUnit]) -> int:
        """Return how many slots there would be with the spared units back."""
        return self.total + self.gain(spared, sign=-1)

    def copy(self) -> "Slots":
        """Return the same slots, to be kept as they are."""
        other = copy.copy(self)
        other.free, other.slots = self.free.copy(), self.slots.copy()
        return other

    def with_more(self, freed: IntArray) -> IntArray:
        """Return the slots that there would be with so much more free, nodes by resources."""
        return self._on_all(self.free + freed)

    def needed_for_one_more(self, rows: IntArray) -> IntArray:
        """Return what must be freed on nodes at least for one more slot, rows by resources."""
        return self.request * (self.slots[rows] + 1)[:, np.newaxis] - self.free[rows]

    def without(self, leaving: Iterable[Share]) -> IntArray:
        """Return the slots that there would be without the `leaving` pods."""
        free = self.free.copy()
        for share in leaving:
            used = self.nodes.vector(share.pod_class.requests)
            free[share.rows] += share.counts[:, np.newaxis] * used
        return self._on_all(free)

    def evict(self, units: Sequence[EvictionUnit], sign: int = 1) -> None:
        """Count units as evicted; with the sign -1, as put back."""
        rows, used = usage_of(units, self.nodes)
        self.free[rows] += sign * used
        self.slots[rows] = self.at(rows, self.free[rows])

    def restore(self, spared: Sequence[EvictionUnit]) -> None:
        """Count units as put back."""
        self.evict(spared, sign=-1)

    def _on_all(self, free: IntArray) -> IntArray:
        return self.at(np.arange(len(free)), free)
