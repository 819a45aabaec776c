"""The order of gangs in each queue: effective priority, then half-done gangs, then age.

Waiting raises the effective priority. It changes the order and gives no other right. In a queue
that shares by past use, gangs of the LocalQueue with the least recent usage come before all others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import NONE, Queue, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import QueueRules
from gang_scheduler.scheduler.quota.accounts import NO_SHARE, Accounts, Share, share_of
from gang_scheduler.scheduler.turns.known_lines import KnownLine

_HOUR: Final = 3600


@dataclass(eq=False)
class QueueLine:
    """The groups of one queue that were not tried yet, the first at the end.

    `known` is what is known of all groups of the line: the groups are the first of these. At the
    beginning, so many of them have `reserved` room. `behind` is the gang behind which a queue in
    strict order waits. `is_over`: there is no quota for any group of its tree.
    """

    queue: Queue
    groups: list[GangGroup]
    known: KnownLine
    reserved: int = 0
    behind: GangKey | None = None
    is_over: bool = False


def effective_priority(group: GangGroup, queue: Queue, default: QueueRules, now: int) -> int:
    """Return the priority of a group plus the bonus for the time it has waited."""
    return group.queue_priority + added_by_waiting(queue, default, now - group.created_at)


def per_hour_of(queue: Queue, default: QueueRules) -> int:
    """Return the priority that an hour of waiting adds."""
    return default.aging_per_hour if queue.aging.per_hour is None else queue.aging.per_hour


def added_by_waiting(queue: Queue, default: QueueRules, seconds: float) -> int:
    """Return the priority that this many seconds of waiting add."""
    per_hour = per_hour_of(queue, default)
    if not per_hour:
        return 0
    most = default.aging_max if queue.aging.most is None else queue.aging.most
    added = int(per_hour * max(0, seconds) // _HOUR)
    return min(added, most)


def key(
    accounts: Accounts, group: GangGroup, effective: int
) -> tuple[Share, int, bool, float, str, str]:
    """Return a sort key inside one queue. Smaller sorts first."""
    used = _local_share(accounts, group) if accounts.usage.local_recent else NO_SHARE
    # The last keys are the uid and the name, so that equal groups always sort the same way.
    return (used, -effective, not group.half_done, group.created_at, group.uid, group.name)


def _local_share(accounts: Accounts, group: GangGroup) -> Share:
    """Return the recent usage of the group's LocalQueue, divided by its weight.

    Usage is the largest share, over all resources, of the promise of its tree. If the queue does
    not share by LocalQueues, the result is the same for all its groups.
    """
    local = group.gangs[0].local_queue
    recent = accounts.usage.local_recent.get(local.key) if local is not None else None
    row = accounts.promises.trees.rows.get(group.queue) if group.queue is not None else None
    if local is None or recent is None or row is None:
        return NO_SHARE
    root, by_resource = accounts.promises.trees.root(row), accounts.promises.by_resource(row)
    shares = []
    for resource, amount in sorted(recent.items()):
        keys = by_resource.get(resource, ())
        promised = sum(accounts.promises.terms[fr].promised[root] for fr in keys)
        if promised:
            shares.append(share_of(amount, promised, local.weight))
    return max(shares, default=NO_SHARE)


# Trees of queues that may still have quota for a waiting group. During a cycle the quota left in a
# tree only shrinks. Once it is too little for every group of the tree, their order does not matter
# any more: none of them changes what others get.


@dataclass(eq=False)
class _Tree:
    """The lines of one tree.

    `hopeful` are the lines with the groups for which there may be quota, the next at the end.
    `reserved` counts the groups that still have to give up their reservation.
    """

    lines: list[QueueLine] = field(default_factory=list)
    hopeful: list[tuple[QueueLine, list[GangGroup]]] = field(default_factory=list)
    reserved: int = 0


class OpenTrees:
    """The lines by tree.

    `any_hope` returns whether there may be quota for any of these groups of a line. It looks at
    them from the last one on, and drops those without quota. `root` returns the root of a queue's
    tree; `reserved` are the gangs with reserved room.
    """

    def __init__(
        self,
        root: Callable[[QueueRef], QueueRef],
        any_hope: Callable[[QueueLine, list[GangGroup]], bool],
        reserved: Collection[GangKey],
    ) -> None:
        self._root = root
        self._any_hope = any_hope
        self._reserved = reserved
        self._trees: dict[QueueRef, _Tree] = {}

    @property
    def roots(self) -> Collection[QueueRef]:
        """The roots of all trees with lines."""
        return self._trees.keys()

    def add(self, lines: Iterable[QueueLine]) -> None:
        """Add the lines of all queues, before any turn."""
        for line in lines:
            tree = self._trees.setdefault(self._root(line.queue.ref), _Tree())
            tree.lines.append(line)
            tree.hopeful.append((line, line.groups.copy()))
            tree.reserved += line.reserved

    def lines(self, ref: QueueRef) -> Iterator[QueueLine]:
        """Yield the lines of a queue's tree."""
        yield from self._trees[self._root(ref)].lines

    def reserved_among(self, groups: Iterable[GangGroup]) -> int:
        """Return how many of these groups have reserved room."""
        return sum(map(self.is_reserved, groups)) if self._reserved else 0

    def is_reserved(self, group: GangGroup) -> bool:
        """Return whether a group has reserved room: its turn comes before all others."""
        reserved, waiting = self._reserved, group.waiting
        if not reserved or len(waiting) == 1:
            return bool(reserved) and waiting[0].key in reserved
        return any(gang.key in reserved for gang in waiting)

    def note_decided(self, group: GangGroup) -> None:
        """Record that a group has given up its reserved room, or has it again."""
        if self.is_reserved(group):
            self._trees[self._root(group.queue or NONE)].reserved -= 1

    def is_open(self, ref: QueueRef) -> bool:
        """Return whether there may be quota for a group of a queue's tree.

        This is so while reserved quota may be given back, and where there was no time to look at
        all groups. All calls together look only once at each group without quota.
        """
        tree = self._trees[self._root(ref)]
        if tree.reserved:
            return True
        while tree.hopeful:
            if self._any_hope(*tree.hopeful[-1]):
                return True
            tree.hopeful.pop()
        return False
