"""All that is known of one gang: observations, and a record for each matter with a history."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from gang_scheduler.api import annotations
from gang_scheduler.api.pod_group import ScaleReason
from gang_scheduler.decode import keys
from gang_scheduler.decode.gangs import elastic as elastic_annotation
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.causes.specs import (
    BothInvalid,
    ClassDiffers,
    GangRequestMisplaced,
    InvalidInput,
    ObjectMissing,
    ObjectTwice,
    PreemptionPolicyDiffers,
    PriorityDiffers,
    RoleUnknown,
)
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import Gang, Pace, Role
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Elastic, Pod, VirtualPods, one_of_each, rank_key
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import Suspended
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.model.wording import field
from gang_scheduler.state.gangs.attempt import Attempt, Transition
from gang_scheduler.state.gangs.observed import NO_SPEC, Observed, Version
from gang_scheduler.state.gangs.preemption import Preempted, Preemptor
from gang_scheduler.state.gangs.quorum_age import QuorumAge
from gang_scheduler.workloads import exclusive_topology, table

# The nodes with which members of a gang were lost, and since when there is no room for
# replacements.


class Losses:
    """What a gang has lost with nodes, until it is whole on healthy ones again.

    `nodes` are names. `no_room_since` is when it was first found that members which replace lost
    ones have no room, in seconds since the epoch; None while they have, or none waits.
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
        """Note that the gang is whole on healthy nodes, or has started anew."""
        self.nodes = frozenset()
        self.no_room_since = None


# The last time an elastic gang grew or shrank by a decision of the scheduler.


