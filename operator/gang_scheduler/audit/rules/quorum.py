"""`quorum`: a gang is bound whole, or not at all.

Source: docs/gangs.md: no member is bound without a quorum. Two things are judged. A gang that was
never whole since none of its members was bound must be so within a time (`partial`): the bindings
of a gang are many requests, which a crash may interrupt: of a gang with roles, also the minimum of
each. And where members are bound, a quorum of members must be there at all.

Not flagged: a gang that was whole and has lost members; one that lost members to deletion after its
first binding; one of which members were bound before the auditor began; members that another hand
has bound count, but begin nothing.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit import gangs, quorums, workloads
from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.due import Due
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.gangs import GangName
from gang_scheduler.audit.objects.pods import Pod
from gang_scheduler.audit.world import Change, World


@dataclass
class _Start:
    """A gang from its first binding on, until none of its members is bound.

    `bound` are the uids of all members that were bound since, `there` those that hold their node,
    `seen` all members that there were, and `lost` those that were deleted before they were bound.
    `roles` are those of members that are bound or lost.
    """

    gang: GangName
    at: float
    bound: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    roles: dict[str, str] = field(default_factory=dict)
    is_closed: bool = False


class Quorum:
    """Gangs that are bound in part."""

    name = "quorum"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._starts: dict[GangName, _Start] = {}
        self._due: Due[_Start] = Due(limits.skew)
        self._gone: deque[tuple[float, GangName, str]] = deque()

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note members that are bound or gone."""
        fresh = {pod.uid for each in changes if (pod := each.bound) is not None}
        for change in changes:
            pod = change.after or change.before
            gang = gangs.gang_of(pod) if pod is not None else None
            if gang is None or pod is None:
                continue
            if self._limits.schedules(pod):
                self._bound(change, gang, fresh, world)
                self._gone_now(change, gang)
            if change.left is not None and (start := self._starts.get(gang)) is not None:
                start.there.discard(change.left.uid)
                if not start.there:
                    start.is_closed = True
                    del self._starts[gang]
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Judge gangs that are bound in part, and those that just began."""
        while self._gone and self._gone[0][0] < now - self._limits.skew:
            self._gone.popleft()
        for start in self._due.take(now):
            yield from self._judge_members(start, world)
        for start in list(self._starts.values()):
            if not start.is_closed and now - start.at > self._limits.partial + self._limits.skew:
                yield from self._judge_time(start, now, world)

    def _bound(self, change: Change, gang: GangName, fresh: set[str], world: World) -> None:
        pod = change.bound
        if pod is None or pod.has_ended:
            return
        start = self._starts.get(gang)
        if start is None:
            if not self._limits.judges(pod) or not _says_so(pod, gang):
                return
            start = self._starts[gang] = _Start(gang, change.at)
            start.seen = {uid for _, name, uid in self._gone if name == gang}
            start.lost = set(start.seen)
            earlier = {each.uid for each in world.members(gang) if each.holds_its_node} - fresh
            start.is_closed = bool(earlier)
            start.there |= earlier
            self._due.add(change.at, start)
        start.there.add(pod.uid)
        if start.is_closed:
            return
        start.seen |= {e.uid for e in world.members(gang) if not e.has_ended and not e.is_gated}
        start.bound.add(pod.uid)
        start.roles[pod.uid] = workloads.role_of(pod)

    def _gone_now(self, change: Change, gang: GangName) -> None:
        pod = change.before
        if change.after is not None or pod is None or pod.node:
            return
        self._gone.append((change.at, gang, pod.uid))
        if (start := self._starts.get(gang)) is not None and not start.is_closed:
            start.lost.add(pod.uid)
            start.roles[pod.uid] = workloads.role_of(pod)

    def _judge_members(self, start: _Start, world: World) -> Iterator[Finding]:
        quorum = self._quorum(start, start.at + self._limits.skew, world)
        living = {e.uid for e in world.members(start.gang) if not e.has_ended and not e.is_gated}
        members = start.seen | living
        if start.is_closed or quorum is None or len(members) >= quorum:
            return
        start.is_closed = True
        message = f"bound with {len(members)} members, where {quorum} must be bound together"
        yield Finding(start.at, self.name, start.gang.about, message, _details(start, quorum))

    def _judge_time(self, start: _Start, now: float, world: World) -> Iterator[Finding]:
        quorum = self._quorum(start, now, world)
        if quorum is None:
            return
        seconds = now - start.at
        lacking = self._lacking(start, now, world)
        start.is_closed = len(start.bound) >= quorum and not lacking
        if len(start.bound | start.lost) < quorum:
            message = f"{len(start.bound)} of {quorum} members bound for {seconds:.0f} s"
        elif lacking:
            message = f"{lacking} bound for {seconds:.0f} s"
        else:
            return
        start.is_closed = True
        yield Finding(start.at, self.name, start.gang.about, message, _details(start, quorum))

    def _lacking(self, start: _Start, end: float, world: World) -> str:
        """Return of which roles too few are bound, such as `0 of 1 master`; "" of none."""
        minima = quorums.minima(start.gang, world, start.at - self._limits.skew, end)
        bound = Counter(start.roles[uid] for uid in start.bound)
        lost = Counter(start.roles.get(uid, "") for uid in start.lost - start.bound)
        # A member that was lost before it was known may have had any role.
        found = {role: n for role, n in minima.items() if bound[role] + lost[role] + lost[""] < n}
        return ", ".join(f"{bound[role]} of {n} {role}" for role, n in sorted(found.items()))

    def _quorum(self, start: _Start, end: float, world: World) -> int | None:
        """Return the smallest quorum that the gang had meanwhile."""
        begin = start.at - self._limits.skew
        return min(quorums.quorums(start.gang, world, begin, end), default=None)


def _says_so(pod: Pod, gang: GangName) -> bool:
    """Return whether a binding is one of a gang: by default a kind is one, but for a setting."""
    told = pod.annotations.get(keys.PLAN_GANG, "")
    return gang.kind not in workloads.BY_DEFAULT or told == f"{gang.kind.name}/{gang.name}"


def _details(start: _Start, quorum: int) -> dict[str, object]:
    return {"gang": start.gang.key, "bound": len(start.bound), "quorum": quorum}
