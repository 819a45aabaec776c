"""Which gangs of full trees are refused without a turn, and how often they are judged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.api_words import EvictionPolicy, Strategy
from gang_scheduler.model.queues import AdmissionLimits, EvictionRules, Queue
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.snapshot import Snapshot
from support.builders import node
from support.call_counts import calls_of
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import decide, in_queue, promising, running, with_ends, world

A, B = queue_ref("a"), queue_ref("b")
TURNS: Final = "by_turns.TurnTaking._take_turn"
JUDGED: Final = "shortages.Shortages.lacking"
BACK_LATER: Final = EvictionRules(reclaim=EvictionPolicy.NEVER)


def full(queue: Queue, gangs: int = 6, sizes: Sequence[int] = (2,)) -> Snapshot:
    """Return a tree without quota, and gangs of these sizes that wait in two of its queues."""
    queues = [our_queue("root", 8_000), queue, our_queue("b", 0, borrowing=True)]
    waiting = [
        in_queue(ref, f"{ref.name}{i}", cpu=sizes[i % len(sizes)], created_at=i)
        for ref in (A, B)
        for i in range(gangs)
    ]
    return world(queues, waiting, [node("n", cpu=16)], [running(B, "r", "n", cpu=8)])


def reasons(snapshot: Snapshot) -> set[Reason]:
    return {each.reason for each in decide(snapshot).refused}


def test_gangs_of_a_full_tree_are_refused_without_a_turn() -> None:
    made = full(our_queue("a", 0, borrowing=True))

    calls = calls_of(lambda: decide(made))

    assert {Reason.WAITING_FOR_QUOTA} == reasons(made)
    assert 0 == calls[TURNS]


def test_gangs_of_a_queue_are_judged_once_for_each_size() -> None:
    made = full(our_queue("a", 0, borrowing=True), gangs=20, sizes=(1, 2, 3))

    calls = calls_of(lambda: decide(made))

    assert 2 * 3 == calls[JUDGED]


def test_a_gang_for_which_its_queue_keeps_quota_has_a_turn() -> None:
    made = full(our_queue("a", 2_000, borrowing=True, evictions=BACK_LATER), gangs=3)

    calls = calls_of(lambda: decide(made))

    assert 1 == calls[TURNS]


def test_gangs_of_a_queue_in_strict_order_wait_behind_the_first() -> None:
    strict = replace(our_queue("a", 0, borrowing=True), strategy=Strategy.STRICT_FIFO)

    assert {Reason.WAITING_FOR_QUOTA, Reason.WAITING_FOR_TURN} == reasons(full(strict))


def test_gangs_of_a_queue_with_all_its_jobs_wait_for_these() -> None:
    queues = [our_queue("root", 8_000)]
    queues.append(our_queue("a", 0, borrowing=True, limits=AdmissionLimits(jobs=1)))
    waiting = [in_queue(A, f"g{i}", cpu=2) for i in range(3)]
    made = world(queues, waiting, [node("n", cpu=16)], [running(A, "r", "n", cpu=8)])

    assert {Reason.JOB_LIMIT_REACHED} == reasons(made)


def test_a_gang_that_may_be_promised_a_start_has_a_turn() -> None:
    made = with_ends(
        replace(full(our_queue("a", 0, borrowing=True)), taken_at=10_000), {"r": 20_000}
    )

    assert 1 == len(promising(made).reservations)
