"""Causes in objects that describe a gang, its members or its group, and in topology requests."""

import enum
from collections.abc import Iterable
from typing import Final, Self

from gang_scheduler.model import api_words, refs, similar_names
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import GangKey, GangName
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.wording import field, label_field

ALWAYS_READ: Final = frozenset({"PodGroup", "Job"})
"""Kinds of objects that must be readable before the scheduler starts."""

TERMS_ABOUT_PODS: Final = "spec.affinity"
"""The field that is named if the terms of a namespace about other pods are too many."""


def _quoted(names: Iterable[str], between: str) -> str:
    return between.join(f'"{name}"' for name in names)


# An object that describes the gang, its members or its group is wrong or missing.


class InvalidInput(Cause, frozen=True):
    """The input of a user is invalid; `message` names the field and the value, as decode does."""

    message: str

    @classmethod
    def misplaced(cls, pod: str, fields: Iterable[str], belong: str) -> Self:
        """Return the fault of a pod, by its namespace/name, with fields that `belong` elsewhere."""
        return cls(f"pod {pod}: {'; '.join(f'{each} {belong}' for each in fields)}")

    def text(self) -> str:
        return self.message


class BothInvalid(Cause, frozen=True):
    """The description of a gang is invalid, and so are annotations of a member."""

    described: Cause
    said: Cause

    def text(self) -> str:
        return "; ".join(dict.fromkeys((self.described.text(), self.said.text())))


class FieldsUnsupported(Cause, frozen=True):
    """Fields that this scheduler cannot honour, of a member or, with no `pod`, of the PodGroup."""

    fields: tuple[str, ...]
    pod: str = ""

    def text(self) -> str:
        of = f"pod {self.pod}: " if self.pod else ""
        meant = {each: similar_names.near_podset(each) for each in self.fields}
        said = [f"{each} is unknown; did you mean {near}?" for each, near in meant.items() if near]
        others = ", ".join(
            each for each, near in meant.items() if not near and each != TERMS_ABOUT_PODS
        )
        if TERMS_ABOUT_PODS in self.fields:
            said.append(
                f"{TERMS_ABOUT_PODS}: the terms of this namespace about other pods would be "
                "compared with too many pods; use fewer different ones, or let them require labels "
                "that few pods have, or ask an administrator to raise maxTermComparisons"
            )
        said += [f"{others} cannot be honoured by this scheduler yet"] if others else []
        return f"{of}{'; '.join(said)}"


class ObjectMissing(Cause, frozen=True):
    """The object that should describe the gang does not exist."""

    kind: str
    gang: GangKey

    def text(self) -> str:
        of = " of scheduling.volcano.sh" if self.gang.source == refs.VOLCANO_POD_GROUP.name else ""
        name = self.gang.name
        # A JobSet describes one gang for each of its replicatedJobs.
        if self.kind == refs.JOB_SET.object_kind:
            name = name.partition("/")[0]
        # The scheduler's rights may not cover kinds of a later release, or may have been reduced.
        or_else = "" if self.kind in ALWAYS_READ else ", or may not be read"
        return f'{self.kind}{of} "{self.gang.namespace}/{name}" does not exist{or_else}'


class ObjectTwice(Cause, frozen=True):
    """PodGroups of several API groups describe the gang."""

    gang: GangKey
    api_groups: tuple[str, ...]

    def text(self) -> str:
        return (
            f'PodGroup "{self.gang}" exists twice, in {" and ".join(self.api_groups)}: delete one'
        )


class MinMemberAboveJobs(Cause, frozen=True):
    """The quorum is larger than `most`, the pods that the Jobs of its members can have at once."""

    present: int
    min_member: int
    most: int
    jobs: tuple[str, ...]

    def text(self) -> str:
        return (
            f"{self.present} of minMember {self.min_member} members exist; Job "
            f"{', '.join(self.jobs)} can have {self.most} at once: other pods must come, or "
            f"minMember be lowered to {self.most}"
        )


class GangMissing(Cause, frozen=True):
    """A gang that another one names as part of its group does not exist."""

    name: GangName
    named_by: GangKey

    def text(self) -> str:
        return f"gang {self.name}, which {self.named_by} names as one of its group, does not exist"


class OneSided(Cause, frozen=True):
    """A gang names a gang in another namespace, which does not name it in turn."""

    gang: GangKey
    name: GangName

    def text(self) -> str:
        return (
            f"{field(api_words.GANG_GROUPS)} of {self.gang} names {self.name}, which is in another "
            f"namespace and does not name {self.gang} in turn"
        )


class OtherGangCannotStart(Cause, frozen=True):
    """Another gang of the same group cannot be tried."""

    gang: GangKey
    cause: Cause

    def text(self) -> str:
        return f"gang {self.gang} of the same group cannot start: {self.cause.text()}"


class RoleUnknown(Cause, frozen=True):
    """A member has a role that its gang does not have; "" is no role."""

    pod: str
    role: str
    known: tuple[str, ...]

    def text(self) -> str:
        if not self.known:
            return (
                f'pod {self.pod} has role "{self.role}", and its gang has none: the PodGroup '
                f"declares them in {field(api_words.ROLES)}"
            )
        known = f"its gang has {', '.join(self.known)}"
        if not self.role:
            return f"pod {self.pod} has no role in {label_field(api_words.ROLE)}: {known}"
        return f'pod {self.pod} has role "{self.role}": {known}'


