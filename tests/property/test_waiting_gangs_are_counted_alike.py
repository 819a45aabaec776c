"""Law: `list`, `queues`, `explain` and the status of a queue count the same gangs that wait."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.explaining.answers import answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.listing import decisions_now, gangs, queues
from gang_scheduler.inspection.listing.gangs import Row
from gang_scheduler.inspection.listing.states_and_orders import WAITING
from gang_scheduler.scheduler.explanation.findings import Position
from gang_scheduler.settings.policy import Policy
from support.listed_clusters import Body, gang, node, queue, written
from support.thoroughness import cases

CLUSTERS = cases(30, thorough=600)


def a_cluster(dice: Random) -> list[Body]:
    """Return gangs of every sort: that run, are incomplete, have no pod, or are too large."""
    nodes = [f"node-{number}" for number in range(dice.randint(1, 8))]
    bodies: list[Body] = [node(name) for name in nodes]
    names = ["blue", "green", "green-below"]
    bodies += [queue("blue", 8), queue("green", 16), queue("green-below", 8, parent="green")]
    dice.shuffle(nodes)
    for number in range(dice.randint(3, 9)):
        size = dice.randint(1, 3)
        minute = dice.randint(0, 59)
        made = gang(
            f"g-{number}",
            size,
            gpus=dice.choice((1, 8, 8, 8, 16)),
            queue=dice.choice([*names, ""]),
            priority=dice.choice((0, 0, 10)),
            created=f"2026-01-01T12:{minute:02d}:00Z",
            nodes=[nodes.pop() for _ in range(size) if nodes] if dice.random() < 0.3 else (),
        )
        missing = dice.choice((0, 0, 0, 0, 1, size))
        bodies += made[: len(made) - missing]
    return bodies


def wrong(bodies: list[Body]) -> Iterator[str]:
    """Yield in what the answers about a cluster differ."""
    with TemporaryDirectory() as directory:
        path = written(Path(directory), bodies)
        cluster = files.read([path], Policy())
        decided = decisions_now.decide(cluster)
        listed = [row for row in gangs.gang_rows(cluster, decided) if row.state == WAITING]
        yield from _of_queues(listed, queues.lines_of_queues(cluster, decided))
        for row in listed:
            question = Question(files.read([path], Policy()))
            found = answer_for(f"podgroup/{row.key.name}", row.key.namespace, question).document
            assert found is not None
            yield from _of_position(row, listed, found.position)


def _of_queues(listed: list[Row], lines: list[queues.QueueLine]) -> Iterator[str]:
    parents = {line.name: line.parent for line in lines}
    expected = Counter[str]()
    for row in listed:
        name = row.queue
        while name:
            expected[name] += 1
            name = parents.get(name, "")
    for line in lines:
        if line.pending != expected[line.name]:
            yield f"{line.name}: {line.pending} pending, {expected[line.name]} listed"
        here = [row.key for row in listed if row.queue == line.name]
        if {*line.gangs} != {*here}:
            yield f"{line.name}: {line.gangs} in line, {here} listed"


def _of_position(row: Row, listed: list[Row], told: Position | None) -> Iterator[str]:
    if told is None:
        return
    here = [each for each in listed if each.queue == row.queue]
    of_list = (here.index(row) + 1, len(here), listed.index(row) + 1, len(listed))
    said = (told.place, told.of, told.place_in_cluster, told.of_cluster)
    if said != of_list:
        yield f"{row.name}: explained as {said}, listed as {of_list}"


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_all_answers_agree(seed: int) -> None:
    dice = Random(seed)  # noqa: S311 - no secret.

    assert [] == [*wrong(a_cluster(dice))]
