"""Decides what a cluster read from manifests would see: the cycles of `run`, on a cache alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from gang_scheduler.cluster.backoff import LAST_RETRY_SECONDS
from gang_scheduler.cluster.cache import Cache
from gang_scheduler.cluster.topologies import DeclaredTopology
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Placed, Plan, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology import Topology
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.simulation import trees
from gang_scheduler.simulation.objects import Described, Loaded, Objects


@dataclass(frozen=True, slots=True)
class Options:
    """How to simulate. `until_settled`: cycles go on until one changes nothing."""

    schedulers: tuple[str, ...]
    strategy: str = "binpack"
    until_settled: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decisions of all cycles in their order, what waits in the end, and the cluster then.

    `asked` are the trees that gangs asked for.
    """

    placed: tuple[Placed, ...]
    refused: tuple[Refused, ...]
    cache: Cache
    asked: Mapping[GangKey, Topology] = field(default_factory=dict)


def simulate(objects: Objects, options: Options) -> Outcome:
    """Return what the scheduler decides. The same objects give the same outcome."""
    # 1. Take the cluster in, as the watches would.
    cache = Cache(options.schedulers, on_change=lambda: None)
    _fill(cache, objects.loaded)
    placed: list[Placed] = []
    waiting: dict[GangKey, Refused] = {}
    asked: dict[GangKey, Topology] = {}
    # Every backoff has ended by the next cycle, so that all that wait are tried in each.
    for now in count(objects.read_at, LAST_RETRY_SECONDS):
        # 2. Decide.
        snapshot = cache.snapshot(now)
        plan = schedule(snapshot, PROFILES[options.strategy])
        # 3. Apply.
        _apply(cache, plan, now)
        # 4. Note the decisions.
        placed += plan.placed
        _note(waiting, plan)
        asked |= trees.asked_for(snapshot)
        # 5. Go on for as long as something changed.
        if not options.until_settled or not plan.placed:
            break
    return Outcome(tuple(placed), tuple(waiting.values()), cache, asked)


def _fill(cache: Cache, loaded: Iterable[Loaded]) -> None:
    for each in loaded:
        match each:
            case Node():
                cache.node_seen(each)
            case DeclaredTopology():
                cache.topology_seen(each)
            case Pod():
                cache.pod_seen(each)
            case Described():
                cache.described(each.api_group, each.uid, each.declarations)
                cache.job_seen(each.uid, each.pods)


def _apply(cache: Cache, plan: Plan, now: int) -> None:
    for placed in plan.placed:
        cache.gangs.placed(placed.gang.key)
        for bind in placed.binds:
            cache.pod_seen(replace(bind.pod, node=bind.node))
    for refused in plan.refused:
        cache.gangs.refused(refused, now)
    for warned in plan.warned:
        cache.gangs.warned(warned)


def _note(waiting: dict[GangKey, Refused], plan: Plan) -> None:
    """Bring the reasons for waiting up to date; the latest decision comes last."""
    decided = [each.gang.key for each in plan.placed] + [each.gang.key for each in plan.refused]
    for key in decided:
        waiting.pop(key, None)
    waiting.update((refused.gang.key, refused) for refused in plan.refused)
