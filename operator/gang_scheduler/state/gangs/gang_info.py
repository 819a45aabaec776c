"""The record of one gang: its observed objects, and one record for each concern with a history."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gang_scheduler.api.pod_group import ScaleReason
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.causes.gangs import SavesAwaited
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import ElasticSize, Gang
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Elastic, Pod, VirtualPods, one_of_each
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import Suspended
from gang_scheduler.state.gangs import problems
from gang_scheduler.state.gangs.observed import NO_SPEC, Observed, Version
from gang_scheduler.state.gangs.run_attempt import QuorumAge, RunAttempt, Transition

# The nodes on which a gang lost members, and the moment since when replacements lack room.


class Losses:
    """The losses of a gang together with nodes, until it is whole on healthy nodes again.

    `nodes` are names. `no_room_since` is the moment when replacements of lost members were first
    found to have no room, in seconds since the epoch. It is None while they have room, or none
    waits.
    """

    __slots__ = ("no_room_since", "nodes")

    def __init__(self) -> None:
        self.nodes: frozenset[str] = frozenset()
        self.no_room_since: int | None = None

    def note(self, nodes: Iterable[str]) -> None:
        """Note nodes with members that are failing."""
        self.nodes |= frozenset(nodes)

    def refused(self, now: int) -> None:
        """Note that there is no room for members that replace lost ones."""
        if self.no_room_since is None:
            self.no_room_since = now

    def end(self) -> None:
        """Note that the gang is whole on healthy nodes, or has started again."""
        self.nodes = frozenset()
        self.no_room_since = None


# The last time an elastic gang grew or shrank by a decision of the scheduler.


SERIES_SECONDS: Final = 7200


class Scaling:
    """The last change of size: `size` workers after it, `by` more than before, and the reason.

    `changed_at` is in seconds since the epoch; None for a gang that has not started, or has no
    member on a node any more. `reason` is None if it is unknown. Workers that are `leaving` were
    evicted by the last changes. `began_at` is the change with which its present series of growths
    began: in SERIES_SECONDS a gang could grow again and again.
    """

    __slots__ = (
        *("_leaving", "_observed", "_version", "began_at", "by", "changed_at", "reason", "size"),
    )

    def __init__(self, observed: Observed, version: Version) -> None:
        self.size = 0
        self.by = 0
        self.changed_at: int | None = None
        self.began_at: int | None = None
        self.reason: ScaleReason | None = None
        self._leaving: frozenset[str] = frozenset()
        self._observed = observed
        self._version = version

    @property
    def elastic(self) -> Elastic | None:
        """How the gang grows and shrinks, as declared."""
        return self._observed.elastic

    @property
    def elastic_size(self) -> ElasticSize | None:
        """The pace at which an elastic gang grows; None for a gang that is not elastic."""
        if self.elastic is None:
            return None
        preempted = self.reason is ScaleReason.PREEMPTED
        return ElasticSize(self.elastic, len(self.workers()), self.size, self.changed_at, preempted)

    @property
    def most_at_start(self) -> int | None:
        """The members that start at once if there is room; None if they may come one by one."""
        elastic = self.elastic
        if elastic is None or elastic.role or not (elastic.up_cooldown or elastic.up_step > 1):
            return None
        return elastic.max_workers

    def workers(self) -> frozenset[str]:
        """Return the uids of the living workers that have a node."""
        elastic = self.elastic
        with_node = self._observed.with_node()
        return frozenset(pod.uid for pod in with_node if elastic and elastic.counts(pod))

    def begin_or_end(self, now: int) -> None:
        """Forget the history of a gang without members on nodes; begin one for a running gang."""
        if self.elastic is None:
            return
        workers = self.workers()
        if not workers and not any(self._observed.with_node()):
            if self.changed_at is not None:
                self._change(0, 0, None, None)
            self._leaving = frozenset()
        elif self.changed_at is None:
            # The gang started under another process: its youngest worker tells when it last grew.
            self._change(len(workers), 0, min(now, self._last_grown() or now), None)

    def _last_grown(self) -> int:
        """Return when the youngest worker found its node; 0 if this is unknown."""
        elastic = self.elastic
        workers = (pod for pod in self._observed.with_node() if elastic and elastic.counts(pod))
        return max((int(pod.scheduled_at or pod.started_at) for pod in workers), default=0)

    def take_over(self, gang_spec: GangSpec) -> None:
        """Take over the status of an object that describes the gang from now on."""
        if gang_spec.scaled is not None and self.changed_at is None:
            changed_at, size, by, reason = gang_spec.scaled
            known = ScaleReason(reason) if reason in {*ScaleReason} else None
            self._change(size, by, changed_at, known)

    def grow(self, uids: Iterable[str], now: int) -> int:
        """Note that members find a place now; return by how many workers the gang grows.

        The result is 0 if the members only replace lost ones.
        """
        workers = self.workers()
        after = len(workers.union(uid for uid in uids if self._is_worker(uid)))
        more = after - len(workers)
        elastic = self.elastic
        if elastic is None or not more:
            return 0
        if self.changed_at is None:
            self._change(after, more, now, ScaleReason.STARTED)
            return more
        if after <= max(self.size, elastic.min_workers):
            return 0
        self._change(after, more, now, ScaleReason.ROOM_FREE)
        return more

    def shrink(self, uids: Collection[str], now: int) -> int:
        """Note that members are evicted; return how many of them are workers."""
        workers = self.workers() - self._leaving
        gone = workers & frozenset(uids)
        if gone:
            self._leaving = (self._leaving & self.workers()) | gone
            left = len(workers) - len(gone)
            self._change(left, -len(gone), now, ScaleReason.PREEMPTED)
        return len(gone)

    def _is_worker(self, uid: str) -> bool:
        pod, elastic = self._observed.members.get(uid), self.elastic
        return pod is not None and elastic is not None and elastic.counts(pod)

    def _change(self, size: int, by: int, at: int | None, reason: ScaleReason | None) -> None:
        began, grows = self.began_at, reason is ScaleReason.ROOM_FREE
        is_later = began is None or at is None or at - began >= SERIES_SECONDS
        self.began_at = at if is_later or not grows else began
        self.size, self.by, self.changed_at, self.reason = size, by, at, reason
        self._version.changed()


# The result of the last try of a gang.


class Verdict:
    """The reason why a gang waits, and warnings for users.

    `tried`: the gang was tried since this process began. `refusal` is the reason why members wait,
    None if none waits. It comes from the last try, from a failed binding, or from claims that are
    not bound yet. `QueueingHints` writes it, since it counts the gangs that wait. `warnings` are
    findings of the last try that do not hold up the gang; None before the first try. `late`: the
    schedule timeout had ended at the last refusal.
    """

    __slots__ = ("late", "refusal", "tried", "warnings")

    def __init__(self) -> None:
        self.refusal: Refused | None = None
        self.warnings: tuple[Problem, ...] | None = None
        self.tried = False
        self.late = False

    def is_news(self, refusal: Refused, *, late: bool) -> bool:
        """Return whether a refusal differs from this verdict in more than numbers.

        `late`: the schedule timeout has ended.
        """
        if not self.tried or self.warnings or late != self.late:
            return True
        before = self.refusal
        if before is refusal:
            return False
        return before != refusal and (before is None or _wordless(before) != _wordless(refusal))

    def placed(self, stands: Refused | None) -> None:
        """Note that a try found room; a failure to bind `stands` until binding succeeds."""
        self.refusal, self.warnings, self.tried = stands, (), True

    def refused(self, refusal: Refused, *, late: bool) -> None:
        """Record the outcome of a try; `late` if the schedule timeout has ended."""
        self.refusal, self.warnings, self.tried, self.late = refusal, (), True, late

    def note(self, refusal: Refused | None) -> None:
        """Note why the gang waits since the try; None if it does not wait."""
        self.refusal = refusal

    def warn(self, problem: Problem) -> None:
        """Add a problem that the last try found."""
        self.warnings = tuple(dict.fromkeys((*(self.warnings or ()), problem)))

    def drop_warnings(self) -> None:
        """Drop all warnings: their causes may be gone."""
        self.warnings = ()


def _wordless(refusal: Refused) -> tuple[object, ...]:
    """Return the content of a refusal, without counts that every pod elsewhere changes."""
    misfit, rejection = refusal.misfit, refusal.with_group
    rejections = {words for words, _ in misfit.rejections} if misfit else None
    short = misfit.shortage.obstacle if misfit and misfit.shortage else None
    with_group = (rejection.group, rejection.pod, rejection.refused.misfit) if rejection else None
    return (
        *(refusal.reason, refusal.pods, refusal.cause, refusal.left_over, refusal.preemption),
        *(rejections, with_group, short, refusal.if_empty, refusal.empty_flavors),
    )


# Members of one gang that have room and wait for their claims.


class VolumeWaits:
    """Counts the placements of a gang that hold room, but whose claims are not bound yet.

    `of_quorum`: one of these placements is the quorum's.
    """

    __slots__ = ("_version", "number", "of_quorum")

    def __init__(self, version: Version) -> None:
        self.number = 0
        self.of_quorum = False
        self._version = version

    def hold(self, *, joins: bool) -> None:
        """Add a placement. A placement that only `joins` the gang is not the quorum's."""
        self.number += 1
        self.of_quorum |= not joins
        self._version.changed()

    def let_go(self, *, joins: bool) -> bool:
        """Take a placement out; return whether there was any."""
        if not self.number:
            return False
        self.number -= 1
        self.of_quorum &= joins
        self._version.changed()
        return True


