"""Which gangs wait: the one answer for lists, places in line, and figures of queues."""

from typing import Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.decode.workloads import table
from gang_scheduler.model.problems import NOT_IN_LINE
from gang_scheduler.model.virtual_pods import one_of_each
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo

POD_GROUP: Final = "PodGroup"
PHASES: Final = frozenset({Phase.PENDING, Phase.PRE_SCHEDULING, Phase.SCHEDULING})
"""The phases of gangs that wait."""


def waits(info: GangInfo, cache: Cache) -> bool:
    """Return whether a gang of ours has no quorum on nodes, and has not ended.

    Members that are bound just now count as bound, and so does a suspended workload that was let
    start: its room is kept. Linear in members.
    """
    if info.awaits_pods:
        return False
    refusal, observed = info.verdict.refusal, info.observed
    if refusal is not None and not refusal.left_over:
        return True
    if observed.has_quorum([*observed.with_node()]) and observed.living:
        return False
    return is_ours(info, cache) and phases.phase_of(phases.counts_of(info)) in PHASES


def in_line(info: GangInfo) -> bool:
    """Return whether a gang that waits has its turn before those that nothing would help."""
    refusal = info.verdict.refusal
    if refusal is not None:
        return refusal.reason not in NOT_IN_LINE
    return bool(info.observed.living) and info.observed.has_quorum(info.observed.living)


def is_ours(info: GangInfo, cache: Cache) -> bool:
    """Return whether a gang is ours: by a member, or while there is none by its PodGroup."""
    members = one_of_each(info.observed.living) or [*info.observed.members.values()]
    if not members:
        is_described = table.BY_NAME[info.key.source].object_kind == POD_GROUP
        return is_described and not cache.foreign_members.of(info.key)
    return any(pod.scheduler in cache.schedulers for pod in members)
