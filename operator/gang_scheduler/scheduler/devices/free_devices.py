"""The free devices of each node in a cycle, and for how many members they are enough."""

import operator
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from gang_scheduler.model.changed_mapping import ChangedMapping
from gang_scheduler.model.device_needs import DeviceNeeds, Devices
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    DeviceClass,
    DeviceId,
    DeviceResult,
    NodeView,
    Slice,
)
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import NO_SEARCHES, DeviceSearches
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.allocating import moved
from gang_scheduler.scheduler.devices.freed_claims import ANYWHERE, Freed
from gang_scheduler.scheduler.devices.known_slots import KnownSlots
from gang_scheduler.scheduler.devices.outcomes import (
    Budget,
    Cut,
    Funnel,
    NoFit,
    Outcome,
    Refused,
)
from gang_scheduler.scheduler.devices.pools import PoolId, Pools
from gang_scheduler.scheduler.devices.search import allocate, why_not
from gang_scheduler.scheduler.devices.signature import Signatures

STEPS_A_LOOK: Final = 20
"""This many steps of a search take as long as one look."""
LOOKS_A_SEARCH: Final = 4
DEVICES_A_LOOK: Final = 5
REQUESTS_A_LOOK: Final = 2.5
"""Before its first step, a search reads the devices of the node, and what the claims request."""
LOOKS_A_KNOWN_NODE: Final = 0.3
"""The looks for finding the signature of a node whose devices were read before."""
BESIDES_A_LOOK: Final = 10
"""One look counts for this many comparisons of requests with devices, besides search steps."""
MOST_KEPT: Final = 64
"""Signatures of nodes are kept for this many different needs."""

_View = tuple[bool, bool]
"""Whether no device is taken at all, and whether some taken devices count as free."""

Chosen = tuple[Allocation, ...]
"""The allocations of some claims, in their order."""


class _Known(NamedTuple):
    """A result that is remembered. `is_short`: the gang had too few steps left for it."""

    result: int
    is_sure: bool
    is_short: bool


