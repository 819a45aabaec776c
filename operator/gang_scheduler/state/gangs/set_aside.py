"""Gangs set aside: groups that take more than their share of the scheduler's time must wait.

The core bounds its search by counting work. This is the second line of defence, for work that is
not counted. It is measured around the core, in CPU time, and so has no influence on where a gang
is placed.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import msgspec

from gang_scheduler.current_work import DecisionCutError, Gangs
from gang_scheduler.model.causes.gangs import DecisionTooLong
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.pods import one_of_each
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo

SHARE_SECONDS: Final = 2.0
"""CPU time that a decision on one group may take in a cycle."""
STRIKES: Final = 2
"""After this many slow decisions, a group is set aside.

In a namespace that already has such a group, one slow decision is enough.
"""
REST: Final = 10
"""A group waits this many times as long as its last decision took.

So it gets at most a tenth of the time. The wait doubles after each further slow decision.
"""
LONGEST_REST_SECONDS: Final = 3600
REMEMBERED_SECONDS: Final = 2 * LONGEST_REST_SECONDS
"""A record lasts this long after the last slow decision.

The record of a deleted gang is kept, too, since a gang of the same name may be created at once.
"""
MOST_OF_NAMESPACE: Final = 4
"""Once a namespace has this many groups set aside, all its new groups are set aside, too.

