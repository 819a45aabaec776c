"""`groups`: the gangs of a group start together, or none does.

Source: docs/gangs.md: where one gang of a namespace names another in `groups`, both start by one
plan. Judged is a gang that starts for the first time: within a time (`partial`) each gang of its
group must have started, too, since a crash may come between.

Not flagged: gangs that have started before, once; those that lack members by now, are of another
namespace, of mode NonStrict, or in no group any more; pods without a PodGroup.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit import gangs, quorums
from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.due import Due
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.gangs import OURS, GangName
from gang_scheduler.audit.objects.pods import mapping
from gang_scheduler.audit.world import Change, World

NON_STRICT = "NonStrict"
MOST_GONE = 100
"""So many gangs that are gone are kept at least."""


class _Start(NamedTuple):
    gang: GangName
    at: float


class Groups:
    """Gangs that started without others of their group."""

    name = "groups"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started: set[GangName] = set()
        self._most = MOST_GONE
        self._due: Due[_Start] = Due(limits.partial + limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:  # noqa: ARG002
        """Note gangs that start."""
        for change in changes:
            pod = change.bound
            gang = gangs.gang_of(pod) if pod is not None else None
            if pod is None or gang is None or gang.kind != OURS:
                continue
            if gang not in self._started and self._limits.judges(pod):
                self._due.add(change.at, _Start(gang, change.at))
            self._started.add(gang)
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Look at the groups of gangs that started a time ago."""
        self._forget_the_gone(now, world)
        for start in self._due.take(now):
            if _is_non_strict(start.gang, world):
                continue
            for mate in _mates(start.gang, world):
                if mate not in self._started and _could_start(mate, now, world):
                    seconds = now - start.at
                    message = f"started without {mate.key} of its group for {seconds:.0f} s"
                    details = {"gang": start.gang.key, "without": mate.key}
                    yield Finding(start.at, self.name, start.gang.about, message, details)

    def _forget_the_gone(self, now: float, world: World) -> None:
        """Forget gangs of which nothing has been left since before the starts that are judged."""
        if len(self._started) > self._most:
            begin, groups = now - self._limits.partial - self._limits.skew, world.objects(OURS)
            self._started = {
                each
                for each in self._started
                if world.members(each) or any(groups.between(each.object_key, begin, now))
            }
            self._most = 2 * len(self._started) + MOST_GONE


def _mates(gang: GangName, world: World) -> Sequence[GangName]:
    """Return the other gangs of a group: in a namespace one needs to name the other."""
    groups = [set(quorums.group_of(each, world)) for each in _that_name_others(gang, world)]
    found: set[GangName] = {gang}
    while more := set().union(*(each for each in groups if each & found)) - found:
        found |= more
    return sorted(found - {gang})


def _that_name_others(gang: GangName, world: World) -> Iterator[GangName]:
    """Yield the gangs of a namespace that say that they are in a group."""
    for each in world.objects(OURS):
        metadata = mapping(each, "metadata")
        is_near = metadata.get("namespace") == gang.namespace
        if is_near and keys.GANG_GROUPS in mapping(metadata, "annotations"):
            yield GangName(OURS, gang.namespace, str(metadata.get("name")))


def _could_start(gang: GangName, now: float, world: World) -> bool:
    """Return whether a gang waits with a quorum of members, none of which has a node."""
    members = [e for e in world.members(gang) if not e.has_ended and not e.is_deleted]
    waiting = [each for each in members if not each.node and not each.is_gated]
    quorum = min(quorums.quorums(gang, world, now, now), default=None)
    is_whole = quorum is not None and len(waiting) >= quorum
    return is_whole and len(waiting) == len(members) and not _is_non_strict(gang, world)


def _is_non_strict(gang: GangName, world: World) -> bool:
    found = world.objects(OURS).latest(gang.object_key)
    annotations = mapping(mapping(found or {}, "metadata"), "annotations")
    return annotations.get(keys.GANG_MODE) == NON_STRICT
