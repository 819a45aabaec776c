"""The shapes of units that did not fit in this cycle: equal units are refused without a trial.

Room only shrinks during a cycle, and lower priorities come later: units of the same shape that need
no less do not fit either. A thousand equal gangs in a full cluster cost one trial.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from gang_scheduler.model.plan import Misfit
from gang_scheduler.scheduler.units.placement_units import PlacementUnit


@dataclass(frozen=True, slots=True)
class _KnownMisfit:
    """How many members of each unit did not fit together, and the place of the unit to blame."""

    quorums: tuple[int, ...]
    blamed: int
    misfit: Misfit


class KnownMisfits:
    """The shapes that did not fit, each the units of one group."""

    def __init__(self) -> None:
        self._by_shape: dict[Hashable, _KnownMisfit] = {}
        self.generation = 0
        """How often there was room again."""

    def note(self, units: Sequence[PlacementUnit], blamed: PlacementUnit, misfit: Misfit) -> None:
        """Note that units did not fit."""
        if _are_comparable(units):
            quorums = tuple(unit.at_least for unit in units)
            self._by_shape[_shape(units)] = _KnownMisfit(quorums, units.index(blamed), misfit)

    def known(self, units: Sequence[PlacementUnit]) -> tuple[PlacementUnit, Misfit] | None:
        """Return which of the units does not fit and why, if that is known."""
        if not self._by_shape or not _are_comparable(units):
            return None
        found = self._by_shape.get(_shape(units))
        if found is None or any(u.at_least < q for u, q in zip(units, found.quorums, strict=True)):
            return None
        blamed, misfit = units[found.blamed], found.misfit
        if misfit.needs != blamed.at_least:
            misfit = replace(misfit, needs=blamed.at_least)
        return blamed, misfit

    def clear(self) -> None:
        """Note that there may be room again."""
        self._by_shape.clear()
        self.generation += 1


def _are_comparable(units: Sequence[PlacementUnit]) -> bool:
    """Return whether the shapes alone decide what fits, and other pods can only take room."""
    return not any(unit.bound_members or unit.gains for unit in units)


def _shape(units: Sequence[PlacementUnit]) -> Hashable:
    return tuple(unit.shape for unit in units)
