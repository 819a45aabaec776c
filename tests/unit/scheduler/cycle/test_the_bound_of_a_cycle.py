"""A cycle does so much work and no more: what it has no looks left for is tried in the next one."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest

from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.place_or_preempt import Placing
from gang_scheduler.scheduler.preferences import node_affinity
from gang_scheduler.scheduler.preferences.node_affinity import REQUIREMENTS_A_LOOK
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support import builders
from support.builders import gang, group, node, pod, requirement, snapshot
from support.call_counts import calls_of
from support.plan_reading import gangs_placed, reasons

PROFILE = PROFILES["binpack"]


@contextmanager
def looks(number: int) -> Iterator[None]:
    """Let a cycle have so many looks."""
    with patch.object(effort, "MOST_OF_CYCLE", number):
        yield


def untried(plan: Plan) -> list[str]:
    return sorted(each.name for each in plan.untried)


def small_cluster(waiting: Iterable[Gang | GangGroup]) -> Snapshot:
    return snapshot([node("n0", cpu=4)], waiting)


def different(number: int, priority: int = 0) -> list[Gang]:
    """Return gangs that do not fit, each by a request of its own; the first is the oldest."""
    return [
        gang(f"p{priority}-{i}", cpu=100 + i, priority=priority, created_at=i)
        for i in range(number)
    ]


def test_groups_that_the_cycle_has_no_looks_left_for_are_untried() -> None:
    with looks(60):
        plan = schedule(small_cluster(different(20)), PROFILE)

    assert plan.untried
    assert {f"p0-{i}" for i in range(20)} == {*untried(plan), *reasons(plan)}
    assert 20 == len(plan.untried) + len(plan.refused)


def test_a_cycle_of_few_looks_tries_one_group_at_least() -> None:
    with looks(1):
        plan = schedule(small_cluster(different(5)), PROFILE)

    assert ["p0-0"] == [*reasons(plan)]
    assert ["p0-1", "p0-2", "p0-3", "p0-4"] == untried(plan)


def test_nothing_of_a_lower_priority_is_bound_before_all_of_a_higher_one_were_tried() -> None:
    low = gang("low", cpu=1)

    with looks(60):
        plan = schedule(small_cluster([low, *different(20, priority=5)]), PROFILE)

    assert [] == gangs_placed(plan)
    assert "low" in untried(plan)


def test_the_oldest_of_a_priority_are_tried_first() -> None:
    waiting = different(20)

    with looks(60):
        plan = schedule(small_cluster(reversed(waiting)), PROFILE)

    tried = len(plan.refused)
    assert {f"p0-{i}" for i in range(tried)} == {*reasons(plan)}


def test_no_surplus_is_placed_while_quorums_of_its_priority_are_untried() -> None:
    elastic = gang("elastic", pods=3, min_member=1, cpu=1, created_at=-1)

    with looks(60):
        plan = schedule(small_cluster([elastic, *different(20)]), PROFILE)

    (placed,) = plan.placed
    assert 1 == len(placed.binds)
    assert {"elastic", "p0-19"} <= {*untried(plan)}


def test_room_is_made_for_some_in_each_cycle() -> None:
    nodes = [node(f"n{i}", cpu=8) for i in range(40)]
    low = [builders.bound_pod(f"low-{i}", f"n{i}", cpu=8) for i in range(40)]
    waiting = [gang(f"g{i}", cpu=8, memory=1 + i, priority=5, created_at=i) for i in range(30)]
    shot = snapshot(nodes, waiting, bound_pods=builders.bound_pods(*low))

    with looks(200):
        plan = schedule(shot, PROFILE)

    evicting = {each.gangs[0].key.name for each in plan.preemptions}
    assert evicting
    assert {f"g{i}" for i in range(len(evicting))} == evicting
    assert evicting.isdisjoint(untried(plan))
    assert {*reasons(plan)}.isdisjoint(untried(plan))


def test_to_the_end_none_is_left_and_the_plan_is_that_of_a_longer_cycle() -> None:
    waiting = [*different(20, priority=5), gang("low", cpu=1), gang("rest", pods=4, cpu=1)]
    whole = schedule(small_cluster(waiting), PROFILE)

    with looks(60):
        plan = schedule(small_cluster(waiting), PROFILE, to_the_end=True)

    assert not plan.untried
    assert whole == plan


def test_a_group_of_many_gangs_that_do_not_fit_together_is_placed_in_few_orders() -> None:
    rivals = [gang(f"g{i}", cpu=8, memory=1 + i, created_at=i) for i in range(40)]
    snap = snapshot([node(f"n{i}", cpu=8) for i in range(20)], [group(*rivals)])

    with looks(200):
        few, plan = calls_of(lambda: schedule(snap, PROFILE)), schedule(snap, PROFILE)
    many = calls_of(lambda: schedule(snap, PROFILE))

    assert [True] == [each.misfit.cut_off for each in plan.refused if each.misfit]
    # In the cluster as it is, and in the empty one; each in two orders or a few more.
    assert few["gather.place"] <= 5 * 2 * 21
    assert many["gather.place"] > 40 * 20


def with_surplus_in_each_gang(number: int) -> GangGroup:
    """Return a group of gangs that start with one member, and may grow to five."""
    return group(*(gang(f"g{i:03}", pods=5, min_member=1, cpu=1) for i in range(number)))


def grown(plan: Plan) -> set[str]:
    return {each.gang.key.name for each in plan.placed if len(each.binds) == 5}


def test_a_cycle_places_the_surplus_of_a_part_of_a_large_group() -> None:
    snap = snapshot([node(f"n{i}", cpu=8) for i in range(80)], [with_surplus_in_each_gang(120)])

    with looks(200):
        plan, whole = schedule(snap, PROFILE), schedule(snap, PROFILE, to_the_end=True)

    assert 120 == len(plan.placed) == len(grown(whole))
    assert 0 < len(grown(plan)) < 120
    waiting = {each.gang.key.name for each in plan.refused if each.misfit and each.misfit.cut_off}
    assert {each.gang.key.name for each in plan.placed} - grown(plan) == waiting
    assert not plan.untried


def test_the_surplus_of_each_gang_of_a_large_group_is_placed_in_some_cycle() -> None:
    waiting, nodes = with_surplus_in_each_gang(120), [node(f"n{i}", cpu=8) for i in range(80)]
    found = set()

    with looks(200):
        for moment in range(60):
            found |= grown(schedule(snapshot(nodes, [waiting], taken_at=moment), PROFILE))

    assert 120 == len(found)


@pytest.mark.parametrize("number", [3, 40])
def test_however_many_groups_fail_what_is_tried_beside_them_is_work_of_one_cycle(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, tried = different(60), []
    place = Placing.place_quorums

    def failing(self: Placing, group: GangGroup) -> None:
        tried.append(group)
        if group.gangs[0].created_at < number:
            raise ZeroDivisionError("planted")
        place(self, group)

    monkeypatch.setattr(Placing, "place_quorums", failing)
    with looks(100):
        plan = schedule(small_cluster(waiting), PROFILE)

    assert len(tried) < 120
    assert plan.failures
    assert 60 == len(plan.untried) + len(plan.refused)


def test_weighing_preferred_node_terms_is_counted_as_work() -> None:
    required = requirement("zone", "In", "a")
    wanted = replace(pod("p").pod_class, preferred=((1, (required,) * REQUIREMENTS_A_LOOK),))
    trial = Trial(snapshot([node("n0", labels={"zone": "a"})]))
    before = trial.effort.done

    node_affinity.score(wanted, trial)

    assert 1 <= trial.effort.done - before < 2
