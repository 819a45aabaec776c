"""Which gangs have begun to run since waiting gangs were last tried."""

from dataclasses import replace

from gang_scheduler.model.plan import Placed
from gang_scheduler.model.queues import NONE, QueueRef
from gang_scheduler.state.queues.quota_waits import Started, StartedGangs
from support.builders import gang, gang_key
from support.queue_builders import queue_ref

A, B = queue_ref("a"), queue_ref("b")


def placed(name: str, ref: QueueRef | None, *, borrows: bool = False, priority: int = 0) -> Placed:
    return Placed(replace(gang(name), queue=ref, priority=priority), (), borrows=borrows)


def started(*admitted: Placed, runs: str) -> Started:
    """Return what is new once gangs were admitted and these of them, by letter, run."""
    found = StartedGangs()
    for each in admitted:
        found.admitted(each)
    for name in runs:
        found.runs(gang_key(name))
    return found.new


def test_a_gang_counts_once_it_runs() -> None:
    found = StartedGangs()
    found.admitted(placed("x", A))
    assert not found.new

    found.runs(gang_key("x"))
    assert Started({A: 0}) == found.new

    found.clear()
    found.runs(gang_key("x"))
    assert not found.new


def test_the_lowest_priority_of_each_queue_counts() -> None:
    gangs = placed("x", A, priority=2), placed("y", A, priority=1), placed("z", None, priority=7)

    assert Started({A: 1, None: 7}) == started(*gangs, runs="xyz")


def test_a_queue_borrows_for_all_its_gangs() -> None:
    gangs = placed("x", A), placed("y", A, borrows=True), placed("z", B)

    assert {A} == started(*gangs, runs="xz").borrowing


def test_gangs_without_a_queue_always_borrow() -> None:
    assert {NONE} == started(placed("x", NONE), runs="x").borrowing


def test_a_gang_that_is_gone_neither_runs_nor_borrows() -> None:
    found = StartedGangs()
    for each in (placed("x", A, borrows=True), placed("y", A)):
        found.admitted(each)
    found.forget(gang_key("x"))
    for name in "xy":
        found.runs(gang_key(name))

    assert Started({A: 0}) == found.new
