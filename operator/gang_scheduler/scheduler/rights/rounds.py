"""The claims of one cycle, on what is charged once leaving pods have left."""

import bisect
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.queues import NONE, Charge, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.quota.trees import NO_ROW
from gang_scheduler.scheduler.rights import permits
from gang_scheduler.scheduler.rights.claims import Claim, Held, held_of
from gang_scheduler.scheduler.rights.permits import Limits
from gang_scheduler.scheduler.rights.rights import Quota, Rights


class Charged(Quota, Protocol):
    """What is charged in this cycle so far."""

    @property
    def version(self) -> tuple[int, int]:
        """What is another one after anything was charged, released or kept."""

    def copy(self) -> "Charged":
        """Return the same charges, to be changed apart."""


class Rounds:
    """The gangs on nodes by queue, and what is charged without those that leave.

    The gangs are looked at once, in the first round.
    """

    def __init__(self, bound_pods: BoundPods, charged: Charged, limits: Limits) -> None:
        self.limits = limits
        self._bound_pods = bound_pods
        self._charged = charged
        self._leaving = list(bound_pods.leaving)
        self._expected: list[Claim] = []
        self._without: tuple[Hashable, Charged] | None = None
        self._asked_at: Hashable | None = None
        self._asked: dict[Hashable, bool] = {}
        self._borrowers: dict[Hashable, Mapping[int, None]] = {}
        self._members: dict[GangKey, list[BoundPod]] | None = None
        self._by_row: dict[int, list[Held]] = {}
        self._lowest: dict[int, float] = {}
        self._least = math.inf
        self._oldest: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._gates: dict[int, int] = {}
        self._backfilled: list[Held] = []

    def leave(self, victims: Iterable[BoundPod]) -> None:
        """Note that victims leave."""
        self._leaving += victims

    def expect(self, claim: Claim | None) -> None:
        """Note that a claim is met, and will be charged; None: all such claims are charged now."""
        self._expected = [*self._expected, claim] if claim is not None else []

    @property
    def state(self) -> Hashable:
        """What is another one once anything else is charged, or leaves."""
        return self._charged.version, len(self._leaving), len(self._expected)

    def without_leaving(self) -> Charged:
        """Return what is charged once all that leaves has left. To be left as it was."""
        state = self.state
        if self._without is None or self._without[0] != state:
            quota = self._charged.copy()
            for each in self._leaving:
                quota.release(*self._charge_of(each))
            for claim in self._expected:
                quota.charge(claim.ref, claim.charge)
            self._without = (state, quota)
            self._borrowers.clear()
        return self._without[1]

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing that could leave."""
        return not (self._bound_pods.pods or self._leaving)

    def may_help(self, claim: Claim) -> bool:
        """Return whether any gang might have to go for what a claim lacks, or leaves in any case.

        Worked out once for claims alike, until anything is charged.
        """
        state = self.state
        if self._asked_at != state:
            self._asked_at, self._asked = state, {}
        alike = (
            *(claim.ref, claim.priority, claim.pod_priority, frozenset(claim.charge.items())),
            # Some were let pass by certain gangs only.
            claim.gangs if self.has_backfilled else (),
        )
        if alike not in self._asked:
            # As if it were older than all: what is equal and newer may be possible then.
            rights = self.rights(replace(claim, created_at=-math.inf))
            self._asked[alike] = not rights.short or any(self.candidates(rights))
        return self._asked[alike]

    @property
    def has_backfilled(self) -> bool:
        """Whether a gang on nodes was let pass by its declared end."""
        self._look_once()
        return bool(self._backfilled)

    def rights(self, claim: Claim, resources: Collection[str] = ()) -> Rights:
        """Return the rights of a claim now; `resources` are those of which room lacks."""
        return Rights(self.without_leaving(), claim, self.limits, resources)

    def candidates(self, rights: Rights) -> Iterator[Held]:
        """Yield the gangs that may have to go for a claim in some final state."""
        self._look_once()
        own = self._rows.get(rights.claim.ref)
        out = rights.reaches_out and rights.reaches(self._least, within=False)
        worth = self._worth(rights) if out else {}
        rows = self._open_to(own, worth) if own is not None else []
        if own in self._places and own not in worth:
            bisect.insort(rows, own, key=self._places.__getitem__)
        reached = {
            row
            for row in rows
            if rights.reaches(self._lowest[row], within=row == own)
            and rights.may_have_run(row, self._oldest[row])
        }
        for row in rows:
            if row in reached:
                yield from filter(rights.possible, self._by_row[row])
        for held in self._backfilled:
            if self._rows[held.ref] not in reached and rights.possible(held):
                yield held

    def _open_to(self, own: int, rows: Iterable[int]) -> list[int]:
        """Return the queues that no fence or veto keeps a queue from: one look at each."""
        accounts = self._charged.forest.accounts
        reach = permits.reach(accounts, own)
        inside = {NO_ROW, *accounts.promises.trees.ways[own]}
        return [row for row in rows if row in reach and self._gates[row] in inside]

    def _worth(self, rights: Rights) -> Mapping[int, None]:
        """Return the queues that use more than promised of what lacks, worked out once."""
        key = rights.short, rights.resources
        if key not in self._borrowers:
            self._borrowers[key] = dict.fromkeys(rights.borrowers(self._by_row))
        return self._borrowers[key]

    def members(self, gang: GangKey) -> Sequence[BoundPod]:
        """Return the pods of a gang on nodes that do not leave as of the snapshot."""
        self._look_once()
        return (self._members or {}).get(gang, ())

    @property
    def bound_pods(self) -> BoundPods:
        """The pods on nodes."""
        return self._bound_pods

    @property
    def _rows(self) -> Mapping[QueueRef, int]:
        return self._charged.forest.accounts.promises.trees.rows

    def _look_once(self) -> None:
        if self._members is not None:
            return
        members: dict[GangKey, list[BoundPod]] = {}
        for each in self._bound_pods.pods:
            members.setdefault(each.gang, []).append(each)
        for some in members.values():
            # A gang of which no pod may go is no candidate.
            held = held_of(some, self._bound_pods) if any(e.evictable for e in some) else None
            if held is not None and held.ref in self._rows:
                row = self._rows[held.ref]
                self._by_row.setdefault(row, []).append(held)
                lowest = self._lowest.get(row, math.inf)
                self._lowest[row] = min(lowest, held.priority, held.pod_priority)
                began = held.known.started_at
                self._oldest[row] = min(began, self._oldest.get(row, began))
                if held.known.backfilled is not None:
                    self._backfilled.append(held)
        accounts = self._charged.forest.accounts
        self._least = min(self._lowest.values(), default=math.inf)
        self._places = {row: place for place, row in enumerate(self._by_row)}
        self._gates = {row: permits.gate(accounts, row) for row in self._by_row}
        self._members = members

    def _charge_of(self, bound_pod: BoundPod) -> tuple[QueueRef, Charge]:
        uid, known = bound_pod.pod.uid, self._bound_pods
        if uid not in known.queues:
            return NONE, {}
        return known.queues[uid], known.charges.get(uid, {})
