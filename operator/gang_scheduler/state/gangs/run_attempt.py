"""The progress of a gang: its present attempt to run, and the age of its quorum."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model import refs
from gang_scheduler.model.gangs import Role, hold
from gang_scheduler.model.pods import Pod, PodPhase, VirtualPods, one_of_each
from gang_scheduler.state.gangs import plan_annotations
from gang_scheduler.state.gangs.observed import NO_SPEC, Observed, Version
from gang_scheduler.workloads import table

SAME_ATTEMPT_SECONDS = 10
"""Members of one attempt are created within about this time."""


class Transition(NamedTuple):
    """The changes to the record of a gang.

    `became_whole`: from now on the gang holds back no other gang of its group. `is_news`: the
    status of the gang may have to be written.
    """

    became_whole: bool
    is_news: bool


class RunAttempt:
    """The present attempt of a gang to run, which ends when no member has a node any more.

    `past` are members that had ended before the attempt began. `was_whole` lasts while any member
    with a node lives. Until this process has seen the gang whole itself, or has bound members, the
    status of the object decides it (`written`). `quorum_since` is the moment when a quorum of
    living members was first seen, in seconds since the epoch. `spared` is the number of members of
    each role that are not run again, because so many have succeeded.
    """

    __slots__ = (
        *("past", "was_whole", "written", "quorum_since", "spared", "_observed", "_version"),
    )

    def __init__(self, observed: Observed, version: Version) -> None:
        self.past: frozenset[str] = frozenset()
        self.was_whole = False
        self.written = True
        self.quorum_since: int | None = None
        self.spared: Mapping[str, int] = {}
        self._observed = observed
        self._version = version

    def settle(self, now: int) -> Transition:
        """Update the record from the members; return the changes. Linear in members."""
        before = self.past, self.quorum_since, self.was_whole
        living, bound = self._observed.living, self._observed.summary.bound
        if living and not bound:
            self._begin()
        if not self.holds_quorum(living):
            self.quorum_since = None
        elif self.quorum_since is None:
            self.quorum_since = now
        self._settle_wholeness(living, bound)
        _, _, was_whole = before
        after = self.past, self.quorum_since, self.was_whole
        return Transition(self.was_whole and not was_whole, after != before)

    def become_whole(self) -> bool:
        """Note that a quorum is bound before the watch shows it; return whether this is news."""
        was_whole = self.was_whole
        self._set_whole(is_whole=True)
        return not was_whole

    def take_over(self, gang_spec: GangSpec) -> None:
        """Take over the status of an object that describes the gang from now on."""
        self._set_whole(is_whole=self.was_whole or gang_spec.was_scheduled)
        self.quorum_since = self.quorum_since or gang_spec.quorum_since

    def placed(self) -> None:
        """Note that this process binds members, so that it knows more than the status."""
        self.written = False

    def spare(self, members: Mapping[str, int]) -> None:
        """Note the number of members of each role that are not run again."""
        if members != self.spared:
            self.spared = members
            self._version.changed()

    @property
    def needed(self) -> int:
        """The quorum without the members that have succeeded and are not run again."""
        spec = self._observed.spec or NO_SPEC
        if spec.roles:
            return sum(each.min_member for each in self.roles)
        done = 0
        # The own status of a Job that is a gang has counted them already.
        if self.spared and self._observed.key.source != refs.JOB.name:
            done = sum(self.spared.values())
        if spec.completions is None:
            return max(1, spec.min_member - done)
        left = spec.completions - self._succeeded(spec)
        return max(1, min(spec.min_member if spec.elastic else spec.min_member - done, left))

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles with the minima of the quorum that is `needed`; empty without roles."""
        roles = (self._observed.spec or NO_SPEC).roles
        if not roles or not self.spared:
            return roles
        return tuple(
            each._replace(min_member=max(0, each.min_member - self.spared.get(each.name, 0)))
            for each in roles
        )

    def holds_quorum(self, members: Collection[Pod]) -> bool:
        """Return whether these members are enough for the quorum that is `needed`."""
        roles = self.roles
        if not roles:
            return len(members) >= self.needed
        return hold(members, roles)

    def ended(self) -> Iterator[Pod]:
        """Return the members that ended during this attempt."""
        members = self._observed.members.values()
        return (pod for pod in members if pod.terminal and pod.uid not in self.past)

    def surplus_of(self, bound: Mapping[str, int]) -> dict[str, int]:
        """Return for each role the number of bound members that the gang can spare and stay whole.

        `bound` counts the members by role; in a gang without roles the only role is "".
        """
        spec = self._observed.spec
        # Without an object that describes the gang, its spare members are unknown.
        if spec is None or spec.problem is not None or spec.disrupted_whole:
            return {}
        if not spec.roles:
            return {"": max(0, sum(bound.values()) - self.needed)}
        needed = {each.name: each.min_member for each in self.roles}
        # They are also unknown for a role that the gang does not declare.
        return {role: max(0, n - needed.get(role, n)) for role, n in bound.items()}

    def succeeded_wholly(self) -> bool:
        """Return whether all of the gang has run, and succeeded."""
        spec = self._observed.spec
        if spec is None:
            return False
        if spec.finished or self._observed.key.source == refs.JOB.name:
            return spec.finished
        if spec.roles:
            return hold(self._succeeded_since(0), spec.roles)
        return self._succeeded(spec) >= (spec.completions or spec.min_member)

    def is_confirmed(self) -> bool:
        """Return whether a quorum has nodes, and the API server shows it. Linear in members."""
        return self.holds_quorum(self._confirmed(self._observed.living))

    def is_partially_bound(self) -> bool:
        """Return whether a crash interrupted the bindings of the gang.

        A gang that lost members later does not count. After a crash, some members are not bound,
        although they were there before others were bound.
        """
        if self.was_whole or not self._observed.summary.bound:
            return False
        progress = plan_annotations.progress_of
        unfinished = plan_annotations.Progress.UNFINISHED
        return progress(one_of_each(self._observed.living)) is unfinished

    def _begin(self) -> None:
        """Begin a new attempt, in which members that have ended before do not count.

        Members wait, and none runs.
        """
        # A run that goes on never repeats members that have succeeded.
        past = frozenset[str]()
        if not self._observed.all_live:
            runs = {pod.run for pod in one_of_each(self._observed.living) if pod.run}
            members = self._observed.members.items()
            past = frozenset(
                uid for uid, pod in members if pod.terminal and not _has_done_its_part(pod, runs)
            )
        if past != self.past:
            self.past = past
            self._version.changed()

    def _settle_wholeness(self, living: Sequence[Pod], bound: int) -> None:
        spec = self._observed.spec
        if not bound:
            self._set_whole(is_whole=False)
        elif spec and not spec.problem and self.holds_quorum(self._confirmed(living)):
            self._set_whole(is_whole=True)
            self.written = False
        elif self.written:
            self._read(living)

    def _set_whole(self, *, is_whole: bool) -> None:
        if is_whole != self.was_whole:
            self.was_whole = is_whole
            self._version.changed()

    def _confirmed(self, living: Sequence[Pod]) -> list[Pod]:
        """Return the members that run, and members that succeeded in the same attempt."""
        running = [pod for pod in one_of_each(living) if pod.node and not pod.assumed]
        return running if self._observed.all_live else running + self._succeeded_with(living)

    def _succeeded(self, spec: GangSpec) -> int:
        # Pods of an earlier object of this name may still be there.
        oldest = spec.created_at if spec.completions is not None else 0
        return len(self._succeeded_since(oldest))

    def _succeeded_with(self, living: Sequence[Pod]) -> list[Pod]:
        """Return the members that succeeded in the same attempt, which have about the same age."""
        began = (
            min((pod.created_at for pod in one_of_each(living)), default=0) - SAME_ATTEMPT_SECONDS
        )
        return self._succeeded_since(began)

    def _succeeded_since(self, oldest: float) -> list[Pod]:
        """Return members that have succeeded in this attempt, and were created since `oldest`."""
        done = (pod for pod in self.ended() if pod.phase is PodPhase.SUCCEEDED)
        return [pod for pod in done if pod.created_at >= oldest]

    def _read(self, living: Sequence[Pod]) -> None:
        """Find out whether the gang was whole before this process began."""
        progress = plan_annotations.progress_of(living)
        if progress is plan_annotations.Progress.FINISHED:
            self._set_whole(is_whole=True)
        elif progress is plan_annotations.Progress.UNFINISHED:
            # The status may describe an earlier attempt, if a process crashed before updating it.
            since = (self._observed.spec or NO_SPEC).scheduled_at
            is_of_this = not since or since >= plan_annotations.began_at(living)
            self._set_whole(is_whole=self.was_whole and is_of_this)


