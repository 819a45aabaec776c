"""What the queue of a gang and those above it may use, use, and would use with it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import (
    NONE,
    Charge,
    FlavorResource,
    Queue,
    QueueFigures,
    QueueRef,
    QueueSet,
)
from gang_scheduler.scheduler.explanation.findings import QuotaLine
from gang_scheduler.scheduler.explanation.watching import Turn
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.quota.promises import UNBOUNDED

MOST_BORROWERS: Final = 3


def quota_of(turn: Turn) -> tuple[QuotaLine, ...]:
    """Return a line for each queue on the way up and what it governs; none without queues.

    The leaf comes first. What the group holds already is in `used`.
    """
    forest = turn.forest
    if forest is None:
        return ()
    state = turn.snapshot.queues
    before = Forest(state, turn.snapshot.nodes) if state is not None else forest
    return tuple(_lines(forest, before, turn.group, charge_of(turn, forest)))


def charge_of(turn: Turn, forest: Forest) -> Charge:
    """Return what the quorums are charged: in the first flavors that suit, else in any."""
    state = turn.snapshot.queues
    declared = state.declared if state is not None else QueueSet()
    request = turn.request()
    if request is not None and request.assignments:
        return request.assignments[0].charge
    ref = turn.group.queue or NONE
    asked: Counter[str] = Counter()
    for gang in turn.group.waiting:
        for pod in gang.pending[: gang.quorum]:
            asked.update(declared.charged(pod.pod_class.requests))
    first: dict[str, FlavorResource] = {}
    for key in sorted(forest.governed(ref)):
        first.setdefault(key.resource, key)
    return {key: asked[name] for name, key in first.items() if asked[name]}


def _lines(forest: Forest, before: Forest, group: GangGroup, charge: Charge) -> Iterator[QuotaLine]:
    """Yield the lines of the way up; `before` any turn of the cycle was charged."""
    figures = forest.figures()
    way = forest.way(group.queue or NONE)
    amounts = {each.queue.ref: each.amounts for each in figures}
    was = {each.queue.ref: each.amounts for each in before.figures()}
    for queue in way:
        for key, adds in sorted(charge.items()):
            shown = amounts.get(queue.ref, {}).get(key)
            if adds and shown is not None and forest.governs(queue.ref, key):
                left = forest.available(queue.ref, key)
                most = None if left >= UNBOUNDED else left
                ahead = max(0, shown.used - was.get(queue.ref, {}).get(key, shown).used)
                line = QuotaLine(queue.ref, key, shown.nominal, shown.used, adds, most, ahead)
                others = _borrowers(figures, way, key) if line.short else ()
                yield replace(line, holders=others)


def _borrowers(
    figures: Sequence[QueueFigures], way: Sequence[Queue], key: FlavorResource
) -> tuple[tuple[QueueRef, int], ...]:
    """Return the queues that have borrowed most: leaves of the same tree, but for the gang's."""
    parents = {each.queue.parent for each in figures}
    own = {queue.ref for queue in way}
    found = (
        (each.queue.ref, each.amounts[key].borrowed)
        for each in figures
        if each.queue.ref not in parents | own
        and key in each.amounts
        and each.queue.ref.product is way[0].ref.product
    )
    ranked = sorted((each for each in found if each[1]), key=lambda each: (-each[1], each[0]))
    return tuple(ranked[:MOST_BORROWERS])
