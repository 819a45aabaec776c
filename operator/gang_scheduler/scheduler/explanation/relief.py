"""What a group could ask less strictly, and the quota that it would need: each is yet to be tried.

Which of these starts the group is found by a cycle: `variants` makes it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray, Taint
from gang_scheduler.model.plan import Obstacle, Oversized
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler import oversized
from gang_scheduler.scheduler.explanation.findings import Lowered, QuotaLine, Raised
from gang_scheduler.scheduler.explanation.watching import Turn
from gang_scheduler.scheduler.filters import taints
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.quota.relations import ROOTS

MOST_CLASSES: Final = 3
MOST_SETS: Final = 2
MOST_LABELS: Final = 3
LEAST_PART: Final = 2
"""A member that fits some nodes is not told to ask for less than this part of what it asks."""
MOST_ON_A_NODE: Final = 16
"""Into how many parts the room of a node is divided at most."""


def raised(turn: Turn, lines: Sequence[QuotaLine], *, above: bool) -> tuple[Raised, ...]:
    """Return more quota that may be enough: for the queue itself, and `above`: those above it.

    Empty where none is short of any.
    """
    forest = turn.forest
    if forest is None or not lines or lines[0].queue == NONE:
        return ()
    own = lines[0].queue
    found = [_raised(each, forest, 0) for each in lines if each.short and each.queue == own]
    if not above:
        return tuple(found)
    more = {each.key: each.promised - each.instead_of for each in found}
    return (
        *found,
        *(
            _raised(each, forest, more.get(each.key, 0))
            for each in lines
            if each.short and each.queue not in (own, *ROOTS.values())
        ),
    )


def _raised(line: QuotaLine, forest: Forest, below: int) -> Raised:
    """Return the quota that a queue lacks; no less than the promise `below` it grows by."""
    promised = max(line.nominal + max(line.short, below), line.used + line.adds)
    quota = forest.queue(line.queue).quotas.get(line.key)
    limit = quota.limit if quota is not None else None
    return Raised(line.queue, line.key, promised, line.nominal, limit)


def lowered(turn: Turn, needed: int) -> Iterator[tuple[Lowered, ...]]:
    """Yield what members may ask at most: of that which no node has, else of what is short.

    `needed` members are to fit at once.
    """
    classes = _classes(turn)
    in_vain = _in_vain(classes, turn)
    if in_vain:
        if all(each.largest for each in in_vain):
            yield tuple(Lowered(each.resource, each.largest, each.asked) for each in in_vain)
        return
    if len(classes) != 1:
        return
    trial = turn.trial()
    usable = _passing(classes[0], turn)
    for resource, asked in classes[0].requests:
        if resource == PODS or not asked:
            continue
        free = trial.free_of(resource)[usable]
        if int((free // asked).clip(min=0).sum()) >= needed:
            continue  # It is another resource that is short.
        most = _largest(free[free > 0], needed, asked)
        if most is not None and most * LEAST_PART >= asked:
            yield (Lowered(resource, most, asked),)


def _in_vain(classes: Sequence[PodClass], turn: Turn) -> tuple[Oversized, ...]:
    found = (oversized.of(each, turn.snapshot.nodes, turn.profile) for each in classes)
    by_name = {each.resource: each for each in chain.from_iterable(found)}
    return tuple(by_name.values())


def _largest(free: IntArray, needed: int, asked: int) -> int | None:
    """Return the most below `asked` of which so many parts are free; None if that is nothing."""
    on_a_node = min(needed, MOST_ON_A_NODE)
    parts = np.unique((free[:, np.newaxis] // np.arange(1, on_a_node + 1)).ravel())
    for each in reversed(parts.tolist()):
        if 0 < each < asked and int((free // each).sum()) >= needed:
            return int(each)
    return None


def tolerated(turn: Turn) -> Iterator[tuple[Taint, ...]]:
    """Yield taints that keep members from nodes and nothing else does but room; most nodes first.

    Then all of these together.
    """
    nodes = turn.snapshot.nodes
    codes, sets = nodes.taint_sets()
    counts: Counter[tuple[Taint, ...]] = Counter()
    for pod_class in _classes(turn):
        others = _passing(pod_class, turn, but_for=Obstacle.TAINTS)
        others &= ~taints.passes(pod_class, nodes)
        for code, number in zip(*np.unique(codes[others], return_counts=True), strict=True):
            lacks = tuple(taints.untolerated(pod_class, sets[code]))
            # A node that is not well is not to be tolerated.
            if not any(each.key.startswith(taints.OF_STATES) for each in lacks):
                counts[lacks] += int(number)
    ranked = sorted(counts, key=lambda each: (-counts[each], [*map(_name, each)]))
    yield from ranked[:MOST_SETS]
    if len(ranked) > 1:
        yield tuple(dict.fromkeys(chain.from_iterable(ranked)))


def _name(taint: Taint) -> tuple[str, str, str]:
    return taint.key, taint.value, taint.effect


def selectors(turn: Turn) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield each label of the node selectors that some node does not have; then all of them."""
    nodes = turn.snapshot.nodes
    found = dict.fromkeys(pair for each in _classes(turn) for pair in each.node_selector)
    pairs = [(key, value) for key, value in found if not nodes.label(key).matches([value]).all()]
    for pair in pairs[:MOST_LABELS]:
        yield (pair,)
    if len(pairs) > 1:
        yield tuple(pairs)


def _classes(turn: Turn) -> list[PodClass]:
    pods = (pod for unit in turn.units() for pod in unit.members)
    return list(dict.fromkeys(pod.pod_class for pod in pods))[:MOST_CLASSES]


def _passing(pod_class: PodClass, turn: Turn, but_for: Obstacle | None = None) -> BoolArray:
    """Return the nodes that all node filters let pass but one."""
    nodes = turn.snapshot.nodes
    passing = np.ones(len(nodes), dtype=np.bool_)
    for each in turn.profile.node_filters:
        if each.obstacle is not but_for:
            passing &= each.passes(pod_class, nodes)
    return passing
