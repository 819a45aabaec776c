"""Members with different claims on few nodes: a way to place them where greedy placement fails.

Which devices a member leaves on a node depends on the others there, so requests cannot be added up
as those of other resources. Members are placed one by one, and each sees the devices that are left.
If one finds no node, the member before it moves on to its next node.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.placement import scoring
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial, shares

MOST_STEPS: Final = 300
"""The most nodes that are tried for members before the search gives up."""


def assume_one_by_one(
    sizes: Mapping[PodClass, int], rows: IntArray, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for all these members on these nodes; None if no way was found.

    The classes with the least choice come first. Members of one class are alike, so each of them is
    placed only on the node of the one before it, or on later ones.
    """
    within = np.zeros(len(trial.nodes), dtype=np.bool_)
    within[rows] = True
    search = _Search(within, trial, profile)
    room = {each: int(search.slots(each).clip(max=sizes[each]).sum()) for each in sizes}
    order = sorted(sizes, key=lambda each: (room[each], each.requests))
    with trial.all_or_nothing() as attempt:
        found = search.places([each for each in order for _ in range(sizes[each])])
        if found is None:
            return None
        attempt.commit()
    return shares(sorted(found, key=lambda each: order.index(each[0])))


class _Search:
    """A depth-first search over the members."""

    def __init__(self, within: BoolArray, trial: Trial, profile: Profile) -> None:
        self._within = within
        self._trial = trial
        self._profile = profile
        self._steps = 0

    def slots(self, pod_class: PodClass) -> IntArray:
        """Return how many members of a class each node takes now."""
        self._trial.effort.spend(looks(len(self._trial.nodes)))
        return np.where(self._within, offer_slots(pod_class, self._trial, self._profile), 0)

    def places(
        self, members: Sequence[PodClass], first: int = 0, after: int = 0
    ) -> list[tuple[PodClass, int]] | None:
        """Place the members from the first one on, which may use rows from `after` on."""
        if first == len(members):
            return []
        pod_class = members[first]
        for row in self._rows(pod_class, after):
            if not self._goes_on():
                return None
            with self._trial.all_or_nothing() as attempt:
                self._trial.assume(Share(pod_class, np.array([row]), np.array([1])))
                is_same = first + 1 < len(members) and members[first + 1] == pod_class
                others = self._others(members, first + 1, row if is_same else 0)
                if others is not None:
                    attempt.commit()
                    return [(pod_class, row), *others]
        return None

    def _others(
        self, members: Sequence[PodClass], first: int, after: int
    ) -> list[tuple[PodClass, int]] | None:
        """Place the other members, unless some class has too little room left for them."""
        left = members[first:]
        for each in dict.fromkeys(left):
            number = left.count(each)
            if int(self.slots(each).clip(max=number).sum()) < number:
                return None
        return self.places(members, first, after)

    def _rows(self, pod_class: PodClass, after: int) -> Iterator[int]:
        """Yield the nodes for a member from a row on, the best ones first."""
        slots = self.slots(pod_class)
        slots[:after] = 0
        if slots.any():
            yield from scoring.rank(pod_class, slots, self._trial, self._profile).tolist()

    def _goes_on(self) -> bool:
        """Count a node that is tried; return whether the search may go on."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            self._trial.effort.cut()
        return self._steps <= MOST_STEPS and self._trial.effort.may_go_on()
