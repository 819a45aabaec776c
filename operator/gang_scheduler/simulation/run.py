"""Runs the cycles of `run` on a cache that is filled from manifests; at the end, why pods wait."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gang_scheduler import from_settings, queue_figures
from gang_scheduler.api.annotations import OF_BINDINGS
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.plan import take_in
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed, Plan, Preemption, Refused, Reservation
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.queues import QueueFigures
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.suspended import Admission, Suspension
from gang_scheduler.model.topology import Topology
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.placement import placement_units
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.objects import Objects, filled
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import retries
from gang_scheduler.state.gangs.gang_info import ROUNDS_SECONDS
from gang_scheduler.state.gangs.retries import LAST_RETRY_SECONDS

MOST_CYCLES: Final = 1000
"""The simulation gives up after this many cycles."""
MOST_IDLE: Final = 50
"""A search for victims may continue for at most this many cycles in a row that change nothing."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to simulate.

    `until_settled`: cycles continue until one changes nothing. `recreate_victims`: victims come
    back as pending pods, with their old age.
    """

    policy: Policy = field(default_factory=Policy)
    until_settled: bool = False
    recreate_victims: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decisions of all cycles in order, the gangs that still wait, and the final cluster.

    `nominated` are the nominations still in force at the end. `refused` are the gangs with waiting
    members and no nomination. `asked` are the trees of topology requests. `queues` are the final
    figures, and `reservations` the final reservations; none without queues. `evictions` are how
    often each gang was evicted, None if victims do not come back. Not `settled`: another cycle
    would still have changed something.
    """

    placed: tuple[Placed, ...]
    preemptions: tuple[Preemption, ...]
    nominated: tuple[tuple[GangKey, Bind], ...]
    refused: tuple[Refused, ...]
    cache: Cache
    asked: Mapping[GangKey, Topology] = field(default_factory=dict)
    queues: tuple[QueueFigures, ...] = ()
    evictions: Mapping[GangKey, int] | None = None
    settled: bool = True
    reservations: tuple[Reservation, ...] = ()
    admissions: tuple[Admission, ...] = ()


class AtOnce:
    """Carries out plans immediately: pods get their nodes, and preemptions are recorded.

    `now` is the time, in seconds.
    """

    def __init__(self, cache: Cache, naming: Naming) -> None:
        self.now = 0
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

    def admit(self, _: Admission) -> None:
        """Do nothing: no controller creates the pods of a started workload."""

    def suspend(self, _: Suspension) -> None:
        """Do nothing: time does not pass."""

    def preempt(self, preemption: Preemption) -> None:
        """Record the preemptor with the gangs of the victims, and the evictions."""
        self._cache.evictions.note(preemption, self.now)
        for victim in preemption.victims:
            by = self._naming.preemptor(preemption, victim.gang.namespace)
            self._cache.decisions.preempted(victim.gang, by)


def simulate(objects: Objects, options: Options) -> Outcome:
    """Return the outcome. The same objects give the same outcome."""
    # 1. Read the cluster, as the watches would.
    cache = filled(objects, options.policy)
    placed: list[Placed] = []
    preemptions: list[Preemption] = []
    admissions: list[Admission] = []
    profile, naming = from_settings.profile(options.policy), from_settings.naming(options.policy)
    lost_nominations, writers = LostNominations(cache, naming), AtOnce(cache, naming)
    waiting = Waiting(cache)
    asked: dict[GangKey, Topology] = {}
    settled = False
    unsearched: frozenset[GangKey] = frozenset()
    now, idle = objects.read_at, 0
    for _ in range(MOST_CYCLES):
        writers.now = now
        # 2. Decide.
        snapshot = cache.snapshot(now)
        plan = schedule(snapshot, profile, to_the_end=True)
        # 3. Apply.
        taken = take_in(cache, plan, now, lost_nominations=lost_nominations, writers=writers)
        # 4. Record the decisions.
        placed += plan.placed
        admissions += taken.admissions
        preemptions += plan.preemptions
        waiting.note(plan)
        asked |= asked_for(snapshot)
        # 5. Continue while something changes.
        if not options.until_settled:
            break
        passed = let_pass(cache, plan, recreate=options.recreate_victims)
        unsearched = unsearched.difference(_tried(snapshot)) | plan.unsearched
        changed = bool(passed or plan.placed or taken.lost)
        idle = 0 if changed else idle + 1
        if not changed and (idle > MOST_IDLE or not (unsearched or _held_until(cache))):
            settled = True
            break
        now = next_moment(cache, now, options, changed=changed)
    return Outcome(
        placed=tuple(placed),
        preemptions=tuple(preemptions),
        nominated=waiting.nominated(),
        refused=waiting.refused(),
        cache=cache,
        asked=asked,
        queues=queue_figures.figures_of(cache, options.policy.rules, now, _victims(preemptions)),
        evictions=_evictions(preemptions) if options.recreate_victims else None,
        settled=settled or not options.until_settled,
        reservations=cache.gang_queue.reservations.standing(),
        admissions=tuple(admissions),
    )


def asked_for(snapshot: Snapshot) -> dict[GangKey, Topology]:
    """Return the tree that each gang with a topology request is placed in."""
    asked: dict[GangKey, Topology] = {}
    for group in snapshot.groups:
        found = placement_units.units_of(group, snapshot)
        for unit in () if isinstance(found, Problem) else found:
            if unit.scope is not None:
                asked |= {gang.key: unit.scope.tree for gang in unit.gangs}
    return asked


