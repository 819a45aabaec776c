"""Is there a place for all of these pods? An exact search, in plain Python, for small cases.

It stands beside the product and shares nothing with it. Where the search grows too long, or what is
asked is more than it knows, the answer is None: not known.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, product

from search import pod_affinity
from search.facts import Gang, Pod
from search.groups import Crowd, Group
from search.network import Path, Place, Tree
from search.room import Room

MOST_STEPS = 4_000
MOST_CHOICES = 60
Nodes = tuple[str, ...]


class TooLongError(Exception):
    """The search was given up."""


def fits(crowds: Sequence[Crowd], room: Room) -> bool | None:
    """Return whether all these pods find a place beside each other, as they must gather."""
    if not all(crowd.exact for crowd in crowds):
        return None
    choices = [candidates(crowd, room) for crowd in crowds]
    if any(each is None for each in choices):
        return None
    search = _Search(crowds, room)
    try:
        return any(search.run(chosen) for chosen in product(*(c for c in choices if c is not None)))
    except TooLongError:
        return None


def any_quorum_fits(group: Group, trees: Sequence[Tree], room: Room) -> bool | None:
    """Return whether some members, as many of each gang as its quorum, find a place together."""
    unknown = False
    for number, chosen in enumerate(_quorums(group)):
        if number == MOST_CHOICES:
            return None
        answer = fits(group.crowds(trees, chosen), room)
        if answer:
            return True
        unknown = unknown or answer is None
    return None if unknown else False


def first_quorum(group: Group) -> list[Pod] | None:
    """Return those that preempt: what each gang lacks, the first in rank; None if too few wait."""
    chosen: list[Pod] = []
    for gang in group.waiting:
        needed = gang.before_surplus
        first = gang.first_of(needed)
        if len(first) < sum(needed.values()):
            return None
        chosen += first
    return chosen


def _quorums(group: Group) -> Iterator[list[Pod]]:
    """Yield every choice of members for the quorums that differs in what they ask."""
    for some in product(*(_choices(gang) for gang in group.waiting)):
        yield [pod for pods in some for pod in pods]


def _choices(gang: Gang) -> list[tuple[Pod, ...]]:
    classes: dict[object, list[Pod]] = {}
    for pod in gang.waiting:
        classes.setdefault((pod.class_, pod.podset, gang.role_of(pod)), []).append(pod)
    counts = product(*(range(len(pods) + 1) for pods in classes.values()))
    chosen = (
        tuple(
            pod
            for number, pods in zip(each, classes.values(), strict=True)
            for pod in pods[:number]
        )
        for each in counts
    )
    return [
        some
        for some in chosen
        if {role: len(gang.of_role(role, some)) for role in gang.roles} in gang.quorums
    ]


def domains(place: Place, room: Room) -> dict[Path, Nodes]:
    """Return the domains of a layer, and the nodes in them."""
    found: dict[Path, Nodes] = {}
    for name, body in room.nodes.items():
        path = place.tree.path(body["metadata"].get("labels") or {})
        if path:
            key = path[: place.depth]
            found[key] = (*found.get(key, ()), name)
    return found


def candidates(crowd: Crowd, room: Room) -> list[Nodes] | None:
    """Return where a crowd may be; None where that is open to dispute."""
    if crowd.place is None:
        return [tuple(room.nodes)]
    found = domains(crowd.place, room)
    if not crowd.bound_members:
        return [*found.values()]
    home = {
        key for key, nodes in found.items() for mate in crowd.bound_members if mate.node in nodes
    }
    inside = all(
        any(mate.node in nodes for nodes in found.values()) for mate in crowd.bound_members
    )
    return [found[next(iter(home))]] if len(home) == 1 and inside else None


class _Search:
    """Tries every arrangement, but not those that differ only in pods that are alike."""

    def __init__(self, crowds: Sequence[Crowd], room: Room) -> None:
        self._room = room
        self._crowds = crowds
        pods = chain(*(crowd.pods for crowd in crowds), *room.on.values())
        self._has_pod_affinity = any(pod.has_pod_affinity for pod in pods)
        self._steps = 0

    def run(self, chosen: Sequence[Nodes]) -> bool:
        """Return whether all fit, each crowd on these nodes."""
        todo = [
            (pod, nodes)
            for crowd, nodes in zip(self._crowds, chosen, strict=True)
            for pod in crowd.pods
        ]
        weights = Counter({pod.key: sum(pod.requests.values()) for pod, _ in todo})
        todo.sort(key=lambda each: (-weights[each[0].key], each[0].class_, each[1], each[0].key))
        return self._place(todo, 0, 0)

    def _place(self, todo: Sequence[tuple[Pod, Nodes]], index: int, start: int) -> bool:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooLongError
        if index == len(todo):
            pods = [pod for pod, _ in todo]
            return not self._has_pod_affinity or pod_affinity.content(self._room, pods)
        pod, nodes = todo[index]
        follows = index + 1 < len(todo) and self._alike(todo[index + 1], todo[index])
        for number, node in enumerate(nodes):
            if number < start or not self._room.has_room(pod, node):
                continue
            self._room.add(pod, node)
            found = self._place(todo, index + 1, number if follows else 0)
            self._room.remove(pod, node)
            if found:
                return True
        return False

    @staticmethod
    def _alike(one: tuple[Pod, Nodes], other: tuple[Pod, Nodes]) -> bool:
        return one[0].class_ == other[0].class_ and one[1] == other[1]
