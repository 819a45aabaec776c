"""What is known of one gang."""

from collections.abc import Iterable, Sequence

from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes import GangRequestMisplaced, ObjectMissing, ObjectTwice
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.network.topology_request import TopologyRequest
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.records.attempt import Attempt, Transition
from gang_scheduler.state.gangs.records.observed import NO_SPEC, Observed
from gang_scheduler.state.gangs.records.preemption import Preempted, Preemptor
from gang_scheduler.state.gangs.records.verdict import Verdict
from gang_scheduler.state.gangs.records.version import Version
from gang_scheduler.state.gangs.records.volume_waits import VolumeWaits


class GangInfo:
    """One gang: what is observed of it, and a record for each thing that has a life of its own.

    Each record changes only by its own methods. These count in `version` what can make the gang
    another one for the scheduler. `jobs_failed`: all members were of Jobs that have failed.
    `backfilled` is which gang it was let pass when it was last `admitted_here`, by this process.
    """

    __slots__ = (
        *("key", "version", "observed", "attempt", "verdict"),
        *("preemptor", "preempted", "volume_waits", "jobs_failed", "backfilled", "admitted_here"),
    )

    def __init__(self, key: GangKey) -> None:
        self.key = key
        self.version = Version()
        self.observed = Observed(key, self.version)
        self.attempt = Attempt(self.observed, self.version)
        self.verdict = Verdict()
        self.preemptor = Preemptor(self.version)
        self.preempted = Preempted(self.observed)
        self.volume_waits = VolumeWaits(self.version)
        self.jobs_failed = False
        self.backfilled: Backfilled | None = None
        self.admitted_here = False

    def settle(self, now: int) -> Transition:
        """Bring what is remembered in line with the members; return what that changed.

        For the grouping alone: a transition that another caller sees is lost for the gangs that
        wait for it. Linear in members.
        """
        transition = self.attempt.settle(now)
        taken = self.preempted
        if taken.by and self.attempt.is_confirmed() and taken.has_recovered():
            taken.end()
            return transition._replace(is_news=True)
        return transition

    def relinked(self) -> None:
        """Note that other gangs than before may be of one group with this one."""
        self.version.changed()

    def as_gang(self, schedulers: frozenset[str], *, gathers: bool = False) -> Gang:
        """Return the gang as the scheduler sees it; without pending members, none of ours waits.

        `gathers`: its group asks something of the network.
        """
        observed, attempt = self.observed, self.attempt
        living = observed.living
        pending = [pod for pod in living if not pod.node and pod.scheduler in schedulers]
        spec = observed.spec or NO_SPEC
        oldest = min(living, key=lambda pod: (pod.created_at, pod.uid), default=None)
        has_bound_members = gathers or any(pod.podset for pod in living)
        return Gang(
            key=self.key,
            uid=spec.uid or (oldest.uid if oldest else ""),
            created_at=spec.created_at if spec.uid or not oldest else oldest.created_at,
            priority=observed.priority,
            min_member=attempt.needed,
            pending=tuple(sorted(pending, key=rank_key)),
            bound=sum(1 for pod in living if pod.node),
            was_whole=attempt.was_whole,
            partially_bound=attempt.is_partially_bound(),
            apart=spec.apart,
            strict=spec.options.strict,
            match_policy=spec.options.match_policy,
            min_resources=spec.min_resources,
            bound_members=observed.bound() if has_bound_members else (),
            problem=self._problem() or self._problem_of(pending),
        )

    def _problem_of(self, pending: Sequence[Pod]) -> Problem | None:
        """Return what is wrong with what a member says."""
        problem = next((pod.problem for pod in pending if pod.problem is not None), None)
        if problem is None and gang_sources.BY_NAME[self.key.source].object_kind == "PodGroup":
            problem = _misplaced(pending, self.observed.topology_request)
        return problem

    def _problem(self) -> Problem | None:
        """Return what is wrong with what describes the gang, or that nothing does."""
        kind = gang_sources.BY_NAME[self.key.source].object_kind
        gang_spec = self.observed.spec
        if gang_spec is None:
            if not kind:
                return None
            return Problem(Reason.POD_GROUP_NOT_FOUND, ObjectMissing(kind, self.key))
        specs = self.observed.specs.values()
        groups = sorted({each.gvr.group for each in specs if each.gvr})
        if len(groups) > 1:
            return Problem(Reason.INVALID_SPEC, ObjectTwice(self.key, tuple(groups)))
        return gang_spec.problem


def _misplaced(members: Iterable[Pod], topology_request: TopologyRequest | None) -> Problem | None:
    """Return a problem if a member has another request than its PodGroup, which must have it."""
    for pod in members:
        said = pod.gang_request
        if said is not None and (said.problem or said.topology_request != topology_request):
            return Problem(Reason.INVALID_SPEC, GangRequestMisplaced(pod.key))
    return None
