"""An event loop in a thread of its own, for what must be answered whatever holds the main one up.

A cycle of a large cluster is one long computation. Meanwhile the Lease must be renewed, or another
replica would take over, and probes must be answered, or the kubelet would end the process.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

import anyio

T = TypeVar("T")


class Beside:
    """Use as an async context manager: the other loop runs inside."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="beside", daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        with anyio.CancelScope(shield=True):
            await asyncio.to_thread(self._thread.join)
        self._loop.close()

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do work on the other loop, and return what it returns. Cancelled, it ends there first."""
        tasks: list[asyncio.Task[T]] = []
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def begin() -> None:
            tasks.append(self._loop.create_task(work()))
            tasks[0].add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))

        self._loop.call_soon_threadsafe(begin)
        try:
            await ended.wait()
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(_cancel, tasks)
            with anyio.CancelScope(shield=True):
                await ended.wait()
            _look_at(tasks[0])
            raise
        return tasks[0].result()


def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    # Not before: the task is made on the other loop, in its turn.
    tasks[0].cancel()


def _look_at(task: asyncio.Task[Any]) -> None:
    # An error that was not retrieved would be logged as forgotten.
    if not task.cancelled():
        task.exception()
