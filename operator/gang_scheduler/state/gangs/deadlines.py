"""When the schedule timeouts of gangs end."""

from gang_scheduler.state.gangs.gang_info import GangInfo


class Deadlines:
    """The schedule timeouts of gangs; `timeout_seconds` is that of gangs that do not say one."""

    def __init__(self, timeout_seconds: int) -> None:
        self.timeout_seconds = timeout_seconds

    def of(self, info: GangInfo) -> int | None:
        """Return when the schedule timeout ends, in seconds since the epoch; None: not running."""
        quorum_since = info.attempt.quorum_since
        return None if quorum_since is None else quorum_since + self.timeout_of(info)

    def timeout_of(self, info: GangInfo) -> int:
        """Return the schedule timeout of a gang, in seconds."""
        spec = info.observed.spec
        return (spec.options.timeout_seconds if spec else None) or self.timeout_seconds
