"""The changes that random sequences are made of."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from e2e.model import manifests
from e2e.model.rules import Gang, Name, Said, World
from e2e.model.writes import Writes

POLICIES = ("once-satisfied", "once-satisfied", "waiting-and-running", "only-waiting")


class Changes:
    """Makes changes at random. `tight`: there may not be room for all pods.

    `moved_into` are the gangs, by namespace and name, that a bound member has moved into.
    """

    def __init__(
        self,
        dice: random.Random,
        world: World,
        namespaces: Sequence[str],
        writes: Writes,
        *,
        tight: bool,
    ) -> None:
        self.moved_into: set[str] = set()
        self._random = dice
        self._world = world
        self._namespaces = namespaces
        self._writes = writes
        self._tight = tight
        self._claimed: set[Name] = set()

    def step(self) -> Iterator[str]:
        """Make a few changes that have nothing to do with each other, and tell of each."""
        self._claimed.clear()
        for _ in range(1 if self._tight else self._random.randint(1, 3)):
            yield from self._change()

    def _change(self) -> Iterator[str]:
        """Make one change that is possible now."""
        for change in self._random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=20):
            if made := change(self):
                yield made
                return

    # Changes. Each returns what it did, or None where it is not possible now.

    def _new_gang(self) -> str | None:
        rng = self._random
        source = rng.choice(manifests.SOURCES)
        name = Name(rng.choice(self._namespaces), f"g{self._writes.number()}")
        minimum = rng.randint(1, 4)
        said = Said(minimum, ("", ""))
        if source == "Job":
            said = replace(said, completions=minimum + rng.randint(0, 2))
        elif rng.random() < 0.4:
            said = replace(said, names=self._some_names(name))
        if source in manifests.WITH_POD_GROUP and not said.names:
            said = replace(said, policy=rng.choice(POLICIES), strict=rng.random() < 0.7)
        if not self._claim(name, *said.names):
            return None
        gang = Gang(name, source, speaks=said if source in manifests.BY_MEMBERS else None)
        self._world.gangs[name] = gang
        later = source in manifests.WITH_POD_GROUP and rng.random() < 0.3
        if not later:
            self._writes.describe(gang, said)
        count = 0 if said.policy == "only-waiting" else rng.randint(minimum - 1, minimum + 1)
        possible = rng.random() < 0.9
        priority = rng.choice((0, 0, 100)) if self._tight else 0
        for _ in range(count):
            self._writes.add(gang, possible=possible, priority=priority)
        if later:
            self._writes.describe(gang, said)
        return f"new {source} gang {_short(said)} {name}, {count} members, {possible=} {priority=}"

    def _add_member(self) -> str | None:
        gang = self._pick(lambda each: each.speaks or each.object or each.source != "Job")
        if gang is None:
            return None
        return f"add {self._writes.add(gang, priority=gang.priority)} to {gang.name}"

    def _delete_member(self) -> str | None:
        gang = self._pick(lambda each: each.pods)
        if gang is None:
            return None
        pod = self._random.choice(gang.pods)
        self._writes.delete_pod(gang, pod)
        return f"delete {pod.name} of {gang.name}"

    def _replace_member(self) -> str | None:
        gang = self._pick(lambda each: each.pods and not self._tight and each.object)
        if gang is None:
            return None
        pod = self._random.choice(gang.pods)
        self._writes.delete_pod(gang, pod)
        self._world.remember()
        self._writes.add(gang, name=pod.name)
        return f"recreate {pod.name} of {gang.name}"

    def _end_member(self) -> str | None:
        gang = self._pick(lambda each: each.bound)
        if gang is None:
            return None
        pod = self._random.choice([each for each in gang.living if each.bound])
        pod.ended = self._random.choice(("Succeeded", "Succeeded", "Failed"))
        self._writes.write(pod, lambda body: body["status"].update(phase=pod.ended), "/status")
        if gang.source == "Job" and gang.object and pod.ended == "Succeeded":
            gang.object.succeeded += 1
            self._writes.write_job_status(gang)
        return f"{pod.ended} {pod.name} of {gang.name}"

    def _move_member(self) -> str | None:
        """Let a pod's label name another gang from now on."""
        rng = self._random
        source = rng.choice((*manifests.WITH_POD_GROUP, *manifests.BY_MEMBERS))
        rooms = [each for each in self._world.gangs.values() if each.source == source]
        pairs = [
            (one, other)
            for one in rooms
            for other in rooms
            if one is not other and one.name.namespace == other.name.namespace and one.living
        ]
        if not pairs:
            return None
        one, other = rng.choice(pairs)
        pod = rng.choice(one.living)
        if (self._tight and pod.bound) or not self._claim(one.name, other.name):
            return None
        self._writes.write(
            pod,
            lambda body: manifests.join(body, source, other.name.name, other.speaks, ""),
        )
        one.pods.remove(pod)
        other.pods.append(pod)
        pod.gang = other.name
        if pod.bound:
            self.moved_into.add(f"{other.name.namespace}/{other.name.name}")
        return f"move {pod.name} ({pod.bound=}) from {one.name} to {other.name}"

    def _delete_object(self) -> str | None:
        gang = self._pick(lambda each: each.object and each.source != "Job")
        if gang is None:
            return None
        gang.object = None
        self._writes.delete(gang.name.namespace, "podgroups", gang.name.name)
        return f"delete PodGroup {gang.name}"

    def _create_object(self) -> str | None:
        gang = self._pick(
            lambda each: each.source in manifests.WITH_POD_GROUP and each.object is None
        )
        if gang is None:
            return None
        said = Said(self._random.randint(1, 4), ("", ""))
        self._writes.describe(gang, said)
        return f"create PodGroup {gang.name} again: {_short(said)}"

    def _change_minimum(self) -> str | None:
        gang = self._pick(lambda each: each.object and each.source != "Job")
        if gang is None or gang.object is None:
            return None
        gang.object.minimum = self._random.randint(1, 5)
        self._writes.write_pod_group(gang)
        return f"minMember of {gang.name} is {gang.object.minimum}"

    def _change_names(self) -> str | None:
        gang = self._pick(lambda each: each.object and each.source != "Job", claim=False)
        if gang is None or gang.object is None:
            return None
        names = self._some_names(gang.name) if self._random.random() < 0.7 else ()
        if not self._claim(gang.name, *names, *gang.object.names):
            return None
        if names and gang.object.policy == "only-waiting":
            return None
        gang.object.names = names
        self._writes.write_pod_group(gang)
        return f"{gang.name} names {names}"

    def _start_afresh(self) -> str | None:
        """All members are deleted and created again, as by a controller."""
        gang = self._pick(
            lambda each: each.pods and not self._tight and each.said and not _is_slow(each)
        )
        if gang is None:
            return None
        said, pods = gang.said, list(gang.pods)
        for pod in pods:
            self._writes.delete_pod(gang, pod)
        self._world.remember()
        assert said is not None
        for _ in range(max(len(pods), 1)):
            self._writes.add(gang)
        return f"delete and create again all {len(pods)} members of {gang.name}"

    def _delete_gang(self) -> str | None:
        gang = self._pick(lambda each: not self._tight or not each.pods)
        if gang is None:
            return None
        for pod in list(gang.pods):
            self._writes.delete_pod(gang, pod)
        if gang.object is not None:
            plural = "jobs" if gang.source == "Job" else "podgroups"
            self._writes.delete(gang.name.namespace, plural, gang.name.name)
        del self._world.gangs[gang.name]
        return f"delete gang {gang.name}"

    # What changes are made of.

    def _pick(self, fits: Callable[[Gang], object], *, claim: bool = True) -> Gang | None:
        gangs = [each for each in self._world.gangs.values() if fits(each)]
        gang = self._random.choice(gangs) if gangs else None
        return gang if gang and (not claim or self._claim(gang.name)) else None

    def _claim(self, *names: Name) -> bool:
        """Take gangs for this step: the order of changes to one could decide what is bound."""
        wanted = self._world.concerned(names)
        if wanted & self._claimed:
            return False
        self._claimed |= wanted
        return True

    def _some_names(self, own: Name) -> tuple[Name, ...]:
        others = [name for name in self._world.gangs if name != own]
        # At times one that is not there, and may come.
        others.append(Name(own.namespace, f"g{int(own.name[1:]) + self._random.randint(1, 9)}"))
        return tuple(self._random.sample(others, k=self._random.randint(1, min(2, len(others)))))


WEIGHTS: dict[Callable[[Changes], str | None], int] = {
    Changes._new_gang: 6,
    Changes._add_member: 5,
    Changes._delete_member: 2,
    Changes._replace_member: 2,
    Changes._end_member: 2,
    Changes._move_member: 2,
    Changes._delete_object: 1,
    Changes._create_object: 2,
    Changes._change_minimum: 1,
    Changes._change_names: 2,
    Changes._start_afresh: 1,
    Changes._delete_gang: 1,
}


def _is_slow(gang: Gang) -> bool:
    """Where only waiting members count, how many arrive at once decides."""
    return gang.said is not None and gang.said.policy == "only-waiting"


def _short(said: Said) -> str:
    names: Sequence[str] = [f"{each.namespace}/{each.name}" for each in said.names]
    return f"(min {said.minimum}, {said.policy}, strict {said.strict}, names {names})"
