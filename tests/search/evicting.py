"""Which pods must go so that others have room? Every set of victims is weighed.

Beside the product, from the rules alone. A loss is a gang that goes whole, or one member of a gang
that has members to spare. Of members that are numbered, those with the highest numbers go first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from search import seating
from search.cases import Case
from search.drawing import NOW
from search.facts import SYSTEM_PRIORITY, Gang, Pod, seconds
from search.groups import Crowd, Group
from search.manifests import BEGAN_AT
from search.room import Room

MOST_LOSSES = 16
MOST_TRIALS = 150
LOWEST = -(2**31)
Cost = tuple[int, ...]
"""Pods beyond a budget, highest priority, gangs broken, gangs touched, lost work, pods."""
Masks = np.ndarray[Any, Any]
"""Sets of victims: a row each, a column for each loss. Or what they cost, a row each, too."""
IMMUNE = {
    "scheduling.koordinator.sh/disable-preemptible": "true",
    "quota.scheduling.koordinator.sh/preemptible": "false",
}


def may_go(pod: Pod, gang: Gang, group: Group) -> bool:
    """Return whether a group may evict a pod that is on a node."""
    owners = pod.body["metadata"].get("ownerReferences") or ()
    return (
        pod.ours
        and not pod.deleting
        and gang.priority < group.priority
        and pod.priority < SYSTEM_PRIORITY
        and not any(owner["kind"] in ("DaemonSet", "Node") for owner in owners)
        and not any(pod.labels.get(key) == value for key, value in IMMUNE.items())
        and gang not in group.gangs
        and gang not in group.bound_members
    )


def are_numbered(gang: Gang, members: Sequence[Pod]) -> bool:
    """Return whether each member has an index of its own, in every role that can lose some."""
    for role in (role for role, spare in gang.spare.items() if spare):
        indexes = [pod.index for pod in gang.of_role(role, members)]
        if None in indexes or len({*indexes}) < len(indexes):
            return False
    return True


def in_turn(gang: Gang, able: Sequence[Pod], spare: Mapping[str, int]) -> list[Pod]:
    """Return the members that a gang of numbered ones can lose, in the order in which they go."""
    going: list[Pod] = []
    for role, number in spare.items():
        those = sorted(gang.of_role(role, able), key=lambda pod: pod.rank, reverse=True)
        going += those[:number]
    return sorted(going, key=lambda pod: pod.rank, reverse=True)


@dataclass(frozen=True)
class Budgets:
    """What PodDisruptionBudgets allow, and which of them cover a pod."""

    allowed: dict[str, int]
    selectors: dict[str, dict[str, str]]

    @classmethod
    def of(cls, case: Case) -> "Budgets":
        """Return the budgets of a world; all of them are in one namespace."""
        found = case.world.of("PodDisruptionBudget")
        names = [body["metadata"]["name"] for body in found]
        return cls(
            {n: b["status"]["disruptionsAllowed"] for n, b in zip(names, found, strict=True)},
            {n: b["spec"]["selector"]["matchLabels"] for n, b in zip(names, found, strict=True)},
        )

    def covering(self, pod: Pod) -> list[str]:
        """Return the budgets of a pod."""
        if pod.namespace != "default":
            return []
        return [
            name
            for name, wanted in self.selectors.items()
            if all(pod.labels.get(key) == value for key, value in wanted.items())
        ]

    def is_plain(self, pods: Sequence[Pod]) -> bool:
        """Return whether it is beyond dispute how many pods are beyond: of two, both allow none."""
        several = [found for pod in pods if len(found := self.covering(pod)) > 1]
        return not any(self.allowed[name] for found in several for name in found)


class Losses:
    """All that a group may make go, as bits; a set of victims is a mask."""

    def __init__(self, case: Case, group: Group, gone: frozenset[str]) -> None:
        self.case, self.group = case, group
        self.budgets = Budgets.of(case)
        self.bits: list[tuple[str, tuple[Pod, ...]]] = []
        self._spare: dict[str, dict[str, int]] = {}
        self._sizes: dict[str, int] = {}
        self._in_turn: dict[str, list[Pod]] = {}
        on_nodes: dict[str, list[Pod]] = {}
        for pod in case.running:
            if not pod.deleting and pod.key not in gone:
                name = pod.gang if pod.ours else pod.key
                on_nodes.setdefault(name, []).append(pod)
        lost = {
            name: [p for p in case.running if p.gang == name and p.key in gone] for name in on_nodes
        }
        for name, pods in on_nodes.items():
            if pods[0].ours:
                self._take(case.gangs[name], pods, lost[name])

    def _take(self, gang: Gang, pods: Sequence[Pod], lost: Sequence[Pod]) -> None:
        able = [pod for pod in pods if may_go(pod, gang, self.group)]
        known = len(pods) == len(gang.bound) - len(lost)
        spare = {
            role: max(0, number - len(gang.of_role(role, lost))) if known else 0
            for role, number in gang.spare.items()
        }
        self._spare[gang.name], self._sizes[gang.name] = spare, len(pods)
        if any(spare.values()):
            self.bits += [(gang.name, (pod,)) for pod in able]
            if are_numbered(gang, [*pods, *lost]):
                self._in_turn[gang.name] = in_turn(gang, able, spare)
        elif len(able) == len(pods):
            self.bits.append((gang.name, tuple(able)))

    def masks(self) -> Masks:
        """Return every set that leaves no gang broken and running, a row each."""
        number = len(self.bits)
        rows = np.arange(2**number)[:, None] >> np.arange(number)[None, :] & 1
        keep = np.ones(len(rows), dtype=bool)
        for name, spare in self._spare.items():
            own = [i for i, (gang, _) in enumerate(self.bits) if gang == name]
            if any(spare.values()) and own:
                count = rows[:, own].sum(axis=1)
                part = ~self._is_broken(name, rows) & self._is_in_turn(name, rows)
                keep &= part | (count == self._sizes[name])
        return rows[keep].astype(bool)

    def _is_in_turn(self, name: str, sets: Masks) -> Masks:
        """Return which sets have no member of a gang without all that go before it."""
        going = self._in_turn.get(name)
        kept = np.ones(len(sets), dtype=bool)
        if going is None:
            return kept
        places = {pods[0].key: i for i, (gang, pods) in enumerate(self.bits) if gang == name}
        columns = [places.pop(pod.key) for pod in going]
        for first, second in pairwise(columns):
            kept &= sets[:, first] >= sets[:, second]
        kept &= sets[:, [*places.values()]].sum(axis=1) == 0
        return kept

    def _is_broken(self, name: str, sets: Masks) -> Masks:
        """Return which sets have more members of a gang, of some role, than it can lose."""
        gang = self.case.gangs[name]
        broken = np.zeros(len(sets), dtype=bool)
        for role, spare in self._spare[name].items():
            numbers = [
                len(gang.of_role(role, pods)) if other == name else 0 for other, pods in self.bits
            ]
            broken |= sets @ np.array(numbers) > spare
        return broken

    def costs(self, masks: Masks, late: int) -> Masks:
        """Return the cost of each set, where `late` seconds have passed since the usual moment."""
        sets = masks.astype(np.int64)
        priorities = np.array([self.case.gangs[name].priority for name, _ in self.bits])
        highest = np.where(masks, priorities[None, :], LOWEST).max(axis=1, initial=LOWEST)
        broken, touched = (np.zeros(len(masks), dtype=np.int64) for _ in range(2))
        for name in dict.fromkeys(gang for gang, _ in self.bits):
            own = [i for i, (gang, _) in enumerate(self.bits) if gang == name]
            sizes = np.array([len(self.bits[i][1]) for i in own])
            count = sets[:, own] @ sizes
            touched += count > 0
            broken += self._is_broken(name, sets)
        work = sets @ np.array([sum(map(self._work(late), pods)) for _, pods in self.bits])
        pods = sets @ np.array([len(pods) for _, pods in self.bits])
        return np.stack([self._over(sets), highest, broken, touched, work, pods], axis=1)

    def mask_of(self, victims: set[str]) -> Masks:
        """Return victims as a set of losses."""
        return np.array([[all(pod.key in victims for pod in pods) for _, pods in self.bits]])

    def pods(self, mask: Masks) -> list[Pod]:
        """Return the victims of a set."""
        return [pod for i in np.flatnonzero(mask) for pod in self.bits[i][1]]

    def _work(self, late: int) -> Any:
        def work(pod: Pod) -> int:
            start = pod.status.get("startTime")
            return max(0, NOW + late - int(seconds(start) - BEGAN_AT)) if start else 0

        return work

    def _over(self, sets: Masks) -> Masks:
        alone = {name: np.zeros(len(self.bits), dtype=np.int64) for name in self.budgets.allowed}
        several = np.zeros(len(self.bits), dtype=np.int64)
        for i, (_, pods) in enumerate(self.bits):
            for pod in pods:
                found = self.budgets.covering(pod)
                if len(found) == 1:
                    alone[found[0]][i] += 1
                several[i] += len(found) > 1
        over = sets @ several
        for name, counted in alone.items():
            over = over + np.maximum(0, sets @ counted - self.budgets.allowed[name])
        return np.asarray(over)


@dataclass(frozen=True)
class Contest:
    """A group that does not fit: its quorum, and what is left when it is decided."""

    crowds: list[Crowd]
    room: Room

    def fits_without(self, victims: Sequence[Pod]) -> bool | None:
        """Return whether the quorum has a place once these have left."""
        for pod in victims:
            self.room.remove(pod, pod.node)
        answer = seating.fits(self.crowds, self.room)
        for pod in victims:
            self.room.add(pod, pod.node)
        return answer


def first_that_fits(contest: Contest, losses: Losses, masks: Masks) -> list[Pod] | None:
    """Return a set of victims that makes room, of these; None where none is found in time."""
    if _is_simple(contest):
        return _by_counting(contest, losses, masks)
    for mask in masks[:MOST_TRIALS]:
        victims = losses.pods(mask)
        if contest.fits_without(victims):
            return victims
    return None


def _is_simple(contest: Contest) -> bool:
    """Return whether slots can be counted: pods that are alike and do not mind each other."""
    if len(contest.crowds) != 1 or not contest.crowds[0].exact:
        return False
    pods = contest.crowds[0].pods
    plain = not any(pod.has_pod_affinity or pod.ports for pod in pods)
    plain = plain and not any(p.has_pod_affinity for some in contest.room.on.values() for p in some)
    return plain and len({pod.class_ for pod in pods}) == 1


def _by_counting(contest: Contest, losses: Losses, masks: Masks) -> list[Pod] | None:
    crowd, room = contest.crowds[0], contest.room
    asked = {**crowd.pods[0].requests, "pods": 1.0}
    wanted = [key for key, amount in asked.items() if amount]
    names = [name for name in room.nodes if room.is_open(crowd.pods[0], name)]
    slots = {}
    for name in names:
        least = np.full(len(masks), 10_000)
        for key in wanted:
            given = [
                sum({**p.requests, "pods": 1}.get(key, 0) for p in pods if p.node == name)
                for _, pods in losses.bits
            ]
            left = room.free[name].get(key, 0) + masks @ np.array(given)
            least = np.minimum(least, np.floor(left / asked[key] + 1e-9).astype(int))
        slots[name] = np.maximum(least, 0)
    for nodes in seating.candidates(crowd, room) or ():
        total = sum((slots[n] for n in nodes if n in slots), np.zeros(len(masks), dtype=int))
        found = np.flatnonzero(total >= len(crowd.pods))
        if len(found):
            return losses.pods(masks[found[0]])
    return None
