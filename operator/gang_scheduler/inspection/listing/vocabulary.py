"""The words for options of lists. `--help` imports only this module."""

from typing import Final

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
ORDERS: Final = ("name", "priority", "time", "gpu", "members", "queue", "start")
"""The properties by which gangs may be sorted."""
