"""When a gang starts: at its promised start, else once enough running gangs have ended.

Only declared ends count. Gangs with earlier turns are ignored, although they may take the freed
room.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import NONE, Queue, QueueSet, QueueState, QueueUsage
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn
from gang_scheduler.scheduler.explanation.findings import Moment, Start, StartBasis
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reservation.promise import FutureRoom, asks_for_devices
from gang_scheduler.scheduler.reservation.releases import Clock, Release, Running, Seat
from gang_scheduler.scheduler.turns.requests import FlavorAssignment, FlavorOption, Request

ANY_TIME: Final = 2**40
"""A time so far ahead that every declared end counts."""

MOST_PLACES: Final = 100
"""At most this many ends are tried one by one, if an earlier end may be enough."""


def start_of(turn: Turn, plan: Plan, running: BoundPods) -> Start | None:
    """Return when the group starts; None if it does not depend on the ends of gangs."""
    own = {gang.key for gang in turn.group.waiting}
    for each in plan.reservations:
        if any(gang.key in own for gang in each.gangs):
            return _start(StartBasis.RESERVED, each.start, each.after)
    request = _request(turn)
    return None if request is None else _after_ends(turn, request, running)


def releases_of(turn: Turn, running: BoundPods) -> list[Release]:
    """Return the room and quota that other gangs release, in the order of their expected ends."""
    clock = Clock(turn.snapshot.taken_at, ANY_TIME)
    nodes = turn.snapshot.nodes
    ending = tuple((claim, "") for claim in turn.snapshot.devices.ending)
    victims = [each for made in turn.preemptions for each in made.victims]
    own = {gang.key for gang in turn.group.gangs}
    found = (
        *Running(running, nodes, clock, ending).releases(victims),
        *_of_decided(turn, clock),
        *_of_nominated(turn.nominated, nodes, own),
    )
    others = (each for each in found if each.gang not in own)
    return sorted(others, key=attrgetter("key"))


def _request(turn: Turn) -> Request | None:
    """Return the request of the group; without queues, a request without quota."""
    if turn.forest is not None:
        return turn.request()
    units = turn.units()
    assignment = FlavorAssignment(FlavorOption({}, QueueSet()), {}, units)
    return Request(turn.group, Queue(NONE), units, (assignment,)) if units else None


def _after_ends(turn: Turn, request: Request, running: BoundPods) -> Start | None:
    """Return the start of the group once a running gang ends; None if it waits for no end."""
    releases = releases_of(turn, running)
    nothing = QueueState(QueueSet(), QueueUsage())
    forest = turn.forest or Forest(nothing, turn.snapshot.nodes)
    future_room = FutureRoom(
        *(turn.trial(), forest, turn.profile, releases),
        with_devices=asks_for_devices(turn.group),
    )

    def units_of(assignment: FlavorAssignment) -> Sequence[PlacementUnit]:
        found = assignment.option.units(assignment.units, turn.snapshot)
        return assignment.units if isinstance(found, Problem) else found

    def fits(place: int) -> bool:
        future_room.advance_to(place)
        return future_room.find(request, request.assignments, units_of) is not None

    if fits(0):
        return None  # It waits for something else than the ends of gangs.
    place = _by_halving(len(releases), fits)
    if _depends_on_others(request):
        place = next(filter(fits, _places(releases, place)), place)
    if place is None:
        return Start(StartBasis.NEVER)
    last = releases[place - 1]
    return _start(StartBasis.ENDS, last.ends_at, last.gang)


def _start(basis: StartBasis, at: int | None, after: GangKey | None) -> Start:
    moment = None if at is None else Moment(at)
    return Start(basis, moment, None if after is None else str(after))


def _by_halving(last: int, fits: Callable[[int], bool]) -> int | None:
    """Return the smallest number of ends after which the group fits, by bisection; None if none.

    `last` is the number of all ends. More ends never make a group unfit, unless members depend on
    other pods near them.
    """
    if not fits(last):
        return None
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _depends_on_others(request: Request) -> bool:
    """Return whether members require pods near them, which may end too early."""
    classes = (each for unit in request.units for each in unit.classes)
    return any(each.pod_affinity is not None for each in classes)


def _places(releases: Sequence[Release], known: int | None) -> Iterator[int]:
    """Yield the numbers of ends to try, below a known number; ends at the same time count as one.

    At most MOST_PLACES numbers are yielded.
    """
    most = len(releases) if known is None else known - 1
    moments = (
        place
        for place in range(1, most + 1)
        if place == len(releases)
        or releases[place - 1].ends_at is None
        or releases[place - 1].ends_at != releases[place].ends_at
    )
    return itertools.islice(moments, MOST_PLACES)


def _of_decided(turn: Turn, clock: Clock) -> Iterator[Release]:
    """Yield the releases of gangs that the cycle has already placed."""
    nodes, by_group = turn.snapshot.nodes, dict[GangKey, Release]()
    for unit, placement in turn.placements.items():
        if not placement.binds:
            continue
        group = turn.group_of(unit)
        key = group.gangs[0].key
        seats = tuple((bind.pod.pod_class, nodes.rows[bind.node]) for bind in placement.binds)
        before = by_group[key].seats if key in by_group else ()
        ends_at = _end_of(group, clock)
        by_group[key] = Release(nodes, key, ends_at, clock.now, (*before, *seats))
    yield from by_group.values()


def _end_of(group: GangGroup, clock: Clock) -> int | None:
    return clock.end_of(group) if group.waiting else None


def _of_nominated(
    nominated: Iterable[Nominated], nodes: NodeTable, own: set[GangKey]
) -> Iterator[Release]:
    """Yield the releases of gangs with reserved room. Their ends are not known."""
    seats: dict[GangKey, list[Seat]] = {}
    for each in nominated:
        if each.gang not in own:
            seat = (each.pod.pod_class, nodes.rows[each.pod.nominated])
            seats.setdefault(each.gang, []).append(seat)
    for key, some in seats.items():
        yield Release(nodes, key, None, 0, tuple(some), nominated=True)