class Scaling:
    """The last change of size: `size` workers then, `by` more than before, and why.

    `changed_at` is in seconds since the epoch; None for a gang that has not started, or has no
    member on a node any more. `reason` is None where it is not known. Workers that are `leaving`
    were evicted by the last changes.
    """

    __slots__ = ("_leaving", "_observed", "_version", "by", "changed_at", "reason", "size")

    def __init__(self, observed: Observed, version: Version) -> None:
        self.size = 0
        self.by = 0
        self.changed_at: int | None = None
        self.reason: ScaleReason | None = None
        self._leaving: frozenset[str] = frozenset()
        self._observed = observed
        self._version = version

    @property
    def elastic(self) -> Elastic | None:
        """How the gang grows and shrinks, as declared."""
        return self._observed.elastic

    @property
    def pace(self) -> Pace | None:
        """What the scheduler must know; None for a gang that does not say how it grows."""
        if self.elastic is None:
            return None
        return Pace(self.elastic, len(self.workers()), self.size, self.changed_at)

    @property
    def most_at_start(self) -> int | None:
        """How many members start at once if there is room; None where they may come one by one."""
        elastic = self.elastic
        if elastic is None or elastic.role or not (elastic.up_cooldown or elastic.up_step > 1):
            return None
        return elastic.max_workers

    def workers(self) -> frozenset[str]:
        """Return the uids of the workers that live and have a node."""
        elastic = self.elastic
        with_node = self._observed.with_node()
        return frozenset(pod.uid for pod in with_node if elastic and elastic.counts(pod))

    def begin_or_end(self, now: int) -> None:
        """Forget the past of a gang without members on nodes; begin anew for one that is found."""
        if self.elastic is None:
            return
        workers = self.workers()
        if not workers and not any(self._observed.with_node()):
            if self.changed_at is not None:
                self._change(0, 0, None, None)
            self._leaving = frozenset()
        elif self.changed_at is None:
            # It started under another process: its youngest worker says when it last grew.
            self._change(len(workers), 0, min(now, self._last_grown() or now), None)

    def _last_grown(self) -> int:
        """Return when the youngest worker found its node; 0 where that is not known."""
        elastic = self.elastic
        workers = (pod for pod in self._observed.with_node() if elastic and elastic.counts(pod))
        return max((int(pod.scheduled_at or pod.started_at) for pod in workers), default=0)

    def take_over(self, gang_spec: GangSpec) -> None:
        """Take in what the status of an object says that describes the gang from now on."""
        if gang_spec.scaled is not None and self.changed_at is None:
            changed_at, size, by, reason = gang_spec.scaled
            known = ScaleReason(reason) if reason in {*ScaleReason} else None
            self._change(size, by, changed_at, known)

    def grow(self, uids: Iterable[str], now: int) -> int:
        """Note that members find a place now; return how many workers more than before these are.

        0 if they only replace others.
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
        """Note that members are evicted; return how many workers these are."""
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
        self.size, self.by, self.changed_at, self.reason = size, by, at, reason
        self._version.changed()


# The result of the last try of a gang.


class Verdict:
    """Why a gang waits, and what users should know of it.

    `tried` says that there was a try since this process began. `refusal` is why members wait, None
    where none does: from the try, the binding that failed after it, or the claims that are waited
    for. `warnings` are what the last try found that holds nothing up, None before the first try; it
    was `late` when the schedule timeout had ended by the last refusal.

    `QueueingHints` writes the refusal, since it counts the gangs that wait.
    """

    __slots__ = ("late", "refusal", "tried", "warnings")

    def __init__(self) -> None:
        self.refusal: Refused | None = None
        self.warnings: tuple[Problem, ...] | None = None
        self.tried = False
        self.late = False

    def is_news(self, refusal: Refused, *, late: bool) -> bool:
        """Return whether a refusal says something else than this verdict, not only in numbers.

        `late`: the schedule timeout has ended.
        """
        if not self.tried or self.warnings or late != self.late:
            return True
        before = self.refusal
        if before is refusal:
            return False
        return before != refusal and (before is None or _wordless(before) != _wordless(refusal))

    def placed(self, stands: Refused | None) -> None:
        """Note that a try found room; what binding met before `stands` until that succeeds."""
        self.refusal, self.warnings, self.tried = stands, (), True

    def refused(self, refusal: Refused, *, late: bool) -> None:
        """Note how a try ended; `late`: after the schedule timeout."""
        self.refusal, self.warnings, self.tried, self.late = refusal, (), True, late

    def note(self, refusal: Refused | None) -> None:
        """Note why the gang waits since the try; None where it does not."""
        self.refusal = refusal

    def warn(self, problem: Problem) -> None:
        """Add what the same try found."""
        self.warnings = tuple(dict.fromkeys((*(self.warnings or ()), problem)))

    def drop_warnings(self) -> None:
        """Warn of nothing: what the gang was warned of may be gone."""
        self.warnings = ()


def _wordless(refusal: Refused) -> tuple[object, ...]:
    """Return what a refusal says, apart from counts that change with every pod elsewhere."""
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
    """Counts the placements of a gang whose claims are not bound yet, and whose room is held.

    `of_quorum`: one of them is that of the quorum.
    """

    __slots__ = ("_version", "number", "of_quorum")

    def __init__(self, version: Version) -> None:
        self.number = 0
        self.of_quorum = False
        self._version = version

    def hold(self, *, joins: bool) -> None:
        """Add a placement. One that only `joins` the gang is not of the quorum."""
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


class GangInfo:
    """One gang: what is observed of it, and a record for each thing that has a life of its own.

    Each record changes only by its own methods. These count in `version` what can make the gang
    another one for the scheduler. `jobs_failed`: all members were of Jobs that have failed.
    `backfilled` is which gang it was let pass when it was last `admitted_here`, by this process,
    and `passes` the one that it is let pass once the room that it is nominated to is free.
    `suspended` is the workload that its members would be of; once that is started, the gang
    `awaits_pods`, and their room is kept. It is not tried before `rests_until`, in seconds.
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
        self.attempt = Attempt(self.observed, self.version)
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
        """Bring what is remembered in line with the members; return what that changed.

        For the grouping alone: a transition that another caller sees is lost for the gangs that
        wait for it. Linear in members.
        """
        transition = self.attempt.settle(now)
        self.scaling.begin_or_end(now)
        taken = self.preempted
        self.quorum_age.settle(evicted=bool(taken.by))
        if taken.by and self.attempt.is_confirmed() and taken.has_recovered():
            taken.end()
            return transition._replace(is_news=True)
        return transition

    def relinked(self) -> None:
        """Note that what others say of this gang, or its group, may be something else."""
        self.version.seen_otherwise()

    def has_pending(self, schedulers: frozenset[str]) -> bool:
        """Return whether a member waits for one of these schedulers."""
        living = self.observed.living
        if type(living) is VirtualPods:
            return bool(living)
        return any(map(_waits_for(schedulers), living))

    def as_gang(self, schedulers: frozenset[str], *, gathers: bool = False) -> Gang:
        """Return the gang as the scheduler sees it; without pending members, none of ours waits.

        `gathers`: its group asks something of the network.
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
            apart=spec.apart,
            strict=spec.options.strict,
            match_policy=spec.options.match_policy,
            min_resources=spec.min_resources,
            own_domains=spec.own_domains,
            bound_members=observed.bound() if has_bound_members else (),
            problem=_both(self._problem(), self._problem_of(pending)),
            roles=attempt.roles,
            bound_by_role=_by_role(living) if spec.roles else (),
            pace=self.scaling.pace,
            suspended=self.suspended,
            object_uid=observed.object_uid,
        )

    def in_line_since(self, oldest: Pod | None) -> float:
        """Return when the gang, of which this is the oldest member, came into line, in seconds.

        Since what describes it, or else that member, was created; or its quorum, which is later.
        """
        spec = self.observed.spec or NO_SPEC
        described = spec.created_at if spec.uid or oldest is None else oldest.created_at
        return max(described, self.quorum_age.complete_at)

    def _problem_of(self, pending: Sequence[Pod]) -> Problem | None:
        """Return what is wrong with what a member says."""
        summary, members = self.observed.summary, one_of_each(pending)
        problem = None
        if summary.with_problem:
            problem = next((pod.problem for pod in members if pod.problem is not None), None)
        if summary.of_gang and problem is None:
            said = [each.said_of_gang for each in members if each.said_of_gang is not None]
            problem = next((each.elastic_problem for each in said if each.elastic_problem), None)
            problem = problem or self._other_options(members)
        least = self.observed.min_member
        if problem is None and len(self.observed.living) < least:
            problem = exclusive_topology.never_whole(self.key, members, least)
        if problem is None and table.BY_NAME[self.key.source].object_kind == "PodGroup":
            if summary.with_gang_request:
                problem = _misplaced(pending, self.observed.topology_request)
            problem = problem or self._contradicted() or self._other_priority()
            problem = problem or self._other_policy() or self._other_class()
        roles = (self.observed.spec or NO_SPEC).roles
        return problem or (_strange_role(pending, roles) if roles or summary.with_role else None)

    def _other_options(self, members: Iterable[Pod]) -> Problem | None:
        """Return which options members ask for where the gang has those of its object alone."""
        spec = self.observed.spec
        elsewhere = keys.OPTIONS_BELONG.get(self.key.source)
        if spec is None or spec.problem is not None or elsewhere is None:
            return None
        for pod in members:
            said = pod.said_of_gang
            if said is None:
                continue
            if said.options_problem is not None:
                return said.options_problem
            others = [
                key for key, name, value in said.options if getattr(spec.options, name) != value
            ]
            if others:
                cause = InvalidInput.misplaced(pod.key, map(field, others), elsewhere)
                return Problem(Reason.INVALID_SPEC, cause)
        return None

    def _contradicted(self) -> Problem | None:
        """Return what is wrong with a PodGroup beside what its members say of the whole gang."""
        spec = self.observed.spec
        if spec is None or spec.apart:
            return None
        elastic, least = self.observed.elastic, spec.min_member
        wrong = elastic_annotation.contradiction(elastic, spec.roles, least, "spec.minMember")
        return Problem(Reason.INVALID_SPEC, InvalidInput(str(wrong))) if wrong else None

    def _other_priority(self) -> Problem | None:
        """Return what is wrong with a member whose priority is not the one of its PodGroup.

        Kubernetes refuses both together, too (KEP-5710), since either may be meant.
        """
        spec, pod = self.observed.spec, self.observed.differs
        if spec is None or spec.priority is None or pod is None:
            return None
        cause = PriorityDiffers(pod.key, pod.priority, spec.priority)
        return Problem(Reason.INVALID_SPEC, cause)

    def _other_policy(self) -> Problem | None:
        """Return that a member has another preemptionPolicy than the PodGroup, if so.

        Kubernetes refuses both together, too.
        """
        said = (self.observed.spec or NO_SPEC).preempts
        pods = () if said is None else one_of_each(self.observed.living)
        first = min((each for each in pods if each.preempts != said), key=rank_key, default=None)
        if first is None:
            return None
        cause = PreemptionPolicyDiffers(first.key, first.preempts)
        return Problem(Reason.INVALID_SPEC, cause)

    def _other_class(self) -> Problem | None:
        """Return that no member is of the class that the PodGroup names, if so.

        A ResourceQuota bounds the classes of pods alone: no PodGroup lifts pods above their own.
        """
        wanted = (self.observed.spec or NO_SPEC).priority_class
        pods = one_of_each(self.observed.living) if wanted else ()
        if not pods or any(each.priority_class == wanted for each in pods):
            return None
        first = min(pods, key=rank_key)
        cause = ClassDiffers(first.key, first.priority_class, wanted)
        return Problem(Reason.INVALID_SPEC, cause)

    def _problem(self) -> Problem | None:
        """Return what is wrong with what describes the gang, or that nothing does."""
        kind = table.BY_NAME[self.key.source].object_kind
        gang_spec = self.observed.spec
        if gang_spec is None:
            if not kind:
                return None
            return Problem(Reason.POD_GROUP_NOT_FOUND, ObjectMissing(kind, self.key))
        specs = self.observed.specs.values()
        groups = sorted({each.gvr.group for each in specs if each.gvr})
        if len(groups) > 1:
            return Problem(Reason.INVALID_SPEC, ObjectTwice(self.key, tuple(groups)))
        workload = self.observed.missing_workload
        if gang_spec.problem is None and workload is not None:
            return Problem(Reason.POD_GROUP_NOT_FOUND, ObjectMissing(workload.source, workload))
        return gang_spec.problem


def _waits_for(schedulers: frozenset[str]) -> Callable[[Pod], bool]:
    return lambda pod: not pod.node and pod.scheduler in schedulers


def _both(of_spec: Problem | None, of_member: Problem | None) -> Problem | None:
    """Return what is wrong with what describes a gang and with a member, said at once."""
    if of_spec is None or of_member is None:
        return of_spec or of_member
    if isinstance(of_spec.cause, InvalidInput) and isinstance(of_member.cause, InvalidInput):
        return Problem(of_spec.reason, BothInvalid(of_spec.cause, of_member.cause))
    return of_spec


def _by_role(living: Sequence[Pod]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(pod.role for pod in one_of_each(living) if pod.node).items()))


def _strange_role(members: Sequence[Pod], roles: Sequence[Role]) -> Problem | None:
    """Return a problem if a member has a role that its gang does not have, or none of its roles."""
    known = tuple(each.name for each in roles)
    for pod in one_of_each(members):
        if not known and not pod.role:
            continue
        # What a controller calls its pods makes no roles where none are declared.
        if pod.role not in known if known else annotations.ROLE in pod.labels:
            return Problem(Reason.INVALID_SPEC, RoleUnknown(pod.key, pod.role, known))
    return None


def _misplaced(members: Sequence[Pod], topology_request: TopologyRequest | None) -> Problem | None:
    """Return a problem if a member has another request than its PodGroup, which must have it."""
    for pod in one_of_each(members):
        said = pod.gang_request
        if said is not None and (said.problem or said.topology_request != topology_request):
            return Problem(Reason.INVALID_SPEC, GangRequestMisplaced(pod.key))
    return None
