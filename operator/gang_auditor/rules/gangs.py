"""Rules on gangs: bound whole (`quorum`), together with their group, gathered, no leftovers."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gang_auditor import gangs, quorums, victims
from gang_auditor.auditor import Limits
from gang_auditor.findings import Finding
from gang_auditor.gangs import OURS, GangName
from gang_auditor.networks import Domain, Request, domains_of, request_of
from gang_auditor.objects import Pod, mapping
from gang_auditor.rules.volumes import claims_of
from gang_auditor.world import Change, Due, World
from gang_scheduler.api import annotations as keys

# Rule `gathering`: a gang that must gather is in one domain. Source: docs/topology.md: `MustGather`
# of network-topology-spec, on a PodGroup or on pods, and Kueue's podset-required-topology. A bound
# member must share a domain with other members that were bound for the same request. The rule reads
# domains from node labels, by the layers of the ClusterNetworkTopology or of Kueue's Topology; a
# domain is its whole path. Not flagged: members that were bound for an earlier request; nodes whose
# labels changed about that time; slices (podset-slice-*), since a gang may have several.


class _Bound(NamedTuple):
    """A bound member, its request at that time, and the unit whose members must be together."""

    pod: Pod
    unit: tuple[object, ...]
    request: Request


class _Case(NamedTuple):
    bound: _Bound
    others: Sequence[_Bound]
    at: float
    since: float


class Gathering:
    """Judges whether gangs that must gather are in one domain."""

    name = "gathering"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[_Case] = Due(limits.skew)
        self._bound: dict[tuple[object, ...], dict[str, _Bound]] = {}
        self._units: dict[str, tuple[object, ...]] = {}

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note members that are bound, with their requests, and members that are gone."""
        for change in changes:
            if (left := change.left) is not None and (unit := self._units.pop(left.uid, None)):
                self._bound[unit].pop(left.uid)
                if not self._bound[unit]:
                    del self._bound[unit]
            pod = change.bound
            if pod is None or not self._limits.judges(pod) or pod.has_ended:
                continue
            unit = _unit(pod, world)
            request = request_of(pod, gangs.gang_of(pod), world)
            if unit is None or request is None:
                continue
            bound = _Bound(pod, unit, request)
            others = [
                each
                for uid, each in self._bound.setdefault(unit, {}).items()
                if not world.pods[uid].is_deleted
            ]
            self._due.add(change.at, _Case(bound, others, change.at, change.since))
            self._bound[unit][pod.uid] = bound
            self._units[pod.uid] = unit
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Compare the domain of each member with those of members bound before it."""
        for case in self._due.take(now):
            begin, end = self._limits.decided(case.since), case.at + self._limits.skew
            pod, request = case.bound.pod, case.bound.request
            own = domains_of(request, pod.node, world, begin, end)
            same = [each for each in case.others if each.request == request]
            theirs: set[Domain] = set()
            for other in same:
                theirs |= domains_of(request, other.pod.node, world, begin, end) or set()
            if own is None or None in theirs:
                continue
            if not own or (theirs and not own & theirs):
                yield self._finding(case, own, theirs)

    def _finding(self, case: _Case, own: set[Domain], theirs: set[Domain]) -> Finding:
        pod, where = case.bound.pod, case.bound.request.where
        there = " or ".join(sorted("/".join(each) for each in theirs if each))
        if own:
            here = " or ".join(sorted("/".join(each) for each in own if each))
            message = f"bound to {pod.node} in {here}, away from its gang in {there}, of {where}"
        else:
            message = f"bound to {pod.node}, which is in no {where}"
        return Finding(case.at, self.name, pod.about, message, {"node": pod.node, "layer": where})


def _unit(pod: Pod, world: World) -> tuple[object, ...] | None:
    """Return the unit of a pod that is placed together: a gang group, a gang or a podset."""
    gang = gangs.gang_of(pod)
    if gang is None:
        return None
    if not pod.annotations.get(keys.PODSET_REQUIRED):
        return quorums.group_of(gang, world)
    named = pod.annotations.get(keys.PODSET_GROUP)
    return (gang, named) if named else (gang, pod.controller.get("uid"))


# Rule `groups`: the gangs of a group start together, or none does. Source: docs/gangs.md: if one
# gang of a namespace names another in `groups`, both start by one plan. The rule judges a gang that
# starts for the first time. Each gang of its group must have started within a time (`partial`),
# since a crash may delay some bindings. Not flagged: gangs that have started once before; gangs
# that lack members by now, are of another namespace, of mode NonStrict, or no longer in any group;
# pods without a PodGroup.

NON_STRICT = "NonStrict"
MOST_GONE = 100
"""At least this many deleted gangs are remembered."""


class _Start(NamedTuple):
    gang: GangName
    at: float


class Groups:
    """Reports gangs that started without other gangs of their group."""

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
        """Judge the groups of gangs that started some time ago."""
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
        """Forget gangs without a member or an object since before the starts to judge."""
        if len(self._started) > self._most:
            begin, groups = now - self._limits.partial - self._limits.skew, world.objects(OURS)
            self._started = {
                each
                for each in self._started
                if world.members(each) or any(groups.between(each.object_key, begin, now))
            }
            self._most = 2 * len(self._started) + MOST_GONE


def _mates(gang: GangName, world: World) -> Sequence[GangName]:
    """Return the other gangs of a group; it is enough if one of two gangs names the other."""
    groups = [set(quorums.group_of(each, world)) for each in _that_name_others(gang, world)]
    found: set[GangName] = {gang}
    while more := set().union(*(each for each in groups if each & found)) - found:
        found |= more
    return sorted(found - {gang})


def _that_name_others(gang: GangName, world: World) -> Iterator[GangName]:
    """Yield the gangs in the namespace of a gang that name a group."""
    for each in world.objects(OURS):
        metadata = mapping(each, "metadata")
        is_near = metadata.get("namespace") == gang.namespace
        if is_near and keys.GANG_GROUPS in mapping(metadata, "annotations"):
            yield GangName(OURS, gang.namespace, str(metadata.get("name")))


def _could_start(gang: GangName, now: float, world: World) -> bool:
    """Return whether a gang has a quorum of waiting members, and no member has a node."""
    members = [e for e in world.members(gang) if not e.has_ended and not e.is_deleted]
    waiting = [each for each in members if not each.node and not each.is_gated]
    quorum = min(quorums.quorums(gang, world, now, now), default=None)
    is_whole = quorum is not None and len(waiting) >= quorum
    return is_whole and len(waiting) == len(members) and not _is_non_strict(gang, world)


def _is_non_strict(gang: GangName, world: World) -> bool:
    found = world.objects(OURS).latest(gang.object_key)
    annotations = mapping(mapping(found or {}, "metadata"), "annotations")
    return annotations.get(keys.GANG_MODE) == NON_STRICT


# Rule `leftovers`: no nomination or mark stays without consequences. Source: docs/preemption.md: a
# nomination holds room until the pod is bound, and a mark announces a deletion; both are withdrawn
# with their plan. A nomination of a gang is left over when none of its nodes has a pod that is
# leaving, none of its members is bound meanwhile, and no victim was asked for a checkpoint. A mark
# is left over when the pod is not deleted. Not flagged: nominated pods with claims, which wait for
# volumes up to 10 minutes; anything for `leftover` seconds.

EVERY_SECONDS = 1.0


class Leftovers:
    """Reports nominations and marks of victims that stay, although nothing follows from them."""

    name = "leftovers"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nominated: dict[str, tuple[str, float]] = {}
        self._marked: dict[str, float] = {}
        self._reported: set[str] = set()
        self._looked_at = 0.0

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:  # noqa: ARG002
        """Note nominations and marks that come and go."""
        for change in changes:
            pod = change.after or change.before
            if pod is None or not self._limits.schedules(pod):
                continue
            waits = change.after is not None and not pod.node and not pod.has_ended
            nominated = pod.nominated if waits and not pod.is_deleted else ""
            if self._nominated.get(pod.uid, ("",))[0] != nominated:
                self._nominated[pod.uid] = (nominated, change.at)
                self._reported.discard(pod.uid)
            if not nominated:
                self._nominated.pop(pod.uid, None)
            stays = change.after is not None and not pod.is_deleted and not pod.has_ended
            if stays and victims.is_marked(pod):
                self._marked.setdefault(pod.uid, change.at)
            else:
                self._marked.pop(pod.uid, None)
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Report nominations and marks that have stayed too long, once a second."""
        if now - self._looked_at < EVERY_SECONDS:
            return
        self._looked_at = now
        longest = self._limits.leftover + self._limits.skew
        for uid, since in list(self._marked.items()):
            pod = world.pods.get(uid)
            if pod is not None and now - since > longest:
                del self._marked[uid]
                message = f"marked as a victim for {now - since:.0f} s, and not deleted"
                yield Finding(since, self.name, pod.about, message, {"node": pod.node})
        yield from self._left_nominations(now, longest, world)

    def _left_nominations(self, now: float, longest: float, world: World) -> Iterator[Finding]:
        waiting = self._gangs(world)
        for gang, members in waiting.items():
            if _is_under_way(members, world):
                for pod in members:
                    self._nominated[pod.uid] = (pod.nominated, now)
                continue
            for pod in members:
                since = self._nominated[pod.uid][1]
                if now - since > longest and pod.uid not in self._reported:
                    self._reported.add(pod.uid)
                    message = f"nominated to {pod.nominated} for {now - since:.0f} s for nothing"
                    details = {"node": pod.nominated, "gang": gang.key}
                    yield Finding(since, self.name, pod.about, message, details)

    def _gangs(self, world: World) -> dict[GangName, list[Pod]]:
        """Return the nominated pods, by gang."""
        found: dict[GangName, list[Pod]] = {}
        for uid in self._nominated:
            pod = world.pods.get(uid)
            if pod is not None and not claims_of(pod):
                found.setdefault(victims.gang_or_pod(pod), []).append(pod)
        return found


