"""Events of the scheduler: the decisions that it reported about gangs and pods, as read again."""

import msgspec


class SchedulerEvent(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """An Event of the scheduler about a gang or a pod, with times in seconds since the epoch."""

    namespace: str
    name: str
    reason: str
    note: str = ""
    first: int
    last: int = 0
    times: int = 1
