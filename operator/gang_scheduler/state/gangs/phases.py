"""How far a gang has come, as a table. Status and `simulate` both read it here."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.model.pods import PodPhase
from gang_scheduler.model.problems import Reason
from gang_scheduler.state.gangs.gang_info import GangInfo

PLACEABLE = frozenset(
    {Reason.UNSCHEDULABLE, Reason.WAITING_FOR_VICTIMS, Reason.WAITING_FOR_VOLUMES}
)


@dataclass(frozen=True, slots=True)
class Counts:
    """What a phase depends on.

    `members`, `scheduled` (with a node) and `running` count living members, `succeeded` and
    `failed` those that ended. `tried`: the scheduler looked for room. `jobs_failed`: the Jobs of
    all members have failed, and create no others. `goes_on`: members were evicted, and are created
    again.
    """

    min_member: int
    members: int = 0
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    tried: bool = False
    jobs_failed: bool = False
    goes_on: bool = False


PHASES: tuple[tuple[Phase, Callable[[Counts], bool]], ...] = (
    (
        Phase.FAILED,
        lambda n: n.jobs_failed and not n.members and n.succeeded < n.min_member,
    ),
    (Phase.PENDING, lambda n: n.members + n.succeeded + n.failed == 0),
    (Phase.FINISHED, lambda n: n.succeeded >= n.min_member and not n.members),
    (Phase.RUNNING, lambda n: n.running + n.succeeded >= n.min_member),
    (
        Phase.FAILED,
        lambda n: n.failed > 0 and not n.goes_on and n.members + n.succeeded < n.min_member,
    ),
    (Phase.SCHEDULED, lambda n: n.scheduled >= n.min_member),
    (Phase.SCHEDULING, lambda n: n.members >= n.min_member and n.tried),
    (Phase.PRE_SCHEDULING, lambda n: n.members >= n.min_member),
    (Phase.PENDING, lambda _: True),
)
"""The first that holds is the phase."""


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
        tried=info.verdict.tried and _was_placeable(info),
        jobs_failed=info.jobs_failed,
        goes_on=bool(info.preempted.by and info.preempted.creator) and not info.jobs_failed,
    )


def nodes_of(info: GangInfo) -> set[str]:
    """Return the nodes of a gang, and nothing before a member is known to have one.

    From then on those are in it that are assumed of the others: so where a gang is does not change
    with every member of it that is confirmed. Linear in members.
    """
    placed = list(info.observed.with_node())
    if all(pod.assumed for pod in placed):
        return set()
    return {pod.node for pod in placed}


def _was_placeable(info: GangInfo) -> bool:
    """Tell a gang that was tried from one that could not even be tried."""
    refusal = info.verdict.refusal
    return refusal is None or refusal.reason in PLACEABLE
