"""A group that others must leave room for, and the room that it has once some have left."""

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.plan import Misfit, Offers
from gang_scheduler.model.pods import Ask
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.model.tenants import Tenant
from gang_scheduler.scheduler.placement import entangled, gather, nominated
from gang_scheduler.scheduler.placement.gangs import Placement
from gang_scheduler.scheduler.placement.offers import fit_if_empty
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Share, Trial, shares
from gang_scheduler.scheduler.units import Unit

MOST_TRIALS: Final = 20_000
"""A bound on the time of the exact search, which holds up everything else."""

Placements = dict[Unit, Placement]


class Preemptor:
    """The quorums of a group's units, and the room that is there once those leaving have left."""

    def __init__(self, units: Sequence[Unit], trial: Trial, profile: Profile) -> None:
        self.units = units
        self.trial = trial
        self.profile = profile

    @functools.cached_property
    def largest_class(self) -> tuple[Ask, int]:
        """The class that most of the members are of, and how many those are."""
        members = (pod for unit in self.units for pod in unit.members if pod.uid in unit.required)
        counts = Counter(pod.ask for pod in members)
        return max(counts.items(), key=lambda each: (each[1], each[0].requests))

    @functools.cached_property
    def most_trials(self) -> int:
        """How often it may be tried whether all fit: less where each takes a step a member."""
        members = [pod for unit in self.units for pod in unit.members]
        tied = entangled.are({pod.ask for pod in members}, self.trial, self.profile)
        return MOST_TRIALS // len(members) if tied else MOST_TRIALS

    @functools.cached_property
    def open_rows(self) -> BoolArray:
        """The nodes that could take a member of this class if they were empty."""
        return fit_if_empty(self.largest_class[0], self.trial, self.profile)

    def place(self, within: int | None) -> Placements | None:
        """Take room for all, if there is; in one domain where the units must gather in one."""
        placements = {}
        with self.trial.all_or_nothing() as attempt:
            for unit in self.units:
                outcome = self._place(unit, within)
                if not isinstance(outcome, Placement):
                    return None
                placements[unit] = outcome
            attempt.keep()
        return placements

    def place_as(self, kept: Sequence[Nominated]) -> Placements | None:
        """Take room for all on the nodes that they are nominated to, if all of it is free."""
        return nominated.place(self.units, kept, self.trial, self.profile)

    def free(self, room: Iterable[Share]) -> None:
        """Free room that others have."""
        for share in room:
            self.trial.give_back(share)

    def fits(self, room: Iterable[Share], within: int | None) -> bool:
        """Tell whether all fit once this room is free, too. Changes nothing."""
        with self.trial.all_or_nothing():
            self.free(room)
            return self.place(within) is not None

    def offers(self) -> Offers | None:
        """Return what the domains offer to the first unit that fits in none of them."""
        with self.trial.all_or_nothing():
            outcomes = [self._place(unit, None) for unit in self.units]
        misfits = (each for each in outcomes if isinstance(each, Misfit))
        return next((each.offers for each in misfits if each.offers is not None), None)

    def _place(self, unit: Unit, within: int | None) -> Placement | Misfit:
        needed = unit.only(unit.required)
        return gather.place(needed, unit.quorum, self.trial, self.profile, within=within)


class Nominee(Preemptor):
    """A group that stays on the nodes that its members are nominated to."""

    def __init__(
        self,
        units: Sequence[Unit],
        trial: Trial,
        profile: Profile,
        nominated: Sequence[Nominated],
    ) -> None:
        super().__init__(units, trial, profile)
        self._nominated = nominated

    @functools.cached_property
    def open_rows(self) -> BoolArray:
        """The nominated nodes."""
        rows = self.trial.nodes.rows
        found: BoolArray = np.zeros(len(rows), dtype=np.bool_)
        found[[rows[each.pod.nominated] for each in self._nominated]] = True
        return found

    def place(self, within: int | None) -> Placements | None:  # noqa: ARG002 - the nodes are known.
        """Take room for all where they are nominated, if there is."""
        return self.place_as(self._nominated)


def room_of(victims: Iterable[Tenant], nodes: NodeTable) -> list[Share]:
    """Return the room that victims have on nodes that exist."""
    rows = nodes.rows
    return shares((t.pod.ask, rows[t.pod.node]) for t in victims if t.pod.node in rows)
