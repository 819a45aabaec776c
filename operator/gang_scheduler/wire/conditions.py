"""What is read of the conditions of pods and nodes."""

from gang_scheduler.wire.structs import Wire


class Condition(Wire, frozen=True):
    """A condition of a pod or a node."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