# Preemptions by a gang, and preemptions of a gang.

ROUNDS_SECONDS: Final = 600
"""Preemptions that began this long ago no longer count."""
MOST_ROUNDS: Final = 3
"""The most preemptions of a gang that are remembered, and that may begin in ROUNDS_SECONDS."""


HOLD_SECONDS: Final = 60
"""A gang that lacks members keeps its nominated room for this time: they may be created again."""


@dataclass(frozen=True, slots=True)
class Preempting:
    """A preemption under way: when it began, its victims (uids), and the domain to clear."""

    at: int
    victims: tuple[str, ...] = ()
    domain: str = ""


class Preemptor:
    """The preemptions for a gang: the one `under_way`, and when the last `rounds` of them began.

    One is under way until the gang is bound or the preemption is given up. `saves_awaited`: the
    victims save their work first. `held_until`: when nominated room is given up if the gang, or its
    group, is still incomplete by then. Times are in seconds since the epoch.
    """

    __slots__ = ("_refusal", "_version", "held_until", "rounds", "saves_awaited", "under_way")

    def __init__(self, version: Version) -> None:
        self.under_way: Preempting | None = None
        self.rounds: tuple[int, ...] = ()
        self.saves_awaited: SavesAwaited | None = None
        self.held_until: int | None = None
        self._refusal: Refused | None = None
        self._version = version

    def begin(self, now: int, victims: Collection[str], domain: str) -> None:
        """Note that victims, by their uids, are being evicted for the gang."""
        self.under_way = Preempting(now, tuple(victims), domain)
        self.rounds = (*self.rounds, now)[-MOST_ROUNDS:]
        self.held_until = None
        self._version.changed()

    def end(self) -> bool:
        """Note that no preemption is under way; return whether one was."""
        self.saves_awaited = self._refusal = None
        was_under_way = self.under_way is not None
        if was_under_way:
            self.under_way = None
            self._version.changed()
        return was_under_way

    def await_members(self, now: int) -> None:
        """Keep nominated room for missing members, for HOLD_SECONDS from the first call on."""
        if self.held_until is None:
            self.held_until = now + HOLD_SECONDS

    def await_none(self) -> None:
        """Note that no nominated room waits for members."""
        self.held_until = None

    def await_saves(self, awaited: SavesAwaited | None) -> None:
        """Record that gangs save their work before they are evicted; None for no longer."""
        self.saves_awaited = awaited

    def shown(self, refusal: Refused) -> Refused:
        """Return the refusal for users; while victims save their work, it says so."""
        if refusal.reason is Reason.WAITING_FOR_VICTIMS:
            self._refusal = refusal
        elif refusal.reason is Reason.WAITING_FOR_CHECKPOINT:
            refusal = self._refusal or refusal
        if self.saves_awaited is None or refusal.reason is not Reason.WAITING_FOR_VICTIMS:
            return refusal
        reason = Reason.WAITING_FOR_CHECKPOINT
        return Refused(refusal.gang, reason, refusal.pods, cause=self.saves_awaited)


