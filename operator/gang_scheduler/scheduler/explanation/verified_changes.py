"""Single changes with which a gang would start now. Each is verified by a whole cycle.

The cycle decides all gangs again on the changed snapshot, so a suggested change really works.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from msgspec import structs

from gang_scheduler.model import consequences, topology
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import NONE, FlavorResource, QueueRef
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology import Topology
from gang_scheduler.model.topology_request import LayerRef
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.explanation import possible_changes
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn, Watched
from gang_scheduler.scheduler.explanation.evictions import preemption_for, victims_of
from gang_scheduler.scheduler.explanation.findings import (
    Change,
    Moment,
    Room,
    Surroundings,
    Variant,
)
from gang_scheduler.scheduler.explanation.quotas import QueueQuota, quota_of
from gang_scheduler.scheduler.explanation.start_time import releases_of
from gang_scheduler.scheduler.policies import Profile

MOST: Final = 6
"""At most this many variants are reported."""
MOST_NUMBERS: Final = 6
"""At most this many numbers of members or priorities are tried."""
MOST_FLAVORS: Final = 4
MOST_RAISES: Final = 4
"""How often quota is raised again, because gangs with earlier turns take some of it."""
DOMAINS_NAMED: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The waiting group, the snapshot, and the room and quota of the group at its turn."""

    snapshot: Snapshot
    profile: Profile
    group: GangGroup
    turn: Turn
    room: Room | None
    quota: tuple[QueueQuota, ...]
    surroundings: Surroundings


def variants_of(asked: Asked) -> tuple[Variant, ...]:
    """Return the variants with which the group starts now. Costs a cycle for each attempt."""
    found: list[Variant] = []
    for look in LOOKS:
        for each in look(asked):
            found.append(each)
            if len(found) == MOST:
                return tuple(found)
    return tuple(found)


# The changes, each of them tried.


def _more_quota(asked: Asked) -> Iterator[Variant]:
    """Yield the quota with which the group starts; nothing if it lacks something else as well."""
    yield from _first(_with_quota(asked, above=each) for each in (False, True))


def _with_quota(asked: Asked, *, above: bool) -> Variant | None:
    """Return the quota with which the group starts: it is raised until it is enough.

    More quota also starts gangs with earlier turns, which take some of it.
    """
    turn, lines = asked.turn, asked.quota
    all_raised: dict[tuple[QueueRef, FlavorResource], possible_changes.Raised] = {}
    for _ in range(MOST_RAISES):
        more = possible_changes.raised(turn, lines, above=above)
        if not more:
            break
        for each in more:
            known = all_raised.setdefault((each.queue, each.key), each)
            all_raised[each.queue, each.key] = known._replace(promised=each.promised)
        raised = tuple(all_raised.values())
        shot = possible_changes.with_quota(asked.snapshot, raised)
        watched = Watched(shot, asked.profile, asked.group.gangs[0].key)
        quotas = tuple(each.part() for each in raised)
        variant = Variant(
            change=Change.MORE_QUOTA, quotas=quotas, by=consequences.Fixer.QUEUE_ADMIN
        )
        found = _in_plan(asked, watched.plan, variant)
        if found is not None or watched.turn is None:
            return found
        turn, lines = watched.turn, quota_of(watched.turn)
    return None


def _less(asked: Asked) -> Iterator[Variant]:
    """Yield the largest requests with which members fit."""
    needed = asked.room.where.needed if asked.room is not None else 1
    return _first(
        _in_free_room(
            asked,
            possible_changes.with_requests(
                asked.snapshot, asked.group, {each.resource: int(each.amount) for each in lowered}
            ),
            Variant(change=Change.LESS_ASKED, requests=lowered, by=consequences.Fixer.SUBMITTER),
        )
        for lowered in possible_changes.lowered(asked.turn, needed)
    )


def _tolerated(asked: Asked) -> Iterator[Variant]:
    """Yield the taints to tolerate."""
    return _first(
        _in_free_room(
            asked,
            possible_changes.with_tolerations(asked.snapshot, asked.group, each),
            Variant(
                change=Change.TAINTS_TOLERATED,
                taints=tuple(map(str, each)),
                by=consequences.Fixer.SUBMITTER,
            ),
        )
        for each in possible_changes.tolerated(asked.turn)
    )


def _unselected(asked: Asked) -> Iterator[Variant]:
    """Yield the labels to take out of the node selector."""
    return _first(
        _in_free_room(
            asked,
            possible_changes.without_labels(asked.snapshot, asked.group, each),
            Variant(
                change=Change.SELECTOR_REMOVED, labels=dict(each), by=consequences.Fixer.SUBMITTER
            ),
        )
        for each in possible_changes.selectors(asked.turn)
    )


