"""When a view is made: when a client asks, once for all, and no more than once a second."""

import asyncio
import threading
from pathlib import Path

import pytest

from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.page.sources import LEAST_SECONDS, Views
from gang_scheduler.page.view import Reading
from support.listed_clusters import gang, node
from support.pages import source_of

CLUSTER = [node("node-0"), *gang("waits", 2)]


class Counted:
    """A source that counts its readings, takes a while for each, and can break."""

    def __init__(self, directory: Path, clock: list[float], seconds: float = 0.0) -> None:
        self.still = False
        self.readings = 0
        self.broken = ""
        self.threads: set[str] = set()
        self._of_files = source_of(directory, CLUSTER)
        self._clock = clock
        self._seconds = seconds

    def read(self) -> Reading:
        """Return the cluster, or raise."""
        self.readings += 1
        self.threads.add(threading.current_thread().name)
        self._clock[0] += self._seconds
        if self.broken:
            raise ApiError(0, self.broken)
        return self._of_files.read()

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster with these."""
        return self._of_files.tried(manifests)

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


def views_of(source: Counted, clock: list[float]) -> Views:
    """Return the views of a source by this clock."""
    return Views(source, lambda: clock[0])


async def test_nothing_is_read_before_a_client_asks_and_once_for_all(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock)
    views = views_of(source, clock)
    assert 0 == source.readings

    seen = await asyncio.gather(*(views.latest() for _ in range(20)))
    await views.close()

    assert 1 == source.readings
    assert 1 == len({id(each.view) for each in seen})
    assert threading.current_thread().name not in source.threads


async def test_a_view_lasts_a_second(tmp_path: Path, clock: list[float]) -> None:
    source = Counted(tmp_path, clock)
    views = views_of(source, clock)

    for step, readings in ((0.0, 1), (LEAST_SECONDS / 2, 1), (LEAST_SECONDS / 2, 2)):
        clock[0] += step
        await views.latest()
        assert readings == source.readings
    await views.close()


async def test_a_cluster_that_takes_long_is_read_less_often(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock, seconds=2.0)
    views = views_of(source, clock)

    await views.latest()
    for step, readings in ((5.9, 1), (0.2, 2)):
        clock[0] += step
        await views.latest()
        assert readings == source.readings
    await views.close()


async def test_the_last_view_stays_while_the_cluster_cannot_be_read(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock)
    views = views_of(source, clock)
    first = await views.latest()

    source.broken, clock[0] = "no route", clock[0] + 10
    stale = await views.latest()
    source.broken, clock[0] = "", clock[0] + 10
    again = await views.latest()
    await views.close()

    assert first.view is stale.view
    assert "the cluster cannot be read: no route" == stale.problem
    assert "" == again.problem
    assert again.view is not first.view


async def test_files_are_read_once(tmp_path: Path, clock: list[float]) -> None:
    source = Counted(tmp_path, clock)
    source.still = True
    views = views_of(source, clock)

    await views.latest()
    clock[0] += 10_000
    await views.latest()
    await views.close()

    assert 1 == source.readings
