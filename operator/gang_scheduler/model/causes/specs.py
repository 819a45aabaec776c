"""What is written of a gang, its members or its group is wrong, or missing."""

from dataclasses import dataclass

from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey, GangName


@dataclass(frozen=True, slots=True)
class InvalidInput(Cause):
    """What users wrote is wrong; `text` names the field and the value, as decode found them."""

    text: str


@dataclass(frozen=True, slots=True)
class BothInvalid(Cause):
    """What describes a gang is wrong, and what a member of it says, too."""

    described: Cause
    said: Cause


@dataclass(frozen=True, slots=True)
class FieldsUnsupported(Cause):
    """Fields that this scheduler cannot honour, of a member or, with no `pod`, of the PodGroup."""

    fields: tuple[str, ...]
    pod: str = ""


@dataclass(frozen=True, slots=True)
class ObjectMissing(Cause):
    """The object that should describe the gang does not exist."""

    kind: str
    gang: GangKey


@dataclass(frozen=True, slots=True)
class ObjectTwice(Cause):
    """PodGroups of several API groups describe the gang."""

    gang: GangKey
    api_groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MinMemberAboveJobs(Cause):
    """The quorum is larger than `most`, the pods that the Jobs of its members can have at once."""

    present: int
    min_member: int
    most: int
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GangMissing(Cause):
    """A gang that another one names as one of its group does not exist."""

    name: GangName
    named_by: GangKey


@dataclass(frozen=True, slots=True)
class OneSided(Cause):
    """A gang names one in another namespace, which does not name it in turn."""

    gang: GangKey
    name: GangName


@dataclass(frozen=True, slots=True)
class MateCannotStart(Cause):
    """Another gang of the same group cannot be tried."""

    gang: GangKey
    cause: Cause


@dataclass(frozen=True, slots=True)
class RoleUnknown(Cause):
    """A member has a role that its gang does not have; "" is none."""

    pod: str
    role: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriorityDiffers(Cause):
    """A member has another priority than its PodGroup says of the gang."""

    pod: str
    priority: int
    of_gang: int


@dataclass(frozen=True, slots=True)
class ClassDiffers(Cause):
    """No member is of the PriorityClass that its PodGroup names; the pod is the first one."""

    pod: str
    of_pod: str
    of_gang: str


@dataclass(frozen=True, slots=True)
class PriorityClassMissing(Cause):
    """A gang names a WorkloadPriorityClass that does not exist."""

    name: str
