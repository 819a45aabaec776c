"""The operator's decisions in virtual time: no short way changes them."""

from collections.abc import Hashable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.replay.operator_cycles import Operator
from gang_scheduler.replay.run import Decided
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.turns.attempts import Attempt, Attempts
from support.replays import played

HEADER = "name,submit,duration,pods,gpu,priority,queue"


def some(seed: int) -> list[str]:
    """Return jobs of three queues, most of which wait."""
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    return [
        f"j{place:02},{dice.randrange(1500)},{dice.randrange(1, 200)},{dice.choice([1, 1, 2])},"
        f"{dice.choice([1, 2, 4])},{dice.choice([0, 0, 5])},q{dice.randrange(3)}"
        for place in range(40)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_the_short_way_to_a_plan_leads_to_the_same_plan(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some(seed)
    ways: list[bool] = []
    looks = Operator._all_may_fit

    def noted(operator: Operator, snapshot: Snapshot) -> bool:
        ways.append(looks(operator, snapshot))
        return ways[-1]

    monkeypatch.setattr(Operator, "_all_may_fit", noted)
    short = played(rows, header=HEADER).replay.log
    monkeypatch.setattr(Operator, "_all_may_fit", lambda *_: False)

    assert {True, False} == set(ways)
    assert played(rows, header=HEADER).replay.log == short


@pytest.mark.parametrize("seed", range(2))
def test_gangs_alike_wait_for_a_promised_start_as_if_each_were_tried(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    rows = [
        f"j{place:02},{dice.randrange(900)},{(lasts := dice.randrange(20, 200))},"
        f"{dice.choice([1, 1, 1, 3])},{dice.choice([2, 4])},{dice.choice([0, 0, 0, 5])},"
        f"q{dice.randrange(2)},{dice.choice([lasts, 2 * lasts, ''])}"
        for place in range(40)
    ]
    policy = tmp_path / "promises.yaml"
    policy.write_text("reservationAfterSeconds: 20\n")
    known: list[bool] = []
    looks = Attempts._likeness

    def noted(attempts: Attempts, trying: Attempt) -> Hashable | None:
        found = looks(attempts, trying)
        known.append(found in attempts._delaying)
        return found

    def log() -> object:
        return played(rows, policy=f"p={policy}", header=f"{HEADER},limit").replay.log

    monkeypatch.setattr(Attempts, "_likeness", noted)
    short = log()
    monkeypatch.setattr(Attempts, "_likeness", lambda *_: None)

    assert any(known)
    assert log() == short


def test_no_cycle_is_planned_twice_while_gangs_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []
    waited: list[bool] = [False]
    cycles = Operator.cycle

    def planning(*args: Any, **options: Any) -> Plan:
        planned[-1] += 1
        return schedule(*args, **options)

    def cycling(operator: Operator, now: int) -> Decided:
        planned.append(0)
        decided = cycles(operator, now)
        waited.append(any(not pod.node for pod in operator.cache.pods()))
        return decided

    monkeypatch.setattr("gang_scheduler.replay.operator_cycles.schedule", planning)
    monkeypatch.setattr(Operator, "cycle", cycling)
    played(some(2), header=HEADER)

    assert waited.count(True) > 10
    assert {1} == {number for before, number in zip(waited, planned, strict=False) if before}


def test_a_gang_that_ends_before_the_next_cycle_frees_its_quota() -> None:
    # At 20 the first gang ends, and the second one starts. Nothing happens until that ends, too.
    found = played(
        ["a,0,20,2,8,q", "b,5,10,2,8,q", "c,6,10,2,8,q"],
        header="name,submit,duration,pods,gpu,queue",
    )

    assert [(20, 30)] == found.runs("b")
    assert [(30, 40)] == found.runs("c")
