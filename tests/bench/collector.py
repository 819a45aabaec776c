"""Keeps the garbage collector out of what is measured, as the operator does (`app`)."""

import gc


def settle() -> None:
    """Take all that is there for lasting."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)
