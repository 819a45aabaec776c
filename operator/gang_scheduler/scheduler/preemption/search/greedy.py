"""Many victims where there are queues: the first units that make enough room, in some order.

The cheapest units are evicted first. Among queues with equal costs, the queue that borrows most
after the evictions so far comes first. A unit that may not be evicted with the others is left out,
and the next unit takes its place.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit, Portion
from gang_scheduler.scheduler.preemption.queue_rules import Judge, victims_of
from gang_scheduler.scheduler.preemption.search import candidates
from gang_scheduler.scheduler.preemption.search.candidates import EvictableUnit
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts, Victims

MOST_ROUNDS: Final = 16
"""The most rounds in which some victims are left out and others are tried."""
MOST_CHOICES: Final = 512
"""The most units that are evicted for one gang, if they may be on any nodes."""
MOST_NODE_BY_NODE: Final = 8192
"""The most units that are evicted for one gang, if they clear one node after another."""
FIRST: Final = 16
"""The number of units that are sorted at first."""
ANY_NUMBER: Final = 2**31

Fits = Callable[[Victims], bool]


def allowed(
    bound_pods: Iterable[BoundPod],
    costs: VictimCosts,
    judge: Judge,
    fits: Fits,
    node_by_node: Iterable[Sequence[EvictionUnit]] = (),
) -> Victims | None:
    """Return allowed victims that free enough room and quota; None if none are found.

    `node_by_node` are sets of units that clear one node after another. Units in any other order may
    free a little on every node, and still no room for a large pod.
    """
    there = candidates.evictable_units_of(bound_pods, costs, ANY_NUMBER) or []
    own = [each for each in there if judge.running[each.gang].ref == judge.reclaim.request.ref]
    orders = [_Order([there], costs, judge)]
    if 0 < len(own) < len(there):
        # Units of other queues may become victims once units of the own queue are evicted.
        first = {each.gang for each in own}
        others = [each for each in there if each.gang not in first]
        orders.append(_Order([own, others], costs, judge))
        orders.append(_Order(_by_priority(own, others), costs, judge))
    found = (_first_allowed(order, judge, fits) for order in orders)
    known = [each for each in found if each is not None]

    def cost(victims: Victims) -> Cost:
        return judge.cost(costs.cost(victims), victims, judge.classes(victims) or {})

    best = min(known, key=cost, default=None)
    if best is not None and len(best) == 1:
        return best
    other = _first_allowed(_NodeByNode(node_by_node), judge, fits)
    if other is None or best is None:
        return best or other
    # At equal costs, the victims that were chosen by turns of their queues are taken.
    return other if cost(other)._replace(ties=()) < cost(best)._replace(ties=()) else best


def _by_priority(*parts: Iterable[EvictableUnit]) -> list[list[EvictableUnit]]:
    """Split the parts by priority: for each priority, the units of the first part come first."""
    lines: dict[tuple[int, int], list[EvictableUnit]] = {}
    for number, part in enumerate(parts):
        for each in part:
            lines.setdefault((each.unit.highest_priority, number), []).append(each)
    return [lines[key] for key in sorted(lines)]


_Line = list[EvictableUnit]
"""The units of one queue; the next one is at the end of the list."""


class _Order:
    """Units in the order of their own costs; queues take turns within a class and priority.

    Units of one part come before units of the next part. Only as many units are sorted as are asked
    for.
    """

    most: Final = MOST_CHOICES

    def __init__(
        self, parts: Iterable[Iterable[EvictableUnit]], costs: VictimCosts, judge: Judge
    ) -> None:
        self._judge = judge
        self._levels = [each for part in parts for each in _levels(part, costs, judge)]
        self._number = sum(len(line) for lines in self._levels for line in lines)
        self._known: list[EvictableUnit] = []

    def without(self, gone: Collection[GangKey], number: int) -> list[EvictableUnit]:
        """Return the first `number` units of other gangs, or all if there are fewer."""
        while True:
            found = [each for each in self._known if each.gang not in gone]
            if len(found) >= number or len(self._known) == self._number:
                return found[:number]
            self._known = self._first(max(FIRST, 2 * len(self._known)))

    def _first(self, number: int) -> list[EvictableUnit]:
        found: list[EvictableUnit] = []
        for lines in self._levels:
            if len(found) < number:
                found += _drained(lines, self._judge, number - len(found))
        return found


class _NodeByNode:
    """Units that clear one node after another, chosen as they are asked for."""

    most: Final = MOST_NODE_BY_NODE

    def __init__(self, sets: Iterable[Sequence[EvictionUnit]]) -> None:
        self._sets = iter(sets)
        self._known: list[EvictableUnit] = []

    def without(self, gone: Collection[GangKey], number: int) -> list[EvictableUnit]:
        """Return the first `number` units of other gangs, or all if there are fewer."""
        found = [each for each in self._known if each.gang not in gone]
        while len(found) < number and (more := next(self._sets, None)) is not None:
            units = [EvictableUnit(unit) for unit in more]
            self._known += units
            found += [each for each in units if each.gang not in gone]
        return found[:number]


def _levels(
    there: Iterable[EvictableUnit], costs: VictimCosts, judge: Judge
) -> Iterator[list[_Line]]:
    """Yield the units of each queue in order, for each class and priority from the lowest up."""
    levels: dict[tuple[int, ...], dict[QueueRef, list[tuple[Cost, EvictableUnit]]]] = {}
    for each in there:
        cost = costs.tally().with_more([each.unit])
        level = cost.over_budget, each.unit.lowest_class, each.unit.highest_priority
        lines = levels.setdefault(level, {})
        lines.setdefault(judge.running[each.gang].ref, []).append((cost, each))
    numbers: Counter[Portion] = Counter()
    for reached in sorted(levels):
        lines = levels[reached]
        for line in lines.values():
            line.sort(key=itemgetter(0), reverse=True)
        some = sorted(lines.values(), key=lambda line: line[0][0], reverse=True)
        yield [_within_surplus([each for _, each in line], costs, numbers) for line in some]


def _within_surplus(line: _Line, costs: VictimCosts, numbers: Counter[Portion]) -> _Line:
    """Return the line without single pods that their gangs need; count evicted single pods."""
    kept = []
    for each in reversed(line):
        numbers[each.portion] += each.single
        if not each.single or numbers[each.portion] <= costs.surplus(each.portion):
            kept.append(each)
    return kept[::-1]


def _drained(lines: Iterable[_Line], judge: Judge, most: int) -> list[EvictableUnit]:
    """Return units in turns of queues: the queue that borrows most by then is next."""
    left = [list(line) for line in lines if line]
    if len(left) == 1:
        return left[0][::-1][:most]
    order: list[EvictableUnit] = []
    with judge.draining() as drained:
        heap = [(drained.rank(some[-1].unit), number) for number, some in enumerate(left)]
        heapq.heapify(heap)
        while heap and len(order) < most:
            _, number = heapq.heappop(heap)
            order.append(left[number].pop())
            drained.take(order[-1].unit)
            if left[number]:
                heapq.heappush(heap, (drained.rank(left[number][-1].unit), number))
    return order


def _first_allowed(order: _Order | _NodeByNode, judge: Judge, fits: Fits) -> Victims | None:
    gone: set[GangKey] = set()
    for _ in range(MOST_ROUNDS):
        victims = _first_enough(order, gone, judge, fits)
        if victims is None:
            return None
        illegal = judge.judged(victims).illegal
        if not illegal:
            return victims
        gone |= illegal
    return None


def _first_enough(
    order: _Order | _NodeByNode, gone: Collection[GangKey], judge: Judge, fits: Fits
) -> Victims | None:
    """Return the fewest first units that free enough: the number is doubled, then bisected."""

    def first(number: int) -> Victims:
        return victims_of(each.unit for each in order.without(gone, number))

    def suffice(number: int) -> bool:
        victims = first(number)
        return not judge.lacking(victims) and fits(victims)

    low, high = 0, 1
    while not suffice(high):
        if high == order.most or len(order.without(gone, high)) < high:
            return None
        low, high = high + 1, min(2 * high, order.most)
    while low < high:
        middle = (low + high) // 2
        if suffice(middle):
            high = middle
        else:
            low = middle + 1
    return first(high)
