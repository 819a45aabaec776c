"""Which gangs a cycle takes where so many have changed that a snapshot of all would hold it up."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.virtual_pods import one_of_each
from gang_scheduler.state.gangs.gang_info import GangInfo

MOST_MADE: Final = 2_000
"""Gangs and members of which groups are made for one cycle: less than a tenth of a second."""


def left_out(
    keys: Iterable[GangKey],
    changed: Collection[GangKey],
    infos: Mapping[GangKey, GangInfo],
    group_of: Callable[[GangKey], Sequence[GangKey]],
) -> set[GangKey]:
    """Return the gangs that are left to the next cycle, so that the groups of few are made anew.

    `changed` are those whose group must be made. No gang is left to which one of a lower priority
    is taken; of the priority of which only a part is, the oldest are taken.
    """
    if sum(_size(infos[key]) for key in changed) <= MOST_MADE:
        return set()
    ranks = _ranks(keys, infos, group_of)
    in_order = sorted(changed, key=lambda key: (-ranks[key], _in_line_since(infos[key]), key))
    made, number = 0, 0
    for number, key in enumerate(in_order):
        if number and made >= MOST_MADE:
            break
        made += _size(infos[key])
    else:
        return set()
    lowest = ranks[in_order[number - 1]]
    below = {key for key, rank in ranks.items() if rank < lowest}
    return below.union(in_order[number:])


def _size(info: GangInfo) -> int:
    return 1 + len(one_of_each(info.observed.living))


def _in_line_since(info: GangInfo) -> float:
    return info.in_line_since(info.observed.summary.oldest)


def _ranks(
    keys: Iterable[GangKey],
    infos: Mapping[GangKey, GangInfo],
    group_of: Callable[[GangKey], Sequence[GangKey]],
) -> dict[GangKey, int]:
    """Return the priorities of gangs: in a group, the lowest of it."""
    ranks: dict[GangKey, int] = {}
    for key in keys:
        if key not in ranks:
            group = group_of(key)
            ranks |= dict.fromkeys(group, min(infos[each].observed.priority for each in group))
    return {key: ranks[key] for key in keys}
