"""How many gangs wait, as `list` shows them: in all, and in each queue by itself."""

from collections import Counter

from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.listing.rows import listed
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.state.gangs.waiting import waits


def waiting(cluster: Cluster) -> Counter[QueueRef | None]:
    """Return how many gangs wait in each queue; None: in no queue. Linear in pods."""
    cache = cluster.cache
    found = (info for info in listed(cluster) if waits(info, cache))
    return Counter(cache.queue_of(info.key) for info in found)
