"""How garbage is collected: the collector's pauses are the tail of every latency."""

import gc
from typing import Final

CALM: Final = (100_000, 50, 1000)
"""The thresholds at which the collector looks at the young, the older and all objects."""


def collect_rarely() -> None:
    """Let the collector look only at objects created from now on, and rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*CALM)
