"""Decides which running gangs must be evicted because their queue is drained.

`apply.gang_evictions` evicts them. A gang is evicted as a whole, once none of its pods is protected
from eviction. The decision depends only on objects, so the list can be made again until no such
gang runs.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.bound_pods import BoundGang, BoundPod
from gang_scheduler.model.queues import QueueRef, QueueSet
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.protections import SYSTEM_PRIORITY


class Drained(NamedTuple):
    """A gang that must be evicted, and all of its pods that are not leaving already."""

    queue: QueueRef
    gang: GangKey
    pods: tuple[BoundPod, ...]


def drained(cache: Cache, now: int) -> Iterator[Drained]:
    """Yield the gangs that must be evicted. `now` is in seconds.

    Costs nothing while no queue is drained; else linear in pods on nodes.
    """
    for each in all_in_drained(cache, now):
        if all(_may_go(cache, bound) for bound in each.pods):
            yield each


def all_in_drained(cache: Cache, now: int) -> Iterator[Drained]:
    """Yield all gangs in drained queues, also gangs that may not be evicted yet.

    `now` is in seconds.
    """
    queues = queues_of(cache, now)
    if not queues:
        return
    for key, gang in cache.running(now).gangs.items():
        queue = next((ref for ref in _queues_of(gang) if ref in queues), None)
        if queue is not None:
            yield Drained(queue, key, gang.pods)


def queues_of(cache: Cache, now: int) -> frozenset[QueueRef]:
    """Return the queues that are drained. `now` is in seconds."""
    state = cache.queue_state(now)
    return frozenset() if state is None else _drained_queues(state.declared)


def _drained_queues(declared: QueueSet) -> frozenset[QueueRef]:
    """Return the drained queues of products whose quotas this scheduler enforces."""
    return frozenset(
        queue.ref
        for queue in declared.queues
        if queue.stop is StopPolicy.HOLD_AND_DRAIN and queue.ref.product in declared.enforced
    )


def _queues_of(gang: BoundGang) -> Iterator[QueueRef]:
    return (charged[0] for charged in gang.charged if charged is not None)


def _may_go(cache: Cache, bound: BoundPod) -> bool:
    """Return whether a drain may evict a pod.

    Priority protects only system pods: a drain has no priority to compare with.
    """
    ends_for_good = bound.unprotected and not cache.evictable_pods.rules.preempt_unprotected_jobs
    return bound.evictable and bound.priority < SYSTEM_PRIORITY and not ends_for_good
