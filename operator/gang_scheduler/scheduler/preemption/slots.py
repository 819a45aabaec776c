"""How many members of one class would fit on some nodes, as victims leave them one by one."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.model.tenants import Tenant
from gang_scheduler.scheduler.trial import Trial

MOST: Final = 1_000_000
"""Slots a node of pods that ask for nothing."""


class Slots:
    """The slots of a class, a row a node, before and after some tenants have gone.

    `open` are the rows where members may be. Requests only: what else is on a node is looked at
    when the members are placed.
    """

    def __init__(self, ask: Ask, open_rows: BoolArray, trial: Trial) -> None:
        self._nodes = trial.nodes
        self._open = open_rows
        self._request = trial.nodes.vector(ask.requests)
        self._vectors: dict[Ask, IntArray] = {}
        self._asked = np.flatnonzero(self._request)
        self.free: IntArray = trial.free.copy()
        self.nothing: IntArray = np.zeros_like(self._request)
        self.slots = self.at(np.arange(len(self.free)), self.free)

    @property
    def total(self) -> int:
        """How many members fit now."""
        return int(self.slots.sum())

    def at(self, rows: IntArray, free: IntArray) -> IntArray:
        """Return the slots of nodes, if this is what is free on them."""
        if not len(self._asked):
            return np.where(self._open[rows], MOST, 0)
        times = free[:, self._asked] // self._request[self._asked]
        slots: IntArray = np.where(self._open[rows], times.min(axis=1).clip(0, MOST), 0)
        return slots

    def freed(self, victims: Iterable[Tenant], sign: int = 1) -> tuple[IntArray, IntArray]:
        """Return the open rows that victims leave, and what will be free on them.

        With the sign -1 they come back.
        """
        by_row: dict[int, IntArray] = {}
        for each in victims:
            row = self._nodes.rows.get(each.pod.node)
            if row is not None and self._open[row]:
                by_row[row] = by_row.get(row, 0) + self.used(each)
        rows = np.array(sorted(by_row), dtype=np.int64)
        if not by_row:
            return rows, self.free[rows]
        used = np.array([by_row[row] for row in rows.tolist()])
        return rows, self.free[rows] + sign * used

    def used(self, tenant: Tenant) -> IntArray:
        """Return what a tenant uses, along the resource axis."""
        ask = tenant.pod.ask
        if ask not in self._vectors:
            self._vectors[ask] = self._nodes.vector(ask.requests)
        return self._vectors[ask]

    def clears(self, row: int, freed: IntArray) -> bool:
        """Tell whether a node has one more slot with so much more free on it."""
        if not len(self._asked) or not self._open[row]:
            return False
        # A row alone, and often: at() would take three times as long.
        times = (self.free[row] + freed)[self._asked] // self._request[self._asked]
        return bool(times.min() > self.slots[row])

    def gain(self, victims: Iterable[Tenant]) -> int:
        """Return how many slots more there are without these."""
        rows, free = self.freed(victims)
        return int((self.at(rows, free) - self.slots[rows]).sum())

    def total_with(self, spared: Iterable[Tenant]) -> int:
        """Return how many slots there would be if these came back."""
        rows, free = self.freed(spared, sign=-1)
        return self.total + int((self.at(rows, free) - self.slots[rows]).sum())

    def evict(self, victims: Iterable[Tenant]) -> None:
        """Let them go for good."""
        self._settle(*self.freed(victims))

    def restore(self, spared: Iterable[Tenant]) -> None:
        """Let them come back."""
        self._settle(*self.freed(spared, sign=-1))

    def _settle(self, rows: IntArray, free: IntArray) -> None:
        self.free[rows] = free
        self.slots[rows] = self.at(rows, free)
