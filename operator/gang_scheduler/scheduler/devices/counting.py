"""Finds by counting that devices are too few, without a search: 24 of 23, or 11 times 1 of 10."""

from collections import deque

from gang_scheduler.model.devices import Mode
from gang_scheduler.scheduler.devices.candidates import Candidates
from gang_scheduler.scheduler.devices.claim_requests import Choice, ClaimRequest, ClaimRequests
from gang_scheduler.scheduler.devices.devices_in_use import DevicesInUse


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
