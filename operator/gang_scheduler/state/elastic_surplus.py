"""Which surplus of elastic gangs may be evicted: none within a cooldown, and by whole steps."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import Elastic
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo

Steps = tuple[tuple[str, ...], ...]
"""Uids of pods, the step that goes first before the others."""
NUMBERED: Final = re.compile(r"(.*-)[0-9]+")


def elastic_of(
    keys: Iterable[GangKey], infos: Mapping[GangKey, GangInfo]
) -> Iterator[tuple[GangInfo, Elastic]]:
    """Yield those of the gangs that say how they shrink."""
    for key in keys:
        info = infos.get(key)
        if info is not None and (elastic := info.scaling.elastic) is not None:
            yield info, elastic


def is_cooling(info: GangInfo, elastic: Elastic, now: int, most: int) -> bool:
    """Return whether a gang has changed its size so lately that its surplus stays.

    For `most` seconds at most. The gang stays as a whole then: it is evicted for no step more.
    """
    changed_at = info.scaling.changed_at
    if changed_at is None or len(info.scaling.workers()) <= elastic.min_workers:
        return False
    return now < changed_at + min(elastic.down_cooldown, most)


def steps_of(info: GangInfo, elastic: Elastic, members: Iterable[BoundPod]) -> Steps:
    """Return the surplus among the members that stay so far, by whole steps.

    Those with the highest ranks go first, as the controllers of Jobs have it.
    """
    staying = tuple(members)
    workers = [each for each in staying if elastic.counts(each.pod)]
    spare = min(len(workers) - elastic.min_workers, _spare(info, elastic, staying))
    those = [each.pod for each in workers if each.evictable]
    those.sort(key=rank_key, reverse=True)
    size = elastic.down_step
    number = max(0, min(spare, len(those))) // size
    return tuple(
        tuple(pod.uid for pod in those[start : start + size])
        for start in range(0, number * size, size)
    )


def by_rank(spare: Mapping[str, int], members: Iterable[BoundPod]) -> Steps:
    """Return the surplus of each role pod by pod: those with the highest ranks go first.

    The first of a role may hold what the others meet at, as worker 0 of a PyTorchJob does. None
    where nothing tells the members of a role apart. `spare` is by role, "" for any member.
    """
    members = tuple(members)
    found: list[Pod] = []
    for role, number in spare.items():
        those = [each for each in members if not role or each.pod.role == role]
        if number and not _are_numbered([each.pod for each in those]):
            return ()
        going = sorted((each.pod for each in those if each.evictable), key=rank_key, reverse=True)
        found += going[:number]
    found.sort(key=rank_key, reverse=True)
    return tuple((pod.uid,) for pod in found)


def _are_numbered(pods: Sequence[Pod]) -> bool:
    """Return whether each pod has another rank, or another number by which its owner names it."""
    if all(pod.rank for pod in pods):
        return len({pod.rank for pod in pods}) == len(pods)
    names = [NUMBERED.fullmatch(pod.name) for pod in pods if pod.owner]
    prefixes = {found[1] for found in names if found}
    return len(prefixes) == 1 and len(names) == len(pods) and all(names)


def _spare(info: GangInfo, elastic: Elastic, members: Iterable[BoundPod]) -> int:
    """Return how many workers the gang can lose and be whole, by its quorum."""
    spec = info.observed.spec
    by_role = spec is not None and bool(spec.roles)
    bound = Counter(each.pod.role if by_role else "" for each in members)
    return info.attempt.surplus_of(bound).get(elastic.role if by_role else "", 0)
