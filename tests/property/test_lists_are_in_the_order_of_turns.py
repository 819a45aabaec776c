"""Law: gangs are listed in the order in which an idle cluster's room is given to them."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.listing import decisions_now, gangs
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.run import Options, simulate
from support.listed_clusters import Body, gang, node, queue, written
from support.thoroughness import cases

CLUSTERS = cases(50, thorough=1000)


def a_cluster(dice: Random, rooms: int) -> tuple[list[Body], int]:
    """Return gangs of one size that wait for an idle cluster with room for so many, and a size."""
    size = dice.randint(1, 3)
    bodies: list[Body] = [node(f"node-{number}") for number in range(rooms * size)]
    names = dice.sample(["blue", "green", "red"], dice.randint(0, 3))
    bodies += [queue(name, dice.choice((0, 8, 400))) for name in names]
    for number in range(dice.randint(2, 8)):
        minute = dice.randint(0, 59)
        bodies += gang(
            f"g-{number}",
            size,
            queue=dice.choice([*names, ""]) if names else "",
            priority=dice.choice((0, 0, 10)),
            created=f"2026-01-01T12:{minute:02d}:00Z",
        )
    return bodies, size


def listed(path: str) -> list[str]:
    cluster = files.read([path], Policy())
    return [row.name for row in gangs.gang_rows(cluster, decisions_now.decide(cluster))]


def started(path: str) -> Sequence[str]:
    """Return the gangs that start, in the order in which they are given room."""
    found = objects.load(documents.read([path]), Policy().rules.gangs.scheduler_names[0])
    outcome = simulate(found, Options(Policy()))
    return [str(placed.gang.key) for placed in outcome.placed]


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_the_first_of_a_list_are_given_the_room(seed: int) -> None:
    dice = Random(seed)  # noqa: S311 - no secret.
    bodies, _ = a_cluster(dice, rooms=dice.choice((1, 2, 3, 20)))
    with TemporaryDirectory() as directory:
        path = written(Path(directory), bodies)
        given, names = started(path), listed(path)

    places = [names.index(name) for name in given]
    assert sorted(places) == places
    if not any(body["kind"] == "Queue" for body in bodies):
        # Without quota nothing else holds a gang up: room goes to the first ones.
        assert [*range(len(given))] == places
