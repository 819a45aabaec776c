"""What is known of one gang."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gang_scheduler.decode.gangs import gang_specs, membership, topology_requests
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods import podsets, rank
from gang_scheduler.model.causes import ObjectMissing, ObjectTwice
from gang_scheduler.model.gangs import Gang, GangGroup, GangKey, Problem, Reason
from gang_scheduler.model.network.topology_request import TopologyRequest
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod, PodPhase, rank_key
from gang_scheduler.state.gangs import plan_annotations

SAME_ATTEMPT_SECONDS = 10
"""Members of one attempt are created together, in about this time."""
NO_SPEC = GangSpec(GangKey("", "", ""), "")
# Where members describe the gang, and how.
BY_MEMBERS = {
    membership.ANNOTATION.name: gang_specs.by_members,
    membership.SINGLE.name: gang_specs.by_itself,
}


@dataclass(frozen=True, slots=True)
class Preempting:
    """A preemption that is carried out: since when, whom it takes (uids), and for which domain."""

    at: int
    victims: tuple[str, ...] = ()
    domain: str = ""


class Transition(NamedTuple):
    """What a record remembers otherwise than before.

    `became_whole`: from now on the gang holds back no other gang of its group. `is_news`: its
    status may say something else.
    """

    became_whole: bool
    is_news: bool


@dataclass(slots=True, eq=False)
class GangInfo:
    """One gang: its members, what describes it, and how its last tries went.

    `members` are all its pods by uid, ended ones included; those with a node have it, also when the
    binding is only assumed. `said` are the objects that describe it, by uid. `past` are members
    that had ended before the present attempt began. `was_whole` lasts while any member that has a
    node lives; what is `written` of that is asked until this process has seen it itself, or bound
    members. Times are seconds since the epoch; `quorum_since` is when a quorum of living members
    was first seen. `warnings` are what the last try found that holds nothing up, None before the
    first try; it was `late` when the schedule timeout had ended by the last one. `spared` are
    members that Jobs will not run any more, because so many have succeeded. `asked` is the
    `topology_request` that its group knows of. `preempting` lasts until the gang is bound or the
    preemption is given up, and `rounds` are when its last ones began. While members have room and
    wait for claims, `volume_waits` counts those that do so apart from each other, and `refusal`
    says for which claims; it is `quorum_waits` while a quorum is among them. `preempted_by` says
    who took members of it; it lasts until the gang is whole again. `standing` is the group of the
    gang as the scheduler last saw it, for as long as the gang would be the same in it.
    """

    key: GangKey
    members: dict[str, Pod] = field(default_factory=dict)
    specs: dict[str, GangSpec] = field(default_factory=dict)
    past: frozenset[str] = frozenset()
    was_whole: bool = False
    written: bool = True
    tried: bool = False
    quorum_since: int | None = None
    refusal: Refused | None = None
    late: bool = False
    warnings: tuple[Problem, ...] | None = None
    retries: int = 0
    failed_binds: int = 0
    retry_at: int | None = None
    woken_at: int | None = None
    spared: int = 0
    asked: TopologyRequest | None = None
    preempting: Preempting | None = None
    volume_waits: int = 0
    quorum_waits: bool = False
    rounds: tuple[int, ...] = ()
    preempted_by: str = ""
    standing: GangGroup | None = None
    _bound_then: frozenset[str] = frozenset()
    _living: tuple[Pod, ...] | None = None
    _ranks_apart: bool | None = None
    _priorities: set[int] = field(default_factory=set)
    _spec: GangSpec | None = None
    _spec_is_known: bool = False

    def upsert_member(self, pod: Pod) -> None:
        """Add or replace a member."""
        self.members[pod.uid] = pod
        self._priorities.add(pod.priority)
        self._members_changed()

    def delete_member(self, uid: str) -> bool:
        """Forget a member; tell whether it was one."""
        self._members_changed()
        return self.members.pop(uid, None) is not None

    def upsert_spec(self, gang_spec: GangSpec) -> None:
        """Add or replace what an object says of the gang."""
        self.specs[gang_spec.uid] = gang_spec
        self._spec_is_known = False

    def delete_spec(self, uid: str) -> bool:
        """Forget an object; tell whether it described the gang."""
        self._spec_is_known = False
        return self.specs.pop(uid, None) is not None

    @property
    def spec(self) -> GangSpec | None:
        """What describes the gang; of several objects, the youngest of the first API group."""
        if not self._spec_is_known:
            self._spec, self._spec_is_known = self._find_spec(), True
        return self._spec

    @property
    def min_member(self) -> int:
        """The quorum as described; 1 for a gang that nobody described."""
        return (self.spec or NO_SPEC).min_member

    @property
    def asks(self) -> TopologyRequest | None:
        """What the gang, or else the first member that asks, wants of the network."""
        podsets = (pod.podset for pod in self.members.values() if pod.podset)
        own = (each.topology_request for each in podsets if each.topology_request.asks)
        return self.topology_request or next(own, None)

    @property
    def topology_request(self) -> TopologyRequest | None:
        """What the gang as a whole asks of the network."""
        return (self.spec or NO_SPEC).topology_request

    @property
    def min_runtime_seconds(self) -> int:
        """How long the gang asks to run before it is evicted; 0 for one that does not."""
        return (self.spec or NO_SPEC).options.min_runtime_seconds

    @property
    def priority(self) -> int:
        """The gang's own, or the lowest of its living members'."""
        own = (self.spec or NO_SPEC).priority
        return min((pod.priority for pod in self.living()), default=0) if own is None else own

    @property
    def may_rank_apart(self) -> bool:
        """It has a priority of its own, or members of several: cheap, and sure where False."""
        own = any(each.priority is not None for each in self.specs.values())
        return own or len(self._priorities) > 1

    @property
    def ranks_apart(self) -> bool:
        """Some living member has another priority than the gang."""
        if not self._spec_is_known or self._ranks_apart is None:
            priority = self.priority
            self._ranks_apart = any(pod.priority != priority for pod in self.living())
        return self._ranks_apart

    @property
    def empty(self) -> bool:
        """Nothing is known of the gang any more."""
        return not self.members and not self.specs

    def living(self) -> Iterator[Pod]:
        """Return the members that count: not ended, not being deleted, not gated."""
        return iter(self._all_living())

    def ended(self) -> Iterator[Pod]:
        """Return the members that ended during the present attempt."""
        return (pod for pod in self.members.values() if pod.terminal and pod.uid not in self.past)

    def bound(self) -> tuple[Pod, ...]:
        """Return the living members that have a node, in rank order."""
        bound = (pod for pod in self.living() if pod.node)
        return tuple(sorted(bound, key=rank_key))

    def surplus_of(self, bound: int) -> int:
        """Return how many of these bound members the gang can lose and still be whole."""
        spec = self.spec
        # Of a gang that nobody describes nobody knows what it can do without.
        if spec is None or spec.problem is not None or spec.disrupted_whole:
            return 0
        return max(0, bound - self._needed(spec))

    def taken_from(self, by: str) -> None:
        """Note who takes members of the gang."""
        self.preempted_by = by
        self._bound_then = frozenset(pod.uid for pod in self.living() if pod.node)

    def settle(self, now: int) -> Transition:
        """Bring what is known in line with its members; return what that changed.

        For the grouping alone: a transition that another caller sees is lost for the gangs that
        wait for it. Linear in members.
        """
        was_whole, before = self.was_whole, self._remembered()
        living = self._all_living()
        bound = sum(1 for pod in living if pod.node)
        if living and not bound:
            self._begin_attempt()
        needed = self._needed(self.spec or NO_SPEC)
        if len(living) < needed:
            self.quorum_since = None
        elif self.quorum_since is None:
            self.quorum_since = now
        self._settle_wholeness(living, bound, needed)
        return Transition(self.was_whole and not was_whole, self._remembered() != before)

    def become_whole(self) -> bool:
        """Note that a quorum is bound, before the watch shows it; tell whether that is news."""
        was_whole, self.was_whole = self.was_whole, True
        return not was_whole

    def as_gang(self, schedulers: frozenset[str], *, gathers: bool = False) -> Gang:
        """Return the gang as the scheduler sees it; without pending members, none of ours waits.

        `gathers`: its group asks something of the network.
        """
        living = self._all_living()
        pending = [pod for pod in living if not pod.node and pod.scheduler in schedulers]
        spec = self.spec or NO_SPEC
        oldest = min(living, key=lambda pod: (pod.created_at, pod.uid), default=None)
        return Gang(
            key=self.key,
            uid=spec.uid or (oldest.uid if oldest else ""),
            created_at=spec.created_at if spec.uid or not oldest else oldest.created_at,
            priority=self.priority,
            min_member=self._needed(spec),
            pending=tuple(sorted(pending, key=rank_key)),
            bound=sum(1 for pod in living if pod.node),
            was_whole=self.was_whole,
            partially_bound=self._is_partially_bound(living),
            apart=spec.apart,
            strict=spec.options.strict,
            match_policy=spec.options.match_policy,
            min_resources=spec.min_resources,
            bound_members=self.bound() if gathers or any(pod.podset for pod in living) else (),
            problem=self._problem() or self._problem_of(pending),
        )

    def _remembered(self) -> tuple[object, ...]:
        """Return what settling may change and a status speaks of."""
        return self.past, self.quorum_since, self.was_whole, self.preempted_by

    def _begin_attempt(self) -> None:
        """Count no member of this attempt that ended before: none runs, and some wait."""
        # Unless the same Job goes on, which never repeats what has succeeded.
        self.past = frozenset(
            uid for uid, pod in self.members.items() if pod.terminal and not self._goes_on(pod)
        )

    def _settle_wholeness(self, living: Sequence[Pod], bound: int, needed: int) -> None:
        confirmed = self._succeeded_with(living)
        confirmed += sum(1 for pod in living if pod.node and not pod.assumed)
        if not bound:
            self.was_whole = False
        elif confirmed >= needed and self.spec and not self.spec.problem:
            self.was_whole, self.written = True, False
        elif self.written:
            self._read(living)
        if self.preempted_by and confirmed >= needed and self._has_recovered(living):
            self.preempted_by = ""

    def _members_changed(self) -> None:
        """Let what follows from the members be worked out anew."""
        self._living = self.standing = self._ranks_apart = None
        self._spec_is_known = False

    def _all_living(self) -> tuple[Pod, ...]:
        if self._living is None:
            self._living = tuple(pod for pod in self.members.values() if pod.living)
        return self._living

    def _find_spec(self) -> GangSpec | None:
        by_members = BY_MEMBERS.get(self.key.source)
        if by_members is not None:
            return by_members(self.key, self.members.values())
        return min(
            self.specs.values(),
            key=lambda each: (each.gvr or ("",), -each.created_at, each.uid),
            default=None,
        )

    def _needed(self, spec: GangSpec) -> int:
        """Return the quorum less what has succeeded and will not be run again."""
        if spec.completions is not None:
            return max(1, min(spec.min_member, spec.completions - self._succeeded(spec)))
        # The own status of a Job that is a gang has counted them already.
        spared = 0 if self.key.source == membership.JOB.name else self.spared
        return max(1, spec.min_member - spared)

    def succeeded_wholly(self) -> bool:
        """Tell whether nothing more of the gang is to be run."""
        spec = self.spec
        if spec is None:
            return False
        if self.key.source == membership.JOB.name:
            return spec.finished
        return self._succeeded(spec) >= (spec.completions or spec.min_member)

    def _succeeded(self, spec: GangSpec) -> int:
        # Pods of an earlier object of this name may still be there.
        oldest = spec.created_at if spec.completions is not None else 0
        return self._succeeded_since(oldest)

    def _succeeded_with(self, living: Sequence[Pod]) -> int:
        """Count the members that have succeeded in one attempt with these: of about their age."""
        began = min((pod.created_at for pod in living), default=0) - SAME_ATTEMPT_SECONDS
        return self._succeeded_since(began)

    def _succeeded_since(self, oldest: float) -> int:
        """Count the members, created at `oldest` or later, that have succeeded in this attempt."""
        done = (pod for pod in self.ended() if pod.phase is PodPhase.SUCCEEDED)
        return sum(1 for pod in done if pod.created_at >= oldest)

    def _read(self, living: Sequence[Pod]) -> None:
        """Find out whether the gang was whole before this process began."""
        progress = plan_annotations.progress_of(living)
        if progress is plan_annotations.Progress.FINISHED:
            self.was_whole = True
        elif progress is plan_annotations.Progress.UNFINISHED:
            # A status may be of an earlier attempt: who crashed did not come to write it anew.
            since = (self.spec or NO_SPEC).scheduled_at
            self.was_whole &= not since or since >= plan_annotations.began_at(living)

    def _is_partially_bound(self, living: Sequence[Pod]) -> bool:
        """Tell what a crash left of a gang from a gang that has lost members.

        The first has members that were there before others were bound, and were not bound.
        """
        return (
            not self.was_whole
            and plan_annotations.progress_of(living) is plan_annotations.Progress.UNFINISHED
        )

    def _has_recovered(self, living: Sequence[Pod]) -> bool:
        """Tell whether those that were to be taken are gone, and nobody waits in their place."""
        bound = {pod.uid for pod in living if pod.node}
        is_over = not self._bound_then <= bound and not any(pod.marked for pod in living)
        return is_over and len(bound) == len(living)

    def _goes_on(self, ended: Pod) -> bool:
        """Tell whether a member has done its part of a Job that still has others to run."""
        if ended.phase is not PodPhase.SUCCEEDED or ended.deleting or not ended.job_uid:
            return False
        # The uid: a second Job of that name is a second run, and must be whole again.
        return any(pod.job_uid == ended.job_uid for pod in self.living())

    def _problem_of(self, pending: Sequence[Pod]) -> Problem | None:
        """Return what is wrong with a member's own annotations."""
        problem = rank.problem(pending) or podsets.problem(pending)
        if problem is None and membership.BY_NAME[self.key.source].object_kind == "PodGroup":
            problem = topology_requests.misplaced(pending, self.topology_request)
        return problem

    def _problem(self) -> Problem | None:
        kind = membership.BY_NAME[self.key.source].object_kind
        gang_spec = self.spec
        if gang_spec is None:
            if not kind:
                return None
            return Problem(Reason.POD_GROUP_NOT_FOUND, ObjectMissing(kind, self.key))
        groups = sorted({each.gvr.group for each in self.specs.values() if each.gvr})
        if len(groups) > 1:
            return Problem(Reason.INVALID_SPEC, ObjectTwice(self.key, tuple(groups)))
        return gang_spec.problem
