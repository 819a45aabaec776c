"""The room of one snapshot while a cycle decides on it: pods are assumed and released."""

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

from gang_scheduler.model.device_needs import Uses
from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import HostPort, PodClass
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.devices.device_ledger import DeviceLedger
from gang_scheduler.scheduler.devices.extended import with_devices
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.pod_affinity import (
    AffinityChanges,
    PodAffinityLedger,
    number_of_columns,
)
from gang_scheduler.scheduler.volumes import VolumeLedger

COLUMNS_A_LOOK: Final = 16
"""The columns of selectors that can be changed in the time of one look."""


class PortLedger:
    """The node rows on which each host port is taken, and by how many pods.

    A port can have two pods on a node: one is leaving, and the other is nominated to its room.
    """

    def __init__(self, taken: Mapping[int, Collection[HostPort]]) -> None:
        self._rows: dict[tuple[int, str], dict[HostPort, Counter[int]]] = {}
        for row, ports in taken.items():
            for port, number in Counter(ports).items():
                self._with(port)[row] = number

    def copy(self) -> "PortLedger":
        """Return an independent copy of the ledger."""
        other = PortLedger({})
        other._rows = {
            number: {port: rows.copy() for port, rows in found.items()}
            for number, found in self._rows.items()
        }
        return other

    def rows(self, port: HostPort) -> Iterator[int]:
        """Yield the rows where a taken port conflicts with this one, possibly twice."""
        for other, rows in self._rows.get((port.port, port.protocol), {}).items():
            if port.conflicts(other):
                yield from rows

    def apply(self, pod_class: PodClass, rows: IntArray, counts: IntArray) -> None:
        """Take the ports of this many pods on each of these rows; negative counts free them."""
        for port in set(pod_class.host_ports):
            taken = self._with(port)
            for row, number in zip(rows.tolist(), counts.tolist(), strict=True):
                taken[row] += number
                if taken[row] <= 0:
                    del taken[row]

    def _with(self, port: HostPort) -> Counter[int]:
        return self._rows.setdefault((port.port, port.protocol), {}).setdefault(port, Counter())


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Room for pods of one class: `counts[i]` of them on node row `rows[i]`; rows are distinct.

    If they are `nominated`, their room is taken, but they satisfy no affinity of other pods. `uses`
    are the allocated claims that pods on nodes use: their devices become free with the last user.
    """

    pod_class: PodClass
    rows: IntArray
    counts: IntArray
    nominated: bool = False
    uses: Uses = ()


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Room taken in a trial for some members; `binds` are in rank order."""

    binds: tuple[Bind, ...]
    shares: tuple[Share, ...]


def shares(placed: Iterable[tuple[PodClass, int]]) -> list[Share]:
    """Return the shares of single pods, given by class and the row of their node."""
    by_class: dict[PodClass, dict[int, int]] = {}
    for pod_class, row in placed:
        counts = by_class.setdefault(pod_class, {})
        counts[row] = counts.get(row, 0) + 1
    return [
        Share(pod_class, np.array(rows), np.array([counts[row] for row in rows]))
        for pod_class, counts in by_class.items()
        for rows in (sorted(counts),)
    ]


def number_in(taken: Iterable[Share]) -> int:
    """Return the number of pods in shares."""
    return sum(int(share.counts.sum()) for share in taken)


def merged(taken: Iterable[Share]) -> list[Share]:
    """Merge shares, none of which is nominated: return one share for each class."""
    by_class: dict[PodClass, list[IntArray]] = {}
    uses: dict[PodClass, Uses] = {}
    for share in taken:
        by_class.setdefault(share.pod_class, []).append(np.repeat(share.rows, share.counts))
        uses[share.pod_class] = (*uses.get(share.pod_class, ()), *share.uses)
    return [
        Share(
            *(pod_class, *np.unique(np.concatenate(rows), return_counts=True)),
            uses=uses[pod_class],
        )
        for pod_class, rows in by_class.items()
    ]


