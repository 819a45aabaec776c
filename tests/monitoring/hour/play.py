"""Plays the hour, from the first scrape to the last."""

import asyncio
import random
from datetime import datetime, tzinfo
from pathlib import Path
from unittest.mock import patch

import anyio
import looptime

from gang_scheduler.client.fake import cluster as fake
from monitoring.hour.clock import DIES_AT, LEADS_AT, Clock, until
from monitoring.hour.cluster import Cluster
from monitoring.hour.operator_process import OperatorProcess
from monitoring.hour.scrapes import Scrapes
from monitoring.hour.story import Story


def play(path: Path) -> None:
    """Play it, and write what was scraped."""

    def loop() -> asyncio.AbstractEventLoop:
        return looptime.new_event_loop(start=0, _enabled=True)

    # Pauses after failed writes are drawn.
    random.seed(0)
    with patch.object(fake, "datetime", _Datetime), asyncio.Runner(loop_factory=loop) as runner:
        path.write_text(runner.run(_hour()))


async def _hour() -> str:
    cluster = Cluster(Clock())
    operator = OperatorProcess(cluster)
    story = Story(cluster, operator)
    story.begin()
    operator.see()
    scrapes = Scrapes()
    async with anyio.create_task_group() as group:
        group.start_soon(scrapes.run)
        group.start_soon(story.tell)
        await until(LEADS_AT)
        await operator.lead()
        await until(DIES_AT)
        await operator.kill()
        group.cancel_scope.cancel()
    return scrapes.text()


class _Datetime:
    """What the fake API server takes the time from."""

    @staticmethod
    def now(zone: tzinfo) -> datetime:
        """Return the time of the hour."""
        return datetime.fromtimestamp(Clock().time(), zone)
