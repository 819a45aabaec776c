"""How many volumes of each driver are attached to each node."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.volumes import PRIVATE, Attachment, Volumes

Attached = tuple[tuple[str, str], ...]


class Attachments:
    """The attachments of a snapshot, changed by what is assumed on it.

    A volume counts once a node, however many pods there use it. Columns are copied on change.
    """

    def __init__(self, volumes: Volumes, nodes: NodeTable) -> None:
        self._volumes = volumes
        self._nodes = nodes
        self._used: dict[str, IntArray] | None = None
        self._pods: Counter[tuple[int, str, str]] = Counter()

    def copy(self) -> "Attachments":
        """Return other attachments of the same state."""
        other = Attachments(self._volumes, self._nodes)
        other._used = None if self._used is None else dict(self._used)
        other._pods = self._pods.copy()
        return other

    def used(self, driver: str) -> IntArray:
        """Return how many volumes of a driver are attached, a row a node."""
        return self._columns().get(driver, np.zeros(len(self._nodes), dtype=np.int64))

    def limit(self, driver: str, otherwise: int) -> IntArray:
        """Return how many volumes of a driver each node can have, `otherwise` without a limit."""
        limits = self._volumes.limits.get(driver, {})
        column = np.full(len(self._nodes), otherwise, dtype=np.int64)
        for node, most in limits.items():
            if node in self._nodes.rows:
                column[self._nodes.rows[node]] = most
        return column

    def installed(self, driver: str) -> BoolArray:
        """Return the nodes that a volume of a driver can be used on at all."""
        names = self._volumes.installed.get(driver)
        if names is None:
            return np.ones(len(self._nodes), dtype=np.bool_)
        return np.array([node.name in names for node in self._nodes.nodes], dtype=np.bool_)

    def present(self, driver: str, handle: str) -> BoolArray:
        """Return the nodes where a pod uses this volume already."""
        self._columns()
        column = np.zeros(len(self._nodes), dtype=np.bool_)
        found = [row for row in range(len(column)) if self._pods[row, driver, handle] > 0]
        column[found] = True
        return column

    def apply(self, attached: Attached, row: int, count: int) -> None:
        """Count the volumes of so many pods of a class on a node; a negative count takes back."""
        columns = self._columns()
        for driver, handle in attached:
            more = self._count(row, driver, handle, count)
            column = columns.get(driver, np.zeros(len(self._nodes), dtype=np.int64)).copy()
            column[row] += more
            columns[driver] = column

    def _columns(self) -> dict[str, IntArray]:
        if self._used is None:
            self._used = {}
            self._read(self._volumes.lingering)
            self._read_pods()
        return self._used

    def _read(self, those: Iterable[Attachment]) -> None:
        for each in those:
            self._add(each, 1)

    def _read_pods(self) -> None:
        for use, pods in self._volumes.uses.items():
            if isinstance(use, Attachment) and use.node in self._nodes.rows:
                row = self._nodes.rows[use.node]
                self._add(use, self._count(row, use.driver, use.handle, pods))

    def _add(self, attachment: Attachment, more: int) -> None:
        row = self._nodes.rows.get(attachment.node)
        if row is not None and self._used is not None:
            empty = np.zeros(len(self._nodes), dtype=np.int64)
            self._used.setdefault(attachment.driver, empty)[row] += more

    def _count(self, row: int, driver: str, handle: str, pods: int) -> int:
        """Count pods that use a volume; return how many attachments more there are then."""
        before = self._pods[row, driver, handle]
        self._pods[row, driver, handle] = after = before + pods
        if handle == PRIVATE:
            return pods
        if Attachment(self._nodes.nodes[row].name, driver, handle) in self._volumes.lingering:
            return 0
        return int(after > 0) - int(before > 0)