class PriorityDiffers(Cause, frozen=True):
    """The priority of a member differs from the one that its PodGroup declares."""

    pod: str
    priority: int
    of_gang: int

    def text(self) -> str:
        return (
            f"pod {self.pod} has priority {self.priority}, and spec.priority of its PodGroup is "
            f"{self.of_gang}: both must have one PriorityClass"
        )


class PreemptionPolicyDiffers(Cause, frozen=True):
    """Whether a member may evict others differs from what its PodGroup declares."""

    pod: str
    preempts: bool

    def text(self) -> str:
        names = "Never", "PreemptLowerPriority"
        of_pod, of_gang = names[self.preempts], names[not self.preempts]
        return (
            f"pod {self.pod} has preemptionPolicy {of_pod}, and spec.preemptionPolicy of its "
            f"PodGroup is {of_gang}: both must have one PriorityClass"
        )


class ClassDiffers(Cause, frozen=True):
    """No member has the PriorityClass that its PodGroup names; `pod` is the first one."""

    pod: str
    of_pod: str
    of_gang: str

    def text(self) -> str:
        return (
            f"spec.priorityClassName of its PodGroup is {self.of_gang}, and no member has that "
            f"PriorityClass: pod {self.pod} has {self.of_pod or 'none'}. Set priorityClassName of "
            "the pods: the priority of a gang is that of its pods"
        )


class PriorityClassMissing(Cause, frozen=True):
    """A gang names a WorkloadPriorityClass that does not exist."""

    name: str

    def text(self) -> str:
        return f"WorkloadPriorityClass {self.name} does not exist"


# Faults in topology requests.


class Requested(Cause, frozen=True):
    """The fault of a topology request; `field` is where it is written."""

    field: str
    cause: Cause

    def text(self) -> str:
        return f"{self.field}: {self.cause.text()}"


class UnknownLayers(Cause, frozen=True):
    """Layers that are in no topology; `known` are the existing ones, `near` similar ones."""

    layers: tuple[str, ...]
    known: tuple[str, ...] = ()
    near: str = ""

    def text(self) -> str:
        unknown = f"layer {_quoted(self.layers, ' and ')} is unknown"
        if not self.known:
            return f"{unknown}: there is no topology"
        near = f"; did you mean {self.near}?" if self.near else ""
        return f"{unknown}: the layers are {', '.join(self.known)}{near}"


class LayersApart(Cause, frozen=True):
    """The layers of one request are not all in the same topology."""

    layers: tuple[str, ...]

    def text(self) -> str:
        return f"the layers {_quoted(self.layers, ', ')} are not all in one topology"


class SliceFault(enum.Enum):
    """The fault of the layer of a slice, in words."""

    NOT_BELOW_OTHER_SLICES = "must be below the layer of the slices before it"
    ABOVE_GATHERING = "is above the layer that the members gather in"


class InvalidSlice(Cause, frozen=True):
    """The layer of a slice does not suit the rest of the request."""

    layer: str
    fault: SliceFault

    def text(self) -> str:
        return f'the slice layer "{self.layer}" {self.fault.value}'


class MultipleDoesNotDivide(Cause, frozen=True):
    """The number of members of a rigid gang is not a multiple of its podCountMultiple."""

    multiple: int
    members: int

    def text(self) -> str:
        return f"podCountMultiple {self.multiple} does not divide the {self.members} members"


class MultipleNeedsMore(Cause, frozen=True):
    """The quorum, rounded up to the podCountMultiple, exceeds the number of members."""

    members: int
    quorum: int

    def text(self) -> str:
        return f"{self.members} members exist, and podCountMultiple needs {self.quorum} at once"


class Scattered(Cause, frozen=True):
    """Bound members are in `number` domains; the other members join the members in `home`."""

    number: int
    some: tuple[Domain, ...]
    home: Domain

    def text(self) -> str:
        return (
            f"members are bound in {self.number} domains, {', '.join(map(str, self.some))}: "
            f"the others join those in {self.home}"
        )


class PodRequestBesideGang(Cause, frozen=True):
    """A member has a topology request of its own (`field`) next to that of its gang or group."""

    pod: str
    field: str
    of_gang: str

    def text(self) -> str:
        return (
            f"pod {self.pod}: {self.field} must be absent with {self.of_gang} of its gang or group"
        )


class GangRequestMisplaced(Cause, frozen=True):
    """A member requests a different topology for its whole gang than its PodGroup does."""

    pod: str

    def text(self) -> str:
        return (
            f"pod {self.pod}: {field(api_words.NETWORK_TOPOLOGY_SPEC)} must be absent, or the same "
            "as on the PodGroup"
        )


class PodsetsDiffer(Cause, frozen=True):
    """Two members of one podset group request different topologies."""

    pods: tuple[str, str]
    group: str

    def text(self) -> str:
        return (
            f"pods {' and '.join(self.pods)} must ask for the same topology: both have "
            f'{field(api_words.PODSET_GROUP)} "{self.group}"'
        )


class GangsRequestsDiffer(Cause, frozen=True):
    """Two gangs of one group request different topologies; each with its field."""

    gangs: tuple[GangKey, GangKey]
    fields: tuple[str, str]

    def text(self) -> str:
        (gang, other), (own, others) = self.gangs, self.fields
        return (
            f"{own} of {gang} and {others} of {other} must be the same: they are of one gang group"
        )
