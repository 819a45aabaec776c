"""Shortages: the quota that the request of a group lacks in its queue.

A shortage is computed once for equal requests, and again only after something was charged.
"""

import functools
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from gang_scheduler.model.causes.queues import (
    AbovePotential,
    QuotaShort,
)
from gang_scheduler.model.queues import NONE, Charge, FlavorResource, QueueRef, QueueSet
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.resources import Requests
from gang_scheduler.scheduler.quota.forest import Forest, QuotaShortage
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.request import reclaim_request_of
from gang_scheduler.scheduler.turns import flavors, limits
from gang_scheduler.scheduler.turns.ledger import Ledger
from gang_scheduler.scheduler.turns.requests import Amounts, Request

MOST_KEPT: Final = 8192
"""At most this many shortages of queues are kept from cycle to cycle."""


class KnownShortage(NamedTuple):
    """The shortage of requests of one kind in the state `judged_at`: no turn can help them.

    `request` is the first of them that was judged.
    """

    judged_at: Hashable
    request: Request
    problem: Problem


class Shortages:
    """Why requests of one cycle lack quota."""

    def __init__(self, ledger: Ledger, reclaim_requests: ReclaimRequests) -> None:
        self._ledger = ledger
        self._reclaim_requests = reclaim_requests
        self._short: dict[QueueRef, tuple[tuple[int, int], Charge, Problem]] = {}
        self._judged_at: Hashable = None
        """The state of all charges when a permanent shortage was last looked for."""
        self._for_good: dict[Hashable, KnownShortage | None] = {}

    def kind_of(self, request: Request) -> object:
        """Return a key that requests share if they have the same permanent shortage."""
        overrun = self._reclaim_requests.behind_overrun
        if not overrun:
            return request.kind
        # A backfilled gang that has overrun may be evicted only by the gang that it came before.
        return request.kind, overrun.intersection(gang.key for gang in request.group.waiting)

    def known_for_good(self, kind: object) -> KnownShortage | None:
        """Return the permanent shortage of requests of a kind; None if it is not known."""
        if self._judged_at != self._reclaim_requests.state:
            return None
        return self._for_good.get(kind)

    def permanent_shortage(self, request: Request) -> KnownShortage | None:
        """Return the shortage of a request in all assignments; None if evictions may free quota.

        Computed once for requests of one kind until anything is charged.
        """
        state = self._reclaim_requests.state
        if self._judged_at != state:
            self._judged_at, self._for_good = state, {}
        kind = self.kind_of(request)
        if kind not in self._for_good:
            problem = self.lacking(request)
            found = None
            if problem is not None and not self._may_free_quota(request):
                found = KnownShortage(state, request, problem)
            self._for_good[kind] = found
        return self._for_good[kind]

    def lacking(self, request: Request) -> Problem | None:
        """Return the shortage of a request; None if one of its assignments has quota."""
        if len(request.assignments) == 1 and (known := self._known_short(request)) is not None:
            return known
        if any(
            self._ledger.fits(request.ref, assignment.charge) for assignment in request.assignments
        ):
            return None
        return self.problem_of(request)

    def problem_of(self, request: Request) -> Problem:
        """Return the shortage as a problem.

        Equal requests share one object until anything is charged.
        """
        known = self._known_short(request)
        if known is not None:
            return known
        charge = request.assignments[0].charge
        short = self._ledger.shortage(request.ref, charge)
        if short is None:
            raise AssertionError(request.ref)
        problem = _problem_of(request.ref, short)
        self._short[request.ref] = (self._ledger.version, charge, problem)
        return problem

    def _may_free_quota(self, request: Request) -> bool:
        """Return whether evictions, or pods that leave, may free quota for a request."""
        if self._reclaim_requests.is_idle:
            return False
        reclaim_requests = (
            reclaim_request_of(
                request.group, request.ref, assignment.charge, assignment.option.charge_of
            )
            for assignment in request.assignments
        )
        return any(map(self._reclaim_requests.may_help, reclaim_requests))

    def _known_short(self, request: Request) -> Problem | None:
        """Return the known shortage of the first assignment, if nothing was charged since."""
        known = self._short.get(request.ref)
        if (
            known is None
            or known[0] != self._ledger.version
            or known[1] != request.assignments[0].charge
        ):
            return None
        return known[2]


@functools.lru_cache(MOST_KEPT)
def _problem_of(ref: QueueRef, short: QuotaShortage) -> Problem:
    # Equal problems share one object: a waiting gang with the same text is not reported again.
    return Problem(Reason.WAITING_FOR_QUOTA, cause_of(ref, short))


def cause_of(ref: QueueRef, short: QuotaShortage) -> QuotaShort:
    """Return the cause that describes a shortage to users."""
    borrowers = tuple(map(_name_of, short.borrowers))
    return QuotaShort(_name_of(ref), *short.key, short.asked, short.available, borrowers)


def _name_of(ref: QueueRef) -> str:
    return "" if ref == NONE else ref.name


# Whether a queue has quota for pods that do not exist yet, by their total need.


def charge_of(
    forest: Forest, declared: QueueSet, ref: QueueRef, needed: Requests
) -> Charge | Problem:
    """Return the charge of a need, in the first flavor with quota for each resource group.

    Or return why the queue does not admit it now. The nodes that the pods could use are ignored.
    """
    wrong = forest.problem(ref) or limits.stop_problem(forest.queue(ref))
    if wrong is not None:
        return wrong
    queue, asked = forest.queue(ref), declared.charged(needed)
    for resource in flavors.uncovered(queue, asked):
        cause = AbovePotential(ref.name, flavors.UNCOVERED, resource, asked[resource], 0)
        return Problem(Reason.QUOTA_EXCEEDED, cause)
    charge: Amounts = {}
    for group in flavors.groups_of(queue, forest.governed(ref), declared.gpu_resources):
        part = {name: asked[name] for name in group.resources if name in asked}
        by_flavor = [{FlavorResource(f, name): part[name] for name in part} for f in group.flavors]
        fitting = next((each for each in by_flavor if forest.fits(ref, each)), None)
        if fitting is None and part:
            return _lacking(forest, ref, by_flavor)
        charge |= fitting or {}
    return charge


def _lacking(forest: Forest, ref: QueueRef, by_flavor: Sequence[Amounts]) -> Problem:
    """Return the shortage in the first flavor that could ever be enough, else why none can."""
    above = [forest.exceeds_potential(ref, each) for each in by_flavor]
    for charge, never in zip(by_flavor, above, strict=True):
        short = None if never else forest.shortage(ref, charge)
        if short is not None:
            return Problem(Reason.WAITING_FOR_QUOTA, cause_of(ref, short))
    first = next(each for each in above if each is not None)
    cause = AbovePotential(ref.name, *first.key, first.asked, first.available)
    return Problem(Reason.QUOTA_EXCEEDED, cause)
