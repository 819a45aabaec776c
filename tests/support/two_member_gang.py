"""A cache with one node of eight CPUs and a gang of two, and what it says."""

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.gangs import Gang
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import SCHEDULER, gang_key, gang_spec, node


def new_cache(changes: Changes | None = None) -> Cache:
    """Return a cache that has seen the node `n1` and the PodGroup `a`, and no pods."""
    cache = Cache([SCHEDULER], changes or Changes())
    cache.upsert(cache.node_store, node("n1", cpu=8, memory=0))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, "uid-a", [gang_spec("a", 2)])
    return cache


def free_cpu(cache: Cache) -> int:
    """Return what is free on the node, in milli-CPU."""
    return int(cache.node_usage.free()[0][cache.node_usage.table().axis["cpu"]])


def due(cache: Cache) -> list[Gang]:
    """Return the gangs that are worth a try."""
    return [gang for group in cache.snapshot(0).groups for gang in group.gangs]


def record_members(cache: Cache, name: str = "a") -> list[str]:
    """Return the uids of the members that a gang is known to have."""
    info = cache.gang_queue.infos.get(gang_key(name))
    return sorted(info.observed.members) if info else []
