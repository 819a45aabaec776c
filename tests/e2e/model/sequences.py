"""One random sequence of changes, made on the API server and in the model at once.

A step is a few changes to gangs that have nothing to do with each other. After each step a pod of
its own, the fence, is created: when it is bound, the scheduler has had a cycle since the changes,
and what it binds then must be what the model binds.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

import controlplane
from controlplane import access, nodes
from e2e.model import manifests
from e2e.model.manifests import Manifest
from e2e.model.rules import Gang, Name, Pod, Said, World

AMPLE = 100
TIGHT = (3, 8)
SETTLE_SECONDS = 20.0
QUIET_SECONDS = 1.0
POLL_SECONDS = 0.02
FENCE = {"e2e": "fence"}
NOWHERE = {"e2e": "nowhere"}
NOW = {"gracePeriodSeconds": 0}
PLURALS = {
    "pods": "api/v1",
    "jobs": "apis/batch/v1",
    "podgroups": "apis/scheduling.sigs.k8s.io/v1alpha1",
}
POLICIES = ("once-satisfied", "once-satisfied", "waiting-and-running", "only-waiting")


class MismatchError(AssertionError):
    """The scheduler and the model differ."""


class RandomSequence:
    """Everything of one seed."""

    def __init__(self, cluster: controlplane.Cluster, seed: int) -> None:
        self.seed = seed
        self.story: list[str] = []
        self._cluster = cluster
        self._random = random.Random(seed)  # noqa: S311 - repeatable is the point.
        self._tight = self._random.random() < 0.4
        slots = self._random.randint(*TIGHT) if self._tight else AMPLE
        self.world = World(slots)
        two = not self._tight and self._random.random() < 0.5
        self.namespaces = [f"s{seed}", *([f"s{seed}-b"] if two else [])]
        self._node = {"e2e": f"s{seed}"}
        self._numbers = iter(range(10**6))
        self._minimums: dict[str, int] = {}
        self._moved_into: set[str] = set()
        self._claimed: set[Name] = set()

    def run(self, steps: int) -> None:
        """Run the sequence. Raises MismatchError with the whole story."""
        with ExitStack() as stack:
            self._client = stack.enter_context(access.Client(self._cluster.access))
            self._prepare()
            watchers = {
                each: stack.enter_context(controlplane.Watcher(self._cluster, each))
                for each in self.namespaces
            }
            self._watchers = watchers
            try:
                for _ in range(steps):
                    self._step()
                self._stays()
                self._never_was_in_part()
            except Exception as error:
                raise MismatchError(self._told(error)) from error
            finally:
                self._clean_up()

    # Steps.

    def _step(self) -> None:
        self._claimed.clear()
        changes = 1 if self._tight else self._random.randint(1, 3)
        for _ in range(changes):
            self._change()
        self._settles()

    def _change(self) -> None:
        """Make one change that is possible now."""
        names, weights = zip(*((name, weight) for name, weight in WEIGHTS.items()), strict=True)
        for name in self._random.choices(names, weights, k=20):
            made: str | None = CHANGES[name](self)
            if made:
                self.story.append(made)
                return

    def _settles(self) -> None:
        self.world.settle()
        self._fence()
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.world.counts() != self._counts():
            if time.monotonic() > deadline:
                raise AssertionError(self._difference())
            time.sleep(POLL_SECONDS)
        self._adopt()
        self.story.append(f"  -> {_plain(self.world.counts())}")

    def _stays(self) -> None:
        time.sleep(QUIET_SECONDS)
        self._fence()
        assert self.world.counts() == self._counts(), self._difference()

    def _never_was_in_part(self) -> None:
        """Whole gangs may lose members; and a member that moves in was bound elsewhere."""
        for namespace, watcher in self._watchers.items():
            minimums = {
                label: minimum
                for (where, _, label), minimum in self._labelled().items()
                if where == namespace and f"{namespace}/{label}" not in self._moved_into
            }
            found = watcher.partial_gangs(minimums)
            assert [] == [str(each) for each in found if not each.was_complete]

    def _labelled(self) -> dict[tuple[str, str, str], int]:
        keys = (key.partition("/") for key in self._minimums)
        return {key: self._minimums["".join(key)] for key in keys}

    def _fence(self) -> None:
        for namespace in self.namespaces:
            name = f"fence-{next(self._numbers)}"
            self._create(namespace, "pods", manifests.pod(name, FENCE, 0))
            watcher = self._watchers[namespace]
            deadline = time.monotonic() + SETTLE_SECONDS
            while not (found := watcher.states.get(name)) or not found.node:
                self._cluster.processes.check()
                assert time.monotonic() < deadline, f"{name} was never bound"
                time.sleep(POLL_SECONDS)

    def _counts(self) -> dict[Name, int]:
        bound = self._bound()
        counts = {
            name: sum(pod.uid in bound for pod in gang.pods)
            for name, gang in self.world.gangs.items()
        }
        return {name: count for name, count in counts.items() if count}

    def _bound(self) -> set[str]:
        return {
            event.uid
            for watcher in self._watchers.values()
            for event in watcher.states.values()
            if event.node
        }

    def _adopt(self) -> None:
        """Which of several equal members is bound is the scheduler's choice."""
        bound = self._bound()
        for gang in self.world.gangs.values():
            for pod in gang.pods:
                pod.bound = pod.uid in bound
        self.world.remember()

    # Changes. Each returns what it did, or None where it is not possible now.

    def _new_gang(self) -> str | None:
        rng = self._random
        source = rng.choice(manifests.SOURCES)
        name = Name(rng.choice(self.namespaces), f"g{next(self._numbers)}")
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
        self.world.gangs[name] = gang
        later = source in manifests.WITH_POD_GROUP and rng.random() < 0.3
        if not later:
            self._describe(gang, said)
        count = 0 if said.policy == "only-waiting" else rng.randint(minimum - 1, minimum + 1)
        possible = rng.random() < 0.9
        priority = rng.choice((0, 0, 100)) if self._tight else 0
        for _ in range(count):
            self._add(gang, possible=possible, priority=priority)
        if later:
            self._describe(gang, said)
        return f"new {source} gang {_short(said)} {name}, {count} members, {possible=} {priority=}"

    def _add_member(self) -> str | None:
        gang = self._pick(lambda each: each.speaks or each.object or each.source != "Job")
        if gang is None:
            return None
        return f"add {self._add(gang, priority=gang.priority)} to {gang.name}"

    def _delete_member(self) -> str | None:
        gang = self._pick(lambda each: each.pods)
        if gang is None:
            return None
        pod = self._random.choice(gang.pods)
        self._delete_pod(gang, pod)
        return f"delete {pod.name} of {gang.name}"

    def _replace_member(self) -> str | None:
        gang = self._pick(lambda each: each.pods and not self._tight and each.object)
        if gang is None:
            return None
        pod = self._random.choice(gang.pods)
        self._delete_pod(gang, pod)
        self.world.remember()
        self._add(gang, name=pod.name)
        return f"recreate {pod.name} of {gang.name}"

    def _end_member(self) -> str | None:
        gang = self._pick(lambda each: each.bound)
        if gang is None:
            return None
        pod = self._random.choice([each for each in gang.living if each.bound])
        pod.ended = self._random.choice(("Succeeded", "Succeeded", "Failed"))
        self._write(pod, lambda body: body["status"].update(phase=pod.ended), "/status")
        if gang.source == "Job" and gang.object and pod.ended == "Succeeded":
            gang.object.succeeded += 1
            self._write_job_status(gang)
        return f"{pod.ended} {pod.name} of {gang.name}"

    def _move_member(self) -> str | None:
        """Let a pod's label name another gang from now on."""
        rng = self._random
        source = rng.choice((*manifests.WITH_POD_GROUP, *manifests.BY_MEMBERS))
        rooms = [each for each in self.world.gangs.values() if each.source == source]
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
        self._write(
            pod,
            lambda body: manifests.join(body, source, other.name.name, other.speaks, ""),
        )
        one.pods.remove(pod)
        other.pods.append(pod)
        pod.gang = other.name
        if pod.bound:
            self._moved_into.add(f"{other.name.namespace}/{other.name.name}")
        return f"move {pod.name} ({pod.bound=}) from {one.name} to {other.name}"

    def _delete_object(self) -> str | None:
        gang = self._pick(lambda each: each.object and each.source != "Job")
        if gang is None:
            return None
        gang.object = None
        self._delete(gang.name.namespace, "podgroups", gang.name.name)
        return f"delete PodGroup {gang.name}"

    def _create_object(self) -> str | None:
        gang = self._pick(
            lambda each: each.source in manifests.WITH_POD_GROUP and each.object is None
        )
        if gang is None:
            return None
        said = Said(self._random.randint(1, 4), ("", ""))
        self._describe(gang, said)
        return f"create PodGroup {gang.name} again: {_short(said)}"

    def _change_minimum(self) -> str | None:
        gang = self._pick(lambda each: each.object and each.source != "Job")
        if gang is None or gang.object is None:
            return None
        gang.object.minimum = self._random.randint(1, 5)
        self._write_pod_group(gang)
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
        self._write_pod_group(gang)
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
            self._delete_pod(gang, pod)
        self.world.remember()
        assert said is not None
        for _ in range(max(len(pods), 1)):
            self._add(gang)
        return f"delete and create again all {len(pods)} members of {gang.name}"

    def _delete_gang(self) -> str | None:
        gang = self._pick(lambda each: not self._tight or not each.pods)
        if gang is None:
            return None
        for pod in list(gang.pods):
            self._delete_pod(gang, pod)
        if gang.object is not None:
            plural = "jobs" if gang.source == "Job" else "podgroups"
            self._delete(gang.name.namespace, plural, gang.name.name)
        del self.world.gangs[gang.name]
        return f"delete gang {gang.name}"

    # What changes are made of.

    def _pick(self, fits: Callable[[Gang], object], *, claim: bool = True) -> Gang | None:
        gangs = [each for each in self.world.gangs.values() if fits(each)]
        gang = self._random.choice(gangs) if gangs else None
        return gang if gang and (not claim or self._claim(gang.name)) else None

    def _claim(self, *names: Name) -> bool:
        """Take gangs for this step: the order of changes to one could decide what is bound."""
        wanted = self.world.concerned(names)
        if wanted & self._claimed:
            return False
        self._claimed |= wanted
        return True

    def _some_names(self, own: Name) -> tuple[Name, ...]:
        others = [name for name in self.world.gangs if name != own]
        # At times one that is not there, and may come.
        others.append(Name(own.namespace, f"g{int(own.name[1:]) + self._random.randint(1, 9)}"))
        return tuple(self._random.sample(others, k=self._random.randint(1, min(2, len(others)))))

    def _describe(self, gang: Gang, said: Said) -> None:
        if gang.speaks is not None:
            return
        is_job = gang.source == "Job"
        body = (manifests.job if is_job else manifests.pod_group)(gang.name.name, said)
        made = self._create(gang.name.namespace, "jobs" if is_job else "podgroups", body)
        gang.object = replace(said, created=_created(made))
        if not is_job:
            self._notice(gang)

    def _notice(self, gang: Gang) -> None:
        """Note the least that was ever asked for: by that the witness judges."""
        if gang.object is not None:
            key = f"{gang.name.namespace}/{gang.name.name}"
            least = self._minimums.get(key, gang.object.minimum)
            self._minimums[key] = min(least, gang.object.minimum)

    def _add(self, gang: Gang, name: str = "", *, possible: bool = True, priority: int = 0) -> str:
        name = name or f"{gang.name.name}-{next(self._numbers)}"
        body = manifests.pod(name, self._node if possible else NOWHERE, priority)
        uid = gang.object.created[1] if gang.object else ""
        manifests.join(body, gang.source, gang.name.name, gang.speaks, uid)
        made = self._create(gang.name.namespace, "pods", body)
        created = _created(made)
        gang.pods.append(
            Pod(gang.name.namespace, name, created[1], created, gang.name, possible, priority)
        )
        return name

    def _delete_pod(self, gang: Gang, pod: Pod) -> None:
        gang.pods.remove(pod)
        self._delete(pod.namespace, "pods", pod.name)

    def _write(self, pod: Pod, change: Callable[[Manifest], None], part: str = "") -> None:
        self._replace(_path(pod.namespace, "pods", pod.name), change, part)

    def _write_pod_group(self, gang: Gang) -> None:
        said = gang.object
        assert said is not None
        wanted = manifests.pod_group(gang.name.name, said)

        def change(body: Manifest) -> None:
            body["spec"]["minMember"] = said.minimum
            body["metadata"]["annotations"] = wanted["metadata"]["annotations"]

        self._replace(_path(gang.name.namespace, "podgroups", gang.name.name), change)
        self._notice(gang)

    def _write_job_status(self, gang: Gang) -> None:
        said = gang.object
        assert said is not None
        self._replace(
            _path(gang.name.namespace, "jobs", gang.name.name),
            lambda body: body["status"].update(succeeded=said.succeeded),
            "/status",
        )

    # Requests.

    def _create(self, namespace: str, plural: str, body: Manifest) -> Manifest:
        return self._client.request("POST", _path(namespace, plural), body).check().body

    def _delete(self, namespace: str, plural: str, name: str) -> None:
        # In the background: by default Jobs would leave their pods behind.
        options = {**NOW, "propagationPolicy": "Background"}
        self._client.request("DELETE", _path(namespace, plural, name), options).check()

    def _replace(self, path: str, change: Callable[[Manifest], None], part: str = "") -> None:
        while True:
            body = self._client.request("GET", path).check().body
            change(body)
            reply = self._client.request("PUT", path + part, body)
            if reply.status != 409:
                reply.check()
                return

    def _prepare(self) -> None:
        for each in self.namespaces:
            self._client.request("POST", "/api/v1/namespaces", {"metadata": {"name": each}}).check()
        node = nodes.manifest(
            self._node["e2e"],
            {**self._node, "type": "by-hand"},
            {"cpu": str(self.world.slots), "memory": "64Gi", "pods": "110"},
        )
        self._client.request("POST", "/api/v1/nodes", node).check()

    def _clean_up(self) -> None:
        for each in self.namespaces:
            self._client.request("DELETE", _path(each, "pods"), NOW)
            self._client.request("DELETE", f"/api/v1/namespaces/{each}")
        self._client.request("DELETE", f"/api/v1/nodes/{self._node['e2e']}")

    # Words.

    def _difference(self) -> str:
        expected, actual = _plain(self.world.counts()), _plain(self._counts())
        return f"bound members: the model has {expected}, the cluster {actual}"

    def _told(self, error: Exception) -> str:
        tight = f"{self.world.slots} slots"
        return "\n".join(
            (f"seed {self.seed}, {tight}", *self.story, f"{type(error).__name__}: {error}")
        )


