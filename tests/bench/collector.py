"""Keeps the garbage collector out of what is measured, as the operator does."""

import gc

from gang_scheduler import garbage


def settle() -> None:
    """Take all that is there for lasting."""
    gc.unfreeze()
    garbage.collect_rarely()
