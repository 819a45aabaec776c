"""An error of ours while one group is decided stops no other group."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler import cycle_decisions, eligibility
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.cycle_decisions import KnownMisfits
from gang_scheduler.scheduler.placement.tree import gather
from gang_scheduler.scheduler.preemption.evaluator import PreemptionEvaluator
from gang_scheduler.scheduler.preemption.leaving_pods import Departures, NominatedRoom
from gang_scheduler.scheduler.preemption.search import cheapest
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.quorums import Quorums
from gang_scheduler.scheduler.surplus import Surplus
from support.builders import bound_pod, bound_pods, gang, node, snapshot

BINPACK = PROFILES["binpack"]
NODES = [node(f"n{i}", cpu=4) for i in range(3)]
OTHERS = (
    gang("first", pods=2, cpu=1, priority=9),
    gang("elastic", pods=9, min_member=2, cpu=1, priority=5, created_at=1),
    gang("late", pods=2, cpu=1, priority=1),
    gang("preemptor", pods=1, cpu=4, priority=5, created_at=2),
)
FITS = gang("bad", pods=3, min_member=1, cpu=1, priority=5)
TOO_LARGE = gang("bad", pods=9, cpu=4, priority=5)
STEPS = [
    (Departures, "without", FITS),
    (eligibility, "check", FITS),
    (NominatedRoom, "release", FITS),
    (KnownMisfits, "known", FITS),
    (Quorums, "in_any_order", FITS),
    (gather, "place", FITS),
    (Surplus, "grow", FITS),
    (cycle_decisions, "_in_rank_order", FITS),
    (KnownMisfits, "record", TOO_LARGE),
    (PreemptionEvaluator, "attempt", TOO_LARGE),
    (cheapest, "find", TOO_LARGE),
]


def decide(*gangs: Gang, order: Callable[[GangGroup], Any] = BINPACK.order) -> Plan:
    held = bound_pods(*(bound_pod(f"low-{i}", f"n{i}", cpu=2, priority=-i) for i in range(3)))
    return schedule(snapshot(NODES, gangs, bound_pods=held), replace(BINPACK, order=order))


def without_bad(plan: Plan) -> Plan:
    others = tuple(each for each in plan.refused if each.gang.key.name != "bad")
    return replace(plan, refused=others, failures=())


def concerns_bad(value: Any) -> bool:
    """Return whether an argument is the bad gang, or something of it."""
    if getattr(value, "name", "") == "bad":
        return True
    if isinstance(value, tuple | list):
        return any(map(concerns_bad, value))
    if hasattr(value, "units") or hasattr(value, "gangs"):
        return concerns_bad([*getattr(value, "units", ()), *getattr(value, "gangs", ())])
    key = getattr(value, "key", value)
    pod = getattr(value, "pod", None)
    return getattr(key, "name", "") == "bad" or (pod is not None and pod.name.startswith("bad-"))


@pytest.mark.parametrize(("owner", "name", "bad"), STEPS, ids=lambda each: str(each)[-40:])
def test_an_error_at_any_step_sets_that_group_aside(
    owner: Any, name: str, bad: Gang, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = decide(*OTHERS)
    real = getattr(owner, name)

    def planted(*args: Any, **kwargs: Any) -> Any:
        args = tuple([*each] if hasattr(each, "__next__") else each for each in args)
        if any(map(concerns_bad, args)):
            raise ZeroDivisionError("planted")
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, planted)
    plan = decide(*OTHERS, bad)

    assert expected == without_bad(plan)
    (failure,) = plan.failures
    assert ("default/bad", "planted") == (failure.group.name, str(failure.error))
    (refused,) = (each for each in plan.refused if each.gang.key.name == "bad")
    assert Reason.INTERNAL_ERROR == refused.reason
    assert "an error in the scheduler: ZeroDivisionError: planted" == describe(refused)
    assert bad.pending == refused.pods


def test_an_error_of_the_order_sets_that_group_aside() -> None:
    def order(group: GangGroup) -> Any:
        if group.name == "default/bad":
            raise KeyError("planted")
        return BINPACK.order(group)

    assert decide(*OTHERS) == without_bad(decide(*OTHERS, FITS, order=order))


def test_many_groups_may_fail() -> None:
    bad = [gang(f"bad-{i}", pods=2, cpu=1, priority=i) for i in range(5)]

    def order(group: GangGroup) -> Any:
        if group.name.startswith("default/bad"):
            raise KeyError("planted")
        return BINPACK.order(group)

    plan = decide(*OTHERS, *bad, order=order)

    assert [each.name for each in bad_groups(plan)] == [f"default/bad-{i}" for i in range(5)]
    assert decide(*OTHERS).placed == plan.placed


def bad_groups(plan: Plan) -> list[GangGroup]:
    return sorted((each.group for each in plan.failures), key=lambda each: each.name)


def test_an_error_that_no_group_is_to_blame_for_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(*_: Any) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(PreemptionEvaluator, "__init__", planted)

    with pytest.raises(ZeroDivisionError, match="planted"):
        decide(*OTHERS)
