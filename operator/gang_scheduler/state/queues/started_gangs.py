"""Gangs that have just begun to run, so that waiting gangs may evict them from now on.

While a gang is being bound, it holds room and quota and cannot be evicted. So a waiting gang that
was refused then may make room once the gang runs. No other change tells this.
"""

from collections import Counter
from dataclasses import dataclass, field

from gang_scheduler.model.plan import Placed
from gang_scheduler.model.queues import NONE, QueueRef
from gang_scheduler.model.refs import GangKey


@dataclass(slots=True)
class Started:
    """The lowest priority of the gangs that began to run, by queue; None without queues.

    `borrowing` are those of the queues that may have borrowed quota: others may take that back,
    also from gangs that ran before.
    """

    lowest: dict[QueueRef | None, int] = field(default_factory=dict)
    borrowing: set[QueueRef] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.lowest)


class StartedGangs:
    """The gangs that are being bound, and those that have begun to run since `clear`."""

    def __init__(self) -> None:
        self.new = Started()
        self._admitted: dict[GangKey, Placed] = {}
        self._borrowers: dict[GangKey, QueueRef] = {}
        self._borrowing: Counter[QueueRef] = Counter()

    def admitted(self, placed: Placed) -> None:
        """Note that a gang is being bound."""
        key, ref = placed.gang.key, placed.gang.queue
        self._admitted[key] = placed
        if placed.borrows and ref is not None and key not in self._borrowers:
            self._borrowers[key] = ref
            self._borrowing[ref] += 1

    def runs(self, key: GangKey) -> None:
        """Note that a gang is bound: from now on it may be evicted."""
        placed = self._admitted.pop(key, None)
        if placed is None:
            return
        ref, priority = placed.gang.queue, placed.gang.queue_priority
        self.new.lowest[ref] = min(priority, self.new.lowest.get(ref, priority))
        if ref is not None and (ref == NONE or self._borrowing[ref]):
            self.new.borrowing.add(ref)

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self._admitted.pop(key, None)
        ref = self._borrowers.pop(key, None)
        if ref is not None:
            self._borrowing[ref] -= 1

    def clear(self) -> None:
        """Forget which gangs have begun to run: the gangs that may evict them are tried now."""
        self.new = Started()
