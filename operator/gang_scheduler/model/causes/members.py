"""The members that there are, those that are missing, and those that wait while others do not."""

from dataclasses import dataclass

from gang_scheduler.model.gangs import OwnDomains, RoleCount
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey


@dataclass(frozen=True, slots=True)
class MembersMissing(Cause):
    """Fewer members exist than the quorum needs; `roles` are those that lack some."""

    present: int
    min_member: int
    roles: tuple[RoleCount, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleFull(Cause):
    """A role has the most members that it may have on nodes."""

    role: str
    max_member: int


@dataclass(frozen=True, slots=True)
class ResourcesMissing(Cause):
    """The cluster has less of some resources free than minResources says."""

    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DomainsTooSmall(Cause):
    """Fewer domains have room for a whole Job than there are Jobs that each get one."""

    asked: OwnDomains
    found: int


@dataclass(frozen=True, slots=True)
class NotTriedYet(Cause):
    """Members that no verdict speaks of: the gang has not had its turn."""

    gang: GangKey


@dataclass(frozen=True, slots=True)
class SurplusNotTried(Cause):
    """So many members that no verdict speaks of, of a gang that has a place."""

    gang: GangKey
    members: int


@dataclass(frozen=True, slots=True)
class BeyondMaxWorkers(Cause):
    """The gang has, or will have, as many workers as it asks for at most."""

    gang: GangKey
    most: int


@dataclass(frozen=True, slots=True)
class StepIncomplete(Cause):
    """The gang grows by so many workers at once, and fewer wait."""

    gang: GangKey
    step: int


@dataclass(frozen=True, slots=True)
class CoolingDown(Cause):
    """The gang has changed its size not long ago; it may grow again from `until` on, in seconds."""

    gang: GangKey
    until: int


@dataclass(frozen=True, slots=True)
class OthersAwaitVolumes(Cause):
    """Members that no verdict speaks of, while others of the gang wait for their claims."""

    gang: GangKey
