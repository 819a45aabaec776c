"""Fills a cache from manifests, with the same result as the watches of `run`."""

from gang_scheduler import policy
from gang_scheduler.api.kinds import PROVISIONING_REQUESTS
from gang_scheduler.model.values import ManagedKind
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.defaults import served as served_by
from gang_scheduler.simulation.objects import Objects
from gang_scheduler.simulation.snapshot_files import LIVE
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes


def filled(objects: Objects, decides: Policy) -> Cache:
    """Return a cache of the objects, as the watches would fill it."""
    header = objects.header
    if not decides.rules.workloads.manage_jobs and (header is None or header.source != LIVE):
        # There is no operator here: it is assumed to start suspended workloads.
        decides = decides.model_copy(update={"manage_jobs": tuple(ManagedKind)})
    cache = policy.cache(decides, Changes())
    cache.gang_queue.expect_nothing()
    for each in objects.loaded:
        cache.upsert(kinds.of(each.gvr).store(cache), each.noun)
    served_here = served_by({each.gvr for each in objects.loaded})
    for product, named in kinds.QUEUES_NAMED.items():
        served = product in served_here
        if header is not None and header.source == LIVE:
            served = named.name in header.counts
        cache.serve_queues(product, served=served)
    # A snapshot of a cluster without the kind cannot request nodes. For other files, no request
    # need be in the input.
    counts = header.counts if header is not None and header.source == LIVE else None
    served = counts is None or PROVISIONING_REQUESTS[0].name in counts
    cache.serve_provisioning(served=served)
    return cache
