"""The API server of a kubeconfig, for read-only commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from gang_scheduler.client import connection
from gang_scheduler.client.connection import PAGE_SECONDS, Connection

MOST_AT_ONCE: Final = 64
"""Kinds are listed concurrently, and the next page of each is fetched in advance."""


class Server(NamedTuple):
    """An API server, open for requests.

    `namespace` comes from the kubeconfig's context. A request may take `request_seconds`.
    """

    connection: Connection
    namespace: str
    request_seconds: float = PAGE_SECONDS


@asynccontextmanager
async def connected(
    kubeconfig: str = "", context: str = "", request_seconds: float = 0.0
) -> AsyncIterator[Server]:
    """Provide the server of a kubeconfig's context; both are found as kubectl does.

    A `request_seconds` of 0 means the default. Raises UnusableConfigurationError. No request is
    sent here.
    """
    configuration, namespace = await connection.load_as_user(kubeconfig, context)
    async with Connection(configuration, MOST_AT_ONCE) as opened:
        yield Server(opened, namespace, request_seconds or PAGE_SECONDS)
