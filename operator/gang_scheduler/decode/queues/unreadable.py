"""What still holds of a queue that cannot be read: that it is there, and is inactive.

Without it, gangs would be told that there is no such queue, and what hangs below it would lose its
place. What it said before does not hold: quota is never guessed.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import unreadable
from gang_scheduler.decode.queues import values
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.queues import NONE, Queue, QueueKind, QueueRef

WhatHolds = Callable[[Mapping[str, Any], InvalidField, DeclaredQueue | None], DeclaredQueue | None]


def queue(kind: QueueKind, gvr: GVR) -> WhatHolds:
    """Return what tells what holds of an unreadable queue of a kind; None: nothing."""

    def holds(
        obj: Mapping[str, Any], why: InvalidField, known: DeclaredQueue | None
    ) -> DeclaredQueue | None:
        found = unreadable.identity(obj)
        ref = QueueRef(kind, found.name)
        if not found.uid or not found.name or ref == NONE:
            return None
        parent = None if known is None else known.queue.parent
        return DeclaredQueue(Queue(ref, found.uid, parent=parent, problem=values.problem(why)), gvr)

    return holds