New groups may be the same work under other names.
"""
MOST_REMEMBERED: Final = 1000
MOST_COSTLY: Final = 32
"""The next leader learns of this many groups, the latest ones."""


class Costly(NamedTuple):
    """A group by its first gang, the CPU seconds of its last decision, and its slow decisions."""

    key: GangKey
    seconds: float
    number: int


@dataclass(slots=True)
class _Record:
    """The record of a group with slow decisions; its first two fields are as in `Costly`.

    `at` and `until` are in seconds since the epoch. `until` is the moment when the group is tried
    again; None for a group that is not set aside.
    """

    seconds: float
    number: int
    at: int
    until: int | None

    def rests_until(self, number: int) -> int:
        """Return the end of the rest after this many slow decisions."""
        first = max(1, round(self.seconds * REST))
        doublings = min(max(0, number - STRIKES), LONGEST_REST_SECONDS.bit_length())
        return self.at + min(first << doublings, max(first, LONGEST_REST_SECONDS))


class SetAside:
    """The groups that are set aside, by their first gangs, each with the moment of its next try."""

    def __init__(self) -> None:
        self._records: dict[GangKey, _Record] = {}
        self._others_had_their_turn = False
        self.costly: tuple[Costly, ...] = ()
        """The groups that are set aside, the latest last; any thread may read this."""

    def __bool__(self) -> bool:
        return bool(self._records)

    # Judging how long decisions take.

    def judge(self, plan: Plan, took: Mapping[Gangs, float], now: int) -> Plan:
        """Return the plan, which now also refuses groups whose decisions took too long again.

        `took` is the CPU time of decisions, in seconds. A group that has found room is not judged,
        however long its decision took. A group whose decision was cut has failed in the plan,
        and is set aside at once.
        """
        cut = [each.group for each in plan.failures if isinstance(each.error, DecisionCutError)]
        problems: dict[GangKey, Problem] = {}
        decided = {each.gang.key for each in plan.placed}
        decided.update(gang.key for each in plan.preemptions for gang in each.gangs)
        for gangs, seconds in took.items():
            if seconds >= SHARE_SECONDS and decided.isdisjoint(gangs):
                is_cut = any(each.gangs[0].key == gangs[0] for each in cut)
                problem = self._took(gangs[0], seconds, now, least=STRIKES if is_cut else 1)
                if problem is not None:
                    problems |= dict.fromkeys(gangs, problem)
        if not problems:
            return plan
        return replace(
            plan,
            refused=tuple(_with_group_problem(each, problems) for each in plan.refused),
            failures=tuple(each for each in plan.failures if each.group not in cut),
        )

    def _took(self, key: GangKey, seconds: float, now: int, least: int) -> Problem | None:
        """Record a slow decision; return the problem of the group if it is set aside now.

        From now on, at least `least` slow decisions count for the group.
        """
        known = self._records.pop(key, None)
        number = max(least, 1 if known is None else known.number + 1)
        if self._has_one_in(key.namespace):
            number = max(number, STRIKES)
        record = self._records[key] = _Record(seconds, number, now, None)
        while len(self._records) > MOST_REMEMBERED:
            del self._records[next(iter(self._records))]
        if number < STRIKES:
            return None
        record.until = record.rests_until(number)
        self._update_costly()
        return _problem(record, record.until)

    def _has_one_in(self, namespace: str) -> bool:
        """Return whether a namespace has a group that is set aside already."""
        records = self._records.items()
        return any(key.namespace == namespace and each.until is not None for key, each in records)

    # Outcomes.

    def round_of(
        self, groups: Sequence[GangGroup], now: int
    ) -> tuple[tuple[GangGroup, ...], tuple[GangGroup, ...]]:
        """Return the groups to decide now, and the groups for the round after it.

        A group that is set aside has a problem until its time has come. Then it has a round of its
        own, after all others. The groups of one namespace share that time.
        """
        if not self._records:
            return tuple(groups), ()
        self._forget(now)
        namespaces = self._namespaces()
        found = [(group, self._record_of(group, namespaces)) for group in groups]
        due = [(each.until, group) for group, each in found if each and _is_due(each, now)]
        if due and (self._others_had_their_turn or len(due) == len(groups)):
            self._others_had_their_turn = False
            _, first = min(due, key=lambda each: (each[0], each[1].name))
            return (first,), tuple(group for group in groups if group is not first)
        self._others_had_their_turn = bool(due)
        return tuple(_set_aside_group(group, record, now) for group, record in found), ()

    def touched(self, keys: Iterable[GangKey]) -> None:
        """Try a changed group sooner: it rests only as long as after the first time."""
        for key in keys:
            record = self._records.get(key)
            if record is not None and record.until is not None:
                record.until = min(record.until, record.rests_until(STRIKES))

    def _namespaces(self) -> dict[str, list[_Record]]:
        """Return the records of groups that are set aside, by namespace."""
        found: dict[str, list[_Record]] = {}
        for key, record in self._records.items():
            if record.until is not None:
                found.setdefault(key.namespace, []).append(record)
        return found

    def _record_of(
        self, group: GangGroup, namespaces: Mapping[str, Sequence[_Record]]
    ) -> _Record | None:
        """Return the record of a group, with the rest of all groups of its namespace together."""
        records = (self._records.get(gang.key) for gang in group.gangs)
        own = next((each for each in records if each is not None and each.until is not None), None)
        mates = namespaces.get(group.gangs[0].key.namespace, ())
        if own is None and len(mates) < MOST_OF_NAMESPACE:
            return None
        shared = max((each.rests_until(STRIKES) for each in mates), default=0)
        record = own or mates[-1]
        return replace(record, until=shared if own is None else max(own.until or 0, shared))

    def _forget(self, now: int) -> None:
        """Drop the records of slow decisions that are too old to count."""
        for key, record in list(self._records.items()):
            if now >= max(record.at, record.until or 0) + REMEMBERED_SECONDS:
                del self._records[key]
                self._update_costly()

    # Over a restart.

    def _update_costly(self) -> None:
        records = self._records.items()
        found = [Costly(key, it.seconds, it.number) for key, it in records if it.until is not None]
        self.costly = tuple(found[-MOST_COSTLY:])

    def take_over(self, told: Iterable[Costly], now: int) -> None:
        """Set the groups aside that an earlier process has reported."""
        for key, seconds, number in told:
            record = self._records[key] = _Record(seconds, max(number, STRIKES), now, None)
            record.until = record.rests_until(record.number)
        self._update_costly()

    def hold(self, key: GangKey, seconds: float, until: int, now: int) -> None:
        """Set a gang aside until a moment, as another process has done."""
        record = self._records[key] = _Record(seconds, STRIKES, now, until)
        # Other groups of the namespace rest for a time computed from `at`, which ends then, too.
        record.at = until - (record.rests_until(STRIKES) - now)


def with_suspects(told: Iterable[Costly], suspects: Iterable[Costly]) -> tuple[Costly, ...]:
    """Return groups together with the groups on which the present cycle takes too long."""
    found = {each.key: each for each in told}
    for each in suspects:
        known = found.pop(each.key, None)
        number = 1 if known is None else known.number + 1
        found[each.key] = each._replace(number=max(STRIKES, number))
    return tuple(found.values())[-MOST_COSTLY:]


def written(told: Collection[Costly]) -> str:
    """Return groups as text for the next leader; "" for none."""
    if not told:
        return ""
    return json.dumps([[*each.key, round(each.seconds, 1), each.number] for each in told])


def read(text: str) -> tuple[Costly, ...]:
    """Return the groups in a text; none if the text cannot be read."""
    try:
        rows = msgspec.json.decode(text or "[]", type=list[tuple[str, str, str, float, int]])
    except (msgspec.DecodeError, UnicodeError):
        return ()
    return tuple(
        Costly(GangKey(source, namespace, name), min(max(seconds, SHARE_SECONDS), 3600.0), number)
        for source, namespace, name, seconds, number in rows[-MOST_COSTLY:]
    )


def _is_due(record: _Record, now: int) -> bool:
    return record.until is not None and record.until <= now


def _set_aside_group(group: GangGroup, record: _Record | None, now: int) -> GangGroup:
    """Return a group for the decision: set aside with its problem, if it has a record."""
    if record is None or record.until is None:
        return group
    return replace(group, problem=_problem(record, max(record.until, now + 1)))


def _problem(record: _Record, until: int) -> Problem:
    return Problem(Reason.SET_ASIDE, DecisionTooLong(record.seconds, SHARE_SECONDS, until))


def _with_group_problem(refused: Refused, problems: Mapping[GangKey, Problem]) -> Refused:
    """Return the refusal of a gang with the problem of its group, if the group is set aside."""
    problem = problems.get(refused.gang.key)
    if problem is None or refused.left_over:
        return refused
    gang = refused.gang
    return Refused(gang, problem.reason, gang.pending, cause=problem.cause)


# The choice of gangs for a cycle, if making all changed gangs would delay it.

MOST_MADE: Final = 2_000
"""The most gangs and members whose groups one cycle makes, in less than a tenth of a second."""


def left_out(
    keys: Iterable[GangKey],
    changed: Collection[GangKey],
    infos: Mapping[GangKey, GangInfo],
    group_of: Callable[[GangKey], Sequence[GangKey]],
) -> set[GangKey]:
    """Return the gangs that are left to the next cycle, so that this one makes few groups.

    `changed` are the gangs whose group must be made. Gangs of a higher priority are never left
    while a lower one is taken. Within the priority where the limit falls, the oldest gangs are
    taken.
    """
    if sum(_size(infos[key]) for key in changed) <= MOST_MADE:
        return set()
    ranks = _ranks(keys, infos, group_of)
    in_order = sorted(changed, key=lambda key: (-ranks[key], _in_line_since(infos[key]), key))
    made, number = 0, 0
    for number, key in enumerate(in_order):
        if number and made >= MOST_MADE:
            break
        made += _size(infos[key])
    else:
        return set()
    lowest = ranks[in_order[number - 1]]
    below = {key for key, rank in ranks.items() if rank < lowest}
    return below.union(in_order[number:])


def _size(info: GangInfo) -> int:
    return 1 + len(one_of_each(info.observed.living))


def _in_line_since(info: GangInfo) -> float:
    return info.in_line_since(info.observed.summary.oldest)


def _ranks(
    keys: Iterable[GangKey],
    infos: Mapping[GangKey, GangInfo],
    group_of: Callable[[GangKey], Sequence[GangKey]],
) -> dict[GangKey, int]:
    """Return the priorities of gangs; all gangs of a group have the lowest one."""
    ranks: dict[GangKey, int] = {}
    for key in keys:
        if key not in ranks:
            group = group_of(key)
            ranks |= dict.fromkeys(group, min(infos[each].observed.priority for each in group))
    return {key: ranks[key] for key in keys}


# Gangs that a cycle had no time to try, and the time when they are tried.

PATIENCE_SECONDS: Final = 10
"""For this time, only the priority decides which gangs are tried first."""
MOST_AT_ONCE: Final = 16
"""The most gangs with a cycle of their own.

