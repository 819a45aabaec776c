"""The devices of one node that a request may get: selectors, taints, capacity, and their order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from gang_scheduler.model.device_quantities import Quantity
from gang_scheduler.model.devices import (
    KEEPING_OUT,
    MOST_RESULTS,
    Attribute,
    Mode,
    Problem,
)
from gang_scheduler.scheduler.devices import capacity
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.capacity import CapacityError
from gang_scheduler.scheduler.devices.claim_requests import (
    Choice,
    ClaimError,
    ClaimRequests,
    DeviceFilter,
)
from gang_scheduler.scheduler.devices.outcomes import Funnel, Lack, NoFit
from gang_scheduler.scheduler.devices.partitioned_cards import PartitionedCards, counters_left
from gang_scheduler.scheduler.devices.pools import OfferedDevice, Pool
from gang_scheduler.scheduler.devices.selectors import Selector, SelectorError

NOT_OF_CLASS, NOT_MATCHING, MATCHING = range(3)
"""How many selectors of a device filter a device passes."""
_NO_CAPACITY: Final[Mapping[str, int]] = {}

Faulty = str
"""Why it is unknown whether a device suits a device filter."""


class DeviceMatch:
    """A device under one device filter: which of its conditions the device meets."""

    __slots__ = ("consumed", "fault", "is_enough", "selected", "taints")

    def __init__(self, device_filter: DeviceFilter, offered: OfferedDevice) -> None:
        self.fault: Faulty = ""
        self.selected = MATCHING
        self.consumed: Mapping[str, Quantity] | None = {}
        self.is_enough = True
        device = offered.device
        self.taints = tuple(
            str(taint)
            for taint in device.taints
            if taint.effect in KEEPING_OUT
            and not any(each.tolerates(taint) for each in device_filter.tolerations)
        )
        try:
            self.selected = _selection_stage(device_filter, offered)
            if self.selected == MATCHING and (device.capacity or device_filter.capacity):
                self.consumed = capacity.consumed(device, dict(device_filter.capacity))
                self.is_enough = self.consumed is not None and capacity.is_enough(
                    device, self.consumed, _NO_CAPACITY
                )
        except (SelectorError, CapacityError) as error:
            self.fault = str(error)

    @property
    def is_selectable(self) -> bool:
        """Whether the selectors match, and the device has the capacity if it is not in use."""
        return self.selected == MATCHING and self.is_enough


_MATCHES: Final[WeakKeyDictionary[Pool, dict[DeviceFilter, tuple[DeviceMatch, ...]]]] = (
    WeakKeyDictionary()
)
MOST_DEVICE_FILTERS: Final = 64
"""The most device filters whose matches are kept for one pool."""


def matches_of(device_filter: DeviceFilter, pool: Pool) -> tuple[DeviceMatch, ...]:
    """Return the devices of a pool matched with a device filter: kept for as long as the pool."""
    known = _MATCHES.setdefault(pool, {})
    found = known.get(device_filter)
    if found is None:
        if len(known) >= MOST_DEVICE_FILTERS:
            known.clear()
        found = known[device_filter] = tuple(
            DeviceMatch(device_filter, each) for each in pool.devices
        )
    return found


def _selection_stage(device_filter: DeviceFilter, offered: OfferedDevice) -> int:
    driver = offered.id.driver
    where = f"DeviceClass {device_filter.device_class}, selector"
    if not _all_match(device_filter.of_class, offered, driver, where):
        return NOT_OF_CLASS
    if not _all_match(device_filter.selectors, offered, driver, "selector"):
        return NOT_MATCHING
    return MATCHING if offered.here else NOT_OF_CLASS


def _all_match(texts: Iterable[str], offered: OfferedDevice, driver: str, where: str) -> bool:
    for i, text in enumerate(texts):
        try:
            if not Selector.compile(text).matches(offered.device, driver):
                return False
        except SelectorError as error:
            raise SelectorError(f"{where} {i} on device {offered.id}: {error}") from None
    return True


class Candidates:
    """The devices of the pools of a node, in the order in which they are tried."""

    def __init__(self, asked: ClaimRequests, pools: Sequence[Pool], taken: Taken) -> None:
        self._asked = asked
        self._pools = pools
        self.taken = taken
        usable = [each for each in pools if each.is_usable]
        self.pools = [pool for pool in usable for _ in pool.devices]
        self.devices = [device for pool in usable for device in pool.devices]
        self.is_taken = [taken.has(each.id) for each in self.devices]
        self._filters = list(asked.device_filters)
        self._matches = [
            [match for pool in usable for match in matches_of(device_filter, pool)]
            for device_filter in self._filters
        ]
        self.has_errors = any(match.fault for seen in self._matches for match in seen)
        self.unsupported: tuple[Problem, ...] = tuple(
            problem for each in pools for problem in each.unsupported
        )
        self._all = [
            [i for i, match in enumerate(seen) if match.is_selectable]
            if device_filter.mode is Mode.ALL
            else []
            for device_filter, seen in zip(self._filters, self._matches, strict=True)
        ]
        self.values = [
            tuple(attribute_of(each, name) for name in asked.attributes()) for each in self.devices
        ]
        bare_kinds = [self._bare_kind(i) for i in range(len(self.devices))]
        self.kinds = self._kinds(bare_kinds)
        self.counters = {pool.id: counters_left(pool, taken) for pool in usable if pool.counters}
        self.cards = PartitionedCards(
            self.devices, self.pools, self.kinds, bare_kinds, self.counters
        )
        self.kind_count = max(self.kinds, default=-1) + 1
        self._left = [self._suffix_counts(i) for i in range(len(self._filters))]

    def __len__(self) -> int:
        return len(self.devices)

    # The devices that a choice asks for.

    def count(self, choice: Choice) -> int:
        """Return how many devices a choice needs on this node."""
        return (
            len(self._all[choice.device_filter]) if choice.mode is Mode.ALL else choice.asked.count
        )

    def all_of(self, choice: Choice) -> Sequence[int]:
        """Return the places of all devices that a choice asks for."""
        return self._all[choice.device_filter]

    def match(self, choice: Choice, place: int) -> DeviceMatch:
        """Return a device as a choice sees it. Raises ClaimError if that is an error."""
        match = self._matches[choice.device_filter][place]
        if match.fault:
            raise ClaimError(choice.claim, choice.name, match.fault)
        return match

    def suits(self, choice: Choice, place: int) -> bool:
        """Return whether a device suits a choice, whatever is in use. Raises ClaimError."""
        match = self.match(choice, place)
        return match.is_selectable and not match.taints

    def eligible(self, choice: Choice, place: int) -> bool:
        """Return whether a device suits a choice, and is not taken by claims."""
        return self._is_eligible(choice.device_filter, place)

    def eligible_from(self, choice: Choice, place: int) -> int:
        """Return how many eligible devices there are from a place on."""
        return self._left[choice.device_filter][place]

    def _is_eligible(self, device_filter: int, place: int) -> bool:
        match = self._matches[device_filter][place]
        if match.fault or match.taints or not match.is_selectable:
            return False
        return self._filters[device_filter].admin or not self.is_taken[place]

    def _suffix_counts(self, device_filter: int) -> list[int]:
        counts = [0] * (len(self.devices) + 1)
        for place in reversed(range(len(self.devices))):
            counts[place] = counts[place + 1] + self._is_eligible(device_filter, place)
        return counts

    def _kinds(self, bare: Sequence[object]) -> list[int]:
        """Return a number for each device. The claims cannot tell devices of one number apart."""
        known: dict[object, int] = {}
        found = []
        for place, offered in enumerate(self.devices):
            uses = tuple(
                (each.counter_set, frozenset((name, q.nanos) for name, q in each.counters.items()))
                for each in offered.device.consumes
            )
            kind = (bare[place], (self.pools[place].id, uses) if uses else None)
            found.append(known.setdefault(kind, len(known)))
        return found

    def _bare_kind(self, place: int) -> object:
        """Return the properties of a device that the claims can tell apart, except its counters."""
        offered = self.devices[place]
        if self._asked.has_admin or offered.device.allow_multiple:
            # A device that is in use for one claim and not for another, or in part, is a kind by
            # itself.
            return place
        answers = tuple(self._answer(matches[place]) for matches in self._matches)
        return (self.is_taken[place], answers, self.values[place])

    @staticmethod
    def _answer(match: DeviceMatch) -> object:
        return match.fault or (match.is_selectable, bool(match.taints))

    def device_key(self, place: int) -> tuple[object, ...]:
        """Return which filters a device passes, and the free capacity of a shared device."""
        offered = self.devices[place]
        answers = tuple(self._answer(matches[place]) for matches in self._matches)
        if not offered.device.allow_multiple:
            return (self.is_taken[place], answers)
        in_use = self.taken.capacity(offered.id)
        left = tuple(
            (name, each.value.nanos - in_use.get(name, 0))
            for name, each in sorted(offered.device.capacity.items())
        )
        consumed = tuple(
            tuple(sorted((name, q.nanos) for name, q in (matches[place].consumed or {}).items()))
            for matches in self._matches
        )
        is_shared = self.taken.shares(offered.id) > 0
        return (self.is_taken[place], answers, is_shared, left, consumed)

    def is_relevant(self, place: int) -> bool:
        """Return whether a device matters to a search: some filter could take it, or needs it."""
        return any(
            bool(matches[place].fault)
            or (device_filter.mode is Mode.ALL and matches[place].is_selectable)
            or self._is_eligible(i, place)
            for i, (device_filter, matches) in enumerate(
                zip(self._filters, self._matches, strict=True)
            )
        )

    # The devices that are missing.

    def lack_of_all(self) -> NoFit | None:
        """Return why a request for all devices fails here, or which claim needs too many."""
        for request in self._asked.requests:
            for choice in request.choices:
                if choice.mode is not Mode.ALL:
                    continue
                for place in range(len(self.devices)):
                    self.match(choice, place)
                for pool in self._pools:
                    if not pool.is_usable:
                        lack = Lack.INCOMPLETE_POOL if pool.is_incomplete else Lack.INVALID_POOL
                        return NoFit(
                            lack, self.funnel(choice), str(pool.id), unsupported=self.unsupported
                        )
        return self._too_many()

    def _too_many(self) -> NoFit | None:
        needed: dict[int, int] = {}
        for request in self._asked.requests:
            least = min(self.count(choice) for choice in request.choices)
            needed[request.claim] = needed.get(request.claim, 0) + least
            if needed[request.claim] > MOST_RESULTS:
                return NoFit(Lack.TOO_MANY, self.funnel(request.choices[0]))
        return None

    def funnel(self, choice: Choice) -> Funnel:
        """Return how many devices are left after each condition of a choice."""
        matches = self._matches[choice.device_filter]
        of_class = [match for match in matches if match.fault or match.selected != NOT_OF_CLASS]
        matching = [match for match in of_class if match.fault or match.selected == MATCHING]
        tolerated = [match for match in matching if not match.taints]
        taints: dict[str, int] = {}
        for match in matching:
            for taint in match.taints:
                taints[taint] = taints.get(taint, 0) + 1
        return Funnel(
            claim=choice.claim,
            request=choice.name,
            wanted=self.count(choice),
            device_class=choice.asked.device_class,
            selectors=choice.asked.selectors,
            reaching=sum(each.here for each in self.devices),
            of_class=len(of_class),
            matching=len(matching),
            tolerated=len(tolerated),
            sufficient=sum(match.is_enough for match in tolerated),
            free=self._left[choice.device_filter][0],
            taints=tuple(sorted(taints.items(), key=lambda item: (-item[1], item[0]))),
        )


def attribute_of(offered: OfferedDevice, name: str) -> Attribute | None:
    """Return an attribute by its full name. An attribute of the driver may lack the domain."""
    found = offered.device.attributes.get(name)
    if found is not None:
        return found
    domain, slash, identifier = name.partition("/")
    if not slash or domain != offered.id.driver:
        return None
    return offered.device.attributes.get(identifier)
