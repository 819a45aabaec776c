"""The moment when a waiting gang is tried again: after a helpful change, or after a pause.

The schedule timeouts of gangs are here, too (`Deadlines`): no pause lasts beyond such a timeout.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.causes.gangs import (
    BeyondMaxWorkers,
    NotTriedYet,
    OthersAwaitClaims,
    SurplusNotTried,
)
from gang_scheduler.model.consequences import RetryAfter
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import HELD, MAKING_ROOM, Reason, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.queues.quota_waits import (
    RETRIED_AFTER_POOL,
    RETRIED_AFTER_VICTIMS,
    QuotaWaits,
    StartedGangs,
)
from gang_scheduler.state.queues.reservations_in_force import Reservations

# The pause after which a gang is tried again if no event that could help it comes first.

FIRST_RETRY_SECONDS: Final = 1
LAST_RETRY_SECONDS: Final = 60
REST_RETRY_SECONDS: Final = 4
"""The pause of a partly bound gang: it holds room, and may do nothing until the rest is bound."""


@dataclass(slots=True)
class _Retry:
    """The retries of one gang: their number, and the moment of the next one, in epoch seconds.

    `woken_at` is the moment of its entry among the moments, not later than `at`. `known_at` is the
    known moment at which the gang's obstacle passes; `at` may be earlier, just to look.
    """

    number: int = 0
    failed_binds: int = 0
    at: int | None = None
    woken_at: int | None = None
    known_at: int | None = None


class Retries:
    """The moments at which gangs are due again, in seconds since the epoch; one entry a gang."""

    def __init__(self) -> None:
        self._gangs: dict[GangKey, _Retry] = {}
        self._moments: list[tuple[int, GangKey]] = []

    def __len__(self) -> int:
        return len(self._moments)

    def next(self) -> int | None:
        """Return when the first gang is due."""
        return self._moments[0][0] if self._moments else None

    def next_known(self, now: int) -> int | None:
        """Return the first known moment when the obstacle of a gang passes.

        Linear in waiting gangs.
        """
        known = (each.known_at for each in self._gangs.values() if each.known_at is not None)
        return min((each for each in known if each > now), default=None)

    def later(
        self, key: GangKey, now: int, deadline: int | None, most: int = LAST_RETRY_SECONDS
    ) -> None:
        """Double the pause each time, but never beyond the schedule timeout."""
        retry = self._gangs.get(key) or self._new(key)
        wait = min(FIRST_RETRY_SECONDS << retry.number, most)
        retry.number = min(retry.number + 1, LAST_RETRY_SECONDS.bit_length())
        moment, retry.known_at = now + wait, deadline
        if deadline is not None and now < deadline < moment:
            moment = deadline
        self._set(key, retry, moment)

    def after_failed_bind(
        self, key: GangKey, now: int, deadline: int | None, most: int = LAST_RETRY_SECONDS
    ) -> None:
        """Double the pause after a failed binding; such pauses have a count of their own."""
        retry = self._gangs.get(key) or self._new(key)
        retry.number = retry.failed_binds
        self.later(key, now, deadline, most)
        retry.failed_binds = retry.number

    def at(self, key: GangKey, moment: int, known: int | None = None) -> None:
        """Set the moment when a gang is due, in place of the moment before.

        `known` is the moment when its obstacle passes, if that is known.
        """
        retry = self._gangs.get(key) or self._new(key)
        retry.known_at = known
        self._set(key, retry, moment)

    def has_come(self, key: GangKey, now: int) -> bool:
        """Return whether the moment of a gang has come; False if it has none."""
        retry = self._gangs.get(key)
        return retry is not None and retry.at is not None and retry.at <= now

    def no_later(self, key: GangKey, moment: int, now: int) -> None:
        """Let a gang be due at a moment, unless it is already due between `now` and then."""
        retry = self._gangs.get(key) or self._new(key)
        retry.known_at = moment if retry.known_at is None else min(moment, retry.known_at)
        if retry.at is None or not now < retry.at < moment:
            self._set(key, retry, moment)

    def _set(self, key: GangKey, retry: _Retry, moment: int) -> None:
        retry.at = moment
        # Each gang has one entry: an entry that is too early is moved when its time comes.
        if retry.woken_at is None or moment < retry.woken_at:
            retry.woken_at = moment
            heapq.heappush(self._moments, (moment, key))

    def due(self, now: int) -> set[GangKey]:
        """Take out and return the gangs whose moment has come."""
        due = set()
        while self._moments and self._moments[0][0] <= now:
            moment, key = heapq.heappop(self._moments)
            retry = self._gangs.get(key)
            if retry is None or retry.woken_at != moment:
                continue
            retry.woken_at = None
            if retry.at is None or retry.at <= now:
                due.add(key)
            else:
                self._set(key, retry, retry.at)
        return due

    def failed_binds(self, key: GangKey) -> int:
        """Return the number of bindings of a gang that failed in a row; it counts up to 5."""
        retry = self._gangs.get(key)
        return 0 if retry is None else retry.failed_binds

    def start_over(self, key: GangKey) -> None:
        """Begin again with the shortest pause, since the gang has changed."""
        retry = self._gangs.get(key)
        if retry is not None:
            retry.number = 0

    def placed(self, key: GangKey) -> None:
        """Drop the moment of a gang that has found room."""
        retry = self._gangs.get(key)
        if retry is not None:
            retry.at = retry.known_at = None

    def bound(self, key: GangKey) -> None:
        """Reset the count of failed bindings: the API server has accepted them."""
        retry = self._gangs.get(key)
        if retry is not None:
            retry.failed_binds = 0

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self._gangs.pop(key, None)

    def _new(self, key: GangKey) -> _Retry:
        retry = self._gangs[key] = _Retry()
        return retry


# The ends of the schedule timeouts of gangs.


class Deadlines:
    """The schedule timeouts of gangs; `timeout_seconds` is the default."""

    def __init__(self, timeout_seconds: int) -> None:
        self.timeout_seconds = timeout_seconds

    def of(self, info: GangInfo) -> int | None:
        """Return the end of the schedule timeout, in epoch seconds; None while it does not run."""
        quorum_since = info.attempt.quorum_since
        return None if quorum_since is None else quorum_since + self.timeout_of(info)

    def timeout_of(self, info: GangInfo) -> int:
        """Return the schedule timeout of a gang, in seconds."""
        spec = info.observed.spec
        if spec is None:
            return self.timeout_seconds
        return spec.options.timeout_seconds or self.timeout_seconds


# The reasons why gangs wait, and the gangs that a change of the cluster may help.

RETRIED_AFTER_NODES: Final = those_with(lambda rule: RetryAfter.NODES in rule.retry_after)
TRIED_WITH_NODES: Final = RETRIED_AFTER_NODES | RETRIED_AFTER_POOL
"""The reasons for which a gang is tried again whenever nodes change."""
RETRIED_AFTER_TREES: Final = those_with(lambda rule: RetryAfter.TREES in rule.retry_after)
RETRIED_AFTER_QUEUES: Final = those_with(lambda rule: RetryAfter.QUEUES in rule.retry_after)


class QueueingHints:
    """The number of waiting gangs by reason, and the changes since `helped` was last asked."""

    def __init__(
        self,
        infos: Mapping[GangKey, GangInfo],
        quota_waits: QuotaWaits,
        reservations: Reservations,
    ) -> None:
        self.waiting: Counter[Reason] = Counter()
        self.started_gangs = StartedGangs()
        self._infos = infos
        self._quota_waits = quota_waits
        self._reservations = reservations
        self._short_of_nodes: set[GangKey] = set()
        self._room_freed = False
        self._room_made = False
        self._topologies_changed = False
        self._queues_changed = False
        self._provisioning_changed = False

    def refused(self, info: GangInfo, refusal: Refused, *, late: bool) -> None:
        """Note why a try failed, and whether freed room makes the gang due."""
        self._count(info, refusal)
        info.verdict.refused(refusal, late=late)
        if refusal.reason in RETRIED_AFTER_NODES:
            self._short_of_nodes.add(info.key)
        else:
            self._short_of_nodes.discard(info.key)

    def stands(self, info: GangInfo, refusal: Refused, *, late: bool) -> bool:
        """Return whether a refusal is the same as at the last try: noting it changes nothing.

        This is so for most gangs, in each cycle.
        """
        verdict = info.verdict
        return (
            verdict.refusal is refusal
            and verdict.late == late
            and verdict.tried
            and not verdict.warnings
            and (info.key in self._short_of_nodes) == (refusal.reason in RETRIED_AFTER_NODES)
        )

    def placed(self, info: GangInfo, stands: Refused | None) -> None:
        """Note that a try found room; an earlier failure to bind `stands`, unless it is None."""
        self._count(info, stands, placed=True)
        info.verdict.placed(stands)
        self._short_of_nodes.discard(info.key)

    def note(self, info: GangInfo, refusal: Refused | None) -> None:
        """Note why a gang waits since its last try; nothing if it does not wait."""
        self._count(info, refusal)
        info.verdict.note(refusal)

    def forget(self, info: GangInfo) -> None:
        """Forget a gang that is gone."""
        self.note(info, None)
        self._short_of_nodes.discard(info.key)
        self.started_gangs.forget(info.key)

    def room_freed(self) -> None:
        """Note that room was freed, or that a node has changed."""
        self._room_freed = self._room_made = True

    def topologies_changed(self) -> None:
        """Note that the trees of the network have changed."""
        self._topologies_changed = True

    def queues_changed(self) -> None:
        """Note that queues, or objects that they refer to, have changed."""
        self._queues_changed = True

    def provisioning_changed(self) -> None:
        """Note that a request for nodes has had a result, or is gone."""
        self._provisioning_changed = True

    @property
    def pending(self) -> bool:
        """Whether gangs must be tried for which no other event comes."""
        return self._quota_waits.pending or any(self._that_may_evict())

    def helped(self) -> set[GangKey]:
        """Return the gangs to try again because of changes since the last call."""
        helped = set(self._short_of_nodes) if self._room_freed else set()
        if self._topologies_changed:
            helped.update(self._refused_for(RETRIED_AFTER_TREES))
        if self._queues_changed:
            helped.update(self._refused_for(RETRIED_AFTER_QUEUES))
        if self._provisioning_changed:
            helped.update(self._refused_for({Reason.WAITING_FOR_PROVISIONING}))
            self._provisioning_changed = False
        helped |= self._quota_waits.helped()
        helped.update(self._that_may_evict())
        self.started_gangs.clear()
        helped |= self._reservations.helped(room_freed=self._room_freed)
        self._room_freed = self._topologies_changed = self._queues_changed = False
        self._room_made = False
        return helped

    def preemptors_helped(self) -> set[GangKey]:
        """Return gangs that wait for victims, if some room was freed since the last call."""
        if not self._room_made:
            return set()
        self._room_made = False
        if not any(self.waiting[reason] for reason in MAKING_ROOM):
            return set()
        return {key for key in self._short_of_nodes if self._waits_for_victims(key)}

    def _that_may_evict(self) -> Iterator[GangKey]:
        """Yield the gangs that may evict gangs which have begun to run."""
        started = self.started_gangs.new
        if not started:
            return
        yield from self._quota_waits.that_may_evict(started)
        lowest = started.lowest.get(None)
        if lowest is None:
            return
        for key in self._short_of_nodes:
            refusal = self._infos[key].verdict.refusal
            if (
                refusal is not None
                and refusal.gang.queue is None
                and refusal.reason in RETRIED_AFTER_VICTIMS
                and refusal.gang.queue_priority > lowest
            ):
                yield key

    def _waits_for_victims(self, key: GangKey) -> bool:
        refusal = self._infos[key].verdict.refusal
        return refusal is not None and refusal.reason in MAKING_ROOM

    def _refused_for(self, reasons: Collection[Reason]) -> Iterator[GangKey]:
        for key, info in self._infos.items():
            refusal = info.verdict.refusal
            if refusal is not None and refusal.reason in reasons:
                yield key

    def _count(self, info: GangInfo, after: Refused | None, *, placed: bool = False) -> None:
        before = info.verdict.refusal
        if before is after:
            return
        self._quota_waits.moved(info.key, before, after, placed=placed)
        latest = after or before
        if latest is not None and latest.gang.queue is not None:
            self._reservations.moved(info.key, after)
        if before is not None:
            self.waiting[before.reason] -= 1
        if after is not None:
            self.waiting[after.reason] += 1


def refusal_of_untried(info: GangInfo, schedulers: frozenset[str]) -> Refused | None:
    """Return the refusal for waiting members that the last verdict does not cover, if any."""
    refusal = info.verdict.refusal
    spoken_of = {pod.uid for pod in refusal.pods} if refusal else set()
    gang = info.as_gang(schedulers)
    pods = tuple(pod for pod in gang.pending if pod.uid not in spoken_of)
    if not info.volume_waits.number:
        return untried(gang, pods) if pods else None
    is_known = refusal is not None and refusal.reason in HELD
    awaiting = refusal.reason if refusal and is_known else Reason.WAITING_FOR_VOLUMES
    return untried(gang, pods, awaiting=awaiting) if pods else None


def untried(gang: Gang, pods: tuple[Pod, ...], *, awaiting: Reason | None = None) -> Refused:
    """Return the refusal for members without a verdict.

    Such members are surplus that was not placed with the quorum, or no decision was made yet.
    `awaiting`: other members have room and wait for their claims, for this reason.
    """
    if awaiting is not None:
        return Refused(gang, awaiting, pods, cause=OthersAwaitClaims(gang.key))
    if gang.elastic_size is not None and _are_beyond(gang, pods):
        beyond = BeyondMaxWorkers(gang.key, gang.elastic_size.elastic.max_workers)
        return Refused(gang, Reason.ELASTIC_LIMIT, pods, cause=beyond, left_over=True)
    if gang.bound:
        surplus = SurplusNotTried(gang.key, len(pods))
        return Refused(gang, Reason.UNSCHEDULABLE, pods, cause=surplus, left_over=True)
    return Refused(gang, Reason.WAITING_FOR_GANGS, pods, cause=NotTriedYet(gang.key))


def _are_beyond(gang: Gang, pods: Collection[Pod]) -> bool:
    """Return whether an elastic gang has all the workers that it wants, without these members."""
    if gang.elastic_size is None:
        return False
    elastic, uids = gang.elastic_size.elastic, {pod.uid for pod in pods}
    others = sum(elastic.counts(pod) for pod in gang.pending if pod.uid not in uids)
    return gang.elastic_size.bound + others >= elastic.max_workers and all(
        map(elastic.counts, pods)
    )
