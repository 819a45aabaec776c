"""Higher priority first, then groups that are half done, then the older group.

Half done is a gang that was bound in part, or that runs and has lost members.

Every order must have the priority first: a cycle decides one priority after the other.
"""

from gang_scheduler.model.gangs import GangGroup


def key(group: GangGroup) -> tuple[int, bool, float, str, str]:
    """Return a sort key. Smaller sorts first. Called once per group per cycle."""
    # The last keys are the uid and the name: equal groups must always sort the same way.
    return (-group.priority, not group.half_done, group.created_at, group.uid, group.name)
