"""The client for scripts and notebooks: the same methods, without an event loop.

It runs a loop in its own thread, since a notebook's kernel has one already.
"""

import asyncio
import queue
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gang_scheduler.sdk.asynchronous import AsyncClient, AsyncRun, Goal, html_of
from gang_scheduler.sdk.shown import Created, Explained
from gang_scheduler.submit.training_job import TrainingJob

if TYPE_CHECKING:
    from gang_scheduler.submit.gang_states import State

T = TypeVar("T")


class Client:
    """A connection to the cluster of a kubeconfig, else to the cluster that this pod runs in.

    Use it as a context manager, or `open` and `close` it.
    """

    def __init__(self, kubeconfig: str = "", context: str = "", namespace: str = "") -> None:
        self._client = AsyncClient(kubeconfig, context, namespace)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> Self:
        """Connect."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gangs", daemon=True)
        self._thread.start()
        try:
            self.result(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def close(self) -> None:
        """Disconnect. Jobs in the cluster continue."""
        if self._loop is not None:
            self.result(self._client.__aexit__())
            self._stop()

    def _stop(self) -> None:
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def begin(self, asked: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a coroutine of the asynchronous client in its loop."""
        if self._loop is None:
            asked.close()
            raise RuntimeError("the client is not open: use it in a with block")
        return asyncio.run_coroutine_threadsafe(asked, self._loop)

    def result(self, asked: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine of the asynchronous client; ctrl-C cancels it."""
        future = self.begin(asked)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def plan(self, job: TrainingJob) -> Created:
        """Return the objects that `submit` would create, and whether the job would start now.

        Creates nothing.
        """
        return self.result(self._client.plan(job))

    def submit(self, job: TrainingJob, *, predict: bool = False) -> "Run":
        """Create a job. Raises Refused for a field that cannot be honoured.

        With `predict`, the run says whether the job would start now; this reads the whole cluster.
        """
        return Run(self, self.result(self._client.submit(job, predict=predict)))

    def run(self, name: str, namespace: str = "") -> "Run":
        """Return the run of an existing job, or of any other gang, by its name."""
        return Run(self, self._client.run(name, namespace))


class Run:
    """A job, or another gang, in the cluster. `created` has the objects of a new job."""

    def __init__(self, client: Client, run: AsyncRun) -> None:
        self._client = client
        self._run = run
        self.name = run.name
        self.namespace = run.namespace
        self.created = run.created

    def __repr__(self) -> str:
        """Return its name."""
        return f"{type(self).__name__}({self.namespace}/{self.name})"

    def _repr_html_(self) -> str:
        return html_of(self.namespace, self.name, self.created)

    def state(self) -> "State":
        """Return the phase of the gang, why it waits, and its members."""
        return self._client.result(self._run.state())

    def explain(self) -> Explained:
        """Return why the job waits, when it starts and what would help; or where it runs."""
        return self._client.result(self._run.explain())

    def wait(self, goal: Goal = "Finished", timeout: str | None = None) -> None:
        """Return once the job has reached `goal`. Raises Waits if it fails, or at the timeout."""
        self._client.result(self._run.wait(goal, timeout))

    def logs(self, rank: int | None = 0, *, follow: bool = False) -> Iterator[str]:
        """Yield the log lines of a member, each with its rank; of all members for None."""
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

        async def pump() -> None:
            try:
                async for line in self._run.logs(rank, follow=follow):
                    lines.put(line)
            finally:
                lines.put(None)

        pumping = self._client.begin(pump())
        try:
            while (line := lines.get()) is not None:
                yield line
            pumping.result()
        finally:
            pumping.cancel()

    def cancel(self, *, force: bool = False) -> str:
        """Delete the object that owns the job, and return its name.

        With `force`, delete it even if `submit` did not create it.
        """
        return self._client.result(self._run.cancel(force=force))