def _has_done_its_part(ended: Pod, runs: AbstractSet[str]) -> bool:
    """Return whether a member has done its part of a run that still has others to run."""
    # A second Job of the same name is a second run, and must be whole again.
    return ended.phase is PodPhase.SUCCEEDED and not ended.deleting and ended.run in runs


# The age of a gang's quorum, which decides its place in the line.


class QuorumAge:
    """The creation of the last member of the quorum. It decides the place of the gang in line.

    The creation of the PodGroup does not count. The moment is fixed when a quorum is first seen,
    and again for another object or a higher minimum. It is kept while a member lives that was there
    at that moment, or that has a node. After an eviction, and while the controller of a workload
    has yet to create the members, it is kept until a member has a node.
    """

    __slots__ = (
        *("_observed", "_attempt", "_version"),
        *("_uid", "_since", "_needed", "_returns", "_evicted_at"),
    )

    def __init__(self, observed: Observed, attempt: RunAttempt, version: Version) -> None:
        self._observed = observed
        self._attempt = attempt
        self._version = version
        self._uid = ""
        self._since: float | None = None
        self._needed = 0
        self._returns = False
        self._evicted_at = 0

    @property
    def complete_at(self) -> float:
        """The creation of the last member of the quorum, in seconds since the epoch.

        0 if it is unknown: without a quorum, without times, and for members that the controller of
        a workload creates.
        """
        return self._since or 0

    def settle(self, *, evicted: bool) -> None:
        """Update the moment from the members. Linear in members; sorts only to fix the time again.

        `evicted`: the gang has lost members to another one, and is not whole again.
        """
        source = self._observed.key.source
        if source == refs.SINGLE.name:
            return
        if table.BY_NAME[source].object_kind not in ("", "PodGroup"):
            return
        before = self._since
        self._begin_with_object()
        self._keep_or_forget(evicted=evicted)
        living = self._observed.living
        if self._since is None and self._attempt.holds_quorum(living):
            self._since, self._needed = self._last_of_quorum(living), self._attempt.needed
            if self._evicted_at:
                self._since = min(self._since, self._evicted_at)
        if self._since != before:
            self._version.changed()

    def _begin_with_object(self) -> None:
        """Forget the moment of another object; the status of this one may tell of an eviction."""
        spec = self._observed.spec or NO_SPEC
        uid = spec.uid if spec.gvr is not None else ""
        if uid != self._uid:
            self._uid, self._since = uid, None
            self._evicted_at = spec.evictions.last if spec.evictions is not None else 0
            self._returns = self._evicted_at > 0

    def _keep_or_forget(self, *, evicted: bool) -> None:
        summary = self._observed.summary
        has_node = summary.bound > 0
        if has_node:
            self._returns, self._evicted_at = False, 0
        elif self._observed.virtual is not None:
            self._returns = True
        since = self._since
        if since is None:
            return
        kept = evicted or has_node or self._returns
        kept = kept or (summary.oldest is not None and summary.earliest <= since)
        # An object that asks for more members is a new demand.
        if not kept or self._attempt.needed > self._needed:
            self._since = None

    def _last_of_quorum(self, living: Sequence[Pod]) -> float:
        """Return the creation of the last of the oldest members that make a quorum."""
        if type(living) is VirtualPods:
            return max(map(_created, living.prototypes), default=0)
        roles = self._attempt.roles
        if not roles:
            return sorted(map(_created, living))[self._attempt.needed - 1]
        last: float = 0
        for role in roles:
            times = sorted(_created(pod) for pod in living if pod.role == role.name)
            if role.min_member:
                last = max(last, times[role.min_member - 1])
        return last


def _created(pod: Pod) -> float:
    # A member without a creation time does not make the quorum younger.
    return pod.created_at if pod.has_creation_time else 0
