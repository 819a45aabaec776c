"""In which trees turns go on, and how often each group is looked at."""

from collections.abc import Collection, Mapping

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.scheduler.turns.known_lines import KnownLine
from gang_scheduler.scheduler.turns.lines import OpenTrees, QueueLine
from support.builders import gang_key, group
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import in_queue

A, B = queue_ref("a"), queue_ref("b")
ROOTS: Mapping[QueueRef, QueueRef] = {A: queue_ref("x"), B: queue_ref("y")}


class World:
    """A line in each of two trees, and the groups that there is quota for."""

    def __init__(self, waiting: Mapping[QueueRef, str], reserved: Collection[str] = ()) -> None:
        self.groups = {
            name: group(in_queue(ref, name)) for ref, names in waiting.items() for name in names
        }
        self.fitting: set[str] = set()
        self.looked_at: list[str] = []
        self.looks_left = 1_000
        keys = frozenset(gang_key(name) for name in reserved)
        self.trees = OpenTrees(ROOTS.__getitem__, self._any_hope, keys)
        self.lines = {ref: self._line(ref, names) for ref, names in waiting.items()}
        self.trees.add(self.lines.values())

    def _line(self, ref: QueueRef, names: str) -> QueueLine:
        groups = [self.groups[name] for name in names]
        reserved = self.trees.reserved_among(groups)
        return QueueLine(our_queue(ref.name), groups, KnownLine(groups, groups, ()), reserved)

    def _any_hope(self, line: QueueLine, groups: list[GangGroup]) -> bool:
        while groups and len(self.looked_at) < self.looks_left:
            assert groups[-1] in line.groups
            name = groups[-1].gangs[0].key.name
            self.looked_at.append(name)
            if name in self.fitting:
                break
            groups.pop()
        return bool(groups)


def test_a_tree_is_open_while_there_is_quota_for_a_group() -> None:
    world = World({A: "pq", B: "r"})
    world.fitting = {"p"}

    assert world.trees.is_open(A)
    assert not world.trees.is_open(B)

    world.fitting = set()
    assert not world.trees.is_open(A)


def test_a_group_without_quota_is_looked_at_once() -> None:
    world = World({A: "pqr"})
    world.fitting = {"p"}

    assert all(world.trees.is_open(A) for _ in range(3))

    assert sorted(set(world.looked_at)) == ["p", "q", "r"]
    assert world.looked_at.count("q") == world.looked_at.count("r") == 1


def test_a_tree_that_cannot_be_looked_through_is_open() -> None:
    world = World({A: "pqr"})
    world.looks_left = 2

    assert world.trees.is_open(A)
    assert world.trees.is_open(A)
    assert len(world.looked_at) == 2

    world.looks_left = 3
    assert not world.trees.is_open(A)


def test_a_tree_is_open_until_what_is_reserved_was_given_up() -> None:
    world = World({A: "pq"}, reserved=["q"])

    assert world.trees.is_open(A)
    world.trees.note_decided(world.groups["p"])
    assert world.trees.is_open(A)
    world.trees.note_decided(world.groups["q"])
    assert not world.trees.is_open(A)


def test_the_lines_of_a_tree() -> None:
    world = World({A: "p", B: "q"})

    assert list(world.trees.roots) == [ROOTS[A], ROOTS[B]]
    assert list(world.trees.lines(A)) == [world.lines[A]]
