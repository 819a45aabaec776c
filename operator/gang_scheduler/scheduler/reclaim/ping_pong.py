"""Links between gangs that yielded to each other: they keep evictions from going in circles.

An eviction leaves a link: the victim yielded to the preemptor, by the class of the eviction. A plan
that would close a circle of links is refused if its own link is the weakest there; otherwise the
weakest link of the circle is dropped. So links never form a circle, and evictions end if no gang
comes, ends or changes.

The proof: links of the strongest class are only ever added. Between two of these additions, links
of the next class are only added, and so on. So there are finitely many changes. Between two changes
the links order the gangs, and every eviction puts a higher gang in the place of lower ones.
"""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from gang_scheduler.model.evictions import EvictionClass, Forgotten, RunningGang, YieldedTo
from gang_scheduler.model.queues import Charge
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.reclaim.after_eviction import Part, QuotaLedger
from gang_scheduler.scheduler.reclaim.eviction_policy import EvictionLimits
from gang_scheduler.scheduler.reclaim.legal_victims import Reclaim
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue

# A victim that would immediately take back the room for which it was evicted.

_PREEMPTOR = "preemptor"
_UNKNOWN = GangKey("", "", "")


def returning(
    quota: QuotaLedger, request: ReclaimRequest, parts: Sequence[Part], limits: EvictionLimits
) -> frozenset[GangKey]:
    """Return the victims that could in turn evict the preemptor in the final state.

    Each is looked at on its own. Only missing quota counts, and only the preemptor can be a victim.
    `quota` is charged for the victims and not for the request; it is left as it was.
    """
    for each in parts:
        quota.release(each.running.ref, each.charge)
    quota.charge(request.ref, request.charge)
    try:
        return frozenset(
            running.key
            for running, charge in _whole(parts)
            if _could(quota, request, running, charge, limits)
        )
    finally:
        quota.release(request.ref, request.charge)
        for each in parts:
            quota.charge(each.running.ref, each.charge)


def _whole(parts: Iterable[Part]) -> Iterable[tuple[RunningInQueue, Charge]]:
    """Return the victim gangs that may evict, with their charges: surplus evicts nothing."""
    return (
        (part.running, part.charge if part.quorum is None else part.quorum)
        for part in parts
        if part.whole and part.running.preempts
    )


def _could(
    quota: QuotaLedger,
    request: ReclaimRequest,
    running: RunningInQueue,
    charge: Charge,
    limits: EvictionLimits,
) -> bool:
    """Return whether an evicted gang would have the right to evict the preemptor."""
    back = ReclaimRequest(
        running.ref,
        charge,
        running.priority,
        running.known.created_at,
        (running.key,),
        running.pod_priority,
    )
    reclaim = Reclaim(quota, back, limits)
    if not reclaim.short:
        return False
    there = Part(_as_running(request), request.charge)
    return not reclaim.lacking([there]) and not reclaim.judge([there]).illegal


def _as_running(request: ReclaimRequest) -> RunningInQueue:
    """Return the preemptor as a gang that has run longer than any minimum run time."""
    return RunningInQueue(
        next(iter(request.gangs), _UNKNOWN),
        request.ref,
        request.priority,
        RunningGang(created_at=request.created_at),
        {_PREEMPTOR: request.charge},
        request.pod_priority,
    )


class _Link(NamedTuple):
    """The gang `below` yielded to the gang `above`. Weaker links are dropped first."""

    strength: int
    at: int
    below: GangKey
    above: GangKey


def _add(links: dict[GangKey, dict[GangKey, _Link]], added: _Link) -> None:
    """Add a link.

    If the two gangs are linked already, the stronger class and the later time count.
    """
    of_gang = links.setdefault(added.below, {})
    known = of_gang.get(added.above)
    if known is not None:
        strength, at = max(known.strength, added.strength), max(known.at, added.at)
        added = added._replace(strength=strength, at=at)
    of_gang[added.above] = added


class Memory:
    """The links of one snapshot, and the links of plans made since then.

    Only gangs that are evicted whole are remembered, not evicted surplus members.
    """

    def __init__(self, yielded: Mapping[GangKey, Iterable[YieldedTo]]) -> None:
        self._yielded = yielded
        self._reached: dict[tuple[frozenset[GangKey], int], frozenset[GangKey]] = {}

    @functools.cached_property
    def _links(self) -> dict[GangKey, dict[GangKey, _Link]]:
        """The links from each gang to the gangs that it yielded to; read when first needed."""
        found: dict[GangKey, dict[GangKey, _Link]] = {}
        for below, links in self._yielded.items():
            for each in links:
                _add(found, _Link(-each.eviction_class.weight, each.at, below, each.gang))
        return found

    def refuses(
        self, preemptors: Collection[GangKey], victims: Mapping[GangKey, EvictionClass]
    ) -> bool:
        """Return whether a plan must not be carried out, given the classes of its victims.

        `preemptors` are the gangs of the group that preempts.
        """
        return any(self.closes_a_circle(preemptors, *each) for each in victims.items())

    def closes_a_circle(
        self, preemptors: Collection[GangKey], victim: GangKey, eviction_class: EvictionClass
    ) -> bool:
        """Return whether an eviction closes a circle in which no link is weaker.

        Linear in links, once for the preemptors and each weight of a class.
        """
        if not self._links:
            return False
        key = frozenset(preemptors), eviction_class.weight
        if key not in self._reached:
            self._reached[key] = self._above(*key)
        return victim in self._reached[key]

    def carry_out(
        self, preemptors: Collection[GangKey], victims: Mapping[GangKey, EvictionClass], at: int
    ) -> tuple[Forgotten, ...]:
        """Add the links of an accepted plan; return the links that are dropped for them.

        `at` is in seconds.
        """
        forgotten = [
            each for victim in sorted(victims) for each in self._give_way(preemptors, victim)
        ]
        for victim, eviction_class in victims.items():
            for preemptor in preemptors:
                _add(self._links, _Link(-eviction_class.weight, at, victim, preemptor))
        self._reached.clear()
        return tuple(forgotten)

    def _above(self, gangs: Iterable[GangKey], weakest: int) -> frozenset[GangKey]:
        """Return all gangs to which these yielded, through links at least as strong."""
        found: set[GangKey] = set()
        ahead = [*gangs]
        while ahead:
            links = self._links.get(ahead.pop(), {}).values()
            further = {each.above for each in links if -each.strength <= weakest} - found
            found |= further
            ahead += further
        return frozenset(found)

    def _give_way(self, preemptors: Collection[GangKey], victim: GangKey) -> Iterable[Forgotten]:
        """Drop the weakest link from each circle that this eviction would close."""
        while (path := self._path(preemptors, victim)) is not None:
            weakest = min(path)
            del self._links[weakest.below][weakest.above]
            yield Forgotten(weakest.below, weakest.above)

    def _path(self, starts: Iterable[GangKey], end: GangKey) -> list[_Link] | None:
        """Return the shortest chain of links from any of the gangs up to another one."""
        came_by: dict[GangKey, _Link | None] = dict.fromkeys(sorted(starts))
        ahead = [*came_by]
        for gang in ahead:
            for above, link in sorted(self._links.get(gang, {}).items()):
                if above not in came_by:
                    came_by[above] = link
                    ahead.append(above)
        path: list[_Link] = []
        while (last := came_by.get(end)) is not None:
            path.append(last)
            end = last.below
        return path or None