class Trial:
    """The only mutable thing in a cycle: the free room of a snapshot, and the pods assumed on it.

    `free` is nodes by resources; the ledgers have everything else that pods take of a node. Callers
    change both through `assume` and `release`, so leaving `all_or_nothing` restores the exact
    earlier state. Outside of it, they may also call `free_up`. `effort` is the work left in the
    cycle; copies share it. `spare` are the rows of nodes that are kept for members that replace
    lost ones, or None. `closed` is the same while other members are placed, and None while
    replacements are.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        snapshot = with_devices(snapshot)
        self.nodes = snapshot.nodes
        self.tree_specs = snapshot.tree_specs
        self.free = snapshot.free.copy(order="F")
        self.ports = PortLedger(snapshot.host_ports)
        self.pod_affinity = PodAffinityLedger(snapshot.affinity_counts, snapshot.nodes)
        self.volumes = VolumeLedger(snapshot.volumes, snapshot.nodes)
        self.devices = DeviceLedger(snapshot.devices, snapshot.nodes)
        gangs = [gang.key for group in snapshot.groups for gang in group.gangs[:1]]
        self.effort = Effort(gangs, snapshot.taken_at)
        self.effort.count_snapshot(snapshot.build_work)
        self.spare: BoolArray | None = None
        self.closed: BoolArray | None = None
        self._journal: list[tuple[Sequence[Share], int]] = []

    def keep(self, spare: BoolArray | None) -> None:
        """Keep the nodes of these rows for members that replace lost ones."""
        self.spare = self.closed = spare

    def open_spare(self, *, replacing: bool) -> None:
        """Open the spare nodes while lost members are replaced, and close them otherwise."""
        self.closed = None if replacing else self.spare

    @property
    def has_open_spare(self) -> bool:
        """Whether there are spare nodes, and they are open now."""
        return self.spare is not None and self.closed is None

    def copy(self) -> "Trial":
        """Return an independent copy, for a what-if that is thrown away."""
        other = copy.copy(self)
        other.free = self.free.copy(order="F")
        other.ports = self.ports.copy()
        other.pod_affinity = self.pod_affinity.copy()
        other.volumes = self.volumes.copy()
        other.devices = self.devices.copy()
        other._journal = []  # noqa: SLF001 - one of its own class.
        return other

    def free_of(self, resource: str) -> IntArray:
        """Return the free amount of a resource, one row for each node; 0 if no node offers it."""
        column = self.nodes.axis.get(resource)
        if column is None:
            return np.zeros(len(self.nodes), dtype=np.int64)
        free: IntArray = self.free[:, column]
        return free

    def assume(self, *room: Share) -> None:
        """Assume that pods are on nodes."""
        self._change(room, 1)

    def release(self, *room: Share) -> None:
        """Undo assumptions, even those from long before."""
        self._change(room, -1)

    def free_up(self, room: IntArray) -> None:
        """Free this much more of each node and resource, for many pods at once."""
        self.free += room

    @contextmanager
    def all_or_nothing(self) -> Iterator["Transaction"]:
        """Undo all changes made inside, unless `commit()` was called on the yielded transaction."""
        mark = len(self._journal)
        transaction = Transaction()
        try:
            yield transaction
        finally:
            while not transaction.committed and len(self._journal) > mark:
                changed, sign = self._journal.pop()
                self._apply(changed, -sign)

    def _change(self, room: Sequence[Share], sign: int) -> None:
        self._apply(room, sign)
        self._journal.append((room, sign))
        for share in room:
            if share.pod_class.selected_by or share.pod_class.pod_affinity is not None:
                self.effort.count(number_of_columns(share.pod_class) / COLUMNS_A_LOOK)

    def _apply(self, room: Sequence[Share], sign: int) -> None:
        affinity = self.pod_affinity.changes()
        for share in room:
            self._apply_one(share, sign, affinity)

    def _apply_one(self, share: Share, sign: int, affinity: AffinityChanges) -> None:
        pod_class = share.pod_class
        self.free[share.rows] -= sign * share.counts[:, np.newaxis] * self._request(pod_class)
        if pod_class.host_ports:
            self.ports.apply(pod_class, share.rows, sign * share.counts)
        if pod_class.selected_by or pod_class.pod_affinity is not None:
            affinity.apply(pod_class, share.rows, sign * share.counts, nominated=share.nominated)
        if pod_class.storage is not None:
            self.volumes.apply(pod_class, share.rows, sign * share.counts)
        if pod_class.devices is not None:
            self.devices.apply(
                pod_class, share.rows, sign * share.counts, nominated=share.nominated
            )
        if share.uses:
            self.devices.use(share.uses, sign)

    def _request(self, pod_class: PodClass) -> IntArray:
        return self.nodes.vector(pod_class.requests)


class Transaction:
    """Whether the changes inside `all_or_nothing` stay."""

    def __init__(self) -> None:
        self.committed = False

    def commit(self) -> None:
        """Let the changes stay."""
        self.committed = True
