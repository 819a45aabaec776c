"""The members of gangs on a node, in the order in which they take devices."""

import functools
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from gang_scheduler.model.device_needs import DeviceNeeds
from gang_scheduler.model.devices import Allocation, DeviceResult


class Members(NamedTuple):
    """Members of one gang on a node.

    `needs` has the number of members with each kind of needs, in the order in which they came. If
    the devices of a member were chosen when it was assumed, it stands alone, and `chosen` has the
    allocation of each of its claims, with the name of a shared claim. `nominated`: these members
    have reserved room, and wait for it.
    """

    gang: int
    needs: tuple[tuple[DeviceNeeds, int], ...]
    chosen: tuple[tuple[str, Allocation], ...] | None = None
    nominated: bool = False

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """The devices that were chosen when the member was assumed."""
        return tuple(allocation for _, allocation in self.chosen or ())

    @property
    def avoided(self) -> list[Allocation]:
        """The devices that no member must get, as if they were allocated."""
        return [each for needs, _ in self.needs for each in avoided(needs)]

    def changed(self, needs: DeviceNeeds, count: int) -> "Members":
        """Return the members after this many more have come. Their place stays if none is left.

        So a gang that is released and assumed again takes devices at its old turn.
        """
        if all(each != needs for each, _ in self.needs):
            return self._replace(needs=(*self.needs, (needs, count)))
        after = ((each, n + count if each == needs else n) for each, n in self.needs)
        return self._replace(needs=tuple(after))

    def numbers(self) -> tuple[tuple[DeviceNeeds, int], ...]:
        """Return the number of members by their needs, without needs that no member has."""
        return tuple(each for each in self.needs if each[1])

    def number(self, needs: DeviceNeeds) -> int:
        """Return how many members have these needs."""
        return sum(n for each, n in self.needs if each == needs)

    def each(self) -> Iterator[DeviceNeeds]:
        """Yield the needs of each member."""
        for needs, number in self.needs:
            for _ in range(number):
                yield needs


def avoided(needs: DeviceNeeds) -> list[Allocation]:
    """Return the devices that a member must not get, as if they were allocated."""
    results = tuple(DeviceResult("", *each) for each in needs.avoided)
    return [Allocation(results)] if results else []


MOST_TOGETHER: Final = 8
"""The most different needs that are asked for together."""


def all_of(needs: Collection[DeviceNeeds]) -> DeviceNeeds | None:
    """Return the sum of these needs; None if the answer depends on more than free devices.

    Nodes with the same answers for the sum have the same answers for any members with these needs.
    The needs of the members that come are first in it.
    """
    first, *others = needs
    if first.avoided or len(needs) > MOST_TOGETHER:
        return None
    if not others:
        return first
    if any(each.used or each.avoided or _has_shared(each) for each in needs):
        return None
    return _together(frozenset(needs))


@functools.lru_cache(maxsize=256)
def _together(needs: frozenset[DeviceNeeds]) -> DeviceNeeds:
    return DeviceNeeds(tuple(dict.fromkeys(claim for each in needs for claim in each.claims)))


def _has_shared(needs: DeviceNeeds) -> bool:
    return any(each.shared for each in needs.claims)


Gangs = tuple[Members, ...]
"""The members on a node, gang after gang."""
Rows = tuple[int, ...]
"""The rows of the users of a shared claim; on the first of them its devices are chosen."""


def changed(
    gangs: Gangs, gang: int, needs: DeviceNeeds, count: int, *, nominated: bool = False
) -> Gangs:
    """Return the members of a node after this many of a gang have come, or left if negative."""
    if count < 0:
        return _fewer(gangs, needs, -count, nominated=nominated)
    for place, members in enumerate(gangs):
        # A gang that was released, and comes again.
        is_back = members.gang != gang and members.nominated == nominated
        if is_back and (needs, 0) in members.needs:
            return (*gangs[:place], members.changed(needs, count), *gangs[place + 1 :])
    if gangs and joins(gangs[-1], gang, nominated=nominated):
        return (*gangs[:-1], gangs[-1].changed(needs, count))
    return (*gangs, Members(gang, ((needs, count),), nominated=nominated))


def joins(last: Members, gang: int, *, nominated: bool) -> bool:
    """Return whether a gang's next member is searched for together with the last ones."""
    return last.gang == gang and last.chosen is None and last.nominated == nominated


def _fewer(gangs: Gangs, needs: DeviceNeeds, count: int, *, nominated: bool) -> Gangs:
    """Return the members of a node after this many have left, the latest ones first."""
    left = []
    for members in reversed(gangs):
        leaving = min(members.number(needs), count) if members.nominated == nominated else 0
        count -= leaving
        left.append(members.changed(needs, -leaving) if leaving else members)
    return tuple(reversed(left))


def less_one(gangs: Gangs, needs: DeviceNeeds, *, nominated: bool) -> Gangs:
    """Return the members of a node without the latest one with these needs."""
    for place in reversed(range(len(gangs))):
        if gangs[place].nominated == nominated and gangs[place].number(needs):
            return (*gangs[:place], *gangs[place + 1 :])
    return gangs


def moved(users: Rows, row: int, count: int) -> Rows:
    """Return the users of a shared claim after some have come to a node, or left it."""
    if count > 0:
        return (*users, *[row] * count)
    left = list(users)
    for _ in range(min(-count, left.count(row))):
        del left[len(left) - 1 - left[::-1].index(row)]
    return tuple(left)
