"""What metrics say, as they are scraped."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import prometheus_client
from prometheus_client import REGISTRY

from gang_scheduler.telemetry import metrics

Labels = tuple[tuple[str, str], ...]


def sample(name: str, **labels: str) -> float | None:
    """Return the value of a series as the replica shows it that schedules; None: there is none."""
    return series(name).get(tuple(sorted(labels.items())))


def counted(name: str, **labels: str) -> float:
    """Return the value of a series; 0 where there is none yet."""
    return sample(name, **labels) or 0


def series(name: str) -> dict[Labels, float]:
    """Return all samples of that name, by their labels."""
    metrics.lead()
    return {
        tuple(sorted(each.labels.items())): each.value
        for family in REGISTRY.restricted_registry([name]).collect()
        for each in family.samples
        if each.name == name
    }


@contextmanager
def growing(name: str) -> Iterator[dict[tuple[str, ...], float]]:
    """Give by how much series grow in the block, by the values of their labels, sorted by name.

    It is filled in at the end of the block.
    """
    before, grown = series(name), dict[tuple[str, ...], float]()
    yield grown
    for labels, value in series(name).items():
        if value != before.get(labels, 0):
            grown[tuple(said for _, said in labels)] = value - before.get(labels, 0)


async def until_shown(value: float, name: str, **labels: str) -> None:
    """Wait until a series has a value, as long as a slow machine takes."""
    with anyio.fail_after(60):
        while sample(name, **labels) != value:  # noqa: ASYNC110 - a scrape is all that tells.
            await asyncio.sleep(0.01)


def exposition() -> str:
    """Return all that a scrape reads."""
    metrics.lead()
    return prometheus_client.generate_latest().decode()
