"""The what-if ledger: room is taken and given back, and undo is exact."""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask, HostPort
from gang_scheduler.model.snapshot import Snapshot

NO_PORTS: frozenset[HostPort] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Room for pods of one class: `counts[i]` of them on node row `rows[i]`; rows are distinct."""

    ask: Ask
    rows: IntArray
    counts: IntArray


def shares(placed: Iterable[tuple[Ask, int]]) -> list[Share]:
    """Return the shares of single pods, given as what they ask for and the row of their node."""
    rows_by_ask: dict[Ask, list[int]] = {}
    for ask, row in placed:
        rows_by_ask.setdefault(ask, []).append(row)
    return [Share(ask, *np.unique(rows, return_counts=True)) for ask, rows in rows_by_ask.items()]


class Trial:
    """The only mutable thing in a cycle: the free room of a snapshot, and what was assumed on it.

    `free` is nodes by resources; callers read it and change it through `take` and `give_back`
    only, so that leaving `all_or_nothing` restores the exact earlier state.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.nodes = snapshot.nodes
        self.free = snapshot.free.copy()
        self.host_ports = dict(snapshot.host_ports)
        self._journal: list[tuple[Share, int]] = []

    def copy(self) -> "Trial":
        """Return another ledger of the same state, for a what-if that is thrown away."""
        other = copy.copy(self)
        other.free = self.free.copy()
        other.host_ports = dict(self.host_ports)
        other._journal = []  # noqa: SLF001 - one of its own class.
        return other

    def take(self, share: Share) -> None:
        """Assume that pods are on nodes."""
        self._apply(share, 1)
        self._journal.append((share, 1))

    def give_back(self, share: Share) -> None:
        """Take an assumption back, however long ago it was made."""
        self._apply(share, -1)
        self._journal.append((share, -1))

    @contextmanager
    def all_or_nothing(self) -> Iterator["Attempt"]:
        """Undo everything done inside, unless `keep()` was called on what this yields."""
        mark = len(self._journal)
        attempt = Attempt()
        try:
            yield attempt
        finally:
            while not attempt.kept and len(self._journal) > mark:
                share, sign = self._journal.pop()
                self._apply(share, -sign)

    def _apply(self, share: Share, sign: int) -> None:
        vector = self.nodes.vector(share.ask.requests)
        self.free[share.rows] -= sign * share.counts[:, np.newaxis] * vector
        if share.ask.host_ports:
            self._claim_ports(share, sign)

    def _claim_ports(self, share: Share, sign: int) -> None:
        # Ports of pods that share a node never overlap, so a plain set union can be undone.
        claimed = frozenset(share.ask.host_ports)
        for row in share.rows.tolist():
            taken = self.host_ports.get(row, NO_PORTS)
            left = taken | claimed if sign > 0 else taken - claimed
            self.host_ports[row] = left
            if not left:
                del self.host_ports[row]


class Attempt:
    """Whether the changes inside `all_or_nothing` stay."""

    def __init__(self) -> None:
        self.kept = False

    def keep(self) -> None:
        """Let the changes stay."""
        self.kept = True
