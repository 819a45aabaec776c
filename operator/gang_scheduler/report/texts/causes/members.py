"""The words for members that are missing, or that wait while others do not."""

from collections.abc import Iterable, Mapping
from typing import Final

from gang_scheduler.api.annotations import EXCLUSIVE_TOPOLOGY
from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.causes.members import (
    BeyondMaxWorkers,
    CoolingDown,
    DomainsTooSmall,
    MembersMissing,
    NotTriedYet,
    OthersAwaitVolumes,
    ResourcesMissing,
    RoleFull,
    StepIncomplete,
    SurplusNotTried,
)
from gang_scheduler.model.gangs import RoleCount
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry
from gang_scheduler.report.texts.plurals import counted


def _members_missing(cause: MembersMissing) -> str:
    if cause.roles:
        return f"members are missing: {role_counts(cause.roles)}"
    return f"{cause.present} of minMember {cause.min_member} members exist"


def role_counts(roles: Iterable[RoleCount]) -> str:
    """Return how many of each role there are, as in "0 of 1 master, 1 of 2 worker"."""
    return ", ".join(f"{each.present} of {each.needed} {each.role}" for each in roles)


def _domains_too_small(cause: DomainsTooSmall) -> str:
    asked = cause.asked
    pods = counted(asked.pods, "pod")
    jobs = f"a Job of {pods}" if asked.many == 1 else f"{asked.many} Jobs of {pods} each"
    domains = "1 domain has" if cause.found == 1 else f"{cause.found} domains have"
    return (
        f"{jobs} must have a domain of {asked.label} alone; "
        f"{domains} room for a whole Job ({EXCLUSIVE_TOPOLOGY})"
    )


def _surplus_not_tried(cause: SurplusNotTried) -> str:
    number = cause.members
    members = "1 more member has" if number == 1 else f"{number} more members have"
    return f"gang {cause.gang} has a place; {members} none yet, and will be tried again."


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(MembersMissing, _members_missing),
        entry(
            RoleFull,
            lambda it: (
                f"the gang has {it.max_member} members of role {it.role}, and may have no more"
            ),
        ),
        entry(
            ResourcesMissing,
            lambda it: (
                f"the cluster has not enough {', '.join(it.resources)} free (spec.minResources)"
            ),
        ),
        entry(DomainsTooSmall, _domains_too_small),
        entry(
            NotTriedYet,
            lambda it: f"gang {it.gang} was not tried yet: others come before it",
        ),
        entry(SurplusNotTried, _surplus_not_tried),
        entry(
            BeyondMaxWorkers,
            lambda it: f"gang {it.gang} has all {it.most} workers that it asks for (maxWorkers)",
        ),
        entry(
            StepIncomplete,
            lambda it: (
                f"gang {it.gang} waits for more workers: it grows by {it.step} at once "
                "(scaleUpStep)"
            ),
        ),
        entry(
            CoolingDown,
            lambda it: f"gang {it.gang} may grow again at {rfc3339(it.until)} (scaleUpCooldown)",
        ),
        entry(
            OthersAwaitVolumes,
            lambda it: f"gang {it.gang} waits for the claims of other members",
        ),
    )
)
