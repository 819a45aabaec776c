"""Few victims: the cheapest set of all, by looking at every set that could be cheaper.

Costs only grow with more victims, and what fits still fits with more victims gone. So a set that
costs as much as the best one known needs no look at its supersets, nor one that would not make
room even with all the rest.
"""

from collections.abc import Callable, Sequence
from typing import Final

from gang_scheduler.scheduler.preemption.tolls import Cost, Tolls, Victims

MOST_LOSSES: Final = 16

Fits = Callable[[Victims], bool]


def cheapest(
    losses: Sequence[Victims], known: Victims | None, tolls: Tolls, fits: Fits, most_trials: int
) -> Victims | None:
    """Return the cheapest closed set of losses that makes room; `known` is one, if any is.

    After `most_trials` looks at whether everybody fits, it is the cheapest one found by then.
    """
    return _Search(losses, known, tolls, fits, most_trials).run()


class _Search:
    def __init__(
        self,
        losses: Sequence[Victims],
        known: Victims | None,
        tolls: Tolls,
        fits: Fits,
        most_trials: int,
    ) -> None:
        self._losses = losses
        self._best = known
        self._least: Cost | None = None if known is None else tolls.cost(known)
        self._tolls = tolls
        self._fits = fits
        self._trials_left = most_trials

    def run(self) -> Victims | None:
        self._branch(0, {})
        return self._best

    def _branch(self, first: int, chosen: Victims) -> None:
        """Decide on the losses from `first` on, after those before."""
        closed = self._tolls.with_gangs(chosen)
        if closed is None or self._trials_left <= 0:
            return
        self._trials_left -= 2
        cost = self._tolls.cost(closed)
        if self._least is not None and cost >= self._least:
            return
        if self._fits(closed):
            self._best, self._least = closed, cost
            return
        if first == len(self._losses):
            return
        rest = dict(chosen)
        for loss in self._losses[first:]:
            rest |= loss
        everyone = self._tolls.with_gangs(rest)
        if everyone is not None and not self._fits(everyone):
            return
        self._branch(first + 1, chosen | self._losses[first])
        self._branch(first + 1, chosen)
