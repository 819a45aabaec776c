"""Which filter keeps one more pod of a class from which nodes: the first that rejects a node."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from gang_scheduler.model.nodes import BoolArray
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial

Words = Callable[[BoolArray], Counter[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """The nodes that a filter rejects, and no filter before it. `words` count some of them."""

    obstacle: Obstacle
    rows: BoolArray
    words: Words


@dataclass(frozen=True, slots=True, eq=False)
class Rejections:
    """All that keeps a pod from nodes: `fitting` take it, `short` lack nothing but resources."""

    found: tuple[Rejection, ...]
    fitting: BoolArray
    short: BoolArray

    def counted(self, among: BoolArray) -> tuple[tuple[str, int], ...]:
        """Return the reasons of some nodes, most nodes first."""
        counts: Counter[str] = Counter()
        for each in self.found:
            if (rows := each.rows & among).any():
                counts += each.words(rows)
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def rejections_of(pod_class: PodClass, trial: Trial, profile: Profile) -> Rejections:
    """Return what keeps one more pod of a class from the nodes. A look at each filter."""
    left = np.ones(len(trial.nodes), dtype=np.bool_)
    short = np.zeros_like(left)
    found = []
    for obstacle, full, words in _filters(pod_class, trial, profile):
        rows = left & full
        left &= ~full
        short &= ~full
        if obstacle is Obstacle.RESOURCES:
            short = rows
        if rows.any():
            found.append(Rejection(obstacle, rows, words))
    return Rejections(tuple(found), left, short)


def _filters(
    pod_class: PodClass, trial: Trial, profile: Profile
) -> Iterator[tuple[Obstacle, BoolArray, Words]]:
    """Yield each filter that concerns the class: the nodes it is against, and its words."""
    for node_filter in profile.node_filters:
        full = ~node_filter.passes(pod_class, trial.nodes)
        yield node_filter.obstacle, full, partial(node_filter.reasons, pod_class, trial.nodes)
    for room in (*profile.room_filters, *profile.coupled_filters):
        if room.concerns(pod_class, trial):
            full = room.slots(pod_class, trial) == 0
            yield room.obstacle, full, partial(room.reasons, pod_class, trial)
