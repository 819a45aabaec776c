"""The page, as its user's browser sees it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp.test_utils import TestClient, TestServer
from multidict import CIMultiDict

from gang_scheduler.inspection import files
from gang_scheduler.page.access import HOST, Access
from gang_scheduler.page.history import Past
from gang_scheduler.page.routes import application
from gang_scheduler.page.sources import ClusterSource, OfFiles, Views
from gang_scheduler.settings.policy import Policy
from support.listed_clusters import Body, written


class Answer(NamedTuple):
    """What the page answered."""

    status: int
    text: str
    headers: "CIMultiDict[str]"


class Browser:
    """Follows the address that was printed, and keeps the session."""

    def __init__(self, client: "TestClient[Any, Any]", address: str) -> None:
        self.client = client
        self.address = address
        self.port = int(address.split(":")[2].partition("/")[0])

    async def get(self, path: str, **options: Any) -> Answer:
        """Return the answer to a GET."""
        return await self.ask("GET", path, **options)

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        """Return the answer to any request."""
        async with self.client.request(method, path, **options) as answer:
            return Answer(answer.status, await answer.text(), CIMultiDict(answer.headers))


def source_of(directory: Path, bodies: Sequence[Body], namespace: str = "") -> OfFiles:
    """Return the source of a cluster of these objects."""
    name, policy = written(directory, bodies), Policy()
    return OfFiles(files.read([name], policy), [name], policy, namespace)


@asynccontextmanager
async def opened(
    source: ClusterSource, *, enter: bool = True, past: Past | None = None, title: str = "test"
) -> AsyncIterator[Browser]:
    """Serve the page of a source; the browser has opened its address, if it shall `enter`."""
    access = Access()
    server = TestServer(application(Views(source, past=past), access, title), host=HOST)
    await server.start_server()
    address = access.address(server.port or 0)
    async with TestClient(server) as client:
        browser = Browser(client, address)
        if enter:
            assert 200 == (await browser.get(address.partition(str(server.port))[2])).status
        yield browser
