"""Few victims: the cheapest set of all, by branch and bound.

Costs only grow with more victims. The class is an exception: further victims close to the queue of
the preemptor may let the others be evicted by a lower class (`_lowering`). The search skips

- a set that costs as much as the best set known,
- a set that would cost as much with the least cost of the victims that it still lacks,
- a set that would not make room even with all undecided victims,
- with queues, a set that they forbid whichever undecided victims are added.

Among victims that free the same room, the cheaper are evicted first.

A preemptor that fits still fits with more victims gone, except for victims that it may need where
they are (`tied`): they are decided first, and until then no set is skipped for lack of room.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Final, NamedTuple

import numpy as np

from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.queues import FlavorResource
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit, Portion
from gang_scheduler.scheduler.preemption.preemptor import (
    NONE,
    Needs,
    cheapest_share,
    lowest_that_suffice,
)
from gang_scheduler.scheduler.preemption.queue_rules import Judge, victims_of
from gang_scheduler.scheduler.preemption.search import candidates
from gang_scheduler.scheduler.preemption.search.candidates import EvictableUnit
from gang_scheduler.scheduler.preemption.victim_costs import Cost, Tally, VictimCosts, Victims

MOST_LOSSES: Final = 16
FEW: Final = 5
"""In a set of at most this many units, any number is spared together; in larger sets, `PAIRS`."""
PAIRS: Final = 2
LOOKS: Final = 3
"""The cost of looking at one set of victims, without testing whether the preemptor fits."""
LOOKS_AT_QUOTA: Final = 2
"""The additional cost of looking at a set with queues: quota is computed twice."""
LOOKS_TO_JUDGE: Final = 2
"""The cost of finding the classes by which the victims of a set are evicted."""

Fits = Callable[[Sequence[EvictionUnit]], bool]
Key = tuple[Any, ...]
Places = tuple[int, ...]
"""Units, as their places in the sequence of all evictable units."""


class Problem(NamedTuple):
    """The units in a domain, the needs of the preemptor there, and the test whether it fits.

    Sets that cost more than `bound` are not searched. `counts`: counting alone tells exactly
    whether the preemptor fits; otherwise it only tells that it does not. With a `judge` a set must
    be allowed, too. `frees` returns what a unit frees besides room; None if only room counts.
    """

    evictable_units: Sequence[EvictableUnit]
    needs: Needs
    nodes: NodeTable
    costs: VictimCosts
    fits: Fits
    bound: Cost | None = None
    counts: bool = False
    judge: Judge | None = None
    frees: Callable[[EvictionUnit], Hashable] | None = None

    def traits(self, unit: EvictionUnit) -> Hashable:
        """Return the properties, besides room, that two units must share to be compared by cost."""
        return (
            self.judge and self.judge.traits(unit),
            self.frees and self.frees(unit),
        )


class Answer(NamedTuple):
    """The cheapest eviction units; None if no set makes room. Exact unless `cut_off`."""

    units: tuple[EvictionUnit, ...] | None
    cut_off: bool


def cheapest(problem: Problem, effort: Effort) -> Answer:
    """Return the cheapest units that make room, or the best found before looks were used up."""
    return _Search(problem, effort).run()


class _Branch(NamedTuple):
    """A step of the search: `chosen` units are evicted, `left` units are undecided, others stay.

    `free` is the free room on the rows of the needs once the chosen pods have left. `at_best` are
    the places there if all units of `left` were evicted, too; None until they are computed.
    """

    chosen: Places
    left: Places
    free: IntArray
    at_best: IntArray | None = None


class _Search:
    def __init__(self, problem: Problem, effort: Effort) -> None:
        self.best: tuple[EvictionUnit, ...] | None = None
        self.cut_off = False
        self._least: Cost | None = None
        self._problem = problem
        self._effort = effort
        self._evictable_units = problem.evictable_units
        self._costs = problem.costs
        self._needs = problem.needs
        self._fit: dict[frozenset[int], bool] = {}
        self._judge = problem.judge
        self._to_evict_before = candidates.units_to_evict_before(
            problem.evictable_units, problem.traits
        )
        units = [each.unit for each in problem.evictable_units]
        self._used = _used(units, problem.needs, problem.nodes)
        self._parts = problem.needs.parts(self._used)
        self._priorities = [each.highest_priority for each in units]
        self._classes = [each.lowest_class for each in units]
        self._shares = [each.share for each in units]
        self._breaks = [
            int(each.unit.going > 0 and not each.of_surplus) for each in problem.evictable_units
        ]
        self._unprotected = [each.unprotected for each in units]
        self._work = [each.lost_work for each in units]
        self._pods = [each.going for each in units]
        self._under_budget = any(each.covered or each.overlapping for each in units)
        # Where budgets overlap, one more victim may cost less beside others: no bound is known.
        self._foreseen = self._under_budget and not any(each.overlapping for each in units)

    def run(self) -> Answer:
        """Look at every set that could be the cheapest."""
        everything = tuple(range(len(self._evictable_units)))
        self._branch(_Branch((), everything, self._needs.free))
        return Answer(self.best, self.cut_off)

    def _branch(self, at: _Branch) -> None:
        """Decide on the units that are still undecided."""
        self._effort.spend(LOOKS if self._judge is None else LOOKS + LOOKS_AT_QUOTA)
        if self.cut_off or not self._effort.may_go_on():
            self.cut_off = True
            return
        tally = self._tally(at.chosen)
        if self._is_too_costly(tally.cost):
            return
        there = self._needs.places(at.free)
        lacking = self._needs.lacking(there)
        if self._is_enough(at.chosen, lacking) and self._take(at.chosen, tally.cost):
            # More victims pay only if the others can then be evicted by a lower class.
            at = at._replace(left=self._lowering(at), at_best=None)
        for each in self._branches(at, tally, there, lacking):
            self._branch(each)

    def _is_enough(self, chosen: Places, lacking: IntArray) -> bool:
        """Return whether there is enough room and quota once the chosen units have left."""
        if int(lacking.max()) > 0 or self._short(chosen):
            return False
        return self._fits(chosen)

    def _take(self, chosen: Places, cost: Cost) -> bool:
        """Keep a set if it is the best so far; return whether it is allowed.

        More victims can make a forbidden set allowed: for example, a gang of another queue may be
        evicted once gangs of the preemptor's own queue are.
        """
        if self._judge is not None:
            self._effort.spend(LOOKS_TO_JUDGE)
            victims = self._victims(chosen)
            classes = self._judge.classes(victims)
            if classes is None:
                return False
            cost = self._judge.cost(cost, victims, classes)
            if self._is_too_costly(cost) or not self._needs_all(chosen, cost.highest_class):
                return True
        self.best = tuple(self._evictable_units[each].unit for each in chosen)
        self._least = cost
        return True

    def _lowering(self, at: _Branch) -> Places:
        """Return the undecided units with which an allowed set could be evicted by a lower class.

        A promise or a fair share justifies only evictions from the same subtree.
        """
        if self._judge is None:
            return ()
        highest = self._judge.highest_class(self._victims(at.chosen))
        beside = tuple(
            each
            for each in at.left
            if self._classes[each] < highest
            and self._judge.is_beside(self._evictable_units[each].gang)
        )
        if not beside:
            return ()
        most = self._judge.judged(self._victims((*at.chosen, *beside))).classes
        gangs = {
            self._evictable_units[each].gang
            for each in at.chosen
            if self._evictable_units[each].unit.going
        }
        least = max((most.get(gang, highest) for gang in gangs), default=highest)
        return beside if least < highest else ()

    def _needs_all(self, chosen: Places, highest: int) -> bool:
        """Return whether no unit can be put back, alone or together with a few others.

        A unit is also needed if others were evicted by a higher class once it is put back.
        """
        at_once = len(chosen) if len(chosen) <= FEW else PAIRS
        spared = (each for n in range(1, at_once + 1) for each in combinations(chosen, n))
        return not any(self._is_allowed(each, highest) for each in self._fewer(chosen, spared))

    def _fewer(self, chosen: Places, spared: Iterable[Places]) -> Iterator[Places]:
        """Yield the units that are left when each of these sets of units is spared.

        If a set is one unit of a gang, the gang may also lose less in its place: fewer of its
        steps, or for a whole gang only surplus.
        """
        for some in spared:
            rest = tuple(each for each in chosen if each not in some)
            yield rest
            [first, *others] = some
            one = self._evictable_units[first]
            gang = one.gang
            if (one.whole or one.steps) and not others:
                yield from ((*rest, place) for place in self._fewer_steps(one))
            if one.whole and not others:
                for singles in self._surplus_of(gang):
                    yield (*rest, *singles)

    def _surplus_of(self, gang: GangKey) -> Iterator[Places]:
        """Yield the surplus that a gang can lose: any number of the first pods of each portion."""
        singles: dict[Portion, list[int]] = {}
        for place, each in enumerate(self._evictable_units):
            if each.single and each.gang == gang:
                singles.setdefault(each.portion, []).append(place)
        ways = [
            [places[:number] for number in range(self._costs.surplus(portion) + 1)]
            for portion, places in singles.items()
        ]
        for some in product(*ways):
            if any(some):
                yield tuple(place for places in some for place in places)

    def _fewer_steps(self, one: EvictableUnit) -> Iterator[int]:
        """Yield the units that have fewer steps of the same gang than this unit."""
        for place, each in enumerate(self._evictable_units):
            if each.steps and each.gang == one.gang and len(each.unit) < len(one.unit):
                yield place

    def _is_allowed(self, chosen: Places, highest: int) -> bool:
        """Return whether these units free enough, and may be evicted by at most this class."""
        free = self._needs.free + self._used[list(chosen)].sum(axis=0)
        lacking = self._needs.lacking(self._needs.places(free))
        if self._judge is None or not self._is_enough(chosen, lacking):
            return False
        self._effort.spend(LOOKS_TO_JUDGE)
        victims = self._victims(chosen)
        if self._judge.classes(victims) is None:
            return False
        return self._judge.highest_class(victims) <= highest

    def _is_impossible(self, chosen: Places, left: Places) -> bool:
        """Return whether queues forbid these units, whichever of the units left are added."""
        if self._judge is None:
            return False
        self._effort.spend(LOOKS_TO_JUDGE)
        return self._judge.is_impossible(self._victims(chosen), self._victims(left))

    def _victims(self, chosen: Places) -> Victims:
        return victims_of(self._evictable_units[each].unit for each in chosen)

    def _short(self, chosen: Places) -> Mapping[FlavorResource, int]:
        """Return the shortage of quota once the chosen units have left."""
        return {} if self._judge is None else self._judge.lacking(self._victims(chosen))

    def _branches(
        self, at: _Branch, tally: Tally, there: IntArray, lacking: IntArray
    ) -> Iterator[_Branch]:
        """Yield the branches with and without the most promising unit that is left.

        No branch if no cheaper set that makes room can follow.
        """
        if not at.left:
            return
        at_best = at.at_best
        if at_best is None:
            at_best = self._needs.places(at.free + self._used[list(at.left)].sum(axis=0))
            if int(self._needs.lacking(at_best).max()) > 0:
                return
        if self._short((*at.chosen, *at.left)):
            return
        tied = [each for each in at.left if self._evictable_units[each].tied]
        if int(lacking.max()) > 0:
            gains, left = self._gaining(at, there, at_best, lacking)
            if not left or self._is_too_costly(
                self._at_least(tally, left, gains, int(lacking.max()))
            ):
                return
        elif self._judge is not None and (short := self._short(at.chosen)):
            gains, left, most = *self._freeing(at.left, short), max(short.values())
            if self._judge.counts and self._is_too_costly(self._at_least(tally, left, gains, most)):
                return
        elif tied or self._fits((*at.chosen, *at.left)):
            # There are enough places, and yet not all members fit.
            gains, left = [1.0] * len(at.left), at.left
        else:
            return
        first = tied[0] if tied else min(zip(self._keys(tally, left, gains), left, strict=True))[1]
        yield from self._with_and_without(first, at, left, at_best)

    def _with_and_without(
        self, first: int, at: _Branch, left: Places, at_best: IntArray
    ) -> Iterator[_Branch]:
        others = tuple([each for each in left if each != first])
        beside = self._beside(first, at.chosen, others)
        known = at_best if len(beside) + 1 == len(at.left) else None
        if not self._is_impossible((*at.chosen, first), beside):
            yield _Branch((*at.chosen, first), beside, at.free + self._used[first], known)
        worse = tuple([each for each in others if first not in self._to_evict_before[each]])
        yield _Branch(at.chosen, worse, at.free)

    def _gaining(
        self, at: _Branch, there: IntArray, at_best: IntArray, lacking: IntArray
    ) -> tuple[list[float], Places]:
        """Return the gains for the floor that lacks most, and the units left that add to it.

        If members differ, they may need more than counting says. Then every unit is kept.
        """
        some = list(at.left)
        floors = np.flatnonzero(lacking > 0).tolist()
        gains = [
            self._needs.gains(each, at.free, there, at_best, self._parts[each, some])
            for each in floors
        ]
        most = gains[floors.index(int(lacking.argmax()))].tolist()
        useful = np.max(gains, axis=0).tolist()
        kept = [
            (gain, each)
            for gain, use, each in zip(most, useful, some, strict=True)
            if use > 0
            or self._evictable_units[each].tied
            or not self._problem.counts
            or self._judge
        ]
        return [gain for gain, _ in kept], tuple([each for _, each in kept])

    def _freeing(
        self, left: Places, short: Mapping[FlavorResource, int]
    ) -> tuple[list[float], Places]:
        """Return the amount that each unit frees of the quota with the largest shortage."""
        most = max(short, key=lambda key: (short[key], key))
        units = (self._evictable_units[each].unit for each in left)
        freed = [self._judge.freed(each) if self._judge else {} for each in units]
        return [float(each.get(most, 0)) for each in freed], left

    def _at_least(self, tally: Tally, left: Places, gains: Sequence[float], lacking: int) -> Cost:
        """Return the least cost of the set once more units add the places that are lacking."""
        now = tally.cost
        price = lowest_that_suffice([self._priorities[each] for each in left], gains, lacking)
        breaks = cheapest_share([self._breaks[each] for each in left], gains, lacking)
        over = cheapest_share(self._over(tally, left), gains, lacking) if self._foreseen else 0
        unprotected, work, pods = (
            cheapest_share([weights[each] for each in left], gains, lacking)
            for weights in (self._unprotected, self._work, self._pods)
        )
        least = self._lowest_class(left, gains, lacking) if self._judge is not None else 0
        return Cost(
            over_budget=now.over_budget + over,
            highest_class=max(now.highest_class, least),
            highest_priority=max(now.highest_priority, price),
            least_share=now.least_share,
            broken=now.broken + breaks,
            touched=now.touched + breaks,
            unprotected=now.unprotected + unprotected,
            lost_work=now.lost_work + work,
            pods=now.pods + pods,
        )

    def _lowest_class(self, left: Places, gains: Sequence[float], lacking: int) -> int:
        return lowest_that_suffice([self._classes[each] for each in left], gains, lacking)

    def _keys(self, tally: Tally, left: Places, gains: Sequence[float]) -> Iterator[Key]:
        """Yield sort keys that find good sets early: the least cost for each place comes first."""
        over = self._over(tally, left) if self._under_budget else [0] * len(left)
        for each, beyond, gain in zip(left, over, gains, strict=True):
            made = max(gain, NONE)
            yield (
                beyond,
                self._classes[each],
                self._priorities[each],
                self._shares[each],
                self._breaks[each] / made,
                self._unprotected[each] / made,
                self._work[each] / made,
                self._pods[each] / made,
            )

    def _over(self, tally: Tally, left: Places) -> list[int]:
        """Return for each unit left the additional pods beyond a budget if it is evicted, too."""
        before = tally.cost.over_budget
        units = (self._evictable_units[each].unit for each in left)
        return [tally.with_more([each]).over_budget - before for each in units]

    def _beside(self, taken: int, chosen: Places, others: Places) -> Places:
        """Return the units that can be evicted with `taken`: an elastic gang loses some or all."""
        one = self._evictable_units[taken]
        if not one.of_surplus and not one.whole:
            return others
        beside = (self._evictable_units[each] for each in (*chosen, taken))
        numbers = Counter(each.portion for each in beside if each.single and each.gang == one.gang)
        return tuple(
            each
            for each in others
            if self._evictable_units[each].gang != one.gang
            or (one.single and self._has_more(self._evictable_units[each], numbers))
        )

    def _has_more(self, evictable_unit: EvictableUnit, numbers: Mapping[Portion, int]) -> bool:
        """Return whether a single pod is still surplus without this many others of its gang."""
        number = numbers.get(evictable_unit.portion, 0)
        return evictable_unit.single and number < self._costs.surplus(evictable_unit.portion)

    def _tally(self, chosen: Places) -> Tally:
        tally = self._costs.tally()
        tally.add([self._evictable_units[each].unit for each in chosen])
        return tally

    def _is_too_costly(self, cost: Cost) -> bool:
        """Return whether a set of at least this cost is not worth finding."""
        bound = self._problem.bound
        if bound is not None and cost > bound:
            return True
        return self._least is not None and cost >= self._least

    def _fits(self, chosen: Places) -> bool:
        key = frozenset(chosen)
        if key not in self._fit:
            self._fit[key] = self._problem.fits(
                [self._evictable_units[each].unit for each in chosen]
            )
        return self._fit[key]


def _used(units: Sequence[EvictionUnit], needs: Needs, nodes: NodeTable) -> IntArray:
    """Return the resources that each eviction unit frees: (units, rows, resources)."""
    used = np.zeros((len(units), *needs.free.shape), dtype=np.int64)
    for place, each in enumerate(units):
        rows, freed = each.usage(nodes)[:2]
        there = np.isin(rows, needs.rows)
        used[place, np.searchsorted(needs.rows, rows[there])] = freed[there]
    return used
