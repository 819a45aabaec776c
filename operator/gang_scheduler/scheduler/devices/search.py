"""Finds devices for claims on one node: those that kube-scheduler's allocator would choose.

Claims in order, requests in order, devices in the order of pools, depth first, combinations within
a request: the first full solution. Tries that cannot change the result are left out: among devices
that the claims cannot tell apart, one is tried, and a state in which a search failed is not
searched again.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from gang_scheduler.model.devices import MOST_RESULTS, Claim, DeviceClass, Mode, NodeView
from gang_scheduler.scheduler.devices import allocating
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.candidates import Candidates
from gang_scheduler.scheduler.devices.claim_requests import (
    Choice,
    ClaimError,
    ClaimRequest,
    ClaimRequests,
    refuse_what_does_not_compile,
    requests_of,
)
from gang_scheduler.scheduler.devices.outcomes import (
    Budget,
    Cut,
    Found,
    Funnel,
    Lack,
    NoFit,
    Outcome,
    Refused,
)
from gang_scheduler.scheduler.devices.pools import Pools
from gang_scheduler.scheduler.devices.search_state import AbandonedError, DevicesInUse

Classes = Mapping[str, DeviceClass]


def allocate(  # noqa: PLR0917 - a question, and all that its answer depends on
    node: NodeView,
    claims: Sequence[Claim],
    pools: Pools,
    taken: Taken,
    classes: Classes,
    budget: Budget,
) -> Outcome:
    """Return the devices for all claims on a node, or why there are none."""
    return next(solutions(node, claims, pools, taken, classes, budget))


def solutions(  # noqa: PLR0917 - as above
    node: NodeView,
    claims: Sequence[Claim],
    pools: Pools,
    taken: Taken,
    classes: Classes,
    budget: Budget,
) -> Iterator[Outcome]:
    """Yield one solution after another, and at the end why there are no more.

    Solutions that differ only in devices that are equal to the claims are given once.
    """
    search = None
    try:
        asked = requests_of(claims, classes)
        candidates = Candidates(asked, pools.on(node), taken)
        search = _Search(node, claims, asked, candidates, budget)
        yield from search.run()
    except ClaimError as refused:
        steps = 0 if search is None else search.steps
        yield Refused(refused.claim, refused.request, refused.why, refused.problems, steps)


def why_not(
    node: NodeView, claims: Sequence[Claim], pools: Pools, taken: Taken, classes: Classes
) -> list[Funnel]:
    """Return the funnel of each alternative of each request on a node; none for a refused claim."""
    try:
        asked = requests_of(claims, classes)
    except ClaimError:
        return []
    candidates = Candidates(asked, pools.on(node), taken)
    return [candidates.funnel(choice) for each in asked.requests for choice in each.choices]


class _Frame:
    """A point of the search where something is chosen: an alternative, or one device.

    `choice` is None for a request whose alternative is still to be chosen. `at` is the place of the
    next alternative or device to try.
    """

    __slots__ = ("at", "choice", "index", "is_first", "is_solved", "picked", "request", "tried")

    def __init__(self, request: int, choice: Choice | None, index: int = 0, at: int = 0) -> None:
        self.request = request
        self.choice = choice
        self.index = index
        self.at = at
        self.picked = -1
        self.tried: set[object] = set()
        self.is_solved = False
        self.is_first = False


class _Search:
    """The search for one node. `run` is called once."""

    def __init__(
        self,
        node: NodeView,
        claims: Sequence[Claim],
        asked: ClaimRequests,
        candidates: Candidates,
        budget: Budget,
    ) -> None:
        self._node = node
        self._claims = claims
        self._asked = asked
        self._candidates = candidates
        self._budget = budget
        self._in_use = DevicesInUse(asked, candidates)
        self._frames: list[_Frame] = []
        self._chosen: list[Choice | None] = [None] * len(asked.requests)
        self._failed: set[object] = set()
        self._deepest = 0
        self.steps = 0

    def run(self) -> Iterator[Outcome]:
        """Yield solutions, and at last why there are no more."""
        lack = self._lack_at_once()
        if lack is not None:
            refuse_what_does_not_compile(self._asked)
            yield lack
            return
        try:
            yield from self._found_one_by_one()
        except AbandonedError as abandoned:
            yield self._lack(abandoned.choice)

    def _found_one_by_one(self) -> Iterator[Outcome]:
        if not self._asked.requests:
            yield self._found()
            return
        self._open(0)
        while self._frames:
            frame = self._frames[-1]
            self._undo(frame)
            if not self._choose(frame):
                self._close(frame)
                continue
            if self.steps > self._budget.of_a_search or self._budget.left < 0:
                yield Cut(self.steps)
                return
            following = self._following(frame)
            if following is not None:
                self._frames.append(following)
            elif frame.request + 1 < len(self._asked.requests):
                self._open(frame.request + 1)
            else:
                for each in self._frames:
                    each.is_solved = True
                yield self._found()
        refuse_what_does_not_compile(self._asked)
        yield self._lack(self._asked.requests[self._deepest].choices[0])

    def _lack_at_once(self) -> NoFit | None:
        """Return why the claims do not fit, if counting alone shows it."""
        lack = self._candidates.lack_of_all()
        if lack is not None or self._candidates.has_errors:
            # Which of the errors is reported depends on the search.
            return lack
        short = short_alone(self._asked, self._candidates)
        if short is not None:
            return self._lack(short, Lack.DEVICES)
        short = short_beside_others(self._asked, self._candidates, 0, self._in_use)
        return None if short is None else self._lack(short)

    def _lack(self, choice: Choice, lack: Lack = Lack.TOGETHER) -> NoFit:
        funnel = self._candidates.funnel(choice)
        return NoFit(lack, funnel, "", self.steps, self._candidates.unsupported)

    def _found(self) -> Found:
        chosen = [each for each in self._chosen if each is not None]
        picked = [
            (each.choice, each.picked)
            for each in self._frames
            if each.choice is not None and each.picked >= 0
        ]
        made = allocating.allocations(
            self._node, self._claims, self._asked.classes, self._candidates, chosen, picked
        )
        return Found(made, self.steps)

    # Frames.

    def _open(self, request: int) -> None:
        """Begin with a request, unless it is known that it fails from here."""
        self._deepest = max(self._deepest, request)
        asked = self._asked.requests[request]
        if self._failed:
            self._step()
            if self._in_use.state(request) in self._failed or self._is_short(request):
                return
        frame = _Frame(request, None if asked.is_prioritized else asked.choices[0])
        frame.is_first = True
        self._frames.append(frame)

    def _is_short(self, request: int) -> bool:
        if self._candidates.has_errors:
            return False
        left = len(self._asked.requests) - request
        self._budget.besides += left + len(self._candidates)
        return short_beside_others(self._asked, self._candidates, request, self._in_use) is not None

    def _close(self, frame: _Frame) -> None:
        """End a frame whose choices are used up, and remember that its state has no solution."""
        self._frames.pop()
        if frame.is_first and not frame.is_solved:
            self._failed.add(self._in_use.state(frame.request))

    def _following(self, frame: _Frame) -> _Frame | None:
        """Return the frame for the next device of the same request; None if it has all."""
        choice = self._chosen[frame.request]
        assert choice is not None  # noqa: S101 - the frame has chosen
        if frame.choice is None:
            return _Frame(frame.request, choice)
        if frame.index + 1 < self._candidates.count(choice):
            return _Frame(frame.request, choice, frame.index + 1, frame.picked + 1)
        return None

    def _undo(self, frame: _Frame) -> None:
        if frame.choice is not None and frame.picked >= 0:
            self._in_use.give_back(frame.choice, frame.picked)
        frame.picked = -1

    # Choices.

    def _choose(self, frame: _Frame) -> bool:
        """Take the next alternative, or the next device, that is possible."""
        if frame.choice is None:
            return self._next_alternative(frame)
        self._chosen[frame.request] = frame.choice
        missing = self._candidates.count(frame.choice) - frame.index
        if not 0 < missing <= MOST_RESULTS - self._in_use.result_count(frame.choice.claim):
            return False
        if frame.choice.mode is Mode.ALL:
            return self._next_of_all(frame, frame.choice)
        return self._next_device(frame, frame.choice, missing)

    def _next_alternative(self, frame: _Frame) -> bool:
        choices = self._asked.requests[frame.request].choices
        if frame.at >= len(choices):
            return False
        self._step()
        self._chosen[frame.request] = choices[frame.at]
        frame.at += 1
        return True

    def _next_of_all(self, frame: _Frame, choice: Choice) -> bool:
        # All of them are needed, so their order makes no difference.
        if frame.tried:
            return False
        self._step()
        place = self._candidates.all_of(choice)[frame.index]
        frame.tried.add(self._candidates.kinds[place])
        return self._take(frame, choice, place)

    def _next_device(self, frame: _Frame, choice: Choice, missing: int) -> bool:
        while frame.at < len(self._candidates):
            place = frame.at
            if (
                not self._candidates.has_errors
                and self._candidates.eligible_from(choice, place) < missing
            ):
                return False
            frame.at += 1
            self._step()
            if self._in_use.is_in_use(choice, place) or not self._candidates.suits(choice, place):
                continue
            key = self._in_use.interchange_key(place)
            if key in frame.tried:
                continue
            frame.tried.add(key)
            if self._take(frame, choice, place):
                return True
        return False

    def _take(self, frame: _Frame, choice: Choice, place: int) -> bool:
        if not self._in_use.take(choice, place):
            return False
        frame.picked = place
        return True

    def _step(self) -> None:
        self.steps += 1
        self._budget.left -= 1


# Finds by counting that devices are too few, without a search: 24 of 23, or 11 times 1 of 10.


def short_alone(asked: ClaimRequests, candidates: Candidates) -> Choice | None:
    """Return a request for which there are too few devices, whatever the others take."""
    for request in asked.requests:
        if all(
            candidates.eligible_from(each, 0) < max(1, candidates.count(each))
            for each in request.choices
        ):
            return request.choices[0]
    return None


def short_beside_others(
    asked: ClaimRequests, candidates: Candidates, start: int, in_use: DevicesInUse
) -> Choice | None:
    """Return a request for which the others, from `start` on, leave too few devices.

    Hall's condition: kinds of devices are assigned to groups of requests that can use the same
    kinds, as a flow. Requests that can share devices, or take those in use, are left out.
    """
    needed: dict[frozenset[int], int] = {}
    first: dict[frozenset[int], Choice] = {}
    known: dict[tuple[int, ...], frozenset[int] | None] = {}
    for request in asked.requests[start:]:
        device_filters = tuple(each.device_filter for each in request.choices)
        if device_filters not in known:
            known[device_filters] = _kinds(candidates, request)
        kinds = known[device_filters]
        if kinds is None:
            continue
        least = min(candidates.count(each) for each in request.choices)
        needed[kinds] = needed.get(kinds, 0) + least
        first[kinds] = request.choices[0]
    free = _free(candidates, in_use)
    short = _group_that_is_short(needed, free)
    return None if short is None else first[short]


def _free(candidates: Candidates, in_use: DevicesInUse) -> dict[int, int]:
    free: dict[int, int] = {}
    for place, kind in enumerate(candidates.kinds):
        if not candidates.is_taken[place]:
            free[kind] = free.get(kind, 0) + 1
    return {kind: count - in_use.kinds_used[kind] for kind, count in free.items()}


def _kinds(candidates: Candidates, request: ClaimRequest) -> frozenset[int] | None:
    """Return the kinds that a request can use; None if it is not bound to free devices."""
    found = set()
    for choice in request.choices:
        if choice.asked.admin_access or choice.mode is Mode.ALL:
            return None
        for place, kind in enumerate(candidates.kinds):
            if candidates.eligible(choice, place):
                if candidates.devices[place].device.allow_multiple:
                    return None
                found.add(kind)
    return frozenset(found)


def _group_that_is_short(
    needed: dict[frozenset[int], int], free: dict[int, int]
) -> frozenset[int] | None:
    """Return a group that has too few devices in every assignment; None if there is none."""
    given: dict[frozenset[int], dict[int, int]] = {group: {} for group in needed}
    for group, need in needed.items():
        missing = need
        while missing:
            gained = _augment(group, missing, given, free)
            if not gained:
                return group
            missing -= gained
    return None


def _augment(
    group: frozenset[int],
    most: int,
    given: dict[frozenset[int], dict[int, int]],
    free: dict[int, int],
) -> int:
    """Give a group more devices, where needed by moving others to other kinds."""
    came: dict[int, tuple[frozenset[int], int | None]] = {}
    start: tuple[frozenset[int], int | None] = (group, None)
    waiting = deque([start])
    seen = {group}
    while waiting:
        current, through = waiting.popleft()
        for kind in sorted(current):
            if kind in came:
                continue
            came[kind] = (current, through)
            if free.get(kind, 0) > 0:
                return _reassign(kind, came, min(most, free[kind]), given, free)
            for other, amounts in given.items():
                if other not in seen and amounts.get(kind, 0) > 0:
                    seen.add(other)
                    waiting.append((other, kind))
    return 0


def _reassign(
    kind: int,
    came: dict[int, tuple[frozenset[int], int | None]],
    most: int,
    given: dict[frozenset[int], dict[int, int]],
    free: dict[int, int],
) -> int:
    path: list[tuple[frozenset[int], int, int | None]] = []
    at: int | None = kind
    while at is not None:
        owner, through = came[at]
        path.append((owner, at, through))
        at = through
    amount = min([most, *(given[owner][old] for owner, _, old in path if old is not None)])
    free[kind] -= amount
    for owner, new, old in path:
        given[owner][new] = given[owner].get(new, 0) + amount
        if old is not None:
            given[owner][old] -= amount
    return amount
