"""Cards whose partitions are devices that share counters, such as a GPU and its parts.

This module says how much claims leave of the counters, and which cards are alike. If a search with
half of one card failed, a search with half of another card in the same state would fail, too: the
cards could change places.
"""

from collections.abc import Sequence
from typing import Final

from gang_scheduler.model.devices import Device, DeviceId
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.pools import OfferedDevice, Pool, PoolId

# The counters of a pool.


def counters_left(pool: Pool, taken: Taken) -> dict[tuple[str, str], int]:
    """Return how much of a pool's counters claims leave, in billionths; it may be negative."""
    left = {
        (counter_set, name): amount
        for counter_set, counters in pool.counters.items()
        for name, amount in counters.items()
    }
    here = ((each.id, each.device) for each in pool.devices)
    elsewhere = ((DeviceId(*pool.id, each.name), each) for each in pool.elsewhere)
    for identity, device in (*here, *elsewhere):
        if device.consumes and taken.is_used(identity):
            charge(left, device, -1)
    return left


def charge(counters: dict[tuple[str, str], int], device: Device, sign: int) -> None:
    """Add the amounts that a device consumes, or with the sign -1 subtract them."""
    for use in device.consumes:
        for name, amount in use.counters.items():
            counters[use.counter_set, name] += sign * amount.nanos


# Cards that are alike.

NO_CARD: Final = -1

_SetId = tuple[PoolId, str]


class PartitionedCards:
    """The cards among the devices of a node.

    `left` is how much of each pool's counters claims leave, in billionths.
    """

    def __init__(
        self,
        devices: Sequence[OfferedDevice],
        pools: Sequence[Pool],
        kinds: Sequence[int],
        bare_kinds: Sequence[object],
        left: dict[PoolId, dict[tuple[str, str], int]],
    ) -> None:
        self.of = _numbered(devices, pools)
        count = max(self.of, default=NO_CARD) + 1
        self._places: list[list[int]] = [[] for _ in range(count)]
        for place, card in enumerate(self.of):
            if card != NO_CARD:
                self._places[card].append(place)
        self._kinds = [list(dict.fromkeys(kinds[i] for i in places)) for places in self._places]
        names = [_names(places, devices) for places in self._places]
        self._device_keys: list[object] = [
            None if card == NO_CARD else (bare_kinds[place], _uses(devices[place], names[card]))
            for place, card in enumerate(self.of)
        ]
        known: dict[object, int] = {}
        self.likeness = []
        for places, of_card in zip(self._places, names, strict=True):
            pool = pools[places[0]].id
            device_keys = tuple(self._device_keys[place] for place in places)
            whole = (pool, device_keys, _counters(left[pool], of_card))
            self.likeness.append(known.setdefault(whole, len(known)))
        on_cards = {kind for of_card in self._kinds for kind in of_card}
        self._others = [kind for kind in sorted(set(kinds)) if kind not in on_cards]

    def interchange_key(self, place: int, in_use: Sequence[bool]) -> object:
        """Return a key that is the same for all devices on cards that could take its place."""
        card = self.of[place]
        state = tuple(in_use[each] for each in self._places[card])
        return (self.likeness[card], state, self._device_keys[place])

    def state(self, used: Sequence[int]) -> object:
        """Return how many devices of each kind are in use; equal cards are not told apart."""
        if not self._places:
            return tuple(used)
        cards = sorted(
            (self.likeness[card], tuple(used[kind] for kind in kinds))
            for card, kinds in enumerate(self._kinds)
        )
        return tuple(used[kind] for kind in self._others), tuple(cards)


def _numbered(devices: Sequence[OfferedDevice], pools: Sequence[Pool]) -> list[int]:
    """Return the card of each device. All counter sets that one device uses are on one card."""
    parent: dict[_SetId, _SetId] = {}

    def root(each: _SetId) -> _SetId:
        while parent.setdefault(each, each) != each:
            each = parent[each]
        return each

    for offered, pool in zip(devices, pools, strict=True):
        sets = [root((pool.id, use.counter_set)) for use in offered.device.consumes]
        for other in sets[1:]:
            parent[root(other)] = root(sets[0])
    numbers: dict[_SetId, int] = {}
    found = []
    for offered, pool in zip(devices, pools, strict=True):
        uses = offered.device.consumes
        first = root((pool.id, uses[0].counter_set)) if uses else None
        found.append(NO_CARD if first is None else numbers.setdefault(first, len(numbers)))
    return found


def _names(places: Sequence[int], devices: Sequence[OfferedDevice]) -> dict[str, int]:
    """Return a number for each counter set of a card, by first occurrence."""
    uses = (use.counter_set for place in places for use in devices[place].device.consumes)
    return {name: i for i, name in enumerate(dict.fromkeys(uses))}


def _uses(offered: OfferedDevice, names: dict[str, int]) -> object:
    """Return the amounts that a device takes from its card, without the names of counter sets."""
    return tuple(
        (names[use.counter_set], frozenset((name, q.nanos) for name, q in use.counters.items()))
        for use in offered.device.consumes
    )


def _counters(left: dict[tuple[str, str], int], names: dict[str, int]) -> object:
    """Return the amounts left of the counters of a card."""
    return frozenset(
        (names[counter_set], counter, amount)
        for (counter_set, counter), amount in left.items()
        if counter_set in names
    )
