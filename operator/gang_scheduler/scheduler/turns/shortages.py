"""What requests lack of quota: found once for those alike, until anything is charged."""

import functools
from collections.abc import Hashable
from typing import Final

from gang_scheduler.model.causes.admission import QuotaShort
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.queues import (
    NONE,
    Charge,
    QueueRef,
)
from gang_scheduler.scheduler.quota.forest import Shortage
from gang_scheduler.scheduler.rights.claims import claim_of
from gang_scheduler.scheduler.rights.rounds import Rounds
from gang_scheduler.scheduler.turns.ledger import Ledger
from gang_scheduler.scheduler.turns.requests import Request

MOST_KEPT: Final = 8192
"""How many shortages of queues are kept from cycle to cycle."""


class Shortages:
    """What the requests of one cycle lack."""

    def __init__(self, ledger: Ledger, rounds: Rounds) -> None:
        self._ledger = ledger
        self._rounds = rounds
        self._short: dict[QueueRef, tuple[tuple[int, int], Charge, Problem]] = {}
        self._judged_at: Hashable = None
        self._for_good: dict[Hashable, Problem | None] = {}

    def for_good(self, request: Request) -> Problem | None:
        """Return what a request lacks of quota in all its ways; None if pods may leave for it.

        Worked out once for requests alike, until anything is charged: cheap.
        """
        state = self._rounds.state
        if self._judged_at != state:
            self._judged_at, self._for_good = state, {}
        # Some gangs on nodes may have been let pass by certain gangs only.
        kind = (request.kind, request.group.name) if self._rounds.has_backfilled else request.kind
        if kind not in self._for_good:
            problem = self.lacking(request)
            may_help = problem is not None and self._may_free_quota(request)
            self._for_good[kind] = None if may_help else problem
        return self._for_good[kind]

    def lacking(self, request: Request) -> Problem | None:
        """Return what a request lacks of quota; None if there is quota for one of its ways."""
        if len(request.ways) == 1 and (known := self._known_short(request)) is not None:
            return known
        if any(self._ledger.fits(request.ref, way.charge) for way in request.ways):
            return None
        return self.of(request)

    def of(self, request: Request) -> Problem:
        """Return what is lacking: the same object for requests alike, until anything is charged."""
        known = self._known_short(request)
        if known is not None:
            return known
        charge = request.ways[0].charge
        short = self._ledger.shortage(request.ref, charge)
        if short is None:
            raise AssertionError(request.ref)
        problem = _problem_of(request.ref, short)
        self._short[request.ref] = (self._ledger.version, charge, problem)
        return problem

    def _may_free_quota(self, request: Request) -> bool:
        """Return whether quota may be free once pods have left for a group."""
        if self._rounds.is_idle:
            return False
        claims = (
            claim_of(request.group, request.ref, way.charge, way.offer.charge_of)
            for way in request.ways
        )
        return any(map(self._rounds.may_help, claims))

    def _known_short(self, request: Request) -> Problem | None:
        """Return what the first way is known to lack, if nothing was charged since."""
        known = self._short.get(request.ref)
        if known is None or known[0] != self._ledger.version or known[1] != request.ways[0].charge:
            return None
        return known[2]


@functools.lru_cache(MOST_KEPT)
def _problem_of(ref: QueueRef, short: Shortage) -> Problem:
    # The same object for equal ones: a gang that waits on with the same words is no news.
    return Problem(Reason.WAITING_FOR_QUOTA, cause_of(ref, short))


def cause_of(ref: QueueRef, short: Shortage) -> QuotaShort:
    """Return a shortage of a queue as it is told."""
    borrowers = tuple(map(_name_of, short.borrowers))
    return QuotaShort(_name_of(ref), *short.key, short.asked, short.available, borrowers)


def _name_of(ref: QueueRef) -> str:
    return "" if ref == NONE else ref.name
