"""How parts of the operator run: at an interval, as workers of a queue, and until cancelled.

For a task group of anyio, a task that has returned is done, and a task that a stray cancellation
has ended is no reason to raise. A replica would then keep leading without its binder, or without a
source.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

from gang_scheduler.internal_errors import confined
from gang_scheduler.round_robin import TurnsQueue

T = TypeVar("T")


class EndedError(Exception):
    """Work ended by itself that must never end."""


async def never_ending(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do work until its scope is cancelled. Raises EndedError if it ends before that."""
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


def _always() -> bool:
    return True


async def every(
    seconds: float,
    look: Callable[[], Awaitable[None] | None],
    step: str,
    about: str,
    *,
    at_once: bool = False,
    when: Callable[[], bool] = _always,
) -> None:
    """Call a function every this many seconds until cancelled, with `at_once` also now.

    A failed call is noted as an error of `step` on `about`. A call that is due while `when()`
    returns False is skipped.
    """
    if not at_once:
        await asyncio.sleep(seconds)
    while True:
        if when():
            with confined(step, about):
                looking = look()
                if looking is not None:
                    await looking
        await asyncio.sleep(seconds)


class Workers(ABC, Generic[T]):
    """A queue of items, and `number` tasks that work on it. `name` is the name of their part.

    If an item raises, the error is noted as one of `step`, and the worker continues.
    """

    def __init__(self, name: str, step: str, number: int = 1) -> None:
        self._name = name
        self._step = step
        self._number = number
        self._queue = TurnsQueue(self.namespace_of)

    def submit(self, item: T) -> None:
        """Queue an item behind all others of its namespace."""
        self._queue.put_nowait(item)

    async def run(self) -> None:
        """Work on items as they come, until cancelled."""
        async with anyio.create_task_group() as tasks:
            for number in range(self._number):
                tasks.start_soon(self._take_items, name=f"{self._name} {number}")

    async def drain(self) -> None:
        """Wait until all submitted items are done."""
        await self._queue.join()

    @abstractmethod
    async def work(self, item: T) -> None:
        """Do the work on one item."""

    def about(self, item: T) -> object:
        """Return the subject of an error with an item."""
        return item

    @abstractmethod
    def namespace_of(self, item: T) -> str:
        """Return the namespace of an item: namespaces take turns."""

    async def _take_items(self) -> None:
        while True:
            item = await self._queue.get()
            with confined(self._step, self.about(item)):
                await self.work(item)
            self._queue.task_done()
