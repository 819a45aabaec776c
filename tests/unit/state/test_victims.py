"""What becomes of gangs that wait for the victims of others, when those are spared."""

from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.state.cache import Cache
from support.builders import SCHEDULER, gang_key, gang_spec, node, pod
from support.gang_queue_builders import NOW

SHARER = replace(pod("b-0", gang="b", priority=5, cpu=4), nominated="n1")


def new_cache(woken: list[int]) -> Cache:
    cache = Cache([SCHEDULER], lambda: woken.append(1))
    for name in ("n1", "n2"):
        cache.upsert_node(node(name, cpu=4))
        cache.upsert_pod(pod(f"on-{name}", node=name, cpu=4, phase="Running"))
    cache.upsert_gang_specs(POD_GROUPS.group, "uid-b", [gang_spec("b", 1)])
    cache.upsert_pod(SHARER)
    cache.victims.decided(["uid-on-n1", "uid-on-n2"])
    cache.snapshot(NOW)
    woken.clear()
    return cache


@pytest.mark.parametrize(("spared", "tried"), [("uid-on-n1", ["b"]), ("uid-on-n2", [])])
def test_a_gang_is_tried_again_when_victims_on_its_nominated_node_are_spared(
    spared: str, tried: list[str]
) -> None:
    woken: list[int] = []
    cache = new_cache(woken)

    cache.victims.spared([spared])

    groups = cache.snapshot(NOW).groups
    assert tried == [gang.key.name for group in groups for gang in group.gangs]
    assert bool(tried) == bool(woken)


def test_a_gang_that_is_nominated_nowhere_is_not_tried_for_that() -> None:
    woken: list[int] = []
    cache = new_cache(woken)
    cache.clear_nominations(["uid-b-0"])
    cache.snapshot(NOW)
    woken.clear()

    cache.victims.spared(["uid-on-n1"])

    assert ([], ()) == (woken, cache.snapshot(NOW).groups)
    assert gang_key("b") in cache.gang_queue.infos
