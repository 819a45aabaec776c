"""Surplus members, placed in remaining room that is reserved for no other gang."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gang_scheduler.model.plan import Bind, Misfit
from gang_scheduler.model.pods import Pod
from gang_scheduler.scheduler import elastic_pace
from gang_scheduler.scheduler.placement.anywhere import assume_again, joined, place_on, release
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, RoleKey
from gang_scheduler.scheduler.placement.tree import gather
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Placement, Trial


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """A unit's placement with the surplus that fits; `misfit` is why the rest does not.

    `moved`: the quorum is on other nodes now, so other gangs may fit in its old place.
    """

    placement: Placement
    misfit: Misfit | None = None
    moved: bool = False


class Surplus:
    """Places the surplus members of one cycle."""

    def __init__(self, trial: Trial, profile: Profile) -> None:
        self._trial = trial
        self._profile = profile

    def grow(
        self,
        unit: PlacementUnit,
        placed: Placement,
        others: Iterable[PlacementUnit],
        *,
        moving: bool,
    ) -> Grown:
        """Place a unit again with all its members; if not all fit, with as many as do.

        The quorum stays on its nodes unless `moving`. It also stays if a unit of `others`, the
        other placed units, depends on this quorum's place.
        """
        self._trial.devices.next_gang()
        anew = None
        if moving and placed.binds and not _is_required_nearby(unit, others):
            anew = self._placed_again(unit, placed)
        placement, misfit = self._with_more(unit, anew or placed)
        return Grown(placement, misfit, moved=anew is not None)

    def without(
        self,
        unit: PlacementUnit,
        whole: Placement,
        numbers: Mapping[RoleKey, int],
        others: Iterable[PlacementUnit],
    ) -> Placement:
        """Free the room of a unit's surplus; return the placement of a quorum of these `numbers`.

        All members stay if the quorum alone might not satisfy the request of its members.
        """
        if unit.sliced or unit.step > 1 or _is_required_nearby(unit, others):
            return whole
        first = _first(
            sorted(whole.binds, key=lambda it: it.pod.uid not in unit.required), unit, numbers
        )
        release(whole, self._trial)
        quorum = place_on(first, self._trial, self._profile)
        if quorum is None:
            assume_again(whole, self._trial)
        return quorum or whole

    def _placed_again(self, unit: PlacementUnit, quorum: Placement) -> Placement | None:
        """Place all members at once, if each role then has at least as many placed members."""
        release(quorum, self._trial)
        anew = self._place(unit, len(quorum.binds), explained=False)
        if isinstance(anew, Placement):
            if _has_all(anew, quorum, unit):
                return anew
            # All members at once may be packed worse than the quorum alone.
            release(anew, self._trial)
        assume_again(quorum, self._trial)
        return None

    def _with_more(self, unit: PlacementUnit, placed: Placement) -> tuple[Placement, Misfit | None]:
        """Add members while any fits, and while the search has work left after the first."""
        before = placed
        while (rest := unit.after(placed.binds)).members:
            if placed is not before and not self._trial.effort.may_work_on():
                return placed, not_searched(rest, self._trial)
            more = self._place(rest, rest.step)
            if isinstance(more, Misfit):
                return placed, more
            placed = joined(unit.members, placed, more)
        return placed, None

    def _place(
        self, unit: PlacementUnit, at_least: int, *, explained: bool = True
    ) -> Placement | Misfit:
        self._trial.effort.begin(unit.gangs[0].key)
        return gather.place(unit, at_least, self._trial, self._profile, explained=explained)


def not_searched(rest: PlacementUnit, trial: Trial) -> Misfit:
    """Return the misfit of members for which the cycle had no work left."""
    return Misfit(len(trial.nodes), 0, rest.step, (), cut_off=True)


def _is_required_nearby(unit: PlacementUnit, others: Iterable[PlacementUnit]) -> bool:
    """Return whether other units depend on the place of this unit's quorum."""
    selectors = {selector for pod in unit.members for selector in pod.pod_class.selected_by}
    concerned = (other for other in others if selectors and other is not unit)
    return any(not selectors.isdisjoint(other.approached) for other in concerned)


