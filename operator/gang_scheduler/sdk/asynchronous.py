"""The client for programs with an event loop. Methods may raise the errors of the API server."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Literal, Self

from gang_scheduler.sdk.shown import Created, Explained, Waits
from gang_scheduler.submit.training_job import TrainingJob, seconds_of

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server
    from gang_scheduler.submit.gang_states import State
    from gang_scheduler.submit.submission import Submission

Goal = Literal["Scheduled", "Running", "Finished"]


class AsyncClient:
    """A connection to the cluster of a kubeconfig, else to the cluster that this pod runs in.

    Use it as an async context manager. `namespace` defaults to the context's.
    """

    def __init__(self, kubeconfig: str = "", context: str = "", namespace: str = "") -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._namespace = namespace
        self._stack = AsyncExitStack()
        self._server: Server | None = None

    async def __aenter__(self) -> Self:
        # Here, so that importing the SDK imports no client.
        from gang_scheduler.inspection import servers  # noqa: PLC0415
        from gang_scheduler.telemetry import logger  # noqa: PLC0415

        logger.be_quiet()
        connected = servers.connected(self._kubeconfig, self._context)
        self._server = await self._stack.enter_async_context(connected)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server = None
        await self._stack.aclose()

    @property
    def server(self) -> "Server":
        """The open connection."""
        if self._server is None:
            raise RuntimeError("the client is not open: use it in a with block")
        return self._server

    @property
    def namespace(self) -> str:
        """The namespace of jobs that name none."""
        return self._namespace or self.server.namespace

    async def plan(self, job: TrainingJob) -> Created:
        """Return the objects that `submit` would create, and whether the job would start now.

        Creates nothing.
        """
        return _created(await self._prepared(job))

    async def submit(self, job: TrainingJob, *, predict: bool = False) -> "AsyncRun":
        """Create a job. Raises Refused for a field that cannot be honoured.

        With `predict`, the run says whether the job would start now; this reads the whole cluster.
        """
        from gang_scheduler.submit import submission  # noqa: PLC0415

        found = await self._prepared(job, predict=predict)
        await submission.created(self.server, found)
        return AsyncRun(self, found.job.name, found.job.namespace, _created(found))

    def run(self, name: str, namespace: str = "") -> "AsyncRun":
        """Return the run of an existing job, or of any other gang, by its name."""
        return AsyncRun(self, name, namespace or self.namespace)

    async def _prepared(self, job: TrainingJob, *, predict: bool = True) -> "Submission":
        from gang_scheduler.submit import submission  # noqa: PLC0415

        placed = job.model_copy(update={"namespace": job.namespace or self.namespace})
        return await submission.prepared(self.server, placed, predict=predict)


class AsyncRun:
    """A job, or another gang, in the cluster. `created` has the objects of a new job."""

    def __init__(
        self, client: AsyncClient, name: str, namespace: str, created: Created | None = None
    ) -> None:
        self._client = client
        self.name = name
        self.namespace = namespace
        self.created = created

    def __repr__(self) -> str:
        """Return its name."""
        return f"{type(self).__name__}({self.namespace}/{self.name})"

    def _repr_html_(self) -> str:
        return html_of(self.namespace, self.name, self.created)

    async def state(self) -> "State":
        """Return the phase of the gang, why it waits, and its members."""
        from gang_scheduler.submit import gang_states  # noqa: PLC0415

        return await gang_states.state_of(self._client.server, self.name, self.namespace)

    async def explain(self) -> Explained:
        """Return why the job waits, when it starts and what would help; or where it runs."""
        from gang_scheduler.submit import verdict  # noqa: PLC0415

        text, document = await verdict.about_gang(self._client.server, self.name, self.namespace)
        return Explained(text, document)

    async def wait(self, goal: Goal = "Finished", timeout: str | None = None) -> None:  # noqa: ASYNC109 - a duration for users.
        """Return once the job has reached `goal`. Raises Waits if it fails, or at the timeout."""
        from gang_scheduler.api.pod_group import Phase  # noqa: PLC0415
        from gang_scheduler.submit import gang_states  # noqa: PLC0415

        limit = None if timeout is None else float(seconds_of(timeout))
        reached, state = await gang_states.waited(self.state, Phase(goal), limit)
        if not reached:
            phase = state.phase.value
            raise Waits(
                f"{self.name}: {phase}: {state.summary}", state.reason, await self.explain()
            )

    async def logs(self, rank: int | None = 0, *, follow: bool = False) -> AsyncIterator[str]:
        """Yield the log lines of a member, each with its rank; of all members for None."""
        from gang_scheduler.submit import log_lines  # noqa: PLC0415

        found = log_lines.lines(self._client.server, self.state, rank=rank, follow=follow)
        async for line in found:
            yield f"{line.rank}: {line.text}" if rank is None else line.text

    async def cancel(self, *, force: bool = False) -> str:
        """Delete the object that owns the job, and return its name.

        With `force`, delete it even if `submit` did not create it.
        """
        from gang_scheduler.submit import cancelling  # noqa: PLC0415

        owner = await cancelling.owner_of(self._client.server, self.name, self.namespace)
        await cancelling.delete(self._client.server, owner, force=force)
        return owner.name


def _created(found: "Submission") -> Created:
    objects = tuple((each.kind, each.name, each.what) for each in found.plan)
    return Created(objects, found.prediction.sentence if found.prediction is not None else "")


def html_of(namespace: str, name: str, created: Created | None) -> str:
    """Return a run as HTML."""
    import html  # noqa: PLC0415 - only notebooks ask for it.

    title = f"<b>{html.escape(f'{namespace}/{name}')}</b>"
    return title + (created._repr_html_() if created is not None else "")
