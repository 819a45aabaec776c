"""An object of the input before it is read, and what it is read to."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gang_scheduler.api.kinds import (
    GVR,
    PODS,
)
from gang_scheduler.decode import names
from gang_scheduler.simulation.documents import Document
from gang_scheduler.simulation.kinds import Kind

UNDATED_SECONDS = 1
"""Objects without a creation time are created within this time after the input's latest time."""
DEFAULT_SCHEDULER = "default-scheduler"
"""What an API server writes into pods and templates without a schedulerName."""
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """An object of a watched kind, as its reader returns it.

    `body` is a manifest with all that was filled in; None for an object of a snapshot.
    """

    gvr: GVR
    noun: object
    body: Body | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object that has a name and an identity; its body may still be wrong."""

    document: Document
    kind: Kind
    body: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Its kind, API group, namespace and name."""
        metadata = self.body["metadata"]
        group = names.group_of(self.body["apiVersion"])
        return self.kind.kind, group, metadata["namespace"], metadata["name"]


@dataclass(frozen=True, slots=True)
class SchedulerNames:
    """The schedulerName of pods that have none, by their uids."""

    ours: str
    assume_ours: bool | None
    objects: Mapping[str, FoundObject]

    def of(self, uid: str) -> str:
        """Return the schedulerName of the pod or the template with this uid, which has none."""
        assumed = self.assume_ours
        if assumed is None:
            assumed = not self.objects[uid].document.is_from_cluster
        return self.ours if assumed else DEFAULT_SCHEDULER

    def is_assumed(self, each: FoundObject) -> bool:
        """Return whether this is a pod that gets our name, having none."""
        given = each.kind.gvr != PODS or bool(each.body.get("spec", {}).get("schedulerName"))
        return not given and self.of(each.body["metadata"]["uid"]) == self.ours