Even fewer searches than these can fill a cycle, and each namespace should get one.
"""


class Untried:
    """The gangs that cycles have left, and since when, in seconds since the epoch.

    The next cycle tries them in the order of priorities. Many gangs of a high priority, or gangs
    that change all the time, could so take up every cycle. Therefore every other cycle belongs only
    to gangs that were left for long, one gang of each namespace. So the wait of a gang depends only
    on the gangs of its own namespace.
    """

    def __init__(self) -> None:
        self._since: dict[GangKey, int] = {}
        self._taken: dict[GangKey, int] = {}
        self._is_own_turn = False

    def __bool__(self) -> bool:
        return bool(self._since)

    @property
    def is_due_at_once(self) -> bool:
        """Whether a cycle is due at once: this or an earlier cycle has left gangs."""
        return bool(self._since) or self._is_own_turn

    def keys(self) -> AbstractSet[GangKey]:
        """Return all gangs that are left."""
        return self._since.keys()

    def own_turn(self, now: int) -> Collection[GangKey]:
        """Return the gangs to which the next cycle belongs; none if it belongs to all gangs."""
        found: dict[str, GangKey] = {}
        is_long = now >= min(self._since.values(), default=now) + PATIENCE_SECONDS
        if is_long and not self._is_own_turn:
            left = [(since, key) for key, since in self._since.items()]
            for since, key in sorted(left):
                if now < since + PATIENCE_SECONDS or len(found) == MOST_AT_ONCE:
                    break
                found.setdefault(key.namespace, key)
        self._is_own_turn = bool(found)
        return found.values()

    def take(self, keys: Iterable[GangKey]) -> None:
        """Note that gangs are tried now."""
        if not self._since:
            self._taken = {}
            return
        self._taken = {key: self._since.pop(key) for key in self._since.keys() & keys}

    def put_back(self, keys: Iterable[GangKey]) -> None:
        """Put gangs back that were not tried after all; gangs without a record are new."""
        for key in self._taken.keys() & keys:
            self._since[key] = self._taken.pop(key)

    def leave(self, keys: Iterable[GangKey], now: int) -> None:
        """Note gangs that a cycle has left; a gang that was left before keeps its earlier time."""
        for key in keys:
            self._since.setdefault(key, self._taken.get(key, now))
        self._taken = {}

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self._since.pop(key, None)