class FreeDevices:
    """The devices of nodes, without the effect of assumed members.

    `failed` are the claims that can run nowhere as they are, by the needs that have them.
    `searched` is the cost of the searches until now. `unsure` counts answers from searches that
    were cut off, and `short` the ones for which another gang has enough steps.
    """

    def __init__(self, devices: Devices, nodes: NodeTable) -> None:
        self._classes = devices.classes
        self._nodes = nodes
        self._pools = _KEPT.pools(devices)
        self._taken = _KEPT.taken(devices)
        _KEPT.forget_all_but(nodes.rows)
        self._is_free = not devices.claims
        self._budget = Budget()
        self._known: dict[Hashable, _Known] = {}
        self._of_gang: dict[Hashable, _Known] = {}
        self._signatures: dict[tuple[int, DeviceNeeds, tuple[str, ...]], int] = {}
        self._numbers: dict[Hashable, int] = {}
        self.unsure = 0
        self.short = 0
        self._looks: float = 0
        self.searched = NO_SEARCHES
        self.looked: float = 0
        """How many looks all searches have taken."""
        self.failed: dict[DeviceNeeds, Refused] = {}

    @property
    def is_networked(self) -> bool:
        """Whether several nodes reach the same devices, or might."""
        return self._pools.has_shared

    def renew(self) -> None:
        """Renew the steps, for the next gang."""
        self._budget = Budget()
        self._of_gang.clear()

    def looks(self) -> float:
        """Return how many looks the searches since the last call have taken."""
        done, self._looks = self._looks, 0
        return done

    def remember(self, key: Hashable, compute: Callable[[], int]) -> int:
        """Return the result of `compute` for a key, computed once.

        It is computed again for the next gang if this one had too few steps left for a search.
        """
        known = self._known.get(key) or self._of_gang.get(key)
        if known is not None:
            self.unsure += not known.is_sure
            self.short += known.is_short
            return known.result
        unsure, short = self.unsure, self.short
        result = compute()
        known = _Known(result, is_sure=unsure == self.unsure, is_short=short < self.short)
        kept = self._of_gang if known.is_short else self._known
        kept[key] = known
        return result

    def search(
        self,
        row: int,
        claims: Sequence[Claim],
        before: Sequence[Allocation],
        freed: Freed = (),
    ) -> Outcome:
        """Return devices for claims on a node; those of the allocations `before` count as taken.

        The devices of `freed` claims are free.
        """
        taken = self._without(freed, before)
        view, besides = self._view(row), self._budget.besides
        found = allocate(view, claims, self._pools, taken, self._classes, self._budget)
        self._count(self._looks_to_read(view, claims) + found.steps / STEPS_A_LOOK)
        self._count((self._budget.besides - besides) / BESIDES_A_LOOK)
        steps, cut = self.searched
        is_cut = isinstance(found, Cut)
        self.searched = DeviceSearches(steps + found.steps, cut + is_cut)
        self.unsure += is_cut
        self.short += is_cut and self._budget.left < 0
        return found

    def _count(self, looks: float) -> None:
        self._looks += looks
        self.looked += looks

    def _looks_to_read(self, node: NodeView, claims: Sequence[Claim]) -> float:
        devices = sum(len(pool.devices) for pool in self._pools.on(node))
        requests = sum(len(each.requests) for each in claims)
        return LOOKS_A_SEARCH + devices / DEVICES_A_LOOK + requests / REQUESTS_A_LOOK

    def funnels(
        self,
        row: int,
        claims: Sequence[Claim],
        before: Sequence[Allocation],
        freed: Freed = (),
    ) -> list[Funnel]:
        """Return how many devices are left for each alternative of each request, on a node."""
        taken = self._without(freed, before)
        return why_not(self._view(row), claims, self._pools, taken, self._classes)

    def _without(self, freed: Freed, before: Sequence[Allocation] = ()) -> Taken:
        """Return the taken devices: without those of freed claims, with those allocated before."""
        if not (before or freed):
            return self._taken
        taken = self._taken.copy()
        for _, each in freed:
            taken.remove(each)
        for each in before:
            taken.add(each)
        return taken

    def rows_of(self, allocation: Allocation) -> Iterator[int]:
        """Yield the rows of nodes whose devices an allocation takes, or ANYWHERE."""
        rows = self._nodes.rows
        for pool in dict.fromkeys(PoolId(each.driver, each.pool) for each in allocation.results):
            node = self._pools.node_of(pool)
            if not node:
                yield ANYWHERE
            elif node in rows:
                yield rows[node]

    def kind_of(self, result: DeviceResult) -> str:
        """Return a text that is equal for two results if freeing either has the same effect."""
        share = f" {sorted(result.consumed.items())}" if result.share_id else ""
        return self._pools.kind_of(result.id) + share

    def known_slots(self, needs: DeviceNeeds) -> KnownSlots | None:
        """Return the known slots of nodes without members; None if nodes depend on each other."""
        if self.is_networked or any(each.shared for each in needs.claims):
            return None
        return _KEPT.known_slots((needs, self._is_free), self._nodes, self._pools, self._taken)

    def most(self, row: int, needs: DeviceNeeds, in_use: int = 0, freed: Freed = ()) -> int | None:
        """Return an upper bound of members with these needs on a node; None if there is none.

        Assumed members use at least `in_use` devices of the node.
        """
        each = sum(need.spec.least for need in needs.claims if not need.shared)
        pools = self._pools.on(self._view(row))
        devices = [device for pool in pools for device in pool.devices]
        if not each or any(device.device.allow_multiple for device in devices):
            return None
        taken = self._without(freed)
        free = sum(not taken.has(device.id) for device in devices)
        return max(free - in_use, 0) // each

    def signature(self, row: int, needs: DeviceNeeds, freed: Freed = ()) -> Hashable:
        """Return a key of nodes whose devices give the same answers for these needs."""
        key = row, needs, tuple(claim for claim, _ in freed)
        known = self._signatures.get(key) if freed else None
        if known is not None:
            self._count(LOOKS_A_KNOWN_NODE)
            return known
        found = self._signature(row, needs, freed)
        number = self._numbers.setdefault(found, len(self._numbers))
        if freed:
            # While victims are sought, the same pods leave the same nodes again and again.
            self._signatures[key] = number
        return number

    def _signature(self, row: int, needs: DeviceNeeds, freed: Freed) -> Hashable:
        node = self._view(row)
        view = self._is_free, bool(freed)
        signatures = _KEPT.signatures(needs, view, self._pools, self._classes)
        made, read = signatures.made, signatures.pool_numbers.read
        found = signatures.of(node, self._without(freed))
        is_new = signatures.made > made
        self._count(self._looks_to_read(node, ()) if is_new else LOOKS_A_KNOWN_NODE)
        self._count((signatures.pool_numbers.read - read) / DEVICES_A_LOOK)
        return found

    def by_place(self, row: int, needs: DeviceNeeds) -> Hashable | None:
        """Return a key of nodes on which members with these needs get devices at the same places.

        None if that is unknown. It is about nodes without other members, and no freed claims.
        """
        signatures = _KEPT.signatures(needs, (self._is_free, False), self._pools, self._classes)
        return signatures.by_place(self._view(row), self._taken)

    def moved(self, chosen: Chosen, row: int, to: int) -> Chosen:
        """Return a node's result for another node, with that node's devices at the same places."""
        of, there = (
            [device for pool in self._pools.on(self._view(each)) for device in pool.devices]
            for each in (row, to)
        )
        found = {each.id: other for each, other in zip(of, there, strict=True)}
        return tuple(moved(each, found, self._view(to)) for each in chosen)

    def reaches(self, row: int, allocation: Allocation) -> bool:
        """Return whether the devices of an allocation can be used on a node."""
        ids = {device.id for pool in self._pools.on(self._view(row)) for device in pool.devices}
        return all(each.id in ids for each in allocation.results)

    def with_avoided(self, row: int, lack: Outcome, avoided: Sequence[DeviceId]) -> Outcome:
        """Return an answer with the number of devices of a node that are avoided."""
        if not (avoided and isinstance(lack, NoFit)):
            return lack
        here = {device.id for pool in self._pools.on(self._view(row)) for device in pool.devices}
        number = len(here.intersection(avoided))
        return replace(lack, funnel=replace(lack.funnel, avoided=number)) if number else lack

    def _view(self, row: int) -> NodeView:
        node = self._nodes.nodes[row]
        return NodeView(node.name, node.labels)


