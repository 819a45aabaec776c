"""Ports of the hosts that are taken."""

from collections.abc import Iterator, Mapping

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask, HostPort

NO_PORTS: frozenset[HostPort] = frozenset()


class PortLedger:
    """The taken ports of each node row that has any."""

    def __init__(self, taken: Mapping[int, frozenset[HostPort]]) -> None:
        self._taken = dict(taken)

    def copy(self) -> "PortLedger":
        """Return another ledger of the same state."""
        return PortLedger(self._taken)

    def rows(self) -> Iterator[tuple[int, frozenset[HostPort]]]:
        """Yield the rows with taken ports, and those."""
        yield from self._taken.items()

    def apply(self, ask: Ask, rows: IntArray, sign: int) -> None:
        """Take the ports of a class on these rows; with the sign -1, free them."""
        # Ports of pods that share a node never overlap, so a plain set union can be undone.
        claimed = frozenset(ask.host_ports)
        for row in rows.tolist():
            taken = self._taken.get(row, NO_PORTS)
            left = taken | claimed if sign > 0 else taken - claimed
            self._taken[row] = left
            if not left:
                del self._taken[row]
