"""Sources as the operator makes them, and one that runs for as long as a test."""

import contextlib
from collections.abc import AsyncIterator
from typing import Final

import anyio

from gang_scheduler.client.connection import Connection
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.decode.events import EventHandlers
from gang_scheduler.settings.choices import PodSource
from gang_scheduler.watch.kopf import KopfSource, Relist
from gang_scheduler.watch.reflector import Reflector
from gang_scheduler.watch.sweep import Sweep
from gang_scheduler.watch.synced import Source

PATIENCE_SECONDS: Final = 60.0


def source_of(
    kind: PodSource,
    connection: Connection,
    event_handlers: EventHandlers,
    sweep_seconds: float = 3600.0,
) -> Source:
    """Return a source as the operator makes it."""
    if kind is PodSource.REFLECTOR:
        return Reflector(connection, event_handlers)
    sweep = Sweep(KubernetesApi(connection), event_handlers, sweep_seconds)
    return KopfSource(connection, event_handlers, sweep, Relist(connection, event_handlers))


@contextlib.asynccontextmanager
async def running(source: Source) -> AsyncIterator[None]:
    """Let a source run, from complete lists on, and end it as the operator does."""
    async with anyio.create_task_group() as group:
        group.start_soon(source.run)
        with anyio.fail_after(PATIENCE_SECONDS):
            await source.complete()
        yield
        group.cancel_scope.cancel()
