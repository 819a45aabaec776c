"""The devices in use in a trial: the needs of the members that are assumed on each node.

Members of one gang on a node are given their devices in one search, so a member that could take
any device leaves the one that another must have. What earlier gangs took in the same cycle stays
theirs: a later gang gets what is left.

Only needs are kept here. The devices are named when the plan is made. Devices that several nodes
reach are the exception: they are chosen, member by member, when a member is assumed.

Pods that leave free the devices of their claims, with the last user of each. Members with reserved
room may have the devices of pods that are still leaving; others may not.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.device_needs import DeviceNeeds, Devices, Uses
from gang_scheduler.model.devices import Allocation, Claim, DeviceId
from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.devices.extended import at_node
from gang_scheduler.scheduler.devices.free_devices import FreeDevices, claims_of
from gang_scheduler.scheduler.devices.freed_claims import ANYWHERE, Freed, FreedClaims
from gang_scheduler.scheduler.devices.known_slots import UNKNOWN, KnownSlots
from gang_scheduler.scheduler.devices.members import (
    Gangs,
    Members,
    Rows,
    all_of,
    avoided,
    changed,
    joins,
    less_one,
    moved,
)
from gang_scheduler.scheduler.devices.outcomes import Cut, Found, Funnel, NoFit, Outcome, Refused

MOST_PODS: Final = 256
"""A node is never asked for more members than this."""
MOST_ALTERNATIVES: Final = 8
"""A request has at most this many alternatives."""
InTime = Callable[[Sequence[int]], Iterator[int]]
"""Yields the given rows, in any order, until the looks for the search are used up."""


class _Before(NamedTuple):
    """A change, and the members before it."""

    change: tuple[DeviceNeeds, bytes, bytes, bool]
    gangs: dict[int, Gangs]
    users: dict[str, Rows]


@dataclass(slots=True, eq=False)
class _Room:
    """The slots of each node for members with the same needs, and the rows to examine again.

    `kept` has the slots of nodes that nothing in this cycle has changed, if they can be known. The
    next gang looks again at the rows in `short`: this one had too few steps left for them. `places`
    has what `alternatives` returns, UNKNOWN for nodes that were not asked for.
    """

    slots: IntArray
    stale: set[int]
    kept: KnownSlots | None
    short: set[int] = field(default_factory=set)
    places: IntArray | None = None

    def copy(self) -> "_Room":
        """Return an independent copy."""
        return _Room(self.slots, {*self.stale}, self.kept, {*self.short}, self.places)

    def note_changed(self, rows: Collection[int]) -> None:
        """Note that the free devices of some nodes have changed."""
        self.stale.update(rows)
        if self.places is not None:
            self.places = self.places.copy()
            self.places[[*rows]] = UNKNOWN


class DeviceLedger:
    """The devices of a snapshot, changed by the members that are assumed to use them."""

    def __init__(self, devices: Devices, nodes: NodeTable) -> None:
        self.free_devices = FreeDevices(devices, nodes)
        self.devices = devices
        self.nodes = nodes
        self._gangs: dict[int, Gangs] = {}
        self._users: dict[str, Rows] = {}
        self._rooms: dict[DeviceNeeds, _Room] = {}
        self._lacks: dict[tuple[int, DeviceNeeds], tuple[tuple[int, Gangs], Outcome | None]] = {}
        self._history: list[_Before] = []
        self._gang = 0
        self._freed = FreedClaims(devices, self.free_devices.rows_of)
        self._expected = FreedClaims(devices, self.free_devices.rows_of)

    def copy(self) -> "DeviceLedger":
        """Return an independent copy of the ledger."""
        other = object.__new__(DeviceLedger)
        other.free_devices, other._gang = self.free_devices, self._gang
        other.devices, other.nodes = self.devices, self.nodes
        other._gangs, other._users = dict(self._gangs), dict(self._users)
        other._rooms = {needs: room.copy() for needs, room in self._rooms.items()}
        other._history, other._lacks = list(self._history), {}
        other._freed, other._expected = self._freed.copy(), self._expected.copy()
        return other

    def next_gang(self) -> None:
        """Note that another gang is decided from now on: earlier ones keep their devices."""
        self._gang += 1
        self.free_devices.renew()
        for room in self._rooms.values():
            room.stale, room.short = room.stale | room.short, set()

    @property
    def are_claimed(self) -> bool:
        """Whether any claim has devices."""
        return bool(self.devices.claims)

    @property
    def ending(self) -> Uses:
        """The claims whose users have all ended, each as a use by no pod."""
        return tuple((claim, "") for claim in self.devices.ending)

    def use(self, uses: Uses, sign: int) -> None:
        """Remove pods that use claims (sign -1), or add them again (1)."""
        self._mark_stale(self._freed.change(uses, sign))

    def expect(self, uses: Uses) -> None:
        """Note that pods leave in any case: members with reserved room wait for their devices."""
        self._mark_stale(self._expected.change(uses, -1))

    def freed_by(self, uses: Uses) -> list[DeviceId]:
        """Return the devices that become free when pods with these uses leave in any case."""
        keys = [claim for claim, _ in uses if self._expected.has(claim)]
        allocations = (self.devices.claims[key].allocation for key in dict.fromkeys(keys))
        return [each.id for found in allocations if found is not None for each in found.results]

    def kinds_of(self, uses: Uses) -> Iterator[str]:
        """Yield the devices that each claim of a pod frees, as texts: equal for equal devices.

        A claim with other users stands for itself.
        """
        for claim, uid in uses:
            known, holders = self.devices.claims.get(claim), self.devices.holders.get(claim)
            if known is None or known.allocation is None or holders is None:
                continue
            if holders.others or holders.pods != {uid}:
                yield claim
            else:
                yield from sorted(map(self.free_devices.kind_of, known.allocation.results))

    def _mark_stale(self, rows: set[int]) -> None:
        if rows:
            self._lacks.clear()
        everywhere = ANYWHERE in rows or (bool(rows) and self.free_devices.is_networked)
        for room in self._rooms.values() if rows else ():
            room.note_changed(range(len(self.nodes)) if everywhere else rows)

    def room(self, needs: DeviceNeeds, within: BoolArray, in_time: InTime = iter) -> IntArray:
        """Return for how many more members with these needs each of these nodes has devices.

        Other nodes are not searched, and count as having none. So do nodes for which there is no
        time, as `in_time` says.
        """
        room = self._room(needs)
        stale = sorted(row for row in room.stale if within[row])
        if stale:
            room.slots = room.slots.copy()
            only = self._only_row(needs)
            if only is not None:
                elsewhere = [row for row in stale if row != only]
                room.slots[elsewhere] = 0
                room.stale.difference_update(elsewhere)
                stale = [row for row in stale if row == only]
            for row in in_time(stale):
                short = self.free_devices.short
                room.slots[row] = self._slots(row, needs, room.kept)
                if short < self.free_devices.short:
                    room.short.add(row)
                room.stale.discard(row)
            room.slots[[row for row in stale if row in room.stale]] = 0
        return np.where(within, room.slots, 0)

    def _only_row(self, needs: DeviceNeeds) -> int | None:
        """Return the row of the node that has the devices of a shared claim with users.

        None if no shared claim has users, or if several nodes may reach the same devices.
        """
        if self.free_devices.is_networked:
            return None
        users = (self._users.get(each.shared) for each in needs.claims if each.shared)
        return next((rows[0] for rows in users if rows), None)

    def alternatives(
        self, needs: DeviceNeeds, within: BoolArray, in_time: InTime = iter
    ) -> IntArray:
        """Return for each node how early alternatives one more member gets there.

        Each request of `firstAvailable` counts 8, less the alternatives before. Nodes without room
        count 0, and so do all nodes if they depend on each other.
        """
        if self.is_coupled(needs):
            return np.zeros(len(self.nodes), dtype=np.int64)
        has_room, room = self.room(needs, within, in_time) > 0, self._room(needs)
        places = np.full(len(self.nodes), UNKNOWN) if room.places is None else room.places.copy()
        for row in in_time(np.flatnonzero(has_room & (places == UNKNOWN)).tolist()):
            places[row] = self._alternatives(row, needs)
        room.places = places
        return np.where(has_room, places.clip(min=0), 0)

    def _alternatives(self, row: int, of_pods: DeviceNeeds) -> int:
        needs = at_node(self.nodes, row, of_pods)
        members = tuple(each.numbers() for each in self._gangs.get(row, ()) if each.numbers())
        asked = all_of({needs: None, **{other: None for each in members for other, _ in each}})
        compute = functools.partial(self._places, row, needs)
        if asked is None:
            return compute()
        signature = self.free_devices.signature(row, asked, self._free(row, needs.used))
        return self.free_devices.remember(("alternatives", needs, signature, members), compute)

    def _places(self, row: int, needs: DeviceNeeds) -> int:
        """Return the sum over the requests with alternatives of one more member."""
        asked = self._beside_others(row, needs)
        if asked is None:
            return 0
        found = self.free_devices.search(row, *asked, self._free(row, needs.used))
        if not isinstance(found, Found):
            return 0
        total = 0
        for need, allocation in zip(needs.claims, found.allocations, strict=True):
            given = {each.request for each in allocation.results}
            for request in need.spec.requests:
                names = [request.name_of(each) for each in request.alternatives]
                if request.is_prioritized:
                    places = (i for i, name in enumerate(names) if name in given)
                    total += MOST_ALTERNATIVES - next(places, MOST_ALTERNATIVES)
        return total

    def _room(self, needs: DeviceNeeds) -> _Room:
        room = self._rooms.get(needs)
        if room is None:
            kept = self.free_devices.known_slots(needs)
            if kept is None:
                slots, stale = np.zeros(len(self.nodes), dtype=np.int64), {*range(len(self.nodes))}
            else:
                slots = np.maximum(kept.slots, 0)
                stale = {*np.flatnonzero(kept.slots == UNKNOWN).tolist(), *self._gangs}
                freed = {*self._freed.rows(), *self._expected.rows()}
                stale |= {*range(len(self.nodes))} if ANYWHERE in freed else freed
            room = self._rooms[needs] = _Room(slots, stale, kept)
        return room

    def most_slots(self, needs: DeviceNeeds, within: BoolArray, in_time: InTime = iter) -> IntArray:
        """Return the room as if members on other nodes took nothing: an upper bound."""
        room = self.room(needs, within, in_time)
        if not self.is_coupled(needs):
            return room
        # All users of a shared claim need its devices only once.
        all_shared = all(each.shared for each in needs.claims) and not needs.extended
        return np.where(room > 0, UNLIMITED if all_shared else MOST_PODS, 0)

    def lacks(self, needs: DeviceNeeds, rows: Iterable[int]) -> Iterator[Outcome | None]:
        """Yield why nodes have no devices for one more member; None for one that has some.

        Devices for a member that joins others are searched together with theirs. If that fails, the
        answer counts what these others get as taken. Remembered until the members of the node
        change.
        """
        kept = self._room(needs).kept
        for row in rows:
            is_untouched = not (
                self._freed.on(row) or self._expected.on(row) or self._has_members(row)
            )
            known = kept if is_untouched else None
            if known is not None and row in known.lacks:
                yield known.lacks[row]
                continue
            found = self.lack(needs, row)
            if known is not None and not isinstance(found, Cut | Refused):
                known.lacks[row] = found
            yield found

    def lack(self, needs: DeviceNeeds, row: int) -> Outcome | None:
        """Return why a node has no devices for one more member; None if it has some."""
        needs = at_node(self.nodes, row, needs)
        if self.is_coupled(needs):
            return self._lack(row, needs) if self._reaches_shared(row, needs) else None
        key, gangs = (row, needs), (self._gang, self._gangs.get(row, ()))
        known = self._lacks.get(key)
        if known is None or known[0] != gangs:
            known = self._lacks[key] = gangs, self._lack(row, needs)
        return known[1]

    def _lack(self, row: int, needs: DeviceNeeds) -> Outcome | None:
        gangs = self._gangs.get(row, ())
        with_one = changed(gangs, self._gang, needs, 1)
        outcomes = (outcome for _, outcome in self._outcomes(row, with_one))
        failed = next((each for each in outcomes if not isinstance(each, Found)), None)
        if isinstance(failed, NoFit) and gangs:
            failed = self._lack_beside_others(row, needs) or failed
        return (
            self.free_devices.with_avoided(row, failed, needs.avoided)
            if failed is not None
            else None
        )

    def funnels(self, needs: DeviceNeeds, row: int) -> list[Funnel]:
        """Return how many devices are left for each request of one more member, on a node.

        The devices of the node's other members count as taken, if they are known.
        """
        needs = at_node(self.nodes, row, needs)
        claims, before = self._beside_others(row, needs) or (claims_of(needs), avoided(needs))
        return self.free_devices.funnels(row, claims, before, self._free(row, needs.used))

    def _lack_beside_others(self, row: int, needs: DeviceNeeds) -> NoFit | None:
        """Return the devices that a member lacks once all others of a node have theirs."""
        asked = self._beside_others(row, needs)
        free = self._free(row, needs.used)
        alone = self.free_devices.search(row, *asked, free) if asked is not None else None
        return alone if isinstance(alone, NoFit) else None

    def _beside_others(
        self, row: int, needs: DeviceNeeds
    ) -> tuple[Sequence[Claim], Sequence[Allocation]] | None:
        """Return the claims of one more member, and the devices that all others of a node get.

        None if the others get none.
        """
        gangs = self._gangs.get(row, ())
        before = self.elsewhere(row)
        before += [each for members in gangs for each in members.allocations]
        for _, found in self._outcomes(row, gangs):
            if not isinstance(found, Found):
                return None
            before += found.allocations
        asked = (each for members in gangs for each, _ in members.numbers())
        seen = {need.shared for each in asked for need in each.claims}
        before += avoided(needs)
        return [claim for _, claim in self.asked(row, needs, claims_of(needs), seen)], before

    def is_coupled(self, needs: DeviceNeeds) -> bool:
        """Return whether a member on one node takes what members on other nodes may need."""
        return self.free_devices.is_networked or any(each.shared for each in needs.claims)

    def is_undecided(self, needs: DeviceNeeds) -> bool:
        """Return whether these needs have a shared claim that no assumed member uses yet."""
        return any(each.shared and not self._users.get(each.shared) for each in needs.claims)

    def apply(
        self, pod_class: PodClass, rows: IntArray, counts: IntArray, *, nominated: bool = False
    ) -> None:
        """Assume so many members on the nodes of these rows; negative counts release them."""
        needs = pod_class.devices
        if needs is None or not needs.are_open:
            return
        undone = needs, rows.tobytes(), (-counts).tobytes(), nominated
        if self._history and self._history[-1].change == undone:
            before = self._history.pop()
            self._gangs |= before.gangs
            self._users |= before.users
        else:
            shared = [each.shared for each in needs.claims if each.shared]
            before = _Before(
                (needs, rows.tobytes(), counts.tobytes(), nominated),
                {row: self._gangs.get(row, ()) for row in rows.tolist()},
                {claim: self._users.get(claim, ()) for claim in shared},
            )
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                self._change(row, needs, count, nominated=nominated)
            self._history.append(before)
        concerned = range(len(self.nodes)) if self.is_coupled(needs) else rows.tolist()
        for room in self._rooms.values():
            room.note_changed(concerned)

    def gangs_on(self, row: int) -> Gangs:
        """Return the members that are assumed on a node, gang after gang."""
        return self._gangs.get(row, ())

    # The room of a node.

    def _has_members(self, row: int) -> bool:
        return any(members.numbers() for members in self._gangs.get(row, ()))

    def _slots(self, row: int, of_pods: DeviceNeeds, kept: KnownSlots | None) -> int:
        freed: tuple[str, ...] = ()
        kept = None if kept is None or self._has_members(row) else kept
        if kept is not None:
            freed = tuple(claim for claim, _ in self._free(row, of_pods.used))
            slots = kept.slots_of(row, freed)
            if slots != UNKNOWN:
                return slots
        needs = at_node(self.nodes, row, of_pods)
        if not needs.claims:
            return UNLIMITED
        unsure = self.free_devices.unsure
        slots = self._slots_for_claims(row, needs)
        if needs is not of_pods and needs in self.free_devices.failed:
            self.free_devices.failed[of_pods] = self.free_devices.failed[needs]
        is_sure = unsure == self.free_devices.unsure and needs not in self.free_devices.failed
        if kept is not None and is_sure:
            kept.note(row, freed, slots)
        return slots

    def _slots_for_claims(self, row: int, needs: DeviceNeeds) -> int:
        gangs = self._gangs.get(row, ())
        comes_to_others = bool(gangs) and joins(gangs[-1], self._gang, nominated=False)
        compute: Callable[[], int] = functools.partial(self._most_members, row, gangs, needs)
        if self.is_coupled(needs):
            if not self._reaches_shared(row, needs):
                return 0
            compute = functools.partial(self._suffice, row, gangs, needs, 1)
        if self.free_devices.is_networked:
            return compute()
        members = tuple((each.nominated, numbers) for each in gangs if (numbers := each.numbers()))
        asked = all_of({needs: None, **{other: None for _, each in members for other, _ in each}})
        if asked is None:
            return compute()
        signature = self.free_devices.signature(row, asked, self._free(row, needs.used))
        if any(nominated for nominated, _ in members):
            expected = self._free(row, needs.used, nominated=True)
            signature = signature, self.free_devices.signature(row, asked, expected)
        return self.free_devices.remember((needs, signature, members, comes_to_others), compute)

    def free_for(self, row: int, members: Members) -> Freed:
        """Return the claims that are free on a node for members."""
        used = [claim for needs, _ in members.needs for claim in needs.used]
        return self._free(row, used, nominated=members.nominated)

    def _free(self, row: int, used: Sequence[str], *, nominated: bool = False) -> Freed:
        """Return the claims that are free on a node for members that do not use them."""
        found = self._freed.on(row)
        if nominated:
            found = tuple(dict([*found, *self._expected.on(row)]).items())
        return tuple(each for each in found if each[0] not in used) if used else found

    def _most_members(self, row: int, gangs: Gangs, needs: DeviceNeeds) -> int:
        """Return how many members may come at most. If some number fits, every smaller one does."""
        most = self._most_by_number(row, gangs, needs, nominated=False)
        if any(members.nominated for members in gangs) and most is not None:
            # Those with reserved room may have what leaving pods use, too.
            of_all = self._most_by_number(row, gangs, needs, nominated=True)
            most = most if of_all is None else min(most, of_all)
        high = MOST_PODS if most is None else min(most, MOST_PODS)
        low, is_counted = 0, most is not None
        while low < high:
            # First as many as may fit by number: mostly they do. Then one member.
            middle = high if is_counted else 1 if not low else (low + high + 1) // 2
            is_counted = False
            if self._suffice(row, gangs, needs, middle):
                low = middle
            else:
                high = middle - 1
        return low

    def _most_by_number(
        self, row: int, gangs: Gangs, needs: DeviceNeeds, *, nominated: bool
    ) -> int | None:
        """Return how many more members fit if only devices are counted; None if that is unknown.

        Members with reserved room on the node count only if `nominated`.
        """
        in_use = sum(
            number * sum(each.spec.least for each in other.claims if not each.shared)
            for members in gangs
            if nominated or not members.nominated
            for other, number in members.needs
        )
        free = self._free(row, needs.used, nominated=nominated)
        return self.free_devices.most(row, needs, in_use, free)

    def _suffice(self, row: int, gangs: Gangs, needs: DeviceNeeds, number: int) -> bool:
        for members, found in self._outcomes(row, changed(gangs, self._gang, needs, number)):
            if isinstance(found, Refused) and not members.nominated:
                self.free_devices.failed[needs] = found
            if not isinstance(found, Found):
                return False
        return True

    def _outcomes(self, row: int, gangs: Gangs) -> Iterator[tuple[Members, Outcome]]:
        """Yield the devices found for the members of each gang on a node, until a search fails."""
        before = self.elsewhere(row)
        seen = set[str]()
        for members in gangs:
            if members.chosen is not None:
                before += members.allocations
                seen.update(shared for shared, _ in members.chosen)
                continue
            claims = [
                claim
                for needs in members.each()
                for _, claim in self.asked(row, needs, claims_of(needs), seen)
            ]
            taken = [*before, *members.avoided]
            found = self.free_devices.search(row, claims, taken, self.free_for(row, members))
            yield members, found
            if not isinstance(found, Found):
                return
            before += found.allocations

    def asked(
        self, row: int, needs: DeviceNeeds, claims: Sequence[Claim], seen: set[str]
    ) -> Iterator[tuple[str, Claim]]:
        """Yield the claims of a member that take devices on a node: each shared one only once.

        Each comes with its name, if it is shared.
        """
        for need, claim in zip(needs.claims, claims, strict=True):
            users = self._users.get(need.shared, ())
            if need.shared and (need.shared in seen or (users and users[0] != row)):
                continue
            seen.add(need.shared)
            yield need.shared, claim

    def _reaches_shared(self, row: int, needs: DeviceNeeds) -> bool:
        """Return whether a node reaches the devices of shared claims that were chosen elsewhere."""
        for claim in (need.shared for need in needs.claims if need.shared):
            users = self._users.get(claim, ())
            if not users or users[0] == row:
                continue
            chosen = self._chosen_at(users[0], claim)
            if chosen is None or not self.free_devices.reaches(row, chosen):
                return False
        return True

    def _chosen_at(self, row: int, claim: str) -> Allocation | None:
        """Return the devices of a shared claim that were chosen when its first user came."""
        chosen = (each for members in self._gangs.get(row, ()) for each in members.chosen or ())
        return next((allocation for shared, allocation in chosen if shared == claim), None)

    def elsewhere(self, row: int) -> list[Allocation]:
        """Return the shared devices that members on other nodes have taken."""
        if not self.free_devices.is_networked:
            return []
        others = (gangs for other, gangs in self._gangs.items() if other != row)
        return [each for gangs in others for members in gangs for each in members.allocations]

    # The members of a node.

    def _change(self, row: int, of_pods: DeviceNeeds, count: int, *, nominated: bool) -> None:
        needs, gangs = at_node(self.nodes, row, of_pods), self._gangs.get(row, ())
        if not needs.claims:
            return
        if self.free_devices.is_networked:
            for _ in range(abs(count)):
                if count > 0:
                    gangs = self._with_one(row, gangs, needs, nominated=nominated)
                else:
                    gangs = less_one(gangs, needs, nominated=nominated)
        else:
            gangs = changed(gangs, self._gang, needs, count, nominated=nominated)
        self._gangs[row] = gangs
        for claim in (need.shared for need in needs.claims if need.shared):
            self._users[claim] = moved(self._users.get(claim, ()), row, count)

    def _with_one(self, row: int, gangs: Gangs, needs: DeviceNeeds, *, nominated: bool) -> Gangs:
        """Return the members of a node after one more has come, with its devices."""
        before = self.elsewhere(row)
        before += [each for members in gangs for each in members.allocations]
        seen = {shared for members in gangs for shared, _ in members.chosen or ()}
        asking = list(self.asked(row, needs, claims_of(needs), seen))
        before += avoided(needs)
        free = self._free(row, needs.used, nominated=nominated)
        found = self.free_devices.search(row, [claim for _, claim in asking], before, free)
        chosen = found.allocations if isinstance(found, Found) else ()
        names = (shared for shared, _ in asking)
        given = tuple(zip(names, chosen, strict=False))
        return (*gangs, Members(self._gang, ((needs, 1),), given, nominated))
