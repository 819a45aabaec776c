"""The gangs of each queue in order: effective priority, then those half done, then age.

Waiting raises the effective priority. It orders, and gives no other right.
"""

from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import Aging, Queue
from gang_scheduler.model.refs import GangKey

_HOUR: Final = 3600


@dataclass(eq=False)
class Line:
    """The groups of one queue that were not tried yet, the first at the end.

    `behind` is the gang that ends the turns of a queue that keeps its order. `is_over`: there is
    quota for no group of its tree.
    """

    queue: Queue
    groups: list[GangGroup]
    behind: GangKey | None = None
    is_over: bool = False


def effective_priority(group: GangGroup, queue: Queue, default: Aging, now: int) -> int:
    """Return the priority with what waiting adds to it."""
    return group.queue_priority + added_by_waiting(queue, default, now - group.created_at)


def added_by_waiting(queue: Queue, default: Aging, seconds: float) -> int:
    """Return what waiting for so long adds to a priority."""
    per_hour = default.per_hour if queue.aging.per_hour is None else queue.aging.per_hour
    if not per_hour:
        return 0
    most = default.most if queue.aging.most is None else queue.aging.most
    added = int(per_hour * max(0, seconds) // _HOUR)
    return added if most is None else min(added, most)


def key(group: GangGroup, effective: int) -> tuple[int, bool, float, str, str]:
    """Return a sort key inside one queue. Smaller sorts first."""
    # The last keys are the uid and the name: equal groups must always sort the same way.
    return (-effective, not group.half_done, group.created_at, group.uid, group.name)
