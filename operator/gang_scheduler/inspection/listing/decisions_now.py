"""The decisions of a cycle now, and the order of turns. Nothing is carried out.

Refusals are noted in the cache, as in `run`, because the figures of queues count waiting gangs by
them.
"""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gang_scheduler import queue_figures
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.model.causes.queues import QuotaShort
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.queues import NONE, FlavorResource, QueueFigures
from gang_scheduler.model.reasons import NOT_IN_LINE
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import Cycle, schedule
from gang_scheduler.scheduler.quota.forest import Forest


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The decisions of a cycle, by gang.

    Gangs in `starting` have room now. `starts` are promised starts, in seconds since the epoch.
    `order` has all waiting gangs in the order of turns, gangs without a turn last. `figures` are
    the figures of the queues. `ahead` is the part of a gang's missing quota that gangs with earlier
    turns take.
    """

    refused: Mapping[GangKey, Refused] = field(default_factory=dict)
    starting: frozenset[GangKey] = frozenset()
    starts: Mapping[GangKey, int] = field(default_factory=dict)
    order: tuple[GangKey, ...] = ()
    figures: tuple[QueueFigures, ...] = ()
    ahead: Mapping[GangKey, int] = field(default_factory=dict)


def decide(cluster: Cluster) -> Decisions:
    """Return the decisions of a cycle now; none if only texts of the scheduler are known."""
    if cluster.source is Source.WRITTEN:
        return Decisions()
    cache, now = cluster.cache, cluster.read_at
    snapshot, turns = cluster.snapshot(), _Turns()
    plan = schedule(snapshot, cluster.profile, turns.see, to_the_end=True)
    for placed in plan.placed:
        cache.decisions.has_room(placed.gang.key)
    for refused in plan.refused:
        cache.decisions.refused(refused, now)
    figures = queue_figures.figures_of(cache, cluster.policy.rules, now)
    return Decisions(
        refused={each.gang.key: each for each in plan.refused},
        starting=frozenset(each.gang.key for each in plan.placed),
        starts=_starts(plan),
        order=tuple(_order(_in_line(turns.taken, plan), snapshot.groups, figures)),
        figures=figures,
        ahead=dict(_ahead(plan.refused, snapshot, cluster)),
    )


def _ahead(
    refused: Iterable[Refused], snapshot: Snapshot, cluster: Cluster
) -> Iterator[tuple[GangKey, int]]:
    """Yield, for each gang that is short of quota, how much of it gangs with earlier turns take."""
    if snapshot.queues is None:
        return
    forest = Forest(snapshot.queues, snapshot.nodes)
    for each in refused:
        cause = each.cause
        if isinstance(cause, QuotaShort):
            ref = cluster.cache.queue_of(each.gang.key) or NONE
            left = forest.available(ref, FlavorResource(cause.flavor, cause.resource))
            if left > max(0, cause.available):
                yield each.gang.key, left - max(0, cause.available)


def _starts(plan: Plan) -> dict[GangKey, int]:
    promised = ((each.gangs, each.start) for each in plan.reservations)
    return {gang.key: start for gangs, start in promised if start is not None for gang in gangs}


class _Turns:
    """Records the order of turns in a cycle."""

    def __init__(self) -> None:
        self.taken: dict[GangKey, None] = {}

    def see(self, _: Cycle, group: GangGroup) -> None:
        """Record the turn of a group; a group may have several turns."""
        for gang in group.waiting:
            self.taken.setdefault(gang.key)


def _in_line(turns: Iterable[GangKey], plan: Plan) -> dict[GangKey, None]:
    """Return the gangs with turns, except gangs that no change of the cluster would help."""
    last = {each.gang.key for each in plan.refused if each.reason in NOT_IN_LINE}
    return dict.fromkeys(key for key in turns if key not in last)


def _order(
    turns: Collection[GangKey], groups: Sequence[GangGroup], figures: Iterable[QueueFigures]
) -> Iterator[GangKey]:
    """Yield gangs in the order of their turns, then the gangs without a turn, queue by queue.

    Gangs of a queue without a turn are ordered like its heads: by priority, then by age.
    """
    yield from turns
    waiting = [gang for group in groups for gang in group.waiting if gang.key not in turns]
    keys = {each.key: (-each.queue_priority, each.created_at, str(each.key)) for each in waiting}
    lines = [[key for key in each.pending if key in keys] for each in figures]
    in_line = {key for line in lines for key in line}
    lines += [[key] for key in keys if key not in in_line]
    heads = [(keys[line[0]], number, 0) for number, line in enumerate(lines) if line]
    heapq.heapify(heads)
    while heads:
        _, number, place = heapq.heappop(heads)
        yield lines[number][place]
        if place + 1 < len(lines[number]):
            following = lines[number][place + 1]
            heapq.heappush(heads, (keys[following], number, place + 1))
