"""What a cycle still knows of the lines of earlier cycles, and when that is not used."""

from dataclasses import replace
from typing import Final

from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler.turns.known_lines import KEPT_SECONDS
from support.builders import gang_key, node, pod
from support.call_counts import calls_of
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import decide, in_queue, running, world

A, B = queue_ref("a"), queue_ref("b")
READ: Final = "by_turns.TurnTaking._in_order"
REFUSED: Final = "quota.refusals_of"


def full(per_hour: int | None = None) -> Snapshot:
    """Return a tree without quota, and gangs that wait in two of its queues."""
    queues = [our_queue("root", 8_000), our_queue("a", 0, borrowing=True)]
    queues.append(our_queue("b", 0, borrowing=True))
    if per_hour is not None:
        queues = [replace(each, aging=replace(each.aging, per_hour=per_hour)) for each in queues]
    waiting = [in_queue(ref, f"{ref.name}{i}", created_at=i) for ref in (A, B) for i in range(5)]
    return world(queues, waiting, [node("n", cpu=16)], [running(B, "r", "n", cpu=8)])


def of_queue(made: Snapshot, ref: object) -> Snapshot:
    return replace(made, groups=tuple(each for each in made.groups if each.queue == ref))


def read(made: Snapshot) -> int:
    """Return how many lines a cycle puts in order."""
    return calls_of(lambda: decide(made))[READ]


def test_lines_in_which_nothing_has_changed_are_not_read_again() -> None:
    made = full()

    assert 2 == read(made)
    assert 0 == read(made)


def test_groups_that_lack_the_same_as_before_get_the_same_refusals() -> None:
    made = full()
    before = decide(made)
    decide(made)

    calls = calls_of(lambda: decide(made))

    assert 0 == calls[REFUSED]
    assert before == decide(made)


def test_a_line_with_a_gang_less_is_read_again() -> None:
    made = full()
    decide(made)

    assert 1 == read(replace(made, groups=made.groups[1:]))


def test_a_line_is_known_after_cycles_of_other_queues() -> None:
    made = full()
    decide(made)
    decide(of_queue(made, B))

    assert 0 == read(of_queue(made, A))


def test_a_line_that_was_not_used_for_long_is_forgotten() -> None:
    made = full()
    decide(made)
    decide(replace(of_queue(made, B), taken_at=KEPT_SECONDS + 1))

    assert 1 == read(made)


def test_a_line_whose_order_changes_with_time_is_read_in_each_cycle() -> None:
    made = full(per_hour=10)
    decide(made)

    assert 2 == read(made)


def test_room_that_is_reserved_for_other_gangs_lets_a_line_be_known() -> None:
    def read_again(name: str) -> int:
        nominated = Nominated(pod(name, nominated="n"), gang_key(name), 0)
        made = replace(full(), nominated=(nominated,))
        read(made)
        return read(made)

    assert 0 == read_again("let-start")
    assert 1 == read_again("a0")
