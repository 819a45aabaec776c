"""Allocated claims whose users leave: their devices are free once no user is left.

A claim with a user that is not known, or of another kind than a pod, is never free: it is unknown
when that user ends. Neither is a claim that is reserved for no pod: it may be about to be used.
"""

from collections.abc import Callable, Iterable
from typing import Final

from gang_scheduler.model.device_needs import Devices, Uses
from gang_scheduler.model.devices import Allocation

ANYWHERE: Final = -1
"""The row of allocations with devices that several nodes reach."""

Freed = tuple[tuple[str, Allocation], ...]
"""Claims that become free, by `namespace/name`, each with its allocation."""
RowsOf = Callable[[Allocation], Iterable[int]]
"""Returns the rows of the nodes that an allocation takes devices of, or `ANYWHERE`."""


class FreedClaims:
    """The claims that are free after some pods have left, by the rows of their devices."""

    def __init__(self, devices: Devices, rows_of: RowsOf) -> None:
        self._devices = devices
        self._rows_of = rows_of
        self._gone: dict[str, frozenset[str]] = {}
        self._on: dict[int, Freed] = {}
        # Facts about claims: the same for all copies.
        self._rows: dict[str, tuple[int, ...]] = {}

    def copy(self) -> "FreedClaims":
        """Return an independent copy."""
        other = FreedClaims(self._devices, self._rows_of)
        other._gone, other._on, other._rows = dict(self._gone), dict(self._on), self._rows
        return other

    def change(self, uses: Uses, sign: int) -> set[int]:
        """Note that users have left (-1) or come back (1); return the rows where that matters."""
        changed: set[int] = set()
        for claim, uid in uses:
            before = self._gone.get(claim, frozenset())
            after = before | {uid} if sign < 0 else before - {uid}
            self._gone[claim] = after
            is_free = self._is_free(claim, after)
            if is_free == self._is_free(claim, before):
                continue
            allocation = self._devices.claims[claim].allocation
            assert allocation is not None  # noqa: S101 - all these claims are allocated
            rows = self._rows.get(claim)
            if rows is None:
                rows = self._rows[claim] = tuple(self._rows_of(allocation))
            for row in rows:
                changed.add(row)
                others = tuple(each for each in self._on.get(row, ()) if each[0] != claim)
                self._on[row] = (*others, (claim, allocation)) if is_free else others
        return changed

    def rows(self) -> Iterable[int]:
        """Return the rows where claims are free, or were; also `ANYWHERE`."""
        return self._on

    def has(self, claim: str) -> bool:
        """Return whether a claim is free."""
        return self._is_free(claim, self._gone.get(claim, frozenset()))

    def on(self, row: int) -> Freed:
        """Return the free claims with devices that a node may reach."""
        anywhere = self._on.get(ANYWHERE, ())
        return (*self._on.get(row, ()), *anywhere) if anywhere else self._on.get(row, ())

    def _is_free(self, claim: str, gone: frozenset[str]) -> bool:
        holders, known = self._devices.holders.get(claim), self._devices.claims.get(claim)
        if not gone or holders is None or known is None or holders.others:
            return False
        return holders.pods <= gone and bool(holders.pods or known.reserved_for)
