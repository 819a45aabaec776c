"""Phases of gangs as a table, and the test whether a gang waits. Status and `simulate` use both."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.model import refs
from gang_scheduler.model.consequences import Room
from gang_scheduler.model.gangs import Role, RoleCount
from gang_scheduler.model.pods import PodPhase, one_of_each
from gang_scheduler.model.reasons import NOT_IN_LINE, those_with
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import NO_SPEC
from gang_scheduler.workloads import table

PLACEABLE = those_with(lambda rule: Room.SOUGHT in rule.room)


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers on which a phase depends.

    `members`, `scheduled` (with a node) and `running` count living members, `succeeded` and
    `failed` count members that ended. `done` counts members that are not run again, though their
    pods may be gone. `tried`: the scheduler looked for room. `jobs_failed`: the Jobs of all members
    have failed, and create no other pods. `is_recreated`: members were evicted, and are created
    again. `role` is the role to which the numbers belong, "" for all. `by_role` are the numbers of
    each role; empty without roles.
    """

    min_member: int
    members: int = 0
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    done: int = 0
    tried: bool = False
    jobs_failed: bool = False
    is_recreated: bool = False
    role: str = ""
    by_role: tuple["Counts", ...] = ()

    def reached(self, count: Callable[["Counts"], int]) -> bool:
        """Return whether a count reaches the quorum, of every role if there are any."""
        return all(count(each) >= each.min_member for each in self.by_role or (self,))

    def short_of(self, count: Callable[["Counts"], int]) -> tuple[RoleCount, ...]:
        """Return the roles with fewer members than a quorum needs."""
        counts = (RoleCount(each.role, count(each), each.min_member) for each in self.by_role)
        return tuple(each for each in counts if each.present < each.needed)


def members(counts: Counts) -> int:
    """Return the number of members that live, or are not needed any more."""
    return counts.members + counts.done


def scheduled(counts: Counts) -> int:
    """Return the number of members that have a node, or need none any more."""
    return counts.scheduled + counts.done


def scheduled_and_succeeded(counts: Counts) -> int:
    """Return the number of members that have a node, or had one and succeeded."""
    return counts.scheduled + _succeeded(counts)


def _succeeded(counts: Counts) -> int:
    return max(counts.succeeded, counts.done)


def _members_and_succeeded(counts: Counts) -> int:
    return counts.members + _succeeded(counts)


PHASES: tuple[tuple[Phase, Callable[[Counts], bool]], ...] = (
    (
        Phase.FAILED,
        lambda n: n.jobs_failed and not n.members and not n.reached(_succeeded),
    ),
    (Phase.PENDING, lambda n: n.members + n.succeeded + n.failed == 0),
    (Phase.FINISHED, lambda n: n.reached(_succeeded) and not n.members),
    # Members that ended count in the quorum; but if no other member runs or has a node, the gang
    # waits.
    (
        Phase.RUNNING,
        lambda n: n.running > 0 and n.reached(lambda it: it.running + _succeeded(it)),
    ),
    (
        Phase.FAILED,
        lambda n: n.failed > 0 and not n.is_recreated and not n.reached(_members_and_succeeded),
    ),
    (Phase.SCHEDULED, lambda n: n.scheduled > 0 and n.reached(scheduled)),
    (Phase.SCHEDULING, lambda n: n.reached(members) and n.tried),
    (Phase.PRE_SCHEDULING, lambda n: n.reached(members)),
    (Phase.PENDING, lambda _: True),
)
"""The table of phases; the first phase whose condition holds is the gang's."""


def phase_of(counts: Counts) -> Phase:
    """Return the phase."""
    return next(phase for phase, holds in PHASES if holds(counts))


