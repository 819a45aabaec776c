"""Higher priority first, then the older gang."""

from gang_scheduler.model.gangs import Gang


def key(gang: Gang) -> tuple[int, int, str, str]:
    """Return a sort key. Smaller sorts first. Called once per gang per cycle."""
    # The last keys are the uid and the name: equal gangs must always sort the same way.
    return (-gang.priority, gang.created_at, gang.uid, str(gang.key))
