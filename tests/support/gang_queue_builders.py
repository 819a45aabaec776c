"""Gangs of the PodGroup `a`, for the tests of membership and of when a gang is due."""

from collections.abc import Callable, Collection, Iterable

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gang_queue import GangQueue
from support.builders import SCHEDULER, gang_key, gang_spec, pod

KEY = gang_key("a")
ALONE = GangKey("Pod", "default", "alone")
NOW = 1000


def empty_queue(
    timeout_seconds: int = 600,
    evictable_pods: EvictablePods | None = None,
    layers: Callable[[], Collection[str]] = tuple,
) -> GangQueue:
    evictable_pods = evictable_pods or EvictablePods()
    return GangQueue([SCHEDULER], timeout_seconds, evictable_pods, layers)


def gang_info(key: GangKey, members: Iterable[Pod], specs: Iterable[GangSpec] = ()) -> GangInfo:
    """Return what is known of a gang with these members."""
    info = GangInfo(key)
    for each in members:
        info.observed.upsert_member(each)
    for spec in specs:
        info.observed.upsert_spec(spec)
    return info


def describe(gang_queue: GangQueue, spec: GangSpec) -> None:
    assert spec.gvr is not None
    gang_queue.upsert_gang_specs(spec.gvr.group, spec.uid, [spec])


def gangs_of(members: int, min_member: int = 1) -> GangQueue:
    gang_queue = empty_queue()
    describe(gang_queue, gang_spec("a", min_member))
    for i in range(members):
        gang_queue.upsert_member(KEY, pod(f"a-{i}", gang="a"))
    return gang_queue


def due(gang_queue: GangQueue, now: int = NOW) -> list[str]:
    return sorted(each.key.name for group in gang_queue.take_due(now) for each in group.gangs)


def only(gang_queue: GangQueue, now: int = NOW) -> Gang:
    (found,) = gang_queue.take_due(now)
    (gang,) = found.gangs
    return gang
