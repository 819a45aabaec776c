"""Conditions of Queues and ClusterNetworkTopologies, and their reasons."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.report.texts.reasons.entry import Entry, Turn, passing

_ADMIN: Final = (Turn.QUEUE_ADMIN,)
_PLATFORM: Final = (Turn.PLATFORM,)

QUEUE_TYPES: Final[Mapping[str, Entry]] = {
    "Active": Entry("Whether the queue can admit gangs.", _ADMIN),
    "Oversubscribed": Entry(
        "The queues below were promised more than this queue has itself.",
        _ADMIN,
        "Lower the promises below, or raise the quota of this queue.",
    ),
    "Starving": Entry(
        "Gangs wait for quota that is the queue's own and that other queues use.",
        _ADMIN,
        "Let it reclaim ([preemption of queues](queues.md)), or wait for the borrowers to end.",
    ),
}
QUEUE_REASONS: Final[Mapping[str, Entry]] = {
    "Ready": passing("The queue is valid and takes gangs. On a topology: its tree is in use."),
    "Stopped": Entry("The queue is held by its `stopPolicy`.", _ADMIN, "Set it to `None`."),
    "ParentNotFound": Entry(
        "The queue above does not exist.", _ADMIN, "Create it, or correct `spec.parent`."
    ),
    "Cycle": Entry(
        "The chain of parents leads back to the queue.", _ADMIN, "Correct `spec.parent`."
    ),
    "FlavorNotFound": Entry(
        "A ResourceFlavor of the queue does not exist.",
        (Turn.QUEUE_ADMIN, Turn.PLATFORM),
        "Create it, or remove it from the queue.",
    ),
    "PromisedMore": Entry("See `Oversubscribed`.", _ADMIN),
    "Covered": passing("The queue has as much as is promised below it."),
    "WaitsForOwnQuota": Entry("See `Starving`.", _ADMIN),
    "Served": passing("No gang waits for quota that is the queue's own."),
}
TOPOLOGY_TYPES: Final[Mapping[str, Entry]] = {
    "Ready": Entry("Whether the scheduler could build a tree from the topology.", _PLATFORM),
}
TOPOLOGY_REASONS: Final[Mapping[str, Entry]] = {
    "InUse": passing("All nodes are in the tree."),
    "ExcludedNodes": Entry(
        "Some nodes lack a label and are outside the tree: gangs that must gather cannot use them.",
        _PLATFORM,
        "Label the nodes that the message names.",
    ),
    "InvalidSpec": Entry(
        "No tree can be built from the spec. The tree of the last valid spec stays in use.",
        _PLATFORM,
        "Correct the field that the message names.",
    ),
    "NotDefault": Entry(
        "The object is not named `default`, and has no effect.",
        _PLATFORM,
        "Rename it, or delete it.",
    ),
}
