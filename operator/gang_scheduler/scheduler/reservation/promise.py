"""One reservation: where the gang will be, and what later gangs may take meanwhile.

Its paper shows the cluster at the start, with the gang in its place. What is decided later is put
on that paper, too, unless it is gone by then: so a later gang delays nothing that fits on it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from gang_scheduler.model.plan import Bind, Reservation
from gang_scheduler.model.queues import Charge, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.placement.anywhere import (
    Placement,
    assume_again,
    place_on,
    release,
)
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.reservation.paper import Fit, Paper, Sum, Units
from gang_scheduler.scheduler.reservation.sequence import Release
from gang_scheduler.scheduler.turns.requests import Request, Way

NOTHING: Final = Placement((), ())


class Promise:
    """A gang that does not fit yet, on the paper of its start. `turn` is when it was tried.

    `ended` is what those hold that have ended then.
    `start` is in seconds, None if it is not known. `borrows`: its queue will be over its own quota.
    """

    def __init__(
        self,
        request: Request,
        ways: Sequence[Way],
        fit: Fit,
        paper: Paper,
        ended: Sum,
        *,
        turn: int,
        units_of: Units,
        profile: Profile,
    ) -> None:
        self.request = request
        self.ways = ways
        self.fit = fit
        self.paper = paper
        self.ended = ended
        self.turn = turn
        self.is_stale = False
        """What is put on the paper leaves no place for the gang: look for another start."""
        self.last = paper.releases[paper.place - 1] if paper.place else None
        """The gang that ends last of those that must have ended."""
        self.start = None if self.last is None else self.last.ends_at
        self.after = None if self.last is None else self.last.gang
        self.borrows = paper.forest.borrows(request.ref, fit.way.charge)
        self._ended = frozenset(each.gang for each in paper.releases[: paper.place])
        self._there = frozenset(each.gang for each in paper.releases[paper.place :])
        self._units_of = units_of
        self._profile = profile
        paper.take(fit)

    @property
    def key(self) -> GangKey:
        """The gang that it is named after."""
        return self.request.group.waiting[0].key

    def shown(self, *, hides_names: bool) -> Reservation:
        """Return the reservation as it is shown; `hides_names` of gangs of other namespaces."""
        pods = (bind.pod for each in self.fit.placements.values() for bind in each.binds)
        flavors = {pair for pod in pods for pair in self.fit.way.offer.flavors_of(pod)}
        waiting = self.request.group.waiting
        after = self.after
        if hides_names and after is not None and after.namespace != self.key.namespace:
            after = None
        return Reservation(waiting, self.start, after, tuple(sorted(flavors)))

    def is_gone(self, gang: GangKey, ends_at: int | None) -> bool:
        """Return whether a gang has ended at the start. What is not known ends last of all."""
        if gang in self._ended or gang in self._there:
            return gang in self._ended
        return ends_at is not None and (self.start is None or ends_at <= self.start)

    def has_ended(self, gang: GangKey) -> bool:
        """Return whether a gang that holds room now has ended at the start."""
        return gang in self._ended

    @contextmanager
    def without(self, victims: Release) -> Iterator[None]:
        """Let victims be gone that would be there at the start; in the end all is as before."""
        paper, before = self.paper, self.fit
        paper.end([victims])
        try:
            yield
        finally:
            paper.give_back(self.fit)
            self.fit = before
            paper.take(before)
            paper.bring_back([victims])

    def leaves_alone(self, placements: Iterable[Placement], ref: QueueRef, charge: Charge) -> bool:
        """Return whether there is room and quota for a gang beside this one, at its start."""
        if not self.paper.forest.fits(ref, charge) or self._depends():
            return False
        with self.paper.trial.all_or_nothing():
            return all(
                place_on(each.binds, self.paper.trial, self._profile) is not None
                for each in placements
                if each.binds
            )

    def moves_aside(self, placements: Sequence[Placement], ref: QueueRef, charge: Charge) -> bool:
        """Return whether the gang fits elsewhere at its start, and is there from now on."""
        paper, before = self.paper, self.fit
        paper.give_back(before)
        for each in placements:
            assume_again(each, paper.trial)
        paper.forest.charge(ref, charge)
        found = paper.find(self.request, self.ways, self._units_of)
        paper.forest.release(ref, charge)
        for each in placements:
            release(each, paper.trial)
        self.fit = found or before
        paper.take(self.fit)
        return found is not None

    def put(self, before: Placement | None, after: Placement) -> None:
        """Put on the paper where members are from now on."""
        release(before or NOTHING, self.paper.trial)
        assume_again(after, self.paper.trial)
        free = self.paper.trial.free
        if any((free[share.rows] < 0).any() for share in after.shares):
            self.is_stale = True

    def charge(self, ref: QueueRef, before: Charge, after: Charge) -> None:
        """Put on the paper what members are charged from now on."""
        forest = self.paper.forest
        forest.release(ref, before)
        forest.charge(ref, after)
        own = self.request.ref
        if any(forest.available(own, key) < 0 for key, n in self.fit.way.charge.items() if n):
            self.is_stale = True

    def _depends(self) -> bool:
        """Return whether members of the gang fit or not by what other pods are near them."""
        binds: Iterable[Bind] = (
            bind for each in self.fit.placements.values() for bind in each.binds
        )
        classes = {bind.pod.pod_class for bind in binds}
        return any(each.pod_affinity is not None for each in classes)
