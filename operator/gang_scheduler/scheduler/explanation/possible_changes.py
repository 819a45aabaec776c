"""Changes that might start a group: one changed fact, a smaller request, or more quota."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundGang, BoundPod, BoundPods
from gang_scheduler.model.gangs import Gang, GangGroup, Role
from gang_scheduler.model.nodes import BoolArray, IntArray, Taint, Toleration
from gang_scheduler.model.plan import Obstacle, Oversized
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.queues import (
    NONE,
    FlavorResource,
    Product,
    Queue,
    QueueKind,
    QueueRef,
    Quota,
)
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import PODS
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn
from gang_scheduler.scheduler.explanation.findings import Amount, LessAsked, MoreQuota
from gang_scheduler.scheduler.explanation.quotas import QueueQuota
from gang_scheduler.scheduler.filters import taints
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.quota.trees import ROOTS

Labels = tuple[tuple[str, str], ...]

PROMISES: Final[Mapping[QueueKind, tuple[str, ...]]] = {
    QueueKind.CLUSTER_QUEUE: ("nominalQuota",),
    QueueKind.COHORT: ("nominalQuota",),
    QueueKind.VOLCANO_QUEUE: ("spec.deserved", "spec.capability"),
    QueueKind.QUEUE: ("spec.quota.soft", "spec.quota.hard"),
}
"""For each kind of queue: the field with its quota, then the field with its limit, if any."""


class Raised(NamedTuple):
    """More quota of a flavor and resource for a queue, and its quota now (`instead_of`).

    `limit` is the most that the queue may hold, None without a limit. It is raised with the quota.
    """

    queue: QueueRef
    key: FlavorResource
    promised: int
    instead_of: int
    limit: int | None

    def part(self) -> MoreQuota:
        """Return this quota as a part of the document."""
        flavor, resource = self.key
        promise, *limits = PROMISES[self.queue.kind]
        over = self.limit is not None and self.limit < self.promised
        return MoreQuota(
            kind=self.queue.kind,
            queue=self.queue.name,
            flavor=flavor,
            resource=resource,
            amount=Amount(resource, self.promised),
            instead_of=Amount(resource, self.instead_of),
            fields=(promise, *(limits if over else ())),
        )


def with_members(snapshot: Snapshot, group: GangGroup, key: GangKey, number: int) -> Snapshot:
    """Return the snapshot with another minMember for one gang of the group."""

    def fewer(gang: Gang) -> Gang:
        if gang.key != key:
            return gang
        roles = _fewer_of_roles(gang.roles, gang.min_member - number)
        return replace(gang, min_member=number, roles=roles)

    return _with_gangs(snapshot, group, fewer)


def _fewer_of_roles(roles: tuple[Role, ...], fewer: int) -> tuple[Role, ...]:
    """Return the roles, with this many members fewer in the role that needs most."""
    if not roles:
        return roles
    most = max(roles, key=lambda role: role.min_member)
    return tuple(
        each._replace(min_member=each.min_member - fewer) if each is most else each
        for each in roles
    )


def layers_of(group: GangGroup) -> tuple[LayerRef, ...]:
    """Return the layers whose domains must hold all members of the group or of a podset."""
    found = [*(group.topology_request.must if group.topology_request else ())]
    for pod in (pod for gang in group.waiting for pod in gang.pending):
        if pod.podset is not None:
            found += pod.podset.topology_request.must
    return tuple(dict.fromkeys(found))


def with_preferred(snapshot: Snapshot, group: GangGroup, layer: LayerRef) -> Snapshot:
    """Return the snapshot with the required layer as a preference only."""

    def member(pod: Pod) -> Pod:
        if pod.podset is None:
            return pod
        request = _softer(pod.podset.topology_request, layer)
        return replace(pod, podset=replace(pod.podset, topology_request=request))

    request = group.topology_request
    softer = _softer(request, layer) if request is not None else None
    changed = replace(group, topology_request=softer)
    shot = _with_group(snapshot, group, changed)
    return _with_gangs(shot, changed, lambda gang: _with_members(gang, member))


def _softer(request: TopologyRequest, layer: LayerRef) -> TopologyRequest:
    if layer not in request.must:
        return request
    must = tuple(each for each in request.must if each != layer)
    return replace(request, must=must, prefer=(layer, *request.prefer))


def with_priority(
    snapshot: Snapshot, group: GangGroup, priority: int, running: BoundPods
) -> Snapshot:
    """Return the snapshot in which the group has this priority, also for evictions.

    Members on nodes get it, too, because the priority of a gang is the lowest of its members.
    """

    def higher(gang: Gang) -> Gang:
        ranked = _with_members(gang, lambda pod: replace(pod, priority=priority))
        own = None if gang.class_priority is None else priority
        return replace(ranked, priority=priority, class_priority=own)

    shot = replace(snapshot, bound_pods=_ranked(snapshot.bound_pods or running, group, priority))
    return _with_gangs(shot, group, higher)


def _ranked(known: BoundPods, group: GangGroup, priority: int) -> BoundPods:
    """Return the bound pods, with this priority for the pods of the group."""
    own = {*group.keys}

    def ranked(pods: Iterable[BoundPod]) -> tuple[BoundPod, ...]:
        return tuple(
            replace(each, gangs_priority=priority) if each.gang in own else each for each in pods
        )

    def higher(gang: BoundGang) -> BoundGang:
        by_class = None if gang.known.class_priority is None else priority
        known_now = replace(gang.known, class_priority=by_class)
        return BoundGang(ranked(gang.pods), gang.charged, known_now)

    gangs = {key: higher(each) if key in own else each for key, each in known.gangs.items()}
    return replace(known, pods=ranked(known.pods), gangs=gangs)


def with_bound_pods(snapshot: Snapshot, bound_pods: BoundPods) -> Snapshot:
    """Return the snapshot with other pods on nodes."""
    return replace(snapshot, bound_pods=bound_pods)


def with_labels(snapshot: Snapshot, group: GangGroup, labels: Labels) -> Snapshot:
    """Return the snapshot in which the node selectors of members have these values."""
    chosen = dict(labels)

    def member(pod: Pod) -> Pod:
        selector = tuple((key, chosen.get(key, value)) for key, value in _selector(pod))
        return replace(pod, pod_class=replace(pod.pod_class, node_selector=selector))

    return _with_gangs(snapshot, group, lambda gang: _with_members(gang, member))


def without_labels(snapshot: Snapshot, group: GangGroup, labels: Labels) -> Snapshot:
    """Return the snapshot in which these labels are taken out of the node selectors of members."""

    def kept(asked: PodClass) -> PodClass:
        selector = tuple(pair for pair in asked.node_selector if pair not in labels)
        return replace(asked, node_selector=selector)

    return _with_classes(snapshot, group, kept)


def with_tolerations(snapshot: Snapshot, group: GangGroup, taints: Iterable[Taint]) -> Snapshot:
    """Return the snapshot in which members tolerate these taints."""
    more = tuple(Toleration(each.key, "Equal", each.value, each.effect) for each in taints)
    return _with_classes(
        snapshot, group, lambda asked: replace(asked, tolerations=(*asked.tolerations, *more))
    )


def with_requests(snapshot: Snapshot, group: GangGroup, most: Mapping[str, int]) -> Snapshot:
    """Return the snapshot in which each request of a member is at most the amount given for it."""

    def lower(asked: PodClass) -> PodClass:
        requests = tuple((name, min(n, most.get(name, n))) for name, n in asked.requests)
        return replace(asked, requests=requests)

    return _with_classes(snapshot, group, lower)


def _with_classes(
    snapshot: Snapshot, group: GangGroup, change: Callable[[PodClass], PodClass]
) -> Snapshot:
    def member(pod: Pod) -> Pod:
        return replace(pod, pod_class=change(pod.pod_class))

    return _with_gangs(snapshot, group, lambda gang: _with_members(gang, member))


def with_quota(snapshot: Snapshot, raised: Iterable[Raised]) -> Snapshot:
    """Return the snapshot in which queues have more quota.

    Their limits rise with it where needed.
    """
    if snapshot.queues is None:
        return snapshot
    declared = snapshot.queues.declared
    more: dict[QueueRef, list[Raised]] = defaultdict(list)
    for each in raised:
        more[each.queue].append(each)
    queues = tuple(_with_promise(each, more.get(each.ref, ())) for each in declared.queues)
    state = replace(snapshot.queues, declared=replace(declared, queues=queues))
    return replace(snapshot, queues=state)


def _with_promise(queue: Queue, raised: Iterable[Raised]) -> Queue:
    quotas = dict(queue.quotas)
    for each in raised:
        # A resource that a queue does not name has the default quota; what it may borrow stays the
        # same.
        quota = quotas.get(each.key) or queue.default_quota or Quota()
        limit = None if quota.limit is None else max(quota.limit, each.promised)
        quotas[each.key] = replace(
            quota,
            nominal=each.promised,
            total=queue.ref.product is not Product.KUEUE,
            implied=False,
            limit=limit,
        )
    return replace(queue, quotas=quotas) if quotas != queue.quotas else queue


def _selector(pod: Pod) -> Labels:
    return pod.pod_class.node_selector


def with_ended(snapshot: Snapshot, gang: GangKey, running: BoundPods) -> Snapshot:
    """Return the snapshot in which the pods of a gang are leaving."""
    known = snapshot.bound_pods or running
    going = tuple(each for each in known.pods if each.gang == gang)
    going = going or tuple(each for each in running.pods if each.gang == gang)
    staying = tuple(each for each in known.pods if each.gang != gang)
    gangs = {key: each for key, each in known.gangs.items() if key != gang}
    left = replace(known, pods=staying, leaving=(*known.leaving, *going), gangs=gangs)
    return replace(snapshot, bound_pods=left)


def _with_members(gang: Gang, change: Callable[[Pod], Pod]) -> Gang:
    return replace(gang, pending=tuple(change(pod) for pod in gang.pending))


def _with_gangs(snapshot: Snapshot, group: GangGroup, change: Callable[[Gang], Gang]) -> Snapshot:
    return _with_group(snapshot, group, replace(group, gangs=tuple(map(change, group.gangs))))


def _with_group(snapshot: Snapshot, group: GangGroup, changed: GangGroup) -> Snapshot:
    groups = tuple(changed if each is group else each for each in snapshot.groups)
    return replace(snapshot, groups=groups)


# Smaller requests of a group, and the quota that it would need. `variants` tries each of them in a
# cycle.

MOST_CLASSES: Final = 3
MOST_SETS: Final = 2
MOST_LABELS: Final = 3
LEAST_PART: Final = 2
"""If a member fits some nodes, no request below 1 / LEAST_PART of its request is proposed."""
MOST_ON_A_NODE: Final = 16
"""The room of a node is divided into at most this many parts."""


def raised(turn: Turn, lines: Sequence[QueueQuota], *, above: bool) -> tuple[Raised, ...]:
    """Return more quota that may be enough: for the queue, and if `above`, for its ancestors.

    Empty if no queue is short of quota.
    """
    forest = turn.forest
    if forest is None or not lines or lines[0].queue == NONE:
        return ()
    own = lines[0].queue
    found = [_raised(each, forest, 0) for each in lines if each.short and each.queue == own]
    if not above:
        return tuple(found)
    more = {each.key: each.promised - each.instead_of for each in found}
    return (
        *found,
        *(
            _raised(each, forest, more.get(each.key, 0))
            for each in lines
            if each.short and each.queue not in (own, *ROOTS.values())
        ),
    )


def _raised(line: QueueQuota, forest: Forest, below: int) -> Raised:
    """Return the quota that a queue needs; it grows at least as much as a queue below it."""
    promised = max(line.nominal + max(line.short, below), line.used + line.adds)
    quota = forest.queue(line.queue).quotas.get(line.key)
    limit = quota.limit if quota is not None else None
    return Raised(line.queue, line.key, promised, line.nominal, limit)


def lowered(turn: Turn, needed: int) -> Iterator[tuple[LessAsked, ...]]:
    """Yield the largest requests that might fit, so that `needed` members fit at once.

    If members request more of some resources than any node has, these requests are lowered
    together. Otherwise the request for each resource that is short is lowered on its own.
    """
    classes = _classes(turn)
    in_vain = _oversized_requests(classes, turn)
    if in_vain:
        if all(each.largest for each in in_vain):
            yield tuple(_less_asked(each.resource, each.largest, each.asked) for each in in_vain)
        return
    if len(classes) != 1:
        return
    trial = turn.trial()
    usable = _passing(classes[0], turn)
    for resource, asked in classes[0].requests:
        if resource == PODS or not asked:
            continue
        free = trial.free_of(resource)[usable]
        if int((free // asked).clip(min=0).sum()) >= needed:
            continue  # Another resource is short.
        most = _largest(free[free > 0], needed, asked)
        if most is not None and most * LEAST_PART >= asked:
            yield (_less_asked(resource, most, asked),)


def _less_asked(resource: str, most: int, asked: int) -> LessAsked:
    return LessAsked(resource, Amount(resource, most), Amount(resource, asked))


def _oversized_requests(classes: Sequence[PodClass], turn: Turn) -> tuple[Oversized, ...]:
    found = (diagnosis.oversized_of(each, turn.snapshot.nodes, turn.profile) for each in classes)
    by_name = {each.resource: each for each in chain.from_iterable(found)}
    return tuple(by_name.values())


def _largest(free: IntArray, needed: int, asked: int) -> int | None:
    """Return the largest request below `asked` with room for all members; None if there is none."""
    on_a_node = min(needed, MOST_ON_A_NODE)
    parts = np.unique((free[:, np.newaxis] // np.arange(1, on_a_node + 1)).ravel())
    for each in reversed(parts.tolist()):
        if 0 < each < asked and int((free // each).sum()) >= needed:
            return int(each)
    return None


def tolerated(turn: Turn) -> Iterator[tuple[Taint, ...]]:
    """Yield the taints that, apart from room, are the only obstacle on nodes; most nodes first.

    Then all of these taints together.
    """
    nodes = turn.snapshot.nodes
    codes, sets = nodes.taint_sets()
    counts: Counter[tuple[Taint, ...]] = Counter()
    for pod_class in _classes(turn):
        others = _passing(pod_class, turn, except_for=taints.obstacle)
        others &= ~taints.passes(pod_class, nodes)
        for code, number in zip(*np.unique(codes[others], return_counts=True), strict=True):
            lacks = tuple(taints.untolerated(pod_class, sets[code]))
            # No toleration of a broken node is proposed.
            if not any(each.key.startswith(taints.OF_STATES) for each in lacks):
                counts[lacks] += int(number)
    ranked = sorted(counts, key=lambda each: (-counts[each], [*map(_name, each)]))
    yield from ranked[:MOST_SETS]
    if len(ranked) > 1:
        yield tuple(dict.fromkeys(chain.from_iterable(ranked)))


def _name(taint: Taint) -> tuple[str, str, str]:
    return taint.key, taint.value, taint.effect


def selectors(turn: Turn) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield each label of the node selectors that some node lacks; then all of these together."""
    nodes = turn.snapshot.nodes
    found = dict.fromkeys(pair for each in _classes(turn) for pair in each.node_selector)
    pairs = [(key, value) for key, value in found if not nodes.label(key).matches([value]).all()]
    for pair in pairs[:MOST_LABELS]:
        yield (pair,)
    if len(pairs) > 1:
        yield tuple(pairs)


def _classes(turn: Turn) -> list[PodClass]:
    pods = (pod for unit in turn.units() for pod in unit.members)
    return list(dict.fromkeys(pod.pod_class for pod in pods))[:MOST_CLASSES]


def _passing(pod_class: PodClass, turn: Turn, except_for: Obstacle | None = None) -> BoolArray:
    """Return the nodes that pass all node filters except one."""
    nodes = turn.snapshot.nodes
    passing = np.ones(len(nodes), dtype=np.bool_)
    for each in turn.profile.node_filters:
        if each.obstacle != except_for:
            passing &= each.passes(pod_class, nodes)
    return passing
