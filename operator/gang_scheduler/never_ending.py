"""Work that ends only when it is told to: whatever else ends it is an error, and not silence.

A task group of anyio takes a task that has returned for done, and one that a stray cancellation
has ended for no reason to raise. A replica would lead on without its binder, or without a source.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable

import anyio


class EndedError(Exception):
    """Work has ended by itself that must not."""


async def never_ending(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do work until its scope is cancelled. Raises EndedError when it ends before that."""
    try:
        await work()
    except asyncio.CancelledError:
        if _is_asked_to_end():
            raise
        raise EndedError(f"{name} was cancelled, and nothing has asked for that") from None
    if not _is_asked_to_end():
        raise EndedError(f"{name} has ended by itself")


def _is_asked_to_end() -> bool:
    """Return whether a scope around the current task was cancelled."""
    return anyio.current_effective_deadline() == -math.inf
