"""Runs the cycles of `run` on a cache that is filled from manifests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from gang_scheduler import policy, queue_figures
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.plan import take_in
from gang_scheduler.model.network.topology import Topology
from gang_scheduler.model.plan import Bind, Placed, Plan, Preemption, Refused
from gang_scheduler.model.queues import QueueFigures
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.settings import Policy
from gang_scheduler.simulation.objects import Objects
from gang_scheduler.simulation.output import trees
from gang_scheduler.simulation.output.waiting import Waiting
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.backoff import LAST_RETRY_SECONDS


@dataclass(frozen=True, slots=True)
class Options:
    """How to simulate. `until_settled`: cycles go on until a cycle changes nothing."""

    policy: Policy = field(default_factory=Policy)
    until_settled: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decisions of all cycles in their order, what waits in the end, and the cluster then.

    `nominated` are the decided nominations that still stand in the end. `refused` are the gangs
    with members that wait without a nomination. `asked` are the trees of topology requests.
    `queues` are the figures in the end; empty without queues.
    """

    placed: tuple[Placed, ...]
    preemptions: tuple[Preemption, ...]
    nominated: tuple[tuple[GangKey, Bind], ...]
    refused: tuple[Refused, ...]
    cache: Cache
    asked: Mapping[GangKey, Topology] = field(default_factory=dict)
    queues: tuple[QueueFigures, ...] = ()


class _AtOnce:
    """Carries plans out at once: pods are on their nodes, and victims are noted."""

    def __init__(self, cache: Cache, naming: Naming) -> None:
        self._cache = cache
        self._naming = naming

    def stop_preempting(self, uids: Iterable[str]) -> None:
        """Do nothing: no preemption is under way between cycles."""

    def bind(self, together: Sequence[Placed]) -> None:
        """Confirm the bindings."""
        for bind in (bind for placed in together for bind in placed.binds):
            self._cache.upsert_pod(replace(bind.pod, node=bind.node))

    def is_preempting(self, _: Preemption) -> bool:
        """Return False: no preemption is under way between cycles."""
        return False

    def preempt(self, preemption: Preemption) -> None:
        """Note the preemptor with the gangs of the victims."""
        for victim in preemption.victims:
            by = self._naming.preemptor(preemption, victim.gang.namespace)
            self._cache.gang_queue.preempted(victim.gang, by)


def simulate(objects: Objects, options: Options) -> Outcome:
    """Return what the scheduler decides. The same objects give the same outcome."""
    # 1. Take the cluster in, as the watches would.
    cache = policy.cache(options.policy, Changes())
    cache.gang_queue.expect_nothing()
    for each in objects.loaded:
        cache.upsert(kinds.of(each.gvr).store(cache), each.noun)
    groups = {each.gvr.group for each in objects.loaded}
    for product, named in kinds.QUEUES_NAMED.items():
        cache.serve_queues(product, served=named.group in groups)
    placed: list[Placed] = []
    preemptions: list[Preemption] = []
    profile, naming = policy.profile(options.policy), policy.naming(options.policy)
    lost_nominations, writers = LostNominations(cache, naming), _AtOnce(cache, naming)
    waiting = Waiting(cache)
    asked: dict[GangKey, Topology] = {}
    # Every backoff has ended by the next cycle, so every waiting gang is tried in every cycle.
    for now in count(objects.read_at, LAST_RETRY_SECONDS):
        # 2. Decide.
        snapshot = cache.snapshot(now)
        plan = schedule(snapshot, profile)
        # 3. Apply.
        lost = take_in(cache, plan, now, lost_nominations=lost_nominations, writers=writers).lost
        # 4. Note the decisions.
        placed += plan.placed
        preemptions += plan.preemptions
        waiting.note(plan)
        asked |= trees.asked_for(snapshot)
        # 5. Go on for as long as something changed.
        if not options.until_settled or not (_pass(cache, plan) or plan.placed or lost):
            break
    return Outcome(
        placed=tuple(placed),
        preemptions=tuple(preemptions),
        nominated=waiting.nominated(),
        refused=waiting.refused(),
        cache=cache,
        asked=asked,
        queues=queue_figures.figures_of(cache, profile.queues, now, _victims(preemptions)),
    )


def _victims(preemptions: Iterable[Preemption]) -> dict[str, GangKey]:
    """Return the gangs of all pods that were evicted, by the pods' uids."""
    return {each.pod.uid: each.gang for made in preemptions for each in made.victims}


def _pass(cache: Cache, plan: Plan) -> bool:
    """Delete victims and pods that are leaving already; return whether there were any."""
    leaving = {pod.uid for pod in cache.pods() if pod.deleting and pod.node}
    leaving.update(each.pod.uid for made in plan.preemptions for each in made.victims)
    for uid in leaving:
        cache.delete_pod(uid)
    return bool(leaving)
