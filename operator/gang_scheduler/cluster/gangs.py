"""Who is in which gang, and which gangs are worth a try."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gang_scheduler.cluster import sources
from gang_scheduler.cluster.declarations import Declaration
from gang_scheduler.model.gangs import Gang, GangKey, Problem, Reason
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod

FIRST_RETRY_SECONDS = 1
LAST_RETRY_SECONDS = 60


@dataclass(slots=True, eq=False)
class Record:
    """What is known of one gang.

    `members` are all its pods by uid, ended ones included; those with a node have it, also when
    the binding is only assumed. `whole_once` lasts while any member that has a node lives.
    `quorum_since` is when a quorum of living members was first seen, in seconds.
    """

    key: GangKey
    members: dict[str, Pod] = field(default_factory=dict)
    declarations: dict[str, Declaration] = field(default_factory=dict)
    whole_once: bool = False
    tried: bool = False
    quorum_since: int | None = None
    refusal: Refused | None = None
    retries: int = 0
    retry_at: int | None = None

    @property
    def declaration(self) -> Declaration | None:
        """The object that describes the gang; of several, the first by API group."""
        return min(self.declarations.values(), key=lambda each: each.api_group, default=None)

    @property
    def min_member(self) -> int:
        """The quorum; 1 for a gang that nobody described."""
        return self.declaration.min_member if self.declaration else 1

    @property
    def empty(self) -> bool:
        """Nothing is known of the gang any more."""
        return not self.members and not self.declarations

    def living(self) -> Iterator[Pod]:
        """Return the members that count: not ended, not being deleted, not gated."""
        return (pod for pod in self.members.values() if pod.living)

    def bound(self) -> int:
        """Return how many living members have a node."""
        return sum(1 for pod in self.living() if pod.node)

    def settle(self, now: int) -> None:
        """Bring what the record remembers in line with its members. Linear in members."""
        living = sum(1 for _ in self.living())
        bound = self.bound()
        if living < self.min_member:
            self.quorum_since = None
        elif self.quorum_since is None:
            self.quorum_since = now
        if bound == 0:
            self.whole_once = False
        elif bound >= self.min_member and self.declaration is not None:
            self.whole_once = True

    def as_gang(self, schedulers: frozenset[str]) -> Gang | None:
        """Return the gang as the scheduler sees it; None when no member of ours waits."""
        pending = [pod for pod in self.living() if not pod.node and pod.scheduler in schedulers]
        if not pending:
            return None
        declared = self.declaration
        oldest = min(pending, key=lambda pod: (pod.created_at, pod.uid))
        bound = self.bound()
        return Gang(
            key=self.key,
            uid=declared.uid if declared else oldest.uid,
            created_at=declared.created_at if declared else oldest.created_at,
            priority=min(pod.priority for pod in pending),
            min_member=self.min_member,
            pending=tuple(sorted(pending, key=lambda pod: natural_key(pod.name))),
            bound=bound,
            satisfied=self.whole_once,
            problem=self._problem(),
        )

    def _problem(self) -> Problem | None:
        if not sources.BY_NAME[self.key.source].declared:
            return None
        if self.declaration is None:
            return Problem(Reason.POD_GROUP_NOT_FOUND, f'PodGroup "{self.key}" does not exist')
        if len(self.declarations) > 1:
            groups = " and ".join(sorted(self.declarations))
            return Problem(
                Reason.INVALID_SPEC, f'PodGroup "{self.key}" exists twice, in {groups}: delete one'
            )
        return self.declaration.problem


class Gangs:
    """All gangs, and the set of those to try in the next cycle.

    A gang is tried when something about itself changed, when room was freed and it was short of
    room, and after a backoff as a safety net. So a cycle costs what changed, not what waits.
    """

    def __init__(self, schedulers: Iterable[str], timeout_seconds: int = 600) -> None:
        self.schedulers = frozenset(schedulers)
        self._timeout_seconds = timeout_seconds
        self.records: dict[GangKey, Record] = {}
        self.changed: set[GangKey] = set()
        self._to_try: set[GangKey] = set()
        self._short_of_room: set[GangKey] = set()
        self._retries: list[tuple[int, GangKey]] = []

    def member_seen(self, key: GangKey, pod: Pod) -> None:
        """Add or replace a member."""
        self._record(key).members[pod.uid] = pod
        self._touched(key)

    def member_gone(self, key: GangKey, uid: str) -> None:
        """Forget a member whose object is gone."""
        record = self.records.get(key)
        if record is not None and record.members.pop(uid, None) is not None:
            self._touched(key)

    def declared(self, declaration: Declaration) -> None:
        """Add or replace the object that describes a gang."""
        record = self._record(declaration.key)
        before = record.declarations.get(declaration.api_group)
        record.declarations[declaration.api_group] = declaration
        if before is None:
            record.whole_once |= declaration.was_scheduled
        if before != declaration:
            self._touched(declaration.key)

    def undeclared(self, key: GangKey, api_group: str) -> None:
        """Forget the object that described a gang."""
        record = self.records.get(key)
        if record is not None and record.declarations.pop(api_group, None) is not None:
            self._touched(key)

    def declared_uids(self, api_group: str) -> dict[str, GangKey]:
        """Return the gang of each object of an API group, by the object's uid."""
        return {
            record.declarations[api_group].uid: key
            for key, record in self.records.items()
            if api_group in record.declarations
        }

    def room_freed(self) -> None:
        """Try again all gangs that were short of room."""
        self._to_try |= self._short_of_room

    def take_due(self, now: int) -> tuple[Gang, ...]:
        """Return the gangs to try now, and expect a verdict on each."""
        self._collect_retries(now)
        due = []
        for key in self._to_try:
            record = self.records.get(key)
            if record is not None:
                record.settle(now)
                due.append(record.as_gang(self.schedulers))
        self._to_try.clear()
        return tuple(gang for gang in due if gang is not None)

    def _collect_retries(self, now: int) -> None:
        while self._retries and self._retries[0][0] <= now:
            moment, key = heapq.heappop(self._retries)
            record = self.records.get(key)
            # A gang that was tried since has a later entry of its own.
            if record is not None and record.retry_at == moment:
                self._to_try.add(key)

    def next_retry(self) -> int | None:
        """Return when the first backoff ends, in seconds since the epoch."""
        return self._retries[0][0] if self._retries else None

    def placed(self, key: GangKey) -> None:
        """Note that the scheduler found room for a gang's quorum."""
        self._judged(key, None)

    def refused(self, refusal: Refused, now: int) -> None:
        """Note why a gang waits, and when to try again if nothing happens before."""
        record = self._judged(refusal.gang.key, refusal)
        if refusal.reason is Reason.UNSCHEDULABLE:
            self._short_of_room.add(record.key)
            self._retry_later(record, now)

    def postpone(self, key: GangKey, now: int) -> None:
        """Do not try a gang again at once, whatever has just changed about it."""
        record = self.records.get(key)
        if record is not None:
            self._to_try.discard(key)
            self._retry_later(record, now)

    def deadline(self, record: Record) -> int | None:
        """Return when the schedule timeout ends, in seconds since the epoch; None: not running."""
        if record.quorum_since is None:
            return None
        own = record.declaration.timeout_seconds if record.declaration else None
        return record.quorum_since + (own or self._timeout_seconds)

    def _retry_later(self, record: Record, now: int) -> None:
        """Double the wait each time; but never sleep past the schedule timeout."""
        wait = min(FIRST_RETRY_SECONDS << record.retries, LAST_RETRY_SECONDS)
        record.retries = min(record.retries + 1, LAST_RETRY_SECONDS.bit_length())
        record.retry_at = now + wait
        deadline = self.deadline(record)
        if deadline is not None and now < deadline < record.retry_at:
            record.retry_at = deadline
        heapq.heappush(self._retries, (record.retry_at, record.key))

    def _judged(self, key: GangKey, refusal: Refused | None) -> Record:
        record = self._record(key)
        record.refusal = refusal
        record.retry_at = None
        record.tried = True
        self._short_of_room.discard(key)
        self.changed.add(key)
        return record

    def _record(self, key: GangKey) -> Record:
        return self.records.setdefault(key, Record(key))

    def _touched(self, key: GangKey) -> None:
        record = self.records[key]
        self.changed.add(key)
        if record.empty:
            del self.records[key]
            self._short_of_room.discard(key)
            return
        record.retries = 0
        self._to_try.add(key)
