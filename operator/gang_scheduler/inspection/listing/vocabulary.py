"""The words that lists are asked with, apart from all that makes lists: help needs no more."""

from typing import Final

WAITING: Final = "Waiting"
STARTING: Final = "Starting"
RUNNING: Final = "Running"
FINISHED: Final = "Finished"
FAILED: Final = "Failed"
STATES: Final = (WAITING, STARTING, RUNNING, FINISHED, FAILED)
"""In the order in which they are listed."""
USER: Final = "py-gang-scheduler.io/user"
"""The label of pods that names the user."""
ORDERS: Final = ("name", "priority", "time", "gpu", "members", "queue", "start")
"""What gangs may be sorted by."""
