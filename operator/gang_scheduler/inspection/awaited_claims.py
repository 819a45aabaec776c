"""Gangs that have nodes and wait for the volumes of their claims, as far as objects tell it.

Which room is held meanwhile only the scheduler knows: of these gangs the claims name the nodes that
were selected, and the conditions what is waited for.
"""

from gang_scheduler.inspection.listing import waits
from gang_scheduler.model.causes.claims import ClaimsUnbound
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.problems import Reason
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo


def keep_room(cache: Cache) -> None:
    """Keep the room that the scheduler holds for members whose claims have selected nodes."""
    if not cache.volumes.in_use:
        return
    for info in cache.gang_queue.infos.values():
        if waits.written(info).reason == Reason.WAITING_FOR_VOLUMES.value:
            cache.nominate(_held(info, cache))


def _held(info: GangInfo, cache: Cache) -> list[Bind]:
    waiting = [pod for pod in info.observed.living if not pod.node and not pod.nominated]
    nodes = ((pod, cache.volumes.selected_node(pod)) for pod in waiting)
    return [Bind(pod, node) for pod, node in nodes if node]


def cause_of(info: GangInfo, cache: Cache) -> ClaimsUnbound | None:
    """Return which claims a gang waits for that has room; None if it waits for none."""
    waiting = [pod for pod in info.observed.living if not pod.node]
    awaited = {each for pod in waiting for each in cache.volumes.awaited(pod)}
    if not awaited:
        return None
    claims = {f"{pod.namespace}/{each.claim}" for pod in waiting for each in pod.volumes}
    return ClaimsUnbound(len(awaited), len(claims), min(awaited))
