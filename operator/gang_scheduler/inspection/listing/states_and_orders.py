"""The states of gangs, and the orders in which `list` shows them. `--help` imports only these."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gang_scheduler.api import annotations

WAITING: Final = "Waiting"
STARTING: Final = "Starting"
RUNNING: Final = "Running"
FINISHED: Final = "Finished"
FAILED: Final = "Failed"
STATES: Final = (WAITING, STARTING, RUNNING, FINISHED, FAILED)
"""The states of gangs, in the order in which they are listed."""
USER: Final = annotations.USER
"""The label of pods that names the user."""
_NEVER: Final = 2**62
ORDERS: Final[Mapping[str, Callable[[Any], tuple[Any, ...]]]] = {
    "name": lambda gang: (gang.name,),
    "priority": lambda gang: (-gang.priority,),
    "time": lambda gang: (gang.since,),
    "gpu": lambda gang: (-gang.gpus,),
    "members": lambda gang: (-gang.members,),
    "queue": lambda gang: (gang.queue,),
    "start": lambda gang: (_NEVER if gang.start is None else gang.start,),
}
"""The sort keys of `list --sort` for a row of `gangs`. Equal gangs stay in the order of turns."""
