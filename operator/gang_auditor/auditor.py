"""The auditor: takes in the events of a cluster, and returns findings of all rules.

The auditor itself is pure: it has no clock, and learns the time from events.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from gang_auditor.findings import Finding
from gang_auditor.objects import Kind, Pod, mapping, name_of
from gang_auditor.watch_events import (
    ADDED,
    BROKEN,
    DELETED,
    LISTED,
    LISTING,
    PASSED,
    RESUMED,
    Event,
    Object,
)
from gang_auditor.world import Change, World

ON_THE_WAY: Final = 2
"""A request may be on its way for this many times the clock skew in `Limits`."""


@dataclass(frozen=True)
class Limits:
    """The time limits of the auditor, in seconds, and the schedulers that it judges.

    `skew`: the watches of two kinds may be this far apart. If another scheduler binds a pod within
    that time, it is not held against the judged one. A request may be on its way for twice as long.
    `partial`: a gang may be bound in part for that long. `leftover`: a nomination or mark may stay
    for that long without consequences. `queue_grace`: a Queue still counts for that long after it
    was deleted.
    """

    scheduler_names: frozenset[str] = frozenset({"py-gang-scheduler"})
    skew: float = 5.0
    partial: float = 60.0
    leftover: float = 120.0
    queue_grace: float = 10.0

    def judges(self, pod: Pod) -> bool:
        """Return whether the judged scheduler has bound a pod.

        Its bindings name a plan. If a pod names its schedulerName but no plan, another program
        bound it.
        """
        return pod.scheduler in self.scheduler_names and bool(pod.plan)

    def decided(self, since: float) -> float:
        """Return the time of the oldest state that a binding made after `since` may be based on."""
        return since - (1 + ON_THE_WAY) * self.skew

    def schedules(self, pod: Pod) -> bool:
        """Return whether the judged scheduler has to place a pod."""
        return pod.scheduler in self.scheduler_names


class Rule(Protocol):
    """A rule. It gets every change of a pod, and the passing of time, and yields violations.

    Changes that a list shows come together, when the world already contains all of them.
    """

    @property
    def name(self) -> str:
        """The name of the rule in findings."""

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Judge changes of pods, or note them for later."""

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Yield findings on cases that must be judged by this time."""


@dataclass
class _Break:
    """A broken watch: until `since` it had missed no event."""

    since: float
    resumed_at: float | None = None


class Auditor:
    """Takes events in the order in which they were received, and returns violations of the rules.

    Objects of the first list of a kind are not judged, because nothing is known of what came
    before.
    """

    def __init__(self, rules: Sequence[Rule], skew: float = Limits.skew) -> None:
        self.world = World()
        self._rules = rules
        self._skew = skew
        self._listing: dict[Kind, list[Event]] = {}
        self._in_step: dict[Kind, float] = {}
        self._broken: dict[Kind, _Break] = {}
        self._now = 0.0

    def observe(self, event: Event) -> list[Finding]:
        """Take in an event; return violations by it, and by cases that are due at its time."""
        found = self.tick(event.at)
        if event.type != PASSED:
            found += self._taken(Kind.of(event.object), event)
        return found

    def tick(self, now: float) -> list[Finding]:
        """Return findings on cases that are due by this time. An earlier time is ignored."""
        self._now = max(self._now, now)
        return [each for rule in self._rules for each in rule.passed(self._now, self.world)]

    def finish(self) -> list[Finding]:
        """Return findings on cases that become due soon after the last event."""
        return self.tick(self._now + self._skew)

    def _taken(self, kind: Kind, event: Event) -> list[Finding]:
        if event.type == LISTING:
            self._listing[kind] = []
        elif event.type == LISTED:
            return self._listed(kind, event.at)
        elif event.type == BROKEN:
            self._broken[kind] = _Break(self._in_step.get(kind, event.at))
        elif event.type == RESUMED:
            self._broken.setdefault(kind, _Break(event.at)).resumed_at = event.at
        elif kind in self._listing:
            self._listing[kind].append(event)
        else:
            self._in_step[kind] = event.at
            since, created = self._since(kind, event.at), event.type == ADDED
            return self._judged(self.world.take(event, since, created=created))
        return []

    def _since(self, kind: Kind, at: float) -> float:
        """Return the earliest time at which an event that is received now may have happened."""
        broken = self._broken.get(kind)
        if broken is None:
            return at
        if broken.resumed_at is not None and at > broken.resumed_at + self._skew:
            del self._broken[kind]
            return at
        return broken.since

    def _listed(self, kind: Kind, at: float) -> list[Finding]:
        """Take in a whole list: known objects that it does not contain are gone."""
        events = self._listing.pop(kind, [])
        is_first = kind not in self._in_step
        broken = self._broken.pop(kind, None)
        since = broken.since if broken is not None else self._in_step.get(kind, at)
        self._in_step[kind] = at
        uids = {str(mapping(each.object, "metadata").get("uid") or "") for each in events}
        names = {name_of(each.object) for each in events}
        changes: list[Change] = []
        for name, uid in self.world.known(kind).items():
            if name not in names or (uid and uid not in uids):
                changes += self.world.take(Event(at, DELETED, _named(kind, name, uid)), since)
        for each in events:
            changes += self.world.take(each, since)
        return [] if is_first else self._judged(changes)

    def _judged(self, changes: Sequence[Change]) -> list[Finding]:
        if not changes:
            return []
        return [each for rule in self._rules for each in rule.changed(changes, self.world)]


def _named(kind: Kind, name: str, uid: str) -> Object:
    namespace, _, own = name.rpartition("/")
    version = f"{kind.group}/v1" if kind.group else "v1"
    metadata = {"name": own, "uid": uid, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind.name, "metadata": metadata}
