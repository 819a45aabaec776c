"""Which gangs start together, and which of their members share a domain; from manifests alone."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from search import network
from search.facts import Gang, Pod
from search.manifests import KUEUE
from search.network import Place, Tree


@dataclass(frozen=True)
class Crowd:
    """Pods that are placed by one request. `place` is where they must gather; None: anywhere.

    `exact` tells that nothing else is asked: no slices, no multiples, nothing unknown.
    """

    pods: tuple[Pod, ...]
    bound_members: tuple[Pod, ...]
    place: Place | None
    exact: bool


@dataclass(frozen=True)
class Group:
    """Gangs of which all start or none does; those of them that have started are no part of it."""

    gangs: tuple[Gang, ...]
    bound_members: tuple[Gang, ...]
    missing: bool

    @property
    def waiting(self) -> list[Gang]:
        """The gangs that have members that wait."""
        return [gang for gang in self.gangs if gang.waiting]

    @property
    def pods(self) -> list[Pod]:
        """All that wait."""
        return [pod for gang in self.gangs for pod in gang.waiting]

    @property
    def priority(self) -> int:
        """The lowest of the gangs that wait."""
        return min(gang.priority for gang in self.waiting)

    @property
    def order(self) -> tuple[int, bool, str, str]:
        """What groups are decided by: of a priority, first what replaces members that were lost."""
        ages = [_age(gang) for gang in self.gangs]
        # A group is no older than the last of its quorums.
        complete = max(map(_complete_at, self.gangs))
        replaces = any(gang.started and any(gang.lacking.values()) for gang in self.waiting)
        return (
            *(-self.priority, not replaces),
            *(max(complete, min(age for age, _ in ages)), min(uid for _, uid in ages)),
        )

    @property
    def is_simple(self) -> bool:
        """What is promised of it is exact: other pods do not matter to it, or to all alike.

        And its members are placed together: gangs or podsets that ask for nothing in common are
        placed one after the other.
        """
        if len({pod.class_ for pod in self.pods}) == 1:
            return True
        together = any(gang.spec for gang in self.gangs) or len(self.waiting) == 1
        alike = len({pod.podset for pod in self.pods}) == 1
        return together and alike and not any(pod.has_pod_affinity for pod in self.pods)

    @property
    def gains(self) -> bool:
        """Other pods that find a place may make room for it."""
        return any(pod.gains for pod in self.pods)

    @property
    def peaceful(self) -> bool:
        """It may evict no pods."""
        members = (pod for gang in self.waiting for pod in gang.members)
        return any(pod.never_preempts for pod in members)

    def crowds(self, known: Sequence[Tree], chosen: Sequence[Pod]) -> list[Crowd]:
        """Return these pods by what they ask of the network."""
        return [*_crowds(self, known, {pod.key for pod in chosen})]


def groups(gangs: Mapping[str, Gang]) -> list[Group]:
    """Return the groups in which members wait."""
    found, seen = [], set[str]()
    for name in gangs:
        if name in seen:
            continue
        together = _together(name, gangs)
        seen |= together
        every = [gangs[each] for each in sorted(together)]
        missing = any(each not in gangs or not _exists(gangs[each]) for each in _named(every))
        missing = missing or any(not _mutual(a, gangs) for a in every)
        starting = tuple(each for each in every if not each.started)
        started = tuple(each for each in every if each.started)
        if any(each.waiting for each in starting):
            found.append(Group(starting, started, missing))
        found += [
            Group((each,), tuple(other for other in every if other is not each), missing=False)
            for each in started
            if each.waiting
        ]
    return sorted(found, key=lambda group: group.order)


def _age(gang: Gang) -> tuple[str, str]:
    if gang.body is not None and gang.source in ("PodGroup", "native"):
        metadata = gang.body["metadata"]
    else:
        oldest = min(gang.members, key=lambda pod: (pod.created, pod.uid), default=None)
        metadata = oldest.body["metadata"] if oldest is not None else {}
    return str(metadata.get("creationTimestamp", "")), str(metadata.get("uid", ""))


def _complete_at(gang: Gang) -> str:
    if gang.source == "Pod" or not gang.is_quorum(gang.members):
        return ""
    times = {
        role: sorted(pod.created for pod in gang.of_role(role, gang.members)) for role in gang.roles
    }
    return max((times[role][least - 1] for role, least in gang.roles.items() if least), default="")


def _together(name: str, gangs: Mapping[str, Gang]) -> set[str]:
    found, unseen = {name}, [name]
    while unseen:
        one = gangs[unseen.pop()]
        near = {other.name for other in gangs.values() if _linked(one, other)} - found
        found |= near
        unseen += near
    return found


def _linked(one: Gang, other: Gang) -> bool:
    if not (_exists(one) and _exists(other)):
        return False
    to, back = other.name in one.names, one.name in other.names
    same = one.name.partition("/")[0] == other.name.partition("/")[0]
    return (to or back) if same else (to and back)


def _exists(gang: Gang) -> bool:
    return gang.source != "Pod" and gang.body is not None


def _named(every: Sequence[Gang]) -> Iterator[str]:
    return (name for gang in every for name in gang.names)


def _mutual(gang: Gang, gangs: Mapping[str, Gang]) -> bool:
    """Return whether gangs of other namespaces that are named name this one."""
    own = gang.name.partition("/")[0]
    others = (name for name in gang.names if name.partition("/")[0] != own)
    return all(name in gangs and gang.name in gangs[name].names for name in others)


def _crowds(group: Group, known: Sequence[Tree], chosen: set[str]) -> Iterator[Crowd]:
    every = [*group.gangs, *group.bound_members]
    asked = [gang for gang in every if gang.spec is not None]
    alone = [gang for gang in group.gangs if gang.spec is not None and gang.started]
    if asked or any(gang.native_keys for gang in every):
        yield _whole(group, known, chosen, (alone or asked)[:1])
        return
    parts: dict[object, list[Pod]] = {}
    bound_members: dict[object, list[Pod]] = {}
    for gang in every:
        for pod in gang.members:
            key = _part(gang, pod)
            if pod.key in chosen:
                parts.setdefault(key, []).append(pod)
            elif pod.node:
                bound_members.setdefault(key, []).append(pod)
    for key, pods in parts.items():
        place, exact = _of_podset(pods[0], known)
        yield Crowd(tuple(pods), tuple(bound_members.get(key, ())), place, exact)


def _part(gang: Gang, pod: Pod) -> object:
    asked = dict(pod.podset)
    if KUEUE + "group-name" in asked:
        return "shared", asked[KUEUE + "group-name"]
    return gang.name, pod.podset


def _whole(group: Group, known: Sequence[Tree], chosen: set[str], asked: Sequence[Gang]) -> Crowd:
    every = [*group.gangs, *group.bound_members]
    pods = tuple(pod for gang in every for pod in gang.members if pod.key in chosen)
    bound_members = tuple(pod for gang in every for pod in gang.bound)
    if not asked:
        keys = [gang.native_keys for gang in every if gang.native_keys]
        return Crowd(pods, bound_members, network.by_key(known, keys[0][0]), exact=len(every) == 1)
    entries = (asked[0].spec or {})["gatherStrategy"]
    must = [each["layer"] for each in entries if each["strategy"] == "MustGather"]
    layers = [each["layer"] for each in entries]
    place = network.by_layer(known, layers)
    exact = place is not None and not any(each.get("podCountMultiple") for each in entries)
    specs = [json.dumps(gang.spec) for gang in every if gang.spec is not None]
    plain = not any(gang.native_keys for gang in every) and len(set(specs)) == 1
    plain = plain and not any(pod.podset for gang in every for pod in gang.members)
    depth = max((place.tree.depth(layer=layer) for layer in must), default=0) if place else 0
    found = Place(place.tree, depth) if place is not None and depth else None
    return Crowd(pods, bound_members, found, exact=exact and plain)


def _of_podset(pod: Pod, known: Sequence[Tree]) -> tuple[Place | None, bool]:
    asked = dict(pod.podset)
    required = asked.get(KUEUE + "required-topology")
    exact = not any("slice" in key for key in asked)
    return (network.by_key(known, required) if required else None), exact