def _fewer(asked: Asked) -> Iterator[Variant]:
    """Yield the largest minMember with which the largest gang of the unit without room starts."""
    gang = _largest(asked)
    least, most = gang.bound + 1, gang.min_member - 1
    if gang.placed_singly or least > most:
        return

    def start(number: int) -> Variant | None:
        shot = possible_changes.with_members(asked.snapshot, asked.group, gang.key, number)
        made = Variant(
            change=Change.FEWER_MEMBERS,
            number=number,
            of=gang.min_member,
            gang=str(gang.key),
            by=consequences.Fixer.SUBMITTER,
        )
        return _started(asked, shot, made)

    likely = most
    if asked.room is not None and len(asked.group.waiting) == 1:
        where = asked.room.where
        slots = max((each.slots for each in where.explained), default=0)
        likely = min(most, gang.min_member - where.needed + slots)
    found = _largest_that(start, least, most, likely)
    if found is not None:
        yield found


def _largest(asked: Asked) -> Gang:
    keys = asked.room.gangs if asked.room is not None else ()
    concerned = [gang for gang in asked.group.waiting if gang.key in keys]
    return max(concerned or asked.group.waiting, key=lambda gang: gang.min_member)


def _softer(asked: Asked) -> Iterator[Variant]:
    """Yield each required layer with which the group starts if the layer is only preferred."""
    for layer in possible_changes.layers_of(asked.group):
        shot = possible_changes.with_preferred(asked.snapshot, asked.group, layer)
        made = Variant(
            change=Change.SOFTER_LAYER, layer=layer.name, by=consequences.Fixer.SUBMITTER
        )
        found = _started(asked, shot, made, layer)
        if found is not None:
            yield found


def _higher(asked: Asked) -> Iterator[Variant]:
    """Yield the lowest priority with which the group may evict enough."""
    running = asked.surroundings.running
    least = asked.profile.rules.preemption.min_priority_difference
    own = {gang.key for gang in asked.group.gangs}
    others = (each for each in running.pods if each.evictable and each.gang not in own)
    some = {each.priority + least for each in others}
    candidates = sorted(each for each in some if each > asked.group.priority)

    def start(number: int) -> Variant | None:
        priority = candidates[-1 - number]
        shot = possible_changes.with_priority(asked.snapshot, asked.group, priority, running)
        made = Variant(
            change=Change.HIGHER_PRIORITY, number=priority, by=consequences.Fixer.SUBMITTER
        )
        return _started(asked, shot, made)

    # The search maximises a number: the more candidates it leaves out, the lower the priority.
    if candidates:
        last = len(candidates) - 1
        found = start(0)
        lower = _largest_that(start, 1, last, last) if found is not None and last else None
        if found is not None:
            yield lower or found


def _rested(asked: Asked) -> Iterator[Variant]:
    """Yield the start that becomes possible once all minimum run times are over."""
    if asked.surroundings.rested is not None:
        shot = possible_changes.with_bound_pods(asked.snapshot, asked.surroundings.rested)
        found = _started(asked, shot, Variant(change=Change.RUN_TIMES_OVER, by=None))
        if found is not None:
            yield found


def _other_flavor(asked: Asked) -> Iterator[Variant]:
    """Yield the flavors with which the group starts, other than the one that members select."""
    forest, state = asked.turn.forest, asked.turn.snapshot.queues
    if forest is None or state is None:
        return
    queue = forest.queue(asked.group.queue or NONE)
    names = {name for each in queue.resource_groups for name in each.flavors}
    known = [
        each
        for each in state.declared.flavors
        if each.name in names and each.product is queue.ref.product
    ]
    selected = {pair for gang in asked.group.waiting for pair in _flavor_labels_of(gang)}
    for flavor in known[:MOST_FLAVORS]:
        labels = flavor.node_labels
        keys = {key for key, _ in labels}
        if not (selected & set(labels)) and any(key in keys for key, _ in selected):
            shot = possible_changes.with_labels(asked.snapshot, asked.group, labels)
            made = Variant(
                change=Change.OTHER_FLAVOR, labels=dict(labels), by=consequences.Fixer.SUBMITTER
            )
            found = _started(asked, shot, made)
            if found is not None:
                yield found


def _flavor_labels_of(gang: Gang) -> Iterator[tuple[str, str]]:
    for pod in gang.pending:
        yield from pod.pod_class.node_selector


