"""The signature of a node for claims: nodes with equal signatures have equal answers.

Names do not count, and neither do devices that are taken or that no request could use. The other
devices are listed in their order, so that equal nodes give devices at the same places.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from gang_scheduler.model.devices import Claim, DeviceClass, NodeView
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.candidates import Candidates, attribute_of, matches_of
from gang_scheduler.scheduler.devices.claim_requests import ClaimError, ClaimRequests, requests_of
from gang_scheduler.scheduler.devices.partitioned_cards import NO_CARD
from gang_scheduler.scheduler.devices.pools import Pool, PoolId, Pools

NOT_PLAIN: Final = -1
MOST_REMEMBERED: Final = 4096
"""At most this many results are remembered: devices change all the time."""


class Signatures:
    """The signatures of nodes for the same claims, pools and classes.

    A node is looked at again when other pools reach it, or when other devices of it are taken.
    `pool_numbers` are those of the same claims and classes, if there are any yet.
    """

    def __init__(
        self,
        claims: Sequence[Claim],
        pools: Pools,
        classes: Mapping[str, DeviceClass],
        pool_numbers: "PoolNumbers | None" = None,
    ) -> None:
        self._pools = pools
        self.pool_numbers = pool_numbers or PoolNumbers()
        self._known: dict[str, tuple[tuple[Pool, ...], Hashable, Hashable]] = {}
        self._asked: ClaimRequests | None = None
        self._refused: Hashable = None
        self._by_numbers: dict[Hashable, Hashable] = {}
        self.made = 0
        """How many signatures were made, and not only looked up."""
        try:
            self._asked = requests_of(claims, classes)
        except ClaimError as error:
            self._refused = (error.claim, error.why)

    def follow(self, pools: Pools) -> None:
        """Take in changed pools: nodes that reach none of these are not looked at again."""
        self._pools = pools

    def forget_all_but(self, nodes: Collection[str]) -> None:
        """Drop the signatures of nodes that are gone, once they are more than half of all."""
        if len(self._known) > 2 * len(nodes):
            self._known = {name: each for name, each in self._known.items() if name in nodes}

    def of(self, node: NodeView, taken: Taken) -> Hashable:
        """Return the signature of a node."""
        if self._asked is None:
            return self._refused
        offered = self._pools.on(node)
        used = _used(offered, taken)
        known = self._known.get(node.name)
        if known is not None and known[0] == offered and known[1] == used:
            return known[2]
        found = self._signature_of_pools(self._asked, offered, taken)
        self._known[node.name] = (offered, used, found)
        return found

    def by_place(self, node: NodeView, taken: Taken) -> Hashable | None:
        """Return a key of a node; None if none can be made.

        On nodes with equal keys, the same claims get the devices at the same positions in their
        pools. There is no key if a pool is not plain, or if the claims are refused everywhere.
        """
        if self._asked is None:
            return None
        return self._by_place(self._asked, self._pools.on(node), taken)

    def _by_place(
        self, asked: ClaimRequests, offered: tuple[Pool, ...], taken: Taken
    ) -> Hashable | None:
        numbers = [self.pool_numbers.of(asked, pool) for pool in offered]
        if NOT_PLAIN in numbers:
            return None
        places = (_places(pool, taken) for pool in offered)
        return tuple(zip(numbers, places, strict=True))

    def _signature_of_pools(
        self, asked: ClaimRequests, offered: tuple[Pool, ...], taken: Taken
    ) -> Hashable:
        key = self._by_place(asked, offered, taken)
        if key is None:
            self.made += 1
            return _signature(asked, offered, taken)
        if key not in self._by_numbers:
            self.made += 1
            if len(self._by_numbers) >= MOST_REMEMBERED:
                self._by_numbers.clear()
            self._by_numbers[key] = _signature(asked, offered, taken)
        return self._by_numbers[key]


class PoolNumbers:
    """Numbers of plain pools: equal for pools whose devices the same claims see alike.

    The devices of a plain pool are for one node, each for one claim, and share no counters. So the
    offer of such a pool depends only on the devices that are taken.
    """

    def __init__(self) -> None:
        self._of_pool: WeakKeyDictionary[Pool, int] = WeakKeyDictionary()
        self._numbers: dict[Hashable, int] = {}
        self._last = NOT_PLAIN
        self.read = 0
        """How many devices were looked at."""

    def of(self, asked: ClaimRequests, pool: Pool) -> int:
        """Return the number of a pool, or NOT_PLAIN. It is computed once for each pool."""
        found = self._of_pool.get(pool)
        if found is None:
            found = self._number(asked, pool) if _is_plain(pool) else NOT_PLAIN
            self._of_pool[pool] = found
        return found

    def _number(self, asked: ClaimRequests, pool: Pool) -> int:
        self.read += len(pool.devices)
        seen = [matches_of(device_filter, pool) for device_filter in asked.device_filters]
        devices = tuple(
            (
                *((match.fault, match.is_selectable, bool(match.taints)) for match in of_filters),
                *(attribute_of(device, name) for name in asked.attributes()),
            )
            for device, *of_filters in zip(pool.devices, *seen, strict=True)
        )
        key = _state(pool), devices
        if key not in self._numbers:
            if len(self._numbers) >= MOST_REMEMBERED:
                self._numbers.clear()  # No number is given again: pools and signatures have them.
            self._last += 1
            self._numbers[key] = self._last
        return self._numbers[key]


def _is_plain(pool: Pool) -> bool:
    multiple = any(each.device.allow_multiple for each in pool.devices)
    return pool.is_local and not pool.counters and not multiple


def _places(pool: Pool, taken: Taken) -> tuple[int, ...]:
    """Return the places of the devices that are taken."""
    return tuple(i for i, each in enumerate(pool.ids) if taken.has(each))


def _used(offered: Sequence[Pool], taken: Taken) -> Hashable:
    """Return the devices taken from pools, and the capacity left of shared ones."""
    return tuple(
        (each, taken.has(each), taken.shares(each), tuple(taken.capacity(each).items()))
        for pool in offered
        for each in pool.ids
        if taken.is_used(each)
    )


def _signature(asked: ClaimRequests, offered: Sequence[Pool], taken: Taken) -> Hashable:
    """Return a key of everything that decides about the answer.

    A pool that reaches several nodes is in it by name, since all of them use the same devices.
    """
    candidates = Candidates(asked, offered, taken)
    values: dict[object, int] = {}
    sets: dict[tuple[PoolId, str], int] = {}
    found: list[Hashable] = []
    for place, device in enumerate(candidates.devices):
        if not candidates.is_relevant(place):
            continue
        attributes = tuple(
            value if value is None else values.setdefault((i, value), len(values))
            for i, value in enumerate(candidates.values[place])
        )
        pool = candidates.pools[place]
        uses: tuple[Hashable, ...] = ()
        if candidates.cards.of[place] != NO_CARD:
            uses = tuple(
                (
                    sets.setdefault((pool.id, use.counter_set), len(sets)),
                    tuple(sorted((name, each.nanos) for name, each in use.counters.items())),
                )
                for use in device.device.consumes
            )
        found.append((candidates.device_key(place), attributes, uses))
    return (tuple(found), _left(sets, candidates), tuple(map(_state, offered)))


def _left(sets: Mapping[tuple[PoolId, str], int], candidates: Candidates) -> Hashable:
    """Return the amounts left of counter sets, and whether a counter of the pool is overdrawn."""
    found = []
    for (pool, name), number in sets.items():
        counters = candidates.counters[pool]
        left = sorted((counter, n) for (of_set, counter), n in counters.items() if of_set == name)
        found.append((number, tuple(left), min(counters.values(), default=0) < 0))
    return tuple(found)


def _state(pool: Pool) -> Hashable:
    shared = None if pool.is_local else pool.id
    return (pool.is_incomplete, bool(pool.invalid), shared)
