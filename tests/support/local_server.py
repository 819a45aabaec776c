"""An HTTP server on this machine, for as long as it is entered, in place of an API server."""

import abc
import asyncio
from typing import Self

from aiohttp import test_utils, web
from kubernetes_asyncio.client import Configuration


class LocalServer(abc.ABC):
    """Use as an async context manager. `_answer` answers every GET."""

    def __init__(self) -> None:
        application = web.Application()
        application.router.add_get("/{path:.*}", self._answer)
        self._server = test_utils.TestServer(application)

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        # Python 3.11 leaves a connection open that it accepts while the server closes. One that
        # came before is seen in the first step of the loop, accepted in the second, made in the
        # third.
        for _step in range(3):
            await asyncio.sleep(0)
        await self._server.close()

    @property
    def url(self) -> str:
        """Its address."""
        return str(self._server.make_url("")).rstrip("/")

    @property
    def configuration(self) -> Configuration:
        """The way to it."""
        return Configuration(host=self.url)

    @abc.abstractmethod
    async def _answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