def next_moment(cache: Cache, now: int, options: Options, *, changed: bool) -> int:
    """Return the time of the next cycle, in seconds since the epoch.

    By then every backoff has ended, so every waiting gang is tried. If victims come back, a gang
    may also preempt in every cycle. If nothing has changed, only some gangs are tried again: gangs
    whose search for victims was cut off, and gangs that get room once another gang gives it up.
    """
    if not changed and (retry := cache.next_retry()) is not None:
        return max(retry, now + 1, _held_until(cache) or 0)
    return now + (ROUNDS_SECONDS if options.recreate_victims else LAST_RETRY_SECONDS)


def _held_until(cache: Cache) -> int | None:
    """Return when the first gang gives up the nominated room of its missing members, in seconds.

    The members are never created here, so other gangs get the room in the end. None if no gang
    keeps such room.
    """
    moments = (info.preemptor.held_until for info in cache.gang_queue.infos.values())
    return min((each for each in moments if each is not None), default=None)


def _tried(snapshot: Snapshot) -> set[GangKey]:
    return {gang.key for group in snapshot.groups for gang in group.waiting}


def _evictions(preemptions: Iterable[Preemption]) -> dict[GangKey, int]:
    """Return how often each gang was evicted or lost members."""
    return Counter(key for made in preemptions for key in {each.gang for each in made.victims})


def _victims(preemptions: Iterable[Preemption]) -> dict[str, GangKey]:
    """Return the gang of each evicted pod, by the pod's uid."""
    return {each.pod.uid: each.gang for made in preemptions for each in made.victims}


def let_pass(cache: Cache, plan: Plan, *, recreate: bool) -> bool:
    """Delete the victims, and the pods that were leaving before; return whether there were any.

    With `recreate`, the controllers of the victims create these again.
    """
    leaving = {pod.uid for pod in cache.pods() if pod.deleting and pod.node}
    victims = [each.pod for made in plan.preemptions for each in made.victims]
    leaving.update(pod.uid for pod in victims)
    for uid in leaving:
        cache.delete_pod(uid)
    for pod in victims if recreate else ():
        cache.upsert_pod(_recreated(pod))
    return bool(leaving)


def _recreated(pod: Pod) -> Pod:
    """Return the pod that replaces an evicted pod, with the same age."""
    return replace(
        pod,
        uid=f"{pod.uid}+",
        node="",
        assumed=False,
        phase=PodPhase.PENDING,
        nominated="",
        marked_as_victim=False,
        charged_to=None,
        unscheduled=None,
        scheduled_at=0,
        started_at=0,
        annotations={key: text for key, text in pod.annotations.items() if key not in OF_BINDINGS},
    )


# The pods that wait in the end, and why. Every waiting pod is reported once.


class Waiting:
    """The gangs that wait after the cycles up to now, and the nominations of their members."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._refused: dict[GangKey, Refused] = {}
        self._nominated: dict[str, tuple[GangKey, Bind]] = {}

    def note(self, plan: Plan) -> None:
        """Record the refusals and nominations of a plan; the gangs decided last come last."""
        decided = [each.gang.key for each in plan.placed] + [each.gang.key for each in plan.refused]
        for key in decided:
            self._refused.pop(key, None)
        self._refused.update((refused.gang.key, refused) for refused in plan.refused)
        for made in plan.preemptions:
            gang_of = {pod.uid: gang.key for gang in made.gangs for pod in gang.pending}
            for bind in made.nominations:
                self._nominated.pop(bind.pod.uid, None)
                self._nominated[bind.pod.uid] = (gang_of[bind.pod.uid], bind)

    def nominated(self) -> tuple[tuple[GangKey, Bind], ...]:
        """Return the nominations that are still in force."""
        now = {uid: self._cache.pod(uid) for uid in self._nominated}
        return tuple(
            (key, bind)
            for uid, (key, bind) in self._nominated.items()
            if (pod := now[uid]) is not None and not pod.node and pod.nominated == bind.node
        )

    def refused(self) -> tuple[Refused, ...]:
        """Return why members without a nomination wait, gang by gang."""
        nominees = {bind.pod.uid for _, bind in self.nominated()}
        keys = dict.fromkeys((*self._refused, *self._cache.gang_queue.infos))
        return tuple(each for key in keys for each in self._refusal(key, nominees))

    def _refusal(self, key: GangKey, nominees: set[str]) -> Iterator[Refused]:
        info, refused = self._cache.gang_queue.infos.get(key), self._refused.get(key)
        if info is None or info.awaits_pods:
            return
        gang = info.as_gang(self._cache.schedulers)
        waiting = tuple(pod for pod in gang.pending if pod.uid not in nominees)
        if not waiting:
            return
        if refused is None:
            yield retries.untried(gang, waiting)
        elif len(waiting) < len(gang.pending):
            # The quorum is nominated, so waiting members without a nomination are surplus.
            yield replace(refused, pods=waiting, left_over=True)
        else:
            yield from _beside_the_limit(gang, refused, waiting)


def _beside_the_limit(gang: Gang, refused: Refused, waiting: tuple[Pod, ...]) -> Iterator[Refused]:
    """Yield why the `waiting` members of a gang wait.

    Members above the maximum of an elastic gang do not wait for room, and get a reason of their
    own.
    """
    spoken_of = {pod.uid for pod in refused.pods}
    others = tuple(pod for pod in waiting if pod.uid not in spoken_of)
    beyond = retries.untried(gang, others) if refused.left_over and others else None
    if beyond is not None and beyond.reason is Reason.ELASTIC_LIMIT:
        yield beyond
        waiting = tuple(pod for pod in waiting if pod.uid in spoken_of)
    yield replace(refused, pods=waiting)
