"""Surplus of gangs that shrink by whole steps: those with the highest ranks go first.

A step goes only with all steps before it. Gangs without steps lose any of their surplus.
"""

from collections.abc import Callable, Collection

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.refs import GangKey

Step = tuple[BoundPod, ...]


class SurplusSteps:
    """The steps of each gang that has some, in the order in which they go."""

    def __init__(self, bound_pods: BoundPods, may_go: Callable[[BoundPod], bool]) -> None:
        """Find the steps; none from that on with a pod that must stay."""
        uids = {uid: gang for gang, steps in bound_pods.steps.items() for s in steps for uid in s}
        pods = {each.pod.uid: each for each in bound_pods.pods if each.pod.uid in uids}
        self._steps: dict[GangKey, list[Step]] = {}
        for gang, steps in bound_pods.steps.items():
            found = self._steps[gang] = []
            for step in steps:
                members = tuple(pods[uid] for uid in step if uid in pods)
                if len(members) < len(step) or not all(map(may_go, members)):
                    break
                found.append(members)
        self._places: dict[str, int] = {}
        for gang in self._steps:
            self._count(gang)

    def __contains__(self, gang: GangKey) -> bool:
        """Return whether a gang shrinks by steps."""
        return gang in self._steps

    def number(self, gang: GangKey) -> int:
        """Return how many pods a gang has in steps."""
        return sum(map(len, self._steps[gang]))

    def place(self, bound_pod: BoundPod) -> int | None:
        """Return in which step a pod goes; None for one that goes only with its whole gang."""
        return self._places.get(bound_pod.pod.uid)

    def up_to(self, gang: GangKey, place: int) -> list[BoundPod]:
        """Return the pods that go with a step: its own, and those of all steps before it."""
        return [each for step in self._steps[gang][: place + 1] for each in step]

    def with_all(self, gang: GangKey, pods: Collection[BoundPod]) -> list[BoundPod] | None:
        """Return all pods that go with these; None if these go only with the whole gang."""
        places = [self.place(each) for each in pods]
        known = [each for each in places if each is not None]
        return None if len(known) < len(places) else self.up_to(gang, max(known, default=-1))

    def apart(self, gang: GangKey, pods: Collection[BoundPod]) -> list[list[BoundPod]]:
        """Return pods step by step, in the order in which they can be spared: the last first."""
        uids = {each.pod.uid for each in pods}
        steps = ([each for each in step if each.pod.uid in uids] for step in self._steps[gang])
        return [step for step in steps if step][::-1]

    def leave(self, gang: GangKey, gone: Collection[str]) -> None:
        """Note that pods have left."""
        if gang not in self._steps:
            return
        for each in (each for step in self._steps[gang] for each in step):
            self._places.pop(each.pod.uid, None)
        left = (
            tuple(each for each in step if each.pod.uid not in gone) for step in self._steps[gang]
        )
        self._steps[gang] = [step for step in left if step]
        self._count(gang)

    def _count(self, gang: GangKey) -> None:
        for place, step in enumerate(self._steps[gang]):
            self._places.update((each.pod.uid, place) for each in step)
