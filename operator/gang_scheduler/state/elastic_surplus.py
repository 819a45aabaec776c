"""The surplus of gangs that may be evicted: none within a cooldown, otherwise in whole steps."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.pods import Elastic, Pod, rank_key
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo

Steps = tuple[tuple[str, ...], ...]
"""Uids of pods, grouped by steps in the order of eviction."""
NUMBERED: Final = re.compile(r"(.*-)[0-9]+")


def is_cooling(info: GangInfo, elastic: Elastic, now: int, most: int) -> bool:
    """Return whether a gang has changed its size so recently that its surplus is protected.

    That lasts `most` seconds at most, also if the gang grows again meanwhile. Until then, the gang
    can be evicted only as a whole.
    """
    changed_at, began_at = info.scaling.changed_at, info.scaling.began_at
    if changed_at is None or began_at is None or len(info.scaling.workers()) <= elastic.min_workers:
        return False
    return now < min(changed_at + elastic.down_cooldown, began_at + most)


def steps_of(info: GangInfo, elastic: Elastic, members: Iterable[BoundPod]) -> Steps:
    """Return the surplus of the members in whole steps.

    As controllers of Jobs do, it removes the highest ranks first.
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


def steps_by_rank(
    spare: Sequence[tuple[GangKey, Mapping[str, int]]], bound_pods: Iterable[BoundPod]
) -> Mapping[GangKey, Steps]:
    """Return the steps of gangs with surplus whose members have ranks or numbers."""
    by_gang: dict[GangKey, list[BoundPod]] = {key: [] for key, _ in spare}
    for each in bound_pods if by_gang else ():
        if each.gang in by_gang:
            by_gang[each.gang].append(each)
    found = ((key, _by_rank(n, by_gang[key])) for key, n in spare)
    return {key: steps for key, steps in found if steps}


def _by_rank(spare: Mapping[str, int], members: Iterable[BoundPod]) -> Steps:
    """Return the surplus of each role pod by pod, highest ranks first.

    The first member of a role may hold the address where the others meet, as worker 0 of a
    PyTorchJob does, so it is kept longest. The result is empty if members of a role cannot be told
    apart. `spare` is by role, "" for any member.
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
    """Return whether each pod has a different rank, or a different number in its owner's naming."""
    if all(pod.rank for pod in pods):
        return len({pod.rank for pod in pods}) == len(pods)
    names = [NUMBERED.fullmatch(pod.name) for pod in pods if pod.owner]
    prefixes = {found[1] for found in names if found}
    return len(prefixes) == 1 and len(names) == len(pods) and all(names)


def _spare(info: GangInfo, elastic: Elastic, members: Iterable[BoundPod]) -> int:
    """Return how many workers the gang can lose and still have its quorum."""
    spec = info.observed.spec
    by_role = spec is not None and bool(spec.roles)
    bound = Counter(each.pod.role if by_role else "" for each in members)
    return info.attempt.surplus_of(bound).get(elastic.role if by_role else "", 0)
