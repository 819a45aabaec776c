"""Who is in which gang, and which gangs are worth a try."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gang_scheduler.cluster import sources
from gang_scheduler.cluster.declarations import Declaration
from gang_scheduler.cluster.groups import GroupGraph
from gang_scheduler.cluster.ports import JobPods
from gang_scheduler.cluster.records import Record
from gang_scheduler.model.gangs import Gang, GangGroup, GangKey, GangName, Problem, Reason
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod

FIRST_RETRY_SECONDS = 1
LAST_RETRY_SECONDS = 60
TOTAL_SECONDS = 2
"""How long a complete quorum waits for the expected rest, so that all are placed together."""
PATIENCE_SECONDS = 10
"""How long more Jobs of a gang are waited for before it is called impossible."""
OWNERS = frozenset({sources.JOB.name, sources.JOB_SET.name})


class Gangs:
    """All gangs, and the set of those to try in the next cycle.

    A gang is tried when something about itself or its group changed, when room was freed and it
    was short of room, and after a backoff as a safety net. So a cycle costs what changed, not
    what waits.
    """

    def __init__(self, schedulers: Iterable[str], timeout_seconds: int = 600) -> None:
        self.schedulers = frozenset(schedulers)
        self.records: dict[GangKey, Record] = {}
        self.changed: set[GangKey] = set()
        self.waiting: Counter[Reason] = Counter()
        """How many gangs wait, by reason."""
        # The pods of each Job by its uid, and the gangs that have some of them.
        self._jobs: dict[str, JobPods] = {}
        self._gangs_of_job: dict[str, set[GangKey]] = {}
        self._timeout_seconds = timeout_seconds
        self._objects: dict[str, dict[str, tuple[GangKey, ...]]] = {}
        self._graph = GroupGraph(self._resolve)
        self._to_try: set[GangKey] = set()
        self._short_of_room: set[GangKey] = set()
        self._room_freed = False
        self._retries: list[tuple[int, GangKey]] = []

    # What is seen.

    def member_seen(self, key: GangKey, pod: Pod) -> None:
        """Add or replace a member."""
        self._record(key).take(pod)
        if pod.job_uid:
            self._gangs_of_job.setdefault(pod.job_uid, set()).add(key)
        self._touched(key)

    def member_gone(self, key: GangKey, uid: str) -> None:
        """Forget a member whose object is gone."""
        record = self.records.get(key)
        if record is not None and record.drop(uid):
            self._touched(key)

    def described(self, api_group: str, uid: str, declared: Iterable[Declaration]) -> None:
        """Add or replace what an object says of its gangs."""
        declared = tuple(declared)
        known = self._objects.setdefault(api_group, {})
        for key in set(known.get(uid, ())) - {each.key for each in declared}:
            self._unsaid(key, uid)
        known[uid] = tuple(each.key for each in declared)
        for each in declared:
            self._said(each)

    def undescribed(self, api_group: str, uid: str) -> None:
        """Forget an object that described gangs."""
        for key in self._objects.get(api_group, {}).pop(uid, ()):
            self._unsaid(key, uid)

    def objects(self, api_group: str) -> Mapping[str, tuple[GangKey, ...]]:
        """Return the objects of an API group that describe gangs, by uid."""
        return self._objects.get(api_group, {})

    def job_seen(self, uid: str, pods: JobPods | None) -> None:
        """Note how many pods a Job can have; None forgets it."""
        if pods is None:
            self._jobs.pop(uid, None)
            self._gangs_of_job.pop(uid, None)
        elif self._jobs.get(uid) != pods:
            self._jobs[uid] = pods
            self._to_try |= self._gangs_of_job.get(uid, set()) & self.records.keys()

    def room_freed(self) -> None:
        """Try again all gangs that were short of room."""
        self._room_freed = True

    # What is to be tried.

    def take_due(self, now: int) -> tuple[GangGroup, ...]:
        """Return the groups to try now, and expect a verdict on each of their waiting gangs."""
        self._collect_retries(now)
        if self._room_freed:
            self._to_try |= self._short_of_room
            self._room_freed = False
        for key in list(self._to_try):
            self._listen(key)
        groups: dict[tuple[GangKey, ...], GangGroup] = {}
        seen: set[GangKey] = set()
        for key in sorted(self._to_try):
            if key not in seen:
                keys, problem = self._group_of(key, now)
                seen.update(keys)
                if not self._expects_more(keys, now):
                    groups[keys] = self._as_group(keys, problem, now)
        self._to_try.clear()
        for gang in (gang for group in groups.values() for gang in group.gangs):
            if not gang.pending:
                self._set_refusal(self.records[gang.key], None)
        return tuple(group for group in groups.values() if group.waiting)

    def next_retry(self) -> int | None:
        """Return when the first backoff ends, in seconds since the epoch."""
        return self._retries[0][0] if self._retries else None

    def deadline(self, record: Record) -> int | None:
        """Return when the schedule timeout ends, in seconds since the epoch; None: not running."""
        if record.quorum_since is None:
            return None
        said = record.declaration
        own = said.options.timeout_seconds if said else None
        return record.quorum_since + (own or self._timeout_seconds)

    # What came of it.

    def placed(self, key: GangKey) -> None:
        """Note that the scheduler found room for a gang's quorum."""
        record = self._record(key)
        # What the API server refused last time stands until it takes it.
        self._judged(key, record.refusal if record.failed_binds else None).retry_at = None

    def refused(self, refusal: Refused, now: int) -> None:
        """Note why a gang waits, and when to try again if nothing happens before."""
        record = self._judged(refusal.gang.key, refusal)
        if refusal.reason is Reason.UNSCHEDULABLE:
            self._short_of_room.add(record.key)
            self._retry_later(record, now)
            return
        deadline = self.deadline(record)
        if deadline is not None and now < deadline:
            self._retry_at(record, deadline)

    def bound(self, key: GangKey) -> None:
        """Note that all members of a plan were bound."""
        record = self.records.get(key)
        if record is not None:
            record.failed_binds = 0
            self._set_refusal(record, None)
            self.changed.add(key)
            # By the time the watch shows it, a member may already be gone again.
            record.whole_once = True

    def bind_failed(self, refusal: Refused, now: int) -> None:
        """Note why a binding failed; and do not try again at once, it may fail again."""
        key = refusal.gang.key
        record = self.records.get(key)
        if record is not None:
            self._set_refusal(record, refusal)
            self.changed.add(key)
            self._to_try.discard(key)
            # Forgetting the failed binds has just reset the other count.
            record.retries = record.failed_binds
            self._retry_later(record, now)
            record.failed_binds = record.retries

    def _judged(self, key: GangKey, refusal: Refused | None) -> Record:
        record = self._record(key)
        self._set_refusal(record, refusal)
        record.tried = True
        self._short_of_room.discard(key)
        self.changed.add(key)
        return record

    def _set_refusal(self, record: Record, refusal: Refused | None) -> None:
        if record.refusal is not None:
            self.waiting[record.refusal.reason] -= 1
        if refusal is not None:
            self.waiting[refusal.reason] += 1
        record.refusal = refusal

    def _retry_later(self, record: Record, now: int) -> None:
        """Double the wait each time; but never sleep past the schedule timeout."""
        wait = min(FIRST_RETRY_SECONDS << record.retries, LAST_RETRY_SECONDS)
        record.retries = min(record.retries + 1, LAST_RETRY_SECONDS.bit_length())
        moment = now + wait
        deadline = self.deadline(record)
        if deadline is not None and now < deadline < moment:
            moment = deadline
        self._retry_at(record, moment)

    def _retry_at(self, record: Record, moment: int) -> None:
        record.retry_at = moment
        # One entry a gang: an earlier one is moved on when its time comes.
        if record.woken_at is None or moment < record.woken_at:
            record.woken_at = moment
            heapq.heappush(self._retries, (moment, record.key))

    def _collect_retries(self, now: int) -> None:
        while self._retries and self._retries[0][0] <= now:
            moment, key = heapq.heappop(self._retries)
            record = self.records.get(key)
            if record is None or record.woken_at != moment:
                continue
            record.woken_at = None
            if record.retry_at is None or record.retry_at <= now:
                self._to_try.add(key)
            else:
                self._retry_at(record, record.retry_at)

    # Groups.

    def _group_of(self, key: GangKey, now: int) -> tuple[tuple[GangKey, ...], Problem | None]:
        """Return the gangs that must start with this one, itself included."""
        self._settle(key, now)
        if self.records[key].whole_once:
            return (key,), None  # It has started: from now on it is nobody's business.
        keys, problem = self._graph.group_of(key)
        for each in keys:
            self._settle(each, now)
        return tuple(each for each in keys if not self._is_done(self.records[each])), problem

    def _settle(self, key: GangKey, now: int) -> None:
        record = self.records[key]
        jobs = {pod.job_uid for pod in record.living()} & self._jobs.keys()
        record.spared = sum(self._jobs[job].at_once - self._jobs[job].left for job in jobs)
        was_whole = record.whole_once
        record.settle(now)
        if record.whole_once and not was_whole:
            # From now on it holds back no other gang of its group.
            for mate in self._graph.group_of(key)[0]:
                self._retry_at(self.records[mate], now)

    def _is_done(self, record: Record) -> bool:
        """Tell whether a group has no more to expect of a gang: it runs, or it has ended well."""
        return record.whole_once or (not any(record.living()) and record.succeeded_wholly())

    def _expects_more(self, keys: Iterable[GangKey], now: int) -> bool:
        """Tell whether a quorum waits a moment for the rest of its expected members."""
        records = [self.records[key] for key in keys]
        for record in records:
            said = record.declaration
            total = said.options.total if said else None
            if total is None or record.quorum_since is None or record.whole_once:
                continue
            until = record.quorum_since + TOTAL_SECONDS
            if now < until and sum(1 for _ in record.living()) < total:
                for mate in records:
                    self._retry_at(mate, until)
                return True
        return False

    def _as_group(self, keys: tuple[GangKey, ...], problem: Problem | None, now: int) -> GangGroup:
        gangs = (self.records[key].as_gang(self.schedulers) for key in keys)
        return GangGroup(tuple(self._checked(gang, now) for gang in gangs), problem)

    def _checked(self, gang: Gang, now: int) -> Gang:
        """Tell a gang that can never be complete, because its Jobs make fewer pods at once."""
        if gang.problem is not None or len(gang.pending) + gang.bound >= gang.min_member:
            return gang
        jobs = {pod.job_uid for pod in gang.pending}
        if gang.key.source in OWNERS or not all(jobs):
            return gang
        if not jobs or jobs - self._jobs.keys():
            return gang
        most = sum(self._jobs[job].at_once for job in jobs)
        if most >= gang.min_member:
            return gang
        # Another Job of the gang may be on its way.
        patience = max(pod.created_at for pod in gang.pending) + PATIENCE_SECONDS
        if now < patience:
            self._retry_at(self.records[gang.key], patience)
            return gang
        names = ", ".join(sorted({f"{pod.namespace}/{pod.job}" for pod in gang.pending}))
        message = (
            f"minMember must be at most {most}, the pods that Job {names} can have at once, "
            f"not {gang.min_member}"
        )
        return replace(gang, problem=Problem(Reason.INVALID_SPEC, message))

    def _resolve(self, name: GangName) -> GangKey | None:
        """Return the gang that is called so, by the order of sources."""
        keys = (GangKey(source.name, *name) for source in sources.SOURCES)
        return next((key for key in keys if key in self.records and self._exists(key)), None)

    def _exists(self, key: GangKey) -> bool:
        return key.source != sources.SINGLE.name and self.records[key].declaration is not None

    # Records.

    def _said(self, declaration: Declaration) -> None:
        record = self._record(declaration.key)
        before = record.said.get(declaration.uid)
        record.said[declaration.uid] = declaration
        if before is None:
            record.whole_once |= declaration.was_scheduled
            record.quorum_since = record.quorum_since or declaration.quorum_since
        if before != declaration:
            self._touched(declaration.key)

    def _unsaid(self, key: GangKey, uid: str) -> None:
        record = self.records.get(key)
        if record is not None and record.said.pop(uid, None) is not None:
            self._touched(key)

    def _record(self, key: GangKey) -> Record:
        return self.records.setdefault(key, Record(key))

    def _touched(self, key: GangKey) -> None:
        record = self.records[key]
        if record.empty:
            self._forget(key)
            return
        record.retries = 0
        self.changed.add(key)
        self._to_try.add(key)

    def _listen(self, key: GangKey) -> None:
        """Take in what a gang says of its group; those that mention it are concerned."""
        said = self.records[key].declaration
        left = self._graph.say(key, said.options.groups if said else ())
        self._to_try |= self._graph.concerned(key.called) | self._all_called(left)

    def _all_called(self, names: Iterable[GangName]) -> set[GangKey]:
        """Return the gangs of these names. A gang that named them may have held them back."""
        return {key for key in map(self._resolve, names) if key is not None}

    def _forget(self, key: GangKey) -> None:
        left = self._graph.say(key, ())
        self._to_try |= self._graph.concerned(key.called) | self._all_called(left)
        self._set_refusal(self.records.pop(key), None)
        for keys in (self.changed, self._to_try, self._short_of_room):
            keys.discard(key)
