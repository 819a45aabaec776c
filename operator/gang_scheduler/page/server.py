"""The server of the page: only for this machine, until it is interrupted."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from gang_scheduler.page.access import HOST, Access


async def serve(
    application: Callable[[Access], web.Application], port: int, ready: Callable[[str], None]
) -> None:
    """Serve a page until cancelled; `ready` gets the address to open. Raises OSError.

    Port 0 means any free port.
    """
    access = Access()
    runner = web.AppRunner(application(access), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
        ready(access.address(runner.addresses[0][1]))
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
