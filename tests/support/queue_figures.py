"""Queues with figures, made by hand."""

from dataclasses import replace
from fractions import Fraction

from gang_scheduler.model.queues import (
    ROOT,
    Amounts,
    FlavorResource,
    Queue,
    QueueFigures,
    QueueKind,
    QueueRef,
)
from gang_scheduler.model.refs import GangKey

X, Y = (GangKey("PodGroup", "default", name) for name in "xy")
CPU = FlavorResource("default", "cpu")
MEMORY = FlavorResource("default", "memory")


def ref(name: str) -> QueueRef:
    return QueueRef(QueueKind.QUEUE, name)


def queue(name: str, parent: QueueRef | None = ROOT) -> Queue:
    """Return a queue that is declared by an object."""
    return Queue(ref(name), uid=f"uid-{name}", parent=parent)


# Two teams of 6 CPUs each, of which one borrows 2 from the other.
TEAM_A = QueueFigures(
    queue("team-a"),
    {CPU: Amounts(6000, 8000, 2000, 0, 7000), MEMORY: Amounts(0, 1536 * 2**20)},
    share=Fraction(1, 6),
    running=2,
)
TEAM_B = QueueFigures(
    queue("team-b"),
    {CPU: Amounts(6000, 1500, 0, 2000, 4500)},
    running=1,
    pending=(X, Y),
)
IMPLIED_ROOT = QueueFigures(
    Queue(ROOT), {CPU: Amounts(12000, 9500, 0, 0, 12000)}, running=3, share=Fraction(0)
)
TREE = (IMPLIED_ROOT, TEAM_A, TEAM_B)
UNUSED_ROOT = replace(IMPLIED_ROOT, amounts={CPU: Amounts(12000)}, running=0)
