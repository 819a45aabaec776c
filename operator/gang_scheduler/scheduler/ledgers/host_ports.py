"""The host ports that are taken."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import HostPort, PodClass

NO_PORTS: Counter[HostPort] = Counter()


class PortLedger:
    """The taken ports of each node row that has any, and how many pods take each port.

    A port can have two pods: one that leaves, and one that is nominated to its room.
    """

    def __init__(self, taken: Mapping[int, Collection[HostPort]]) -> None:
        self._taken = {row: Counter(ports) for row, ports in taken.items()}

    def copy(self) -> "PortLedger":
        """Return another ledger of the same state."""
        other = PortLedger({})
        # The counts themselves are never changed.
        other._taken = dict(self._taken)
        return other

    def rows(self) -> Iterator[tuple[int, Collection[HostPort]]]:
        """Yield the rows with taken ports, with these ports."""
        yield from self._taken.items()

    def apply(self, pod_class: PodClass, rows: IntArray, counts: IntArray) -> None:
        """Take the ports of so many pods of a class on these rows; a negative count frees them."""
        ports = set(pod_class.host_ports)
        for row, number in zip(rows.tolist(), counts.tolist(), strict=True):
            claimed = Counter(dict.fromkeys(ports, abs(number)))
            taken = self._taken.get(row, NO_PORTS)
            left = taken + claimed if number > 0 else taken - claimed
            self._taken[row] = left
            if not left:
                del self._taken[row]