CHANGES: dict[str, Callable[[RandomSequence], str | None]] = {
    "new gang": RandomSequence._new_gang,
    "add member": RandomSequence._add_member,
    "delete member": RandomSequence._delete_member,
    "replace member": RandomSequence._replace_member,
    "end member": RandomSequence._end_member,
    "move member": RandomSequence._move_member,
    "delete object": RandomSequence._delete_object,
    "create object": RandomSequence._create_object,
    "change minimum": RandomSequence._change_minimum,
    "change names": RandomSequence._change_names,
    "start afresh": RandomSequence._start_afresh,
    "delete gang": RandomSequence._delete_gang,
}
WEIGHTS = {
    "new gang": 6,
    "add member": 5,
    "delete member": 2,
    "replace member": 2,
    "end member": 2,
    "move member": 2,
    "delete object": 1,
    "create object": 2,
    "change minimum": 1,
    "change names": 2,
    "start afresh": 1,
    "delete gang": 1,
}


def _is_slow(gang: Gang) -> bool:
    """Where only waiting members count, how many arrive at once decides."""
    return gang.said is not None and gang.said.policy == "only-waiting"


def _created(body: Manifest) -> tuple[str, str]:
    return body["metadata"]["creationTimestamp"], body["metadata"]["uid"]


def _path(namespace: str, plural: str, name: str = "") -> str:
    return f"/{PLURALS[plural]}/namespaces/{namespace}/{plural}" + (f"/{name}" if name else "")


def _plain(counts: dict[Name, int]) -> dict[str, int]:
    return {f"{name.namespace}/{name.name}": count for name, count in sorted(counts.items())}


def _short(said: Said) -> str:
    names: Sequence[str] = [f"{each.namespace}/{each.name}" for each in said.names]
    return f"(min {said.minimum}, {said.policy}, strict {said.strict}, names {names})"
