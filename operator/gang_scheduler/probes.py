"""/healthz, /readyz and /metrics."""

from collections.abc import Awaitable, Callable
from typing import Self

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.exposition import Exposition
from gang_scheduler.telemetry.logger import Logger

log = Logger()


class CannotListenError(Exception):
    """The address cannot be listened on."""


class Probes:
    """A small HTTP server. `healthy` and `ready` return "" or the problem. Use as a context.

    Entering may raise CannotListenError.
    """

    def __init__(
        self, host: str, port: int, *, healthy: Callable[[], str], ready: Callable[[], str]
    ) -> None:
        self._host = host
        self._port = port
        application = web.Application()
        application.router.add_get("/healthz", _answering(healthy))
        application.router.add_get("/readyz", _answering(ready))
        metrics.expose()
        application.router.add_get("/metrics", _showing(Exposition()))
        self._runner = web.AppRunner(application, access_log=None)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            await self._runner.cleanup()
            # asyncio puts a sentence before the operating system's message.
            problem = (error.strerror or str(error)).rpartition(": ")[2]
            raise CannotListenError(
                f"cannot listen on {self._host}:{self._port}: {problem.lower()}"
            ) from error
        log.info(
            "listening", addresses=[f"{host}:{port}" for host, port, *_ in self._runner.addresses]
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()


def _answering(problem: Callable[[], str]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_request: web.Request) -> web.Response:
        wrong = problem()
        return web.Response(text=wrong or "ok", status=503 if wrong else 200)

    return answer


def _showing(exposition: Exposition) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def show(_request: web.Request) -> web.Response:
        return web.Response(body=exposition.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return show
