"""Tunes garbage collection: the collector's pauses cause the longest delays."""

import atexit
import gc
from typing import Final

CALM: Final = (100_000, 50, 1000)
"""The thresholds at which the collector visits young, older and all objects."""


def collect_rarely() -> None:
    """Let the collector visit only objects created from now on, and rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*CALM)


def collect_nothing() -> None:
    """Let the collector visit next to no object, for a process that ends with its answer.

    It does not run at the end, either: the memory is freed with the process, and visiting it would
    take as long as importing a third of the modules.
    """
    collect_rarely()
    atexit.register(gc.freeze)
