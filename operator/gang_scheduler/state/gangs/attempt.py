"""How far a gang has come since its members were created: whether it was whole, what it lacks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model import refs
from gang_scheduler.model.gangs import Role, hold
from gang_scheduler.model.pods import Pod, PodPhase, one_of_each
from gang_scheduler.state.gangs import plan_annotations
from gang_scheduler.state.gangs.observed import NO_SPEC, Observed, Version

SAME_ATTEMPT_SECONDS = 10
"""Members of one attempt are created together, in about this time."""


class Transition(NamedTuple):
    """What is remembered of a gang otherwise than before.

    `became_whole`: from now on the gang holds back no other gang of its group. `is_news`: its
    status may say something else.
    """

    became_whole: bool
    is_news: bool


class Attempt:
    """The present attempt of a gang to run. It ends when none of its members has a node any more.

    `past` are members that had ended before it began. `was_whole` lasts while any member that has a
    node lives; what is `written` of that is asked until this process has seen it itself, or bound
    members. `quorum_since` is when a quorum of living members was first seen, in seconds since the
    epoch. `spared` are how many members of each role are not run any more, because so many have
    succeeded.
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
        """Bring what is remembered in line with the members; return what that changed.

        Linear in members.
        """
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
        """Note that a quorum is bound, before the watch shows it; return whether that is news."""
        was_whole = self.was_whole
        self._set_whole(is_whole=True)
        return not was_whole

    def take_over(self, gang_spec: GangSpec) -> None:
        """Take in what the status of an object says that describes the gang from now on."""
        self._set_whole(is_whole=self.was_whole or gang_spec.was_scheduled)
        self.quorum_since = self.quorum_since or gang_spec.quorum_since

    def placed(self) -> None:
        """Note that this process binds members: from now on it knows more than is written."""
        self.written = False

    def spare(self, members: Mapping[str, int]) -> None:
        """Note how many members of each role are not run any more."""
        if members != self.spared:
            self.spared = members
            self._version.changed()

    @property
    def needed(self) -> int:
        """The quorum less what has succeeded and will not be run again."""
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
        """Return how many of the bound members the gang can lose of each role and still be whole.

        `bound` counts them by role; of a gang without roles the only one is "".
        """
        spec = self._observed.spec
        # Of a gang that nothing describes it is not known what it can do without.
        if spec is None or spec.problem is not None or spec.disrupted_whole:
            return {}
        if not spec.roles:
            return {"": max(0, sum(bound.values()) - self.needed)}
        needed = {each.name: each.min_member for each in self.roles}
        # Of a role that the gang does not have it is not known, either.
        return {role: max(0, n - needed.get(role, n)) for role, n in bound.items()}

    def succeeded_wholly(self) -> bool:
        """Return whether nothing more of the gang is to be run."""
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
        """Tell a gang whose bindings a crash interrupted from one that lost members later.

        The first has members that were there before others were bound, and were not bound.
        """
        if self.was_whole or not self._observed.summary.bound:
            return False
        progress = plan_annotations.progress_of
        unfinished = plan_annotations.Progress.UNFINISHED
        return progress(one_of_each(self._observed.living)) is unfinished

    def _begin(self) -> None:
        """Count no member of this attempt that ended before: none runs, and some wait."""
        # Unless the same run goes on, which never repeats what has succeeded.
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
        """Return the members that run, or have succeeded with these."""
        running = [pod for pod in one_of_each(living) if pod.node and not pod.assumed]
        return running if self._observed.all_live else running + self._succeeded_with(living)

    def _succeeded(self, spec: GangSpec) -> int:
        # Pods of an earlier object of this name may still be there.
        oldest = spec.created_at if spec.completions is not None else 0
        return len(self._succeeded_since(oldest))

    def _succeeded_with(self, living: Sequence[Pod]) -> list[Pod]:
        """Return the members that have succeeded in one attempt with these: of about their age."""
        began = (
            min((pod.created_at for pod in one_of_each(living)), default=0) - SAME_ATTEMPT_SECONDS
        )
        return self._succeeded_since(began)

    def _succeeded_since(self, oldest: float) -> list[Pod]:
        """Return members, created at `oldest` or later, that have succeeded in this attempt."""
        done = (pod for pod in self.ended() if pod.phase is PodPhase.SUCCEEDED)
        return [pod for pod in done if pod.created_at >= oldest]

    def _read(self, living: Sequence[Pod]) -> None:
        """Find out whether the gang was whole before this process began."""
        progress = plan_annotations.progress_of(living)
        if progress is plan_annotations.Progress.FINISHED:
            self._set_whole(is_whole=True)
        elif progress is plan_annotations.Progress.UNFINISHED:
            # A status may be of an earlier attempt: a process that crashed has not updated it.
            since = (self._observed.spec or NO_SPEC).scheduled_at
            is_of_this = not since or since >= plan_annotations.began_at(living)
            self._set_whole(is_whole=self.was_whole and is_of_this)


def _has_done_its_part(ended: Pod, runs: AbstractSet[str]) -> bool:
    """Return whether a member has done its part of a run that still has others to run."""
    # A second Job of that name is a second run, and must be whole again.
    return ended.phase is PodPhase.SUCCEEDED and not ended.deleting and ended.run in runs
