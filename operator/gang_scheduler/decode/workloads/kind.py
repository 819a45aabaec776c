"""What is known of a kind of workloads: how its pods are known, and how its objects are read."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.reader import Unreadable, WhatHolds
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.pods import PodTemplate

Body = Mapping[str, Any]
ByMembers = Callable[[GangKey, Iterable[Pod], GangSpec | None], GangSpec | None]
"""Returns what members say of their gang, and what an object says beside them, if there is one."""


class ObjectsOfKind(NamedTuple):
    """How the objects of a kind of workloads are read.

    `versions` are those in which they may be served, best first; all say the same. `read` returns
    all that an object says, and raises InvalidField. `if_unreadable`: what holds of one that cannot
    be read; None: that the gang of its name waits, and why.
    """

    versions: tuple[GVR, ...]
    read: Callable[[Body], GangObject]
    if_unreadable: Unreadable | WhatHolds[GangObject] | None = None


class WorkloadKind(NamedTuple):
    """A kind of workloads, a row of `table`. Its name is that of the source of its gangs.

    Where pods say what makes a gang of them, `by_members` returns that; else the objects do.
    `has_roles`: its objects say how many of each role start together, which no PodGroup that its
    controller makes says.
    """

    pods: PodsOfKind
    objects: ObjectsOfKind | None = None
    by_members: ByMembers | None = None
    has_roles: bool = False

    @property
    def name(self) -> str:
        """The name of the kind, as in manifests."""
        return self.pods.source.name


def asks(template: PodTemplate) -> bool:
    """Return whether the pods of a template are to be a gang by what it says itself."""
    return annotations.ask_for_gang(template.metadata.labels, template.metadata.annotations)
