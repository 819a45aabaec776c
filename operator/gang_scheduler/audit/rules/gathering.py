"""`gathering`: a gang that must gather is in one domain.

Source: docs/topology.md: `MustGather` of network-topology-spec, on a PodGroup or on pods, and
Kueue's podset-required-topology. A member that is bound must be in a domain in which others are
that were bound for the same request. Domains are read from node labels here, by the layers of the
ClusterNetworkTopology or Kueue's Topology; a domain is its whole path.

Not flagged: members that were bound for another request than is asked now; nodes whose labels
changed about that time; slices (podset-slice-*), of which a gang may have several.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit import gangs, quorums
from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.due import Due
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.networks import Domain, Request, domains_of, request_of
from gang_scheduler.audit.objects.pods import Pod
from gang_scheduler.audit.world import Change, World


class _Bound(NamedTuple):
    """A member, what it asked for when it was bound, and with which others it must be."""

    pod: Pod
    unit: tuple[object, ...]
    request: Request


class _Case(NamedTuple):
    bound: _Bound
    others: Sequence[_Bound]
    at: float
    since: float


class Gathering:
    """Domains of gangs that must gather."""

    name = "gathering"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[_Case] = Due(limits.skew)
        self._bound: dict[tuple[object, ...], dict[str, _Bound]] = {}
        self._units: dict[str, tuple[object, ...]] = {}

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note members that are bound, with what they ask for, and those that are gone."""
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
        """Compare the domains of a member and of those that were bound before it."""
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
    """Return what is placed together: a group of gangs, a gang, or a podset of it."""
    gang = gangs.gang_of(pod)
    if gang is None:
        return None
    if not pod.annotations.get(keys.PODSET_REQUIRED):
        return quorums.group_of(gang, world)
    named = pod.annotations.get(keys.PODSET_GROUP)
    return (gang, named) if named else (gang, pod.controller.get("uid"))