def _next_end(asked: Asked) -> Iterator[Variant]:
    """Yield the start after the next declared end of a gang."""
    running = asked.surroundings.running
    now = asked.snapshot.taken_at
    known = (each for each in releases_of(asked.turn, running) if each.ends_at is not None)
    following = next((each for each in known if each.gang in running.gangs), None)
    if following is None or following.gang is None or following.ends_at is None:
        return
    shot = possible_changes.with_ended(asked.snapshot, following.gang, running)
    end = Variant(
        change=Change.NEXT_END,
        after=str(following.gang),
        at=Moment(max(following.ends_at, now)),
        by=None,
    )
    found = _started(asked, shot, end)
    if found is not None and not found.victims:
        yield found


LOOKS: Final = (
    *(_more_quota, _fewer, _softer, _tolerated, _unselected, _less),
    *(_higher, _rested, _other_flavor, _next_end),
)
"""The searches for variants, in this order."""


# Whether the group starts with a change.


def _largest_that(
    start: Callable[[int], Variant | None], least: int, most: int, likely: int
) -> Variant | None:
    """Return the variant with the largest number from `least` to `most` that starts the group.

    `likely` is tried first, and at most MOST_NUMBERS numbers in all.
    """
    found = None
    number = max(least, likely)
    for _ in range(MOST_NUMBERS):
        if number < least or number > most:
            break
        made = start(number)
        found, least = (made, number + 1) if made is not None else (found, least)
        most = most if made is not None else number - 1
        number = number + 1 if made is not None else (least + most) // 2
    return found


def _started(
    asked: Asked, snapshot: Snapshot, variant: Variant, layer: LayerRef | None = None
) -> Variant | None:
    """Return the variant with the nodes where the group starts; None if it does not start."""
    plan = schedule(snapshot, asked.profile, to_the_end=True)
    return _in_plan(asked, plan, variant, layer)


def _in_plan(
    asked: Asked, plan: Plan, variant: Variant, layer: LayerRef | None = None
) -> Variant | None:
    """Return the variant with the nodes of a plan where the group starts; None without a start."""
    running = asked.surroundings.running
    nodes = _nodes_of(asked.group, plan)
    made = preemption_for(asked.group, plan)
    victims = victims_of(made, running) if made is not None else ()
    if not nodes:
        return None
    domains = _domains_of(asked, nodes, layer)
    return structs.replace(variant, nodes=nodes, domains=domains, victims=victims)


def _in_free_room(asked: Asked, snapshot: Snapshot, variant: Variant) -> Variant | None:
    """Return the variant as `_started` does; None also if pods would have to be evicted."""
    found = _started(asked, snapshot, variant)
    return found if found is not None and not found.victims else None


def _first(tried: Iterable[Variant | None]) -> Iterator[Variant]:
    """Yield the first variant that starts the group; later ones are not tried."""
    return islice(filter(None, tried), 1)


def _nodes_of(group: GangGroup, plan: Plan) -> tuple[str, ...]:
    """Return the nodes of a group that starts in a plan, or for which room is made."""
    keys = {gang.key for gang in group.waiting}
    placed = [each for each in plan.placed if each.gang.key in keys]
    made = preemption_for(group, plan)
    if {each.gang.key for each in placed} != keys and made is None:
        return ()
    binds = [bind for each in placed for bind in each.binds]
    binds += made.nominations if made is not None else ()
    return tuple(dict.fromkeys(bind.node for bind in binds))


def _domains_of(asked: Asked, nodes: Sequence[str], layer: LayerRef | None) -> tuple[str, ...]:
    """Return the lowest domain with all nodes; for a layer, its domains with some of them."""
    tree = _tree_of(asked)
    if tree is None:
        return ()
    rows = [tree.nodes.rows[name] for name in nodes]
    depth = tree.depth_of(layer) if layer is not None else None
    if depth is None:
        lowest = tree.lowest_of(rows)
        return () if lowest is None else (str(lowest),)
    level = tree.levels[depth]
    places = tree.places[rows]
    some = dict.fromkeys(level.at(places[places >= 0]).tolist())
    return tuple(str(tree.domain(depth, place)) for place in list(some)[:DOMAINS_NAMED])


def _tree_of(asked: Asked) -> Topology | None:
    """Return the tree that the group asks for, else the first tree; None without trees."""
    scopes = [unit.scope for unit in asked.turn.units() if unit.scope is not None]
    if scopes:
        return scopes[0].tree
    specs = asked.snapshot.tree_specs
    return topology.build(specs[0], asked.snapshot.nodes) if specs else None
