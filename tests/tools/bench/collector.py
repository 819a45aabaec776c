"""Keeps the garbage collector out of what is measured, as the operator does."""

import gc

from gang_scheduler import gc_tuning


def settle() -> None:
    """Take all that is there for lasting."""
    gc.unfreeze()
    gc_tuning.collect_rarely()
