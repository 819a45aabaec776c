"""How garbage is collected: the collector's pauses are the tail of every latency."""

import atexit
import gc
from typing import Final

CALM: Final = (100_000, 50, 1000)
"""The thresholds at which the collector looks at the young, the older and all objects."""


def collect_rarely() -> None:
    """Let the collector look only at objects created from now on, and rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*CALM)


def collect_nothing() -> None:
    """Let the collector look at next to nothing, for a process that ends with its answer.

    Nor at the end: what the modules and the answer consist of goes with the process, and to look
    through it would take as long as to import a third of them.
    """
    collect_rarely()
    atexit.register(gc.freeze)
