"""The cluster as watches have reported it: raw objects, an index of pods, and recent versions.

Events of one kind come in the order in which the API server wrote them; events of two kinds do not.
So pods are read as they are at an event. Of other kinds, all versions from around that time are
read.
"""

import itertools
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from gang_auditor import gangs
from gang_auditor.charges import Charges
from gang_auditor.gangs import GangName
from gang_auditor.objects import NODES, PODS, Kind, Node, Pod, mapping, name_of
from gang_auditor.watch_events import DELETED, Event, Object

# Cases that are judged later, when the watches of other kinds have reported as much.

T = TypeVar("T")


class Due(Generic[T]):
    """A queue of cases, each of which is due `seconds` after it was added."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._cases: deque[tuple[float, T]] = deque()

    def add(self, at: float, case: T) -> None:
        """Add a case that occurred at a time."""
        self._cases.append((at + self._seconds, case))

    def take(self, now: float) -> Iterator[T]:
        """Take out the cases that are due."""
        while self._cases and self._cases[0][0] <= now:
            yield self._cases.popleft()[1]


# Versions of objects from the last minutes, because watches of two kinds are not in step.


class Versions(Generic[T]):
    """The versions of objects by key, each with the time since which it was seen.

    A replaced version is kept for `keep_seconds`, and so are versions of a deleted object.
    """

    def __init__(self, keep_seconds: float) -> None:
        self._keep_seconds = keep_seconds
        self._kept: dict[str, deque[tuple[float, T | None]]] = defaultdict(deque)
        self._puts: deque[tuple[float, str]] = deque()
        self.turned_at = float("-inf")
        """When an object was last added or removed."""
        self.gone_at = float("-inf")
        """The last moment when an object was deleted."""

    def put(self, key: str, version: T | None, at: float) -> None:
        """Record a version of an object; None if the object is gone."""
        kept = self._kept[key]
        if (version is None) != (not kept or kept[-1][1] is None):
            self.turned_at = at
            self.gone_at = at if version is None else self.gone_at
        kept.append((at, version))
        self._puts.append((at, key))
        self._forget_before(at - self._keep_seconds)

    def latest(self, key: str) -> T | None:
        """Return the newest version; None if the object does not exist."""
        kept = self._kept.get(key)
        return kept[-1][1] if kept else None

    def between(self, key: str, begin: float, end: float) -> list[T | None]:
        """Return the versions that were the newest one at some time between, oldest first.

        A None stands for a time in which the object did not exist.
        """
        found: list[T | None] = []
        kept = list(self._kept.get(key, ()))
        if not kept or kept[0][0] > begin:
            found.append(None)
        for number, (since, version) in enumerate(kept):
            until = kept[number + 1][0] if number + 1 < len(kept) else end
            if since <= end and until >= begin:
                found.append(version)
        return found

    def _forget_before(self, end: float) -> None:
        """Forget versions replaced before a time, even of objects that have not changed since."""
        while self._puts and self._puts[0][0] < end:
            _, key = self._puts.popleft()
            kept = self._kept.get(key, deque())
            while len(kept) > 1 and kept[1][0] < end:
                kept.popleft()
            if kept and kept[-1][1] is None and kept[-1][0] < end:
                del self._kept[key]

    def __iter__(self) -> Iterator[T]:
        """Return the newest versions of all present objects."""
        return (kept[-1][1] for kept in self._kept.values() if kept and kept[-1][1] is not None)


K = TypeVar("K")
KEPT_SECONDS: Final = 300.0
"""How long a replaced version of an object is kept."""


class Change(NamedTuple):
    """A pod before and after an event, and when the event was received.

    It happened between `since` and `at`. `since` is earlier if a list found the change, or if it
    came late: the API server notes when it binds a pod. Changes that a list found (`listed`) have
    no order.
    """

    before: Pod | None
    after: Pod | None
    at: float
    since: float
    listed: bool = False

    @property
    def bound(self) -> Pod | None:
        """The pod if it had no node before the event, and has one after it."""
        if self.after is None or not self.after.node:
            return None
        return None if self.before is not None and self.before.node else self.after

    @property
    def left(self) -> Pod | None:
        """The pod before the event, if the event ended its use of a node."""
        held = self.before is not None and self.before.holds_its_node
        holds = self.after is not None and self.after.holds_its_node
        return self.before if held and not holds else None


class World:
    """All objects that watches have reported.

    Pods are indexed by uid and by node; other kinds by name, with recent versions.
    """

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.nodes: Versions[Node] = Versions(KEPT_SECONDS)
        self.bound_at: dict[str, float] = {}
        """When each pod that has a node was seen to have one."""
        self.over_at: dict[str, float] = {}
        """When each pod that is being deleted, or has ended, was first seen in that state."""
        self.charges = Charges()
        self._on_node: dict[str, dict[str, Pod]] = defaultdict(dict)
        self._members: dict[GangName, dict[str, Pod]] = defaultdict(dict)
        self._objects: dict[Kind, Versions[Object]] = defaultdict(lambda: Versions(KEPT_SECONDS))
        self._uids: dict[str, str] = {}
        self._left: deque[tuple[float, Pod]] = deque()

    def take(self, event: Event, since: float, *, created: bool = False) -> list[Change]:
        """Take in an event; return the changes of pods.

        `since` is the time until which no event of the kind was missed. `created`: the object was
        created just now.
        """
        kind = Kind.of(event.object)
        if kind == PODS:
            return self._take_pod(event, since, created=created)
        gone = event.type == DELETED
        if kind == NODES:
            self._take_node(None if gone else Node(event.object), name_of(event.object), event.at)
        else:
            found = None if gone else event.object
            self._objects[kind].put(name_of(event.object), found, event.at)
        return []

    def on_node(self, name: str) -> list[Pod]:
        """Return the pods that take room on a node."""
        return [each for each in self._on_node.get(name, {}).values() if each.holds_its_node]

    def members(self, gang: GangName) -> Collection[Pod]:
        """Return the present pods that name a gang."""
        return self._members.get(gang, {}).values()

    def named(self, name: str) -> list[Pod]:
        """Return a list with the pod of this `namespace/name` or uid; [] if it is gone."""
        found = self.pods.get(self._uids.get(name, name))
        return [] if found is None else [found]

    def left_since(self, begin: float) -> Iterator[Pod]:
        """Yield the pods that have ended or left their node since a time, newest first.

        Those of the last KEPT_SECONDS are known.
        """
        late = itertools.takewhile(lambda each: each[0] >= begin, reversed(self._left))
        return (pod for _, pod in late)

    def objects(self, kind: Kind) -> Versions[Object]:
        """Return the objects of a kind."""
        return self._objects[kind]

    def everything(self) -> Iterator[Object]:
        """Return the present versions of all objects."""
        yield from (each.raw for each in self.nodes)
        for kept in list(self._objects.values()):
            yield from kept
        yield from (each.raw for each in self.pods.values())

    def known(self, kind: Kind) -> Mapping[str, str]:
        """Return the uid of each object of a kind, by name."""
        if kind == PODS:
            return {each.key: each.uid for each in self.pods.values()}
        listed = (each.raw for each in self.nodes) if kind == NODES else self.objects(kind)
        return {name_of(e): str(mapping(e, "metadata").get("uid") or "") for e in listed}

    def _take_node(self, node: Node | None, name: str, at: float) -> None:
        latest = self.nodes.latest(name)
        if node is None or not node.judged_as(latest):
            self.nodes.put(name, node, at)

    def _take_pod(self, event: Event, since: float, *, created: bool) -> list[Change]:
        pod = Pod(event.object)
        known = self.pods.get(pod.uid)
        if known.born_on_node if known is not None else created and pod.node:
            # Whatever its annotations say: users write them when they create it.
            pod = Pod(event.object, born_on_node=True)
        changes = []
        named = self._uids.get(pod.key)
        if named is not None and named != pod.uid:
            # Its deletion was missed, or will be reported later.
            changes.append(self._put(self.pods.get(named), None, event.at, since))
        after = None if event.type == DELETED else pod
        changes.append(self._put(self.pods.get(pod.uid), after, event.at, since))
        return changes

    def _put(self, before: Pod | None, after: Pod | None, at: float, since: float) -> Change:
        change = Change(before, after, at, since, listed=since < at)
        if change.left is not None:
            self._left.append((at, change.left))
            while self._left[0][0] < at - KEPT_SECONDS:
                self._left.popleft()
        if change.bound is not None and (bound_at := change.bound.scheduled_at) is not None:
            change = change._replace(since=min(since, bound_at))
        if before is not None:
            self._drop(before)
            self.charges.add(before, -1)
            if after is None:
                self.pods.pop(before.uid, None)
                self.bound_at.pop(before.uid, None)
                self.over_at.pop(before.uid, None)
                self._uids.pop(before.key, None)
        if after is not None:
            self.pods[after.uid] = after
            self.charges.add(after)
            self._uids[after.key] = after.uid
            if after.node:
                self._on_node[after.node][after.uid] = after
                self.bound_at.setdefault(after.uid, at)
            if after.is_deleted or after.has_ended:
                self.over_at.setdefault(after.uid, at)
            if (gang := gangs.gang_of(after)) is not None:
                self._members[gang][after.uid] = after
        return change

    def _drop(self, pod: Pod) -> None:
        """Remove a version of a pod from the indices."""
        _drop_from(self._on_node, pod.node, pod.uid)
        if (gang := gangs.gang_of(pod)) is not None:
            _drop_from(self._members, gang, pod.uid)


def _drop_from(index: dict[K, dict[str, Pod]], key: K, uid: str) -> None:
    if (found := index.get(key)) is not None:
        found.pop(uid, None)
        if not found:
            del index[key]