def _first(
    binds: Iterable[Bind], unit: PlacementUnit, numbers: Mapping[RoleKey, int]
) -> tuple[Bind, ...]:
    """Return the first binds of each role, as many as its number says."""
    left, found = Counter(numbers), []
    for bind in binds:
        (role,) = unit.numbers([bind.pod.uid])
        if left[role] > 0:
            left[role] -= 1
            found.append(bind)
    return tuple(found)


def _has_all(anew: Placement, quorum: Placement, unit: PlacementUnit) -> bool:
    """Return whether every quorum member of a unit with several roles still has a place."""
    if not unit.mixed:
        return True
    return {bind.pod.uid for bind in quorum.binds} <= {bind.pod.uid for bind in anew.binds}


# Surplus of elastic gangs is placed in whole steps: workers beyond a whole step are released.


def in_steps(
    unit: PlacementUnit, before: Placement, grown: Grown, trial: Trial, profile: Profile
) -> Grown:
    """Return how much a unit has grown since `before`, in whole steps of workers only."""
    added = _added(before, grown.placement)
    beyond = _beyond(unit, grown.placement.binds, added)
    if not beyond:
        return grown
    left = tuple(bind for bind in grown.placement.binds if bind.pod.uid not in beyond)
    release(grown.placement, trial)
    placement = place_on(left, trial, profile)
    if placement is None:
        # Other members may need the removed ones near them, so begin from the earlier state.
        assume_again(before, trial)
        placement, beyond = before, {bind.pod.uid for bind in added}
    return replace(grown, placement=placement, misfit=_misfit(grown, len(beyond), trial))


def of_payable(unit: PlacementUnit, there: Collection[str], pods: Sequence[Pod]) -> list[Pod]:
    """Return the pods, of those for which there is quota, that complete whole steps.

    `there` has the uids of the members that have a place already.
    """
    beyond: set[str] = set()
    for gang in unit.gangs:
        if gang.elastic_size is None:
            continue
        own = [pod for pod in gang.pending if gang.elastic_size.elastic.counts(pod)]
        placed = sum(pod.uid in there for pod in own)
        uids = {pod.uid for pod in pods}
        more = [pod.uid for pod in own if pod.uid in uids]
        fits = max(0, elastic_pace.in_whole_steps(gang.elastic_size, placed + len(more)) - placed)
        beyond.update(more[fits:])
    return [pod for pod in pods if pod.uid not in beyond]


def _added(before: Placement, after: Placement) -> list[Bind]:
    """Return the binds of members that had no place before."""
    uids = {bind.pod.uid for bind in before.binds}
    return [bind for bind in after.binds if bind.pod.uid not in uids]


def _beyond(unit: PlacementUnit, binds: Sequence[Bind], added: Sequence[Bind]) -> set[str]:
    """Return the uids of the workers beyond whole steps: the last in rank of each gang."""
    placed = {bind.pod.uid for bind in binds}
    new = {bind.pod.uid for bind in added}
    beyond: set[str] = set()
    for gang in unit.gangs:
        if gang.elastic_size is None:
            continue
        workers = [pod.uid for pod in gang.pending if gang.elastic_size.elastic.counts(pod)]
        workers = [uid for uid in workers if uid in placed]
        excess = len(workers) - elastic_pace.in_whole_steps(gang.elastic_size, len(workers))
        if excess > 0:
            beyond.update([uid for uid in workers if uid in new][-excess:])
    return beyond


def _misfit(grown: Grown, beyond: int, trial: Trial) -> Misfit:
    """Return the misfit of members that form no whole step: the rest of the step has no room."""
    found = grown.misfit or Misfit(len(trial.nodes), fits=0, needs=1, rejections=())
    return replace(found, fits=found.fits + beyond, needs=found.needs + beyond)
