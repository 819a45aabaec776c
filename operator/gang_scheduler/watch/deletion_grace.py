"""Lets queues, flavors and classes of priority count for a moment after they were deleted.

`kubectl replace --force` deletes an object and creates it again. Without its queue a gang has no
quota of its own in between, and gangs of other queues could reclaim its room at once.
"""

import asyncio
from collections.abc import Collection, Iterable
from typing import Any, Final, TypeVar

from gang_scheduler.api import kinds
from gang_scheduler.decode.reader import Reader
from gang_scheduler.decode.sink import HasUid, Sink

_WITH_GRACE: Final = {
    *(kinds.QUEUES, *kinds.CLUSTER_QUEUES, *kinds.COHORTS, kinds.VOLCANO_QUEUES),
    *(*kinds.LOCAL_QUEUES, kinds.RESOURCE_FLAVORS, *kinds.KUEUE_RESOURCE_FLAVORS),
    *kinds.WORKLOAD_PRIORITY_CLASSES,
}


T = TypeVar("T", bound=HasUid)


def with_grace(
    sinks: Iterable[tuple[Reader[Any], Sink[Any]]], seconds: float
) -> list[tuple[Reader[Any], Sink[Any]]]:
    """Return the same sinks, and for some kinds those that forget so many seconds later."""
    return [
        (reader, GraceSink(sink, seconds) if reader.gvr in _WITH_GRACE else sink)
        for reader, sink in sinks
    ]


class GraceSink(Sink[T]):
    """Deletes an object `seconds` later, unless it comes back. Needs a running event loop.

    An object that took the name of a deleted one counts at once: stores know one of each name.
    """

    def __init__(self, sink: Sink[T], seconds: float) -> None:
        self._sink = sink
        self._seconds = seconds
        self._deletions: dict[str, asyncio.TimerHandle] = {}

    def upsert(self, noun: T, /) -> None:
        """Add or replace an object, also one that was just deleted."""
        if deletion := self._deletions.pop(noun.uid, None):
            deletion.cancel()
        self._sink.upsert(noun)

    def delete(self, uid: str, /) -> None:
        """Forget an object after the grace."""
        if uid not in self._deletions:
            later = asyncio.get_running_loop().call_later
            self._deletions[uid] = later(self._seconds, self._delete, uid)

    def uids(self) -> Collection[str]:
        """Return the uids of all objects that were not deleted."""
        found = self._sink.uids()
        return {*found} - self._deletions.keys() if self._deletions else found

    def known(self, uid: str, /) -> T | None:
        """Return an object as it is known."""
        return self._sink.known(uid)

    def _delete(self, uid: str) -> None:
        del self._deletions[uid]
        self._sink.delete(uid)
