"""The operator's decisions in virtual time: no short way changes them."""

from random import Random

import pytest

from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.replay.by_operator import Operator
from support.replays import played


@pytest.mark.parametrize("seed", range(4))
def test_the_short_way_to_a_plan_leads_to_the_same_plan(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = Random(seed)  # noqa: S311 - the same seed, the same jobs.
    rows = [
        f"j{place:02},{dice.randrange(1500)},{dice.randrange(1, 200)},{dice.choice([1, 1, 2])},"
        f"{dice.choice([1, 2, 4])},{dice.choice([0, 0, 5])},q{dice.randrange(3)}"
        for place in range(40)
    ]
    header = "name,submit,duration,pods,gpu,priority,queue"
    ways: list[bool] = []
    looks = Operator._all_may_fit

    def noted(operator: Operator, snapshot: Snapshot) -> bool:
        ways.append(looks(operator, snapshot))
        return ways[-1]

    monkeypatch.setattr(Operator, "_all_may_fit", noted)
    short = played(rows, header=header).replay.log
    monkeypatch.setattr(Operator, "_all_may_fit", lambda *_: False)

    assert {True, False} == set(ways)
    assert played(rows, header=header).replay.log == short


def test_a_gang_that_ends_before_the_next_cycle_frees_its_quota() -> None:
    # At 20 the first gang ends, and the second one starts. Nothing happens until that ends, too.
    found = played(
        ["a,0,20,2,8,q", "b,5,10,2,8,q", "c,6,10,2,8,q"],
        header="name,submit,duration,pods,gpu,queue",
    )

    assert [(20, 30)] == found.runs("b")
    assert [(30, 40)] == found.runs("c")
