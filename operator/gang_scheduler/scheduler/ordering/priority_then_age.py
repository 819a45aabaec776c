"""The order without queues: higher priority, then half-done groups, then the older group.

With queues, `turns.lines` has the order. A gang is half done if it was bound in part, or runs and
has lost members. Every order must begin with the priority: a cycle decides one priority after the
other.
"""

from gang_scheduler.model.gangs import GangGroup


def key(group: GangGroup) -> tuple[int, bool, float, str, str]:
    """Return a sort key. Smaller sorts first. Called once per group per cycle."""
    # The last keys are the uid and the name, so that equal groups always sort the same way.
    return (-group.priority, not group.half_done, group.created_at, group.uid, group.name)
