"""The two event loops of the process: the main one, and a second one in its own thread.

The second loop serves everything that must answer while the main one computes: probes, metrics,
the Lease. Both are asyncio's; the cycles of the scheduler are in `scheduling_loop`.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

import anyio
import uvloop

# A cycle of a large cluster is one long computation in the main loop. During it the Lease must be
# renewed, or another replica would take over, and probes must be answered, or the kubelet would end
# the process.

T = TypeVar("T")


class SecondLoop:
    """An event loop in its own thread, for work that the main loop must not delay.

    It runs inside of this async context manager.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="second-loop", daemon=True
        )

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        with anyio.CancelScope(shield=True):
            await asyncio.to_thread(self._thread.join)
        self._loop.close()

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run an awaitable on the other loop and return its result.

        If the caller is cancelled, the awaitable is first ended on that loop.
        """
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
    # Not earlier: the task is created on the other loop, when that gets to it.
    tasks[0].cancel()


def _look_at(task: asyncio.Task[Any]) -> None:
    # An error that is not retrieved would be logged as forgotten.
    if not task.cancelled():
        task.exception()


class EventLoop(uvloop.Loop):
    """uvloop's event loop, with a fix for connections that break while they are made.

    If the first write of a TLS handshake fails, uvloop closes the descriptor of the socket that it
    was given, but leaves the socket object open (MagicStack/uvloop#738 in part). When the object is
    collected, it closes that number once more. By then, another connection may use the number, and
    silently dies. Each new socket with that number is then refused (`File descriptor 19 is used by
    transport`), and in the end libuv aborts the process.
    """

    async def create_connection(
        self,
        *args: Any,  # noqa: ANN401 - handed on as they are.
        sock: socket.socket | None = None,
        **how: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Return a transport and its protocol.

        A connected `sock` belongs to the loop from then on.
        """
        try:
            return await super().create_connection(*args, sock=sock, **how)
        finally:
            if sock is not None:
                sock.detach()
