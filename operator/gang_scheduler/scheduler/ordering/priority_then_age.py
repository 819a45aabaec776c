"""Higher priority first, then groups with a partially bound gang, then the older group.

Every order must have the priority first: a cycle decides one priority after the other.
"""

from gang_scheduler.model.gangs import GangGroup


def key(group: GangGroup) -> tuple[int, bool, float, str, str]:
    """Return a sort key. Smaller sorts first. Called once per group per cycle."""
    half_done = any(gang.partially_bound for gang in group.gangs)
    # The last keys are the uid and the name: equal groups must always sort the same way.
    return (-group.priority, not half_done, group.created_at, group.uid, group.name)