def _is_under_way(members: Sequence[Pod], world: World) -> bool:
    """Return whether a pod on a nominated node is still leaving, or saving its work."""
    return any(
        other.is_deleted
        or victims.is_marked(other)
        or keys.CHECKPOINT_REQUEST_ID in other.annotations
        for pod in members
        for other in world.on_node(pod.nominated)
    )


# Rule `quorum`: a gang is bound whole, or not at all. Source: docs/gangs.md: no member is bound
# without a quorum. The rule judges two things. First, a gang that begins to be bound must become
# whole within a time (`partial`). It may take a while, since bindings are many requests that a
# crash may interrupt. A gang with roles also needs the minimum of each role. Second, when members
# are bound, a quorum of members must exist at all. Not flagged: a gang that was whole and has lost
# members; a gang that lost members to deletion after its first binding; a gang with members that
# were bound before the auditor began. Members that another program has bound count, but do not
# begin a start.


@dataclass
class _QuorumStart:
    """A gang from its first binding on, until none of its members is bound.

    `bound` are the uids of all members that were bound since then, `there` of members that hold
    their node now, `seen` of all members, and `lost` of members that were deleted before they were
    bound. `roles` has the roles of members that are bound or lost.
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
    """Reports gangs that are bound in part."""

    name = "quorum"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._starts: dict[GangName, _QuorumStart] = {}
        self._due: Due[_QuorumStart] = Due(limits.skew)
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
        """Judge gangs that are bound in part, and gangs that have just begun to be bound."""
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
            start = self._starts[gang] = _QuorumStart(gang, change.at)
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
        start.roles[pod.uid] = gangs.role_of(pod)

    def _gone_now(self, change: Change, gang: GangName) -> None:
        pod = change.before
        if change.after is not None or pod is None or pod.node:
            return
        self._gone.append((change.at, gang, pod.uid))
        if (start := self._starts.get(gang)) is not None and not start.is_closed:
            start.lost.add(pod.uid)
            start.roles[pod.uid] = gangs.role_of(pod)

    def _judge_members(self, start: _QuorumStart, world: World) -> Iterator[Finding]:
        quorum = self._quorum(start, start.at + self._limits.skew, world)
        living = {e.uid for e in world.members(start.gang) if not e.has_ended and not e.is_gated}
        members = start.seen | living
        if start.is_closed or quorum is None or len(members) >= quorum:
            return
        start.is_closed = True
        message = f"bound with {len(members)} members, where {quorum} must be bound together"
        yield Finding(start.at, self.name, start.gang.about, message, _details(start, quorum))

    def _judge_time(self, start: _QuorumStart, now: float, world: World) -> Iterator[Finding]:
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

    def _lacking(self, start: _QuorumStart, end: float, world: World) -> str:
        """Return the roles with too few bound pods, such as `0 of 1 master`; "" if none."""
        minima = quorums.minima(start.gang, world, start.at - self._limits.skew, end)
        bound = Counter(start.roles[uid] for uid in start.bound)
        lost = Counter(start.roles.get(uid, "") for uid in start.lost - start.bound)
        # A member that was lost before it was seen may have had any role.
        found = {role: n for role, n in minima.items() if bound[role] + lost[role] + lost[""] < n}
        return ", ".join(f"{bound[role]} of {n} {role}" for role, n in sorted(found.items()))

    def _quorum(self, start: _QuorumStart, end: float, world: World) -> int | None:
        """Return the smallest quorum that a gang had between its start and `end`."""
        begin = start.at - self._limits.skew
        return min(quorums.quorums(start.gang, world, begin, end), default=None)


def _says_so(pod: Pod, gang: GangName) -> bool:
    """Return whether the binding of a pod says that it is in a gang.

    A setting can change which kinds are gangs by default, so for these kinds the binding decides.
    """
    told = pod.annotations.get(keys.PLAN_GANG, "")
    return gang.kind not in gangs.BY_DEFAULT or told == f"{gang.kind.name}/{gang.name}"


def _details(start: _QuorumStart, quorum: int) -> dict[str, object]:
    return {"gang": start.gang.key, "bound": len(start.bound), "quorum": quorum}