def claims_of(needs: DeviceNeeds) -> tuple[Claim, ...]:
    """Return claims with the requests of these needs. They stand for claims of any name."""
    specs = (need.spec for need in needs.claims)
    return tuple(Claim("", "", requests=it.requests, constraints=it.constraints) for it in specs)


class _Kept:
    """Results that are kept from cycle to cycle, while slices and classes are the same objects.

    It only saves work: the answers are those of a first cycle.
    """

    def __init__(self) -> None:
        self._basis: tuple[tuple[Slice, ...], object, object] | None = None
        self._classes: Mapping[str, DeviceClass] = {}
        self._pools = Pools(())
        self._signatures: dict[tuple[DeviceNeeds, _View], Signatures] = {}
        self._known_slots: dict[tuple[DeviceNeeds, bool], KnownSlots] = {}
        self._claims: Mapping[str, Claim] = {}
        self._taken = Taken()

    def pools(self, devices: Devices) -> Pools:
        """Return the pools of a snapshot; the same object while slices, rules and classes are."""
        basis = devices.slices, devices.taint_rules, devices.classes
        if self._basis is not None and all(map(operator.is_, basis, self._basis)):
            return self._pools
        if not self._follow(basis):
            self._pools = Pools(devices.slices, devices.taint_rules)
            self._classes = devices.classes
            self._signatures.clear()
        self._basis = basis
        return self._pools

    def _follow(self, basis: tuple[tuple[Slice, ...], object, object]) -> bool:
        """Take in changed slices if nothing else has changed; return whether that was enough.

        The devices that other pools offer, and the signatures of their nodes, stay.
        """
        before = self._basis
        if before is None or before[1] is not basis[1] or before[2] is not basis[2]:
            return False
        after = {each.name: each for each in basis[0]}
        old = [each for each in before[0] if after.get(each.name) is not each]
        same = {each.name for each in before[0]} - {each.name for each in old}
        changed = [each for each in basis[0] if each.name not in same]
        gone = [(PoolId(each.driver, each.pool), each.name) for each in old]
        self._pools = self._pools.with_changes(changed, gone)
        for signatures in self._signatures.values():
            signatures.follow(self._pools)
        return True

    def forget_all_but(self, nodes: Collection[str]) -> None:
        """Drop what is remembered of nodes that are gone."""
        self._pools.forget_all_but(nodes)
        for signatures in self._signatures.values():
            signatures.forget_all_but(nodes)

    def taken(self, devices: Devices) -> Taken:
        """Return the devices that the claims of a snapshot use. It must not be changed."""
        if not devices.claims:
            return _NOTHING
        claims, before = devices.claims, self._claims
        if claims is not before:
            keys = claims.differs_in(before) if isinstance(claims, ChangedMapping) else None
            if keys is None:
                self._taken = Taken.of_claims(claims.values())
            else:
                self._taken = self._taken.following(before, claims, keys)
            self._claims = claims
        return self._taken

    def signatures(
        self,
        needs: DeviceNeeds,
        view: _View,
        pools: Pools,
        classes: Mapping[str, DeviceClass],
    ) -> Signatures:
        """Return the signatures of nodes for these needs, in these pools.

        Each view is asked for in turn, so all are kept, but only while the classes are the same.
        """
        if classes is not self._classes:
            return Signatures(claims_of(needs), pools, classes)
        key = needs, view
        found = self._signatures.pop(key, None)
        if found is None:
            if len(self._signatures) >= MOST_KEPT:
                del self._signatures[next(iter(self._signatures))]  # The longest not asked for.
            alike = (each for of, each in self._signatures.items() if of[0] == needs)
            known = next((each.pool_numbers for each in alike), None)
            found = Signatures(claims_of(needs), pools, classes, known)
        self._signatures[key] = found
        found.follow(pools)
        return found

    def known_slots(
        self, key: tuple[DeviceNeeds, bool], nodes: NodeTable, pools: Pools, taken: Taken
    ) -> KnownSlots:
        """Return the slots that are known for some needs, with claims or without any."""
        known = self._known_slots.pop(key, None)
        if known is None and len(self._known_slots) >= MOST_KEPT:
            del self._known_slots[
                next(iter(self._known_slots))
            ]  # It was not asked for the longest.
        of_now = (
            KnownSlots(nodes, pools, taken)
            if known is None
            else known.updated_for(nodes, pools, taken)
        )
        self._known_slots[key] = of_now
        return of_now


_NOTHING: Final = Taken()
"""Devices in use while there are no claims."""
_KEPT: Final = _Kept()


def kept_pools(devices: Devices) -> Pools:
    """Return the pools of a snapshot; the same object while slices, rules and classes are."""
    return _KEPT.pools(devices)
