"""What becomes of gangs that wait for the victims of others, when those are spared."""

from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import SCHEDULER, gang_key, gang_spec, node, pod
from support.gang_queue_builders import NOW

SHARER = replace(pod("b-0", gang="b", priority=5, cpu=4), nominated="n1")


def new_cache(changes: Changes) -> Cache:
    cache = Cache([SCHEDULER], changes)
    for name in ("n1", "n2"):
        cache.upsert(cache.node_store, node(name, cpu=4))
        cache.upsert_pod(pod(f"on-{name}", node=name, cpu=4, phase="Running"))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, "uid-b", [gang_spec("b", 1)])
    cache.upsert_pod(SHARER)
    cache.victims.decided(["uid-on-n1", "uid-on-n2"])
    cache.snapshot(NOW)
    changes.cycle.clear()
    return cache


@pytest.mark.parametrize(("spared", "tried"), [("uid-on-n1", ["b"]), ("uid-on-n2", [])])
def test_a_gang_is_tried_again_when_victims_on_its_nominated_node_are_spared(
    spared: str, tried: list[str]
) -> None:
    changes = Changes()
    cache = new_cache(changes)

    cache.victims.spared([spared])

    groups = cache.snapshot(NOW).groups
    assert tried == [gang.key.name for group in groups for gang in group.gangs]
    assert bool(tried) == changes.cycle.is_set()


def test_a_gang_that_is_nominated_nowhere_is_not_tried_for_that() -> None:
    changes = Changes()
    cache = new_cache(changes)
    cache.clear_nominations(["uid-b-0"])
    cache.snapshot(NOW)
    changes.cycle.clear()

    cache.victims.spared(["uid-on-n1"])

    assert (False, ()) == (changes.cycle.is_set(), cache.snapshot(NOW).groups)
    assert gang_key("b") in cache.gang_queue.infos