def counts_of(info: GangInfo) -> Counts:
    """Count the members of a gang. Linear in members."""
    living = info.observed.living
    ended = Counter(pod.phase for pod in info.attempt.ended())
    return Counts(
        min_member=info.observed.min_member,
        members=len(living),
        scheduled=sum(1 for pod in living if pod.node and not pod.assumed),
        running=sum(1 for pod in living if pod.phase is PodPhase.RUNNING),
        succeeded=ended[PodPhase.SUCCEEDED],
        failed=ended[PodPhase.FAILED],
        done=sum(_done(info).values()),
        by_role=tuple(_counts_of(each, info) for each in (info.observed.spec or NO_SPEC).roles),
        tried=info.verdict.tried and _was_placeable(info),
        jobs_failed=info.jobs_failed,
        is_recreated=bool(info.preempted.by and info.preempted.creator) and not info.jobs_failed,
    )


def _counts_of(role: Role, info: GangInfo) -> Counts:
    """Count the members of one role."""
    living = [pod for pod in info.observed.living if pod.role == role.name]
    ended = Counter(pod.phase for pod in info.attempt.ended() if pod.role == role.name)
    return Counts(
        min_member=role.min_member,
        members=len(living),
        scheduled=sum(1 for pod in living if pod.node and not pod.assumed),
        running=sum(1 for pod in living if pod.phase is PodPhase.RUNNING),
        succeeded=ended[PodPhase.SUCCEEDED],
        failed=ended[PodPhase.FAILED],
        done=_done(info).get(role.name, 0),
        role=role.name,
    )


def _done(info: GangInfo) -> Mapping[str, int]:
    """Return the number of members of each role that are not run again.

    The quorum that a Job declares does not include them.
    """
    return {} if info.key.source == refs.JOB.name else info.attempt.spared


def nodes_of(info: GangInfo) -> set[str]:
    """Return the nodes of a gang, and none before one member is known to have a node.

    From then on the assumed nodes of other members count, too. So the answer does not change with
    every member that is confirmed. Linear in members.
    """
    placed = list(info.observed.with_node())
    if all(pod.assumed for pod in placed):
        return set()
    return {pod.node for pod in placed}


def _was_placeable(info: GangInfo) -> bool:
    """Return whether the gang was tried, and not refused before the try."""
    refusal = info.verdict.refusal
    return refusal is None or refusal.reason in PLACEABLE


# The gangs that wait: one definition for lists, positions, and figures of queues.

POD_GROUP: Final = "PodGroup"
WAITING_PHASES: Final = frozenset({Phase.PENDING, Phase.PRE_SCHEDULING, Phase.SCHEDULING})
"""The phases of gangs that wait."""


def waits(info: GangInfo, cache: Cache) -> bool:
    """Return whether a gang of ours has no quorum on nodes, and has not ended.

    Members that are just being bound count as bound. A suspended workload that was started counts,
    too, since its room is kept. Linear in members.
    """
    if info.awaits_pods:
        return False
    refusal, observed = info.verdict.refusal, info.observed
    if refusal is not None and not refusal.left_over:
        return True
    if observed.has_quorum([*observed.with_node()]) and observed.living:
        return False
    return is_ours(info, cache) and phase_of(counts_of(info)) in WAITING_PHASES


def in_line(info: GangInfo) -> bool:
    """Return whether room or quota may help a waiting gang; other gangs are last in every line."""
    refusal = info.verdict.refusal
    if refusal is not None:
        return refusal.reason not in NOT_IN_LINE
    return bool(info.observed.living) and info.observed.has_quorum(info.observed.living)


def is_ours(info: GangInfo, cache: Cache) -> bool:
    """Return whether a gang is ours: by a member, or by its PodGroup while it has no members."""
    members = one_of_each(info.observed.living) or [*info.observed.members.values()]
    if not members:
        is_described = table.BY_NAME[info.key.source].object_kind == POD_GROUP
        return is_described and not cache.foreign_members.of(info.key)
    ours = cache.schedulers
    return members[0].scheduler in ours or any(pod.scheduler in ours for pod in members)