class Preempted:
    """The gang for which members of this gang were evicted; "" once this gang is whole again.

    `creator` is the kind of object that creates members again, such as "Job"; "" if nothing does.
    """

    __slots__ = ("_bound_then", "_observed", "by", "creator")

    def __init__(self, observed: Observed) -> None:
        self.by = ""
        self.creator = ""
        self._bound_then: frozenset[str] = frozenset()
        self._observed = observed

    def begin(self, by: str) -> None:
        """Note the gang for which members are evicted."""
        self.by = by
        members = self._observed.members.values()
        owner = "controller" if any(pod.owner for pod in members) else ""
        self.creator = "Job" if any(pod.job for pod in members) else owner
        self._bound_then = frozenset(pod.uid for pod in self._observed.with_node())

    def end(self) -> None:
        """Note that the gang is whole again."""
        self.by = ""

    def has_recovered(self) -> bool:
        """Return whether the victims are gone, and no members wait to replace them."""
        living = self._observed.living
        bound = {pod.uid for pod in living if pod.node}
        is_over = not self._bound_then <= bound and not any(pod.marked_as_victim for pod in living)
        return is_over and len(bound) == len(living)


class GangInfo:
    """One gang: its observed members and objects, and a record for each of its concerns.

    Each record changes only by its own methods. These raise `version` for every change that can
    matter to the scheduler. `jobs_failed`: all Jobs of the members have failed. `backfilled` is the
    gang before which this gang was started, when this process last placed it (`admitted_here`).
    `passes` is the gang before which it will start, once its nominated room is free. `suspended` is
    the suspended workload that will create the members; once it is started, the gang `awaits_pods`,
    and their room is kept. The gang is not tried before `rests_until`, in seconds.
    """

    __slots__ = (
        *("key", "version", "observed", "attempt", "quorum_age", "verdict"),
        *("preemptor", "preempted", "volume_waits", "jobs_failed"),
        *("backfilled", "admitted_here", "passes", "scaling", "losses"),
        *("suspended", "awaits_pods", "rests_until"),
    )

    def __init__(self, key: GangKey) -> None:
        self.key = key
        self.version = Version()
        self.observed = Observed(key, self.version)
        self.attempt = RunAttempt(self.observed, self.version)
        self.quorum_age = QuorumAge(self.observed, self.attempt, self.version)
        self.verdict = Verdict()
        self.scaling = Scaling(self.observed, self.version)
        self.preemptor = Preemptor(self.version)
        self.preempted = Preempted(self.observed)
        self.volume_waits = VolumeWaits(self.version)
        self.losses = Losses()
        self.jobs_failed = False
        self.backfilled: Backfilled | None = None
        self.admitted_here = False
        self.passes: GangKey | None = None
        self.suspended: Suspended | None = None
        self.awaits_pods = False
        self.rests_until = 0

    def settle(self, now: int) -> Transition:
        """Update the records from the members; return the changes. Linear in members.

        Only the grouping may call this. If another caller took the transition, the gangs that wait
        for it would miss it.
        """
        transition = self.attempt.settle(now)
        self.scaling.begin_or_end(now)
        taken = self.preempted
        self.quorum_age.settle(evicted=bool(taken.by))
        if taken.by and self.attempt.is_confirmed() and taken.has_recovered():
            taken.end()
            return transition._replace(is_news=True)
        return transition

    def related_object_changed(self) -> None:
        """Note that another object has changed what it says about this gang or its group."""
        self.version.content_changed()

    def has_pending(self, schedulers: frozenset[str]) -> bool:
        """Return whether a member waits for one of these schedulers."""
        living = self.observed.living
        if type(living) is VirtualPods:
            return bool(living)
        if self.observed.summary.bound == len(living):
            return False
        for pod in living:  # noqa: SIM110 - for every gang in each cycle; `any` takes thrice as long.
            if not pod.node and pod.scheduler in schedulers:
                return True
        return False

    def as_gang(self, schedulers: frozenset[str], *, gathers: bool = False) -> Gang:
        """Return the gang for the scheduler; its pending members are those of these schedulers.

        `gathers`: its group has a topology request.
        """
        observed, attempt = self.observed, self.attempt
        living = observed.living
        pending: Sequence[Pod] = living
        if type(living) is not VirtualPods:
            pending = [*filter(_waits_for(schedulers), living)]
        spec, summary = observed.spec or NO_SPEC, observed.summary
        oldest = summary.oldest
        has_bound_members = gathers or summary.with_podset
        return Gang(
            key=self.key,
            uid=spec.uid or (oldest.uid if oldest else ""),
            created_at=self.in_line_since(oldest),
            complete_at=self.quorum_age.complete_at,
            priority=observed.priority,
            min_member=attempt.needed,
            pending=observed.in_rank_order(pending),
            bound=summary.bound,
            was_whole=attempt.was_whole,
            partially_bound=attempt.is_partially_bound(),
            each_alone=spec.each_alone,
            strict=spec.options.strict,
            match_policy=spec.options.match_policy,
            min_resources=spec.min_resources,
            own_domains=spec.own_domains,
            bound_members=observed.bound() if has_bound_members else (),
            problem=problems.of_gang(observed, pending),
            roles=attempt.roles,
            bound_by_role=_by_role(living) if spec.roles else (),
            elastic_size=self.scaling.elastic_size,
            suspended=self.suspended,
            object_uid=observed.object_uid,
        )

    def in_line_since(self, oldest: Pod | None) -> float:
        """Return when the gang came into line, in seconds; `oldest` is its oldest member.

        A gang comes into line when the object that describes it is created, or else its oldest
        member. It comes later if its quorum is complete only later.
        """
        spec = self.observed.spec or NO_SPEC
        described = spec.created_at if spec.uid or oldest is None else oldest.created_at
        return max(described, self.quorum_age.complete_at)


def _waits_for(schedulers: frozenset[str]) -> Callable[[Pod], bool]:
    return lambda pod: not pod.node and pod.scheduler in schedulers


def _by_role(living: Sequence[Pod]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(pod.role for pod in one_of_each(living) if pod.node).items()))
