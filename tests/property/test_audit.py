"""The auditor's rule of capacity against a count by hand, on random streams."""

from random import Random
from typing import Any

import pytest

from support.audit_streams import Stream, bound, deleted, ended, node, pod

STREAMS = 60
STEPS = 80


class Cluster:
    """What is on nodes, counted again for each question, and what an auditor sees of it."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.stream = Stream("capacity")
        self.offered = {f"n{number}": dice.randint(2, 8) for number in range(4)}
        self.stream.see(*(node(name, cpu=cpu) for name, cpu in self.offered.items()))
        self.stream.wait(60)
        self.there: dict[str, tuple[str, int, dict[str, Any]]] = {}
        self.expected: list[str] = []

    def step(self, number: int) -> None:
        """Bind, end or delete a pod, or let time pass."""
        what = self.dice.choice(("bind", "bind", "bind", "end", "go", "delete", "wait"))
        if what == "bind":
            self.bind(f"p{number}")
        elif what == "wait":
            self.stream.wait(self.dice.uniform(0, 20))
        elif self.there:
            self.leave(what, self.dice.choice(sorted(self.there)))

    def bind(self, name: str) -> None:
        """Bind a pod anywhere, and note whether that was too much."""
        where, cpu = self.dice.choice(sorted(self.offered)), self.dice.randint(1, 3)
        made = bound(pod(name, cpu=cpu), where)
        self.there[name] = where, cpu, made
        if sum(cpu for at, cpu, _ in self.there.values() if at == where) > self.offered[where]:
            self.expected.append(f"Pod lab/{name}")
        self.stream.see(made)

    def leave(self, what: str, name: str) -> None:
        """Have a pod end, or go; one that is being deleted is still there."""
        made = self.there[name][2]
        if what == "delete":
            self.stream.see(deleted(made))
            return
        del self.there[name]
        if what == "end":
            self.stream.see(ended(made))
        else:
            self.stream.gone(made)


@pytest.mark.parametrize("seed", range(STREAMS))
def test_it_finds_each_binding_too_many_and_no_other(seed: int) -> None:
    cluster = Cluster(Random(seed))  # noqa: S311 - for streams, not for secrets.
    for number in range(STEPS):
        cluster.step(number)
    cluster.stream.end()

    assert cluster.expected == [each.about for each in cluster.stream.found]


def test_streams_have_both_right_and_wrong_bindings() -> None:
    found, bindings = 0, 0
    for seed in range(STREAMS):
        cluster = Cluster(Random(seed))  # noqa: S311 - for streams, not for secrets.
        for number in range(STEPS):
            cluster.step(number)
        found += len(cluster.expected)
        bindings += len(cluster.stream.auditor.world.pods)

    assert STREAMS < found < bindings * 4
