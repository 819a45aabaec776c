"""The cheapest victims, by a look at every set, in plain Python and without code of scheduler/.

Good for sixteen units: whole gangs that are rigid, and single members of elastic ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.refs import GangKey

LOWEST = -(2**31)
Cost = tuple[int, int, int, int, int, int, int]
"""Pods beyond a budget, highest priority, gangs broken, gangs touched, unprotected pods, lost work,
and pods.
"""
Loss = tuple[BoundPod, ...]


@dataclass(frozen=True)
class Judge:
    """The bound pods as a gang sees them that may evict priorities of at most `below`."""

    bound_pods: BoundPods
    below: int
    now: int

    @property
    def staying(self) -> list[BoundPod]:
        """Return the pods that do not leave, and the leaving ones that should long be gone."""
        return [each for each in self.bound_pods.pods if not self._leaves(each)]

    def ways(self) -> list[tuple[Cost, Loss]]:
        """Return every set of victims that is allowed, and its cost, the cheapest first."""
        choices = (self._losses(gang) for gang in self.gangs())
        sets = (tuple(each for loss in some for each in loss) for some in product(*choices))
        found = [(self.cost(victims), victims) for victims in sets]
        return sorted(found, key=lambda way: way[0])

    def gangs(self) -> list[GangKey]:
        """Return the gangs that have pods on nodes."""
        return list(dict.fromkeys(each.gang for each in self.bound_pods.pods))

    def members(self, gang: GangKey) -> Loss:
        """Return the pods of a gang that are not being deleted."""
        return tuple(
            each for each in self.bound_pods.pods if each.gang == gang and not each.pod.deleting
        )

    def is_allowed(self, victims: Iterable[BoundPod]) -> bool:
        """Return whether no victim outranks or is protected, and no broken gang is left running."""
        gone = {each.pod.uid for each in victims}
        for gang in self.gangs():
            loss = tuple(each for each in self.members(gang) if each.pod.uid in gone)
            if loss not in self._losses(gang):
                return False
        return True

    def fewer(self, victims: Sequence[BoundPod]) -> Iterator[Loss]:
        """Yield the victims less one loss: a single pod, or all of a gang."""
        for gang in dict.fromkeys(each.gang for each in victims):
            gone = [each for each in victims if each.gang == gang]
            yield tuple(each for each in victims if each.gang != gang)
            for spared in gone if not self._breaks(gang, gone) else ():
                yield tuple(each for each in victims if each is not spared)

    def cost(self, victims: Sequence[BoundPod]) -> Cost:
        """Return the cost of victims. A pod that is marked already costs nothing."""
        fresh = [each for each in victims if not each.pod.is_victim]
        touched = {each.gang for each in fresh}
        started = (each.pod.started_at for each in fresh if each.pod.started_at)
        return (
            sum(any(self._is_beyond(each, name, fresh) for name in each.budgets) for each in fresh),
            max((each.pod.priority for each in fresh), default=LOWEST),
            sum(self._breaks(gang, [v for v in victims if v.gang == gang]) for gang in touched),
            len(touched),
            sum(each.unprotected for each in fresh),
            sum(self.now - each for each in started),
            len(fresh),
        )

    def _is_beyond(self, pod: BoundPod, name: str, victims: Sequence[BoundPod]) -> bool:
        """Return whether a budget allows no more for a pod after those that come before it."""
        covered = [each for each in victims if name in each.budgets]
        line = sorted(covered, key=lambda each: (len(each.budgets), each.pod.uid))
        return line.index(pod) >= self.bound_pods.allowed.get(name, 0)

    def _losses(self, gang: GangKey) -> Iterator[Loss]:
        """Yield the sets of members that a gang can lose: some of its surplus, or all."""
        members = self.members(gang)
        may_go = [each for each in members if each.evictable and each.pod.priority <= self.below]
        for some in product((False, True), repeat=len(may_go) if self._has_surplus(gang) else 0):
            loss = tuple(each for each, goes in zip(may_go, some, strict=False) if goes)
            if not self._breaks(gang, loss):
                yield loss
        if len(may_go) == len(members) and self._breaks(gang, members):
            yield members

    def _breaks(self, gang: GangKey, loss: Sequence[BoundPod]) -> bool:
        """Return whether a gang has too few members left: of any role, if it has roles."""
        by_role = self.bound_pods.surplus_by_role.get(gang)
        if by_role is None:
            return len(loss) > self.bound_pods.surplus.get(gang, 0)
        gone = Counter(each.pod.role for each in loss)
        return any(number > by_role.get(role, 0) for role, number in gone.items())

    def _has_surplus(self, gang: GangKey) -> bool:
        by_role = self.bound_pods.surplus_by_role.get(gang, {})
        return any((self.bound_pods.surplus.get(gang, 0), *by_role.values()))

    def _leaves(self, each: BoundPod) -> bool:
        late = 0 < each.pod.gone_by < self.now - 30
        return each.pod.deleting and not late
