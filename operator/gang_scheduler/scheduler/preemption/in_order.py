"""Many victims where there are queues: the first that suffice in some order.

The cheapest go first, and of queues that cost the same the one that borrows most as others have
gone. What must not go with the others is left out, and the next ones take its place.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption import choices
from gang_scheduler.scheduler.preemption.choices import Choice
from gang_scheduler.scheduler.preemption.judge import Judge, victims_of
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts, Victims

MOST_ROUNDS: Final = 16
"""How often victims are left out, and others tried."""
MOST_CHOICES: Final = 512
"""How many choices are evicted for one gang at most."""
ANY_NUMBER: Final = 2**31

Fits = Callable[[Victims], bool]


def allowed(
    bound_pods: Iterable[BoundPod], costs: VictimCosts, judge: Judge, fits: Fits
) -> Victims | None:
    """Return victims that are allowed, and leave room and quota enough; None if none are found."""
    there = choices.choices_of(bound_pods, costs, ANY_NUMBER) or []
    by_cost = _by_cost(there, costs, judge)
    own = judge.rights.claim.ref
    # Others may go by right once those of the own queue have gone.
    own_first = sorted(by_cost, key=lambda each: judge.held[each.gang].ref != own)
    orders = [by_cost] if own_first == by_cost else [by_cost, own_first]
    found = (_first_allowed(order, judge, fits) for order in orders)
    known = [each for each in found if each is not None]
    return min(
        known,
        key=lambda each: judge.cost(costs.cost(each), each, judge.classes(each) or {}),
        default=None,
    )


def _by_cost(there: Iterable[Choice], costs: VictimCosts, judge: Judge) -> list[Choice]:
    """Return choices by what they cost apart; of the same class and priority, queues by turns."""
    levels: dict[tuple[object, ...], list[Choice]] = {}
    for each in there:
        levels.setdefault(_level(each, costs), []).append(each)
    order: list[Choice] = []
    for level in sorted(levels):
        order += _drained(levels[level], costs, judge)
    return _within_surplus(order, costs)


def _within_surplus(order: Iterable[Choice], costs: VictimCosts) -> list[Choice]:
    """Return choices without single pods that a gang cannot do without."""
    numbers: Counter[GangKey] = Counter()
    kept = []
    for each in order:
        numbers[each.gang] += each.single
        if not each.single or numbers[each.gang] <= costs.surplus(each.gang):
            kept.append(each)
    return kept


def _level(choice: Choice, costs: VictimCosts) -> tuple[object, ...]:
    over = costs.tally().with_more([choice.unit]).over_budget
    return over, choice.unit.lowest_class, choice.unit.highest_priority


def _drained(level: Sequence[Choice], costs: VictimCosts, judge: Judge) -> list[Choice]:
    """Return choices by turns: the next one is of the queue that borrows most by then."""
    by_queue: dict[object, list[Choice]] = {}
    for each in sorted(level, key=lambda each: costs.tally().with_more([each.unit]), reverse=True):
        by_queue.setdefault(judge.held[each.gang].ref, []).append(each)
    if len(by_queue) == 1:
        return [each for some in by_queue.values() for each in reversed(some)]
    order: list[Choice] = []
    with judge.draining() as drained:
        heap = [
            (drained.rank(some[-1].unit), number) for number, some in enumerate(by_queue.values())
        ]
        heapq.heapify(heap)
        lists = list(by_queue.values())
        while heap:
            _, number = heapq.heappop(heap)
            order.append(lists[number].pop())
            drained.take(order[-1].unit)
            if lists[number]:
                heapq.heappush(heap, (drained.rank(lists[number][-1].unit), number))
    return order


def _first_allowed(order: Sequence[Choice], judge: Judge, fits: Fits) -> Victims | None:
    left = list(order)
    for _ in range(MOST_ROUNDS):
        victims = _first_enough(left, judge, fits)
        if victims is None:
            return None
        illegal = judge.judged(victims).illegal
        if not illegal:
            return victims
        left = [each for each in left if each.gang not in illegal]
    return None


def _first_enough(order: Sequence[Choice], judge: Judge, fits: Fits) -> Victims | None:
    """Return the fewest first choices that leave room and quota enough: bisected."""

    def suffice(number: int) -> bool:
        victims = victims_of(each.unit for each in order[:number])
        return not judge.lacking(victims) and fits(victims)

    low, high = 0, min(len(order), MOST_CHOICES)
    if not suffice(high):
        return None
    while low < high:
        middle = (low + high) // 2
        if suffice(middle):
            high = middle
        else:
            low = middle + 1
    return victims_of(each.unit for each in order[:high])
