"""The application of the page. `screens` and `documents` have the addresses of what it shows."""

import asyncio

from aiohttp import web

from gang_scheduler.page import bodies, documents
from gang_scheduler.page.access import Door
from gang_scheduler.page.answering import Answers
from gang_scheduler.page.screens import Screens
from gang_scheduler.page.sources import Views
from gang_scheduler.page.streams import Streams
from gang_scheduler.page.trials import Trials


def application(views: Views, door: Door, title: str) -> web.Application:
    """Return the page of a title: screens, documents, and static files."""
    made = web.Application(middlewares=[door.middleware()])
    answers = Answers(views, door, title)
    streams, trials = Streams(views, door), Trials(answers, views)
    kept = {**Screens(answers.screen).handlers(), **documents.handlers()}
    made.add_routes([web.get(path, answers.kept(handler)) for path, handler in kept.items()])
    made.add_routes([web.get("/try", answers.new(trials.answer))])
    made.add_routes([web.get("/events", streams.answer)])
    made.add_routes([*door.routes(), *bodies.static_routes()])

    async def end(_: web.Application) -> None:
        await streams.close()
        for each in reading:
            each.cancel()

    async def close(_: web.Application) -> None:
        await trials.close()
        await views.close()

    reading: list[asyncio.Task[None]] = []

    async def begin(_: web.Application) -> None:
        reading.append(asyncio.create_task(views.keep_reading()))

    made.on_startup.append(begin)
    made.on_shutdown.append(end)
    made.on_cleanup.append(close)
    return made
