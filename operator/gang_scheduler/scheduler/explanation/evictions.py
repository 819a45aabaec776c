"""The evictions that make room for a gang, or the reasons why none are possible."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.bound_pods import ENDS_LATE, BoundPod, BoundPods, by_gang
from gang_scheduler.model.evictions import ProtectedBy
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan, Preemption, Refused
from gang_scheduler.model.queues import NONE, EvictionRules, Queue
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn
from gang_scheduler.scheduler.explanation.findings import (
    Evictions,
    Moment,
    Protection,
    QueueRights,
    Spared,
    Surroundings,
    Victims,
)
from gang_scheduler.scheduler.explanation.quotas import charge_of
from gang_scheduler.scheduler.quota.forest import Forest


def evictions_of(turn: Turn, plan: Plan, refused: Refused, surroundings: Surroundings) -> Evictions:
    """Return the evictions for a group that has no room, or the reasons why none are possible."""
    made, running = preemption_for(turn.group, plan), surroundings.running
    queue = turn.forest.queue(turn.group.queue or NONE) if turn.forest is not None else None
    rights = _rights(turn, turn.forest, queue, running) if turn.forest and queue else None
    evicting = surroundings.evicting
    outcome = refused.preemption
    return Evictions(
        verdict=outcome.verdict if outcome is not None else None,
        message=None,
        victims=victims_of(made, running) if made is not None else (),
        leaving=sum(1 for _ in _leaving(turn, plan, running)),
        awaited=_awaited(turn, plan, running),
        queue_forbids=queue is not None and not queue.evictions.may_evict,
        switched_off=not evicting,
        protection=_protection(turn, surroundings) if evicting else None,
        rights=rights if evicting else None,
    )


def _leaving(turn: Turn, plan: Plan, running: BoundPods) -> Iterator[BoundPod]:
    """Yield the pods that leave even without this group, such as victims of other gangs."""
    own = preemption_for(turn.group, plan)
    yield from running.leaving
    for each in plan.preemptions:
        if each is not own:
            yield from each.victims


def _awaited(turn: Turn, plan: Plan, running: BoundPods) -> tuple[str, ...]:
    """Return the pods that are leaving the nodes where the group will be."""
    made = preemption_for(turn.group, plan)
    nodes = {bind.node for bind in made.nominations} if made is not None else set()
    nodes |= {pod.nominated for gang in turn.group.waiting for pod in gang.pending if pod.nominated}
    leaving = (each.pod for each in _leaving(turn, plan, running))
    return tuple(sorted(pod.key for pod in leaving if pod.node in nodes))


def preemption_for(group: GangGroup, plan: Plan) -> Preemption | None:
    """Return the preemption of a plan for a group, if it has nominations."""
    own = {gang.key for gang in group.waiting}
    found = (each for each in plan.preemptions if any(gang.key in own for gang in each.gangs))
    return next((each for each in found if each.nominations), None)


def victims_of(made: Preemption, running: BoundPods) -> tuple[Victims, ...]:
    """Return the victims of a preemption, gang by gang."""
    return tuple(
        _victims_of_gang(key, pods, made, running) for key, pods in by_gang(made.victims).items()
    )


def _victims_of_gang(
    key: GangKey, pods: Iterable[BoundPod], made: Preemption, running: BoundPods
) -> Victims:
    some = sorted(pods, key=lambda each: each.pod.key)
    gang = running.gangs.get(key)
    since = gang.known.started_at if gang is not None else 0
    by_right_of = made.classes.get(key)
    return Victims(
        gang=str(key),
        pods=tuple(each.pod.key for each in some),
        number=len(some),
        nodes=tuple(sorted({each.pod.node for each in some})),
        priority=max(each.priority for each in some),
        since=Moment(since) if since else None,
        eviction_class=by_right_of.shown if by_right_of is not None else None,
    )


def _protection(turn: Turn, surroundings: Surroundings) -> Protection | None:
    """Return the protection of the running pods of other gangs; None if there are no such pods."""
    running = surroundings.running
    own = {gang.key for gang in turn.group.gangs}
    pods = [each for each in running.pods if not each.pod.pinned and each.gang not in own]
    if not pods:
        return None
    most = turn.group.priority - turn.profile.rules.preemption.min_priority_difference
    ranked = [each for each in pods if each.priority > most]
    nearest = min(ranked, key=lambda each: each.priority, default=None)
    protected = [each for each in pods if each.priority <= most and not each.evictable]
    covered = [
        each
        for each in pods
        if each.priority <= most and each.evictable and _is_spent(each, running)
    ]
    return Protection(
        pods=len(pods),
        ranked=len(ranked),
        lowest_of_ranked=nearest.priority if nearest is not None else 0,
        protected=len(protected),
        lower=len(pods) - len(ranked) - len(protected),
        nearest=nearest.pod.key if nearest is not None else None,
        spared_by=tuple(_spares(protected, surroundings)),
        under_budget=len(covered),
        of_budget=covered[0].pod.key if covered else None,
    )


def _is_spent(bound_pod: BoundPod, running: BoundPods) -> bool:
    """Return whether a PodDisruptionBudget of the pod allows no eviction."""
    budgets = (each for each in bound_pod.budgets if each != ENDS_LATE)
    return any(running.allowed.get(budget, 0) <= 0 for budget in budgets)


def _spares(protected: Iterable[BoundPod], surroundings: Surroundings) -> Iterator[Spared]:
    """Yield each protection with the number of its pods, most pods first."""
    known = surroundings.protected_by
    found = [(known.get(each.pod.uid, ProtectedBy.MIN_RUNTIME), each.pod.key) for each in protected]
    first = dict(reversed(found))
    for why, number in Counter(why for why, _ in found).most_common():
        yield Spared(why, number, first[why])


def _rights(turn: Turn, forest: Forest, queue: Queue, running: BoundPods) -> QueueRights:
    """Return which pods the group may evict by the policies and quotas of queues."""
    charge, rules = charge_of(turn, forest), queue.evictions
    own, own_lower, borrowing = 0, 0, 0
    over = {
        each.queue.ref
        for each in forest.figures()
        if any(key in charge and amounts.borrowed for key, amounts in each.amounts.items())
    }
    highest = _highest_within(turn.group, rules)
    for each in running.pods:
        charged = running.charged.get(each.pod.uid)
        if charged is not None and charged[0] == queue.ref:
            own += 1
            own_lower += each.evictable and each.priority <= highest
        elif charged is not None:
            borrowing += each.evictable and charged[0] in over
    goes_over = forest.borrows(queue.ref, charge)
    policy = rules.while_borrowing if goes_over else rules.reclaim
    reclaims = policy is not EvictionPolicy.NEVER
    return QueueRights(queue.ref.name, own, own_lower, borrowing, goes_over, reclaims)


def _highest_within(group: GangGroup, rules: EvictionRules) -> float:
    """Return the highest priority that the group may evict in its own queue."""
    if rules.within_queue is EvictionPolicy.NEVER:
        return -math.inf
    return math.inf if rules.within_queue is EvictionPolicy.ANY else group.priority - 1
