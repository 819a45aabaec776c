"""Many connections that break at any point of their lives, and requests that are given up."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from gang_scheduler.client.http import HttpClient
from integration.http_clients.conftest import Opens
from integration.support.breaking_server import BreakingServer

SEED = 1
WORKERS = 30
REQUESTS = 20
SECONDS = (0.002, 0.005, 0.02, 1.0)


@pytest.fixture
def breaking(certificate: Path) -> Iterator[BreakingServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with BreakingServer(context, SEED) as started:
        yield started


async def test_no_connection_is_taken_for_another(
    breaking: BreakingServer, opens: Opens, tls: ssl.SSLContext
) -> None:
    client = opens(breaking.url, tls, {}, WORKERS)

    answered = await asyncio.gather(*(_ask_often(client, number) for number in range(WORKERS)))

    assert 0 < sum(answered) < WORKERS * REQUESTS
    breaking.is_calm = True
    assert await _ask(client, "/calm", 10.0)
    await client.close()


async def _ask_often(client: HttpClient, worker: int) -> int:
    """Return how many requests were answered."""
    dice = Random(worker)  # noqa: S311 - for times, not for secrets.
    paths = (f"/{worker}/{number}" for number in range(REQUESTS))
    return sum([await _ask(client, path, dice.choice(SECONDS)) for path in paths])


async def _ask(client: HttpClient, path: str, seconds: float) -> bool:
    """Return whether a request was answered, and see that the answer is its own."""
    try:
        answer = await client.ask("GET", path, {}, None, seconds)
    except FileExistsError:
        # The loop has another connection by that number.
        raise
    except OSError:
        return False
    assert path.encode() == answer.body
    return True
