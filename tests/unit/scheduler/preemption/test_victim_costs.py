"""What an eviction costs, and which pods are evicted along with a pod."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.scheduler.preemption.eviction_units import NO_PRIORITY, Standing
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts, Victims
from support.builders import bound_pod, bound_pods, gang_key

NOW = 1000


def victims(those: Iterable[BoundPod]) -> Victims:
    return {each.pod.uid: each for each in those}


def names(those: Iterable[BoundPod]) -> list[str]:
    return [each.pod.name for each in those]


def of_gang(name: str, pods: int, **fields: Any) -> list[BoundPod]:
    return [bound_pod(f"{name}-{i}", "n1", gang=name, **fields) for i in range(pods)]


def tolls(
    *those: BoundPod,
    below: int = 9,
    surplus: dict[str, int] | None = None,
    allowed: dict[str, int] | None = None,
) -> VictimCosts:
    return VictimCosts(bound_pods(*those, surplus=surplus, allowed=allowed), below, NOW)


# Evictable pods.


def test_a_pod_that_outranks_leaves_or_is_protected_may_not_go() -> None:
    found = tolls(
        bound_pod("high", "n1", priority=10),
        bound_pod("leaving", "n1", deleting=True),
        bound_pod("protected", "n1", evictable=False),
        bound_pod("low", "n1", priority=9),
    )

    assert ["low"] == names(found.evictable)


def test_a_member_that_may_not_go_protects_its_gang() -> None:
    found = tolls(*of_gang("g", 2), bound_pod("g-2", "n1", gang="g", priority=10))

    assert [] == found.evictable
    assert not found.may_break(gang_key("g"))


def test_the_surplus_of_such_a_gang_may_go_all_the_same() -> None:
    dear = bound_pod("g-2", "n1", gang="g", priority=10)
    found = tolls(*of_gang("g", 2), dear, surplus={"g": 1})

    assert ["g-0", "g-1"] == names(found.evictable)


def test_one_victim_takes_its_gang_along() -> None:
    whole = of_gang("g", 3)

    assert victims(whole) == tolls(*whole).with_gangs(victims(whole[:1]))


def test_surplus_takes_no_pod_along() -> None:
    whole = of_gang("g", 3)

    assert victims(whole[:1]) == tolls(*whole, surplus={"g": 1}).with_gangs(victims(whole[:1]))


def test_beyond_the_surplus_all_go() -> None:
    whole = of_gang("g", 3)

    assert victims(whole) == tolls(*whole, surplus={"g": 1}).with_gangs(victims(whole[:2]))


def test_no_pod_goes_whose_gang_may_not() -> None:
    whole = [*of_gang("g", 2), bound_pod("g-2", "n1", gang="g", evictable=False)]

    assert tolls(*whole).with_gangs(victims(whole[:1])) is None


# What it costs.


def test_no_victims_cost_nothing() -> None:
    assert Cost() == tolls().cost({})


def test_a_broken_gang_is_counted_whole() -> None:
    whole = of_gang("g", 3, priority=4, started_at=NOW - 10)

    assert Cost(highest_priority=4, broken=1, touched=1, lost_work=30, pods=3) == tolls(
        *whole
    ).cost(victims(whole))


def test_surplus_breaks_nothing_but_touches() -> None:
    whole = of_gang("g", 3)

    assert Cost(highest_priority=0, touched=1, pods=1) == tolls(*whole, surplus={"g": 1}).cost(
        victims(whole[:1])
    )


def test_only_what_is_beyond_a_budget_is_over_it() -> None:
    covered = [bound_pod(f"x-{i}", "n1", budgets=["b"]) for i in range(3)]

    assert 1 == tolls(*covered, allowed={"b": 2}).cost(victims(covered)).over_budget


def test_a_pod_under_two_exhausted_budgets_counts_once() -> None:
    covered = bound_pod("x", "n1", budgets=["b", "c"])

    assert 1 == tolls(covered).cost(victims([covered])).over_budget


def test_what_a_budget_allows_goes_to_pods_under_no_other_first() -> None:
    held = [bound_pod(name, "n1", budgets=list(name)) for name in ("bc", "b", "c")]

    found = tolls(*held, allowed={"b": 1, "c": 1})

    assert 1 == found.cost(victims(held)).over_budget
    assert 0 == found.cost(victims(held[1:])).over_budget


def test_a_pod_beyond_one_budget_uses_up_its_others() -> None:
    held = [bound_pod("x", "n1", budgets=["b", "c"]), bound_pod("y", "n1", budgets=["c", "d"])]

    found = tolls(*held, allowed={"c": 1, "d": 1})

    assert [1, 0, 2] == [
        found.cost(victims(some)).over_budget for some in (held[:1], held[1:], held)
    ]


def test_one_victim_more_makes_no_set_cheaper() -> None:
    budgets = ("b", "c", "d", "bc", "cd", "bd", "bcd")
    held = [bound_pod(f"{name}-{i}", "n1", budgets=list(name)) for name in budgets for i in (0, 1)]
    found = tolls(*held, allowed={"b": 1, "c": 2})

    for order in (held, held[::-1], sorted(held, key=lambda each: each.budgets)):
        costs = [found.cost(victims(order[:end])).over_budget for end in range(len(order) + 1)]
        assert costs == sorted(costs)


def test_a_pod_that_is_marked_costs_nothing() -> None:
    marked = bound_pod("x", "n1", priority=5, marked_as_victim=True, budgets=["b"], started_at=1)
    found = tolls(marked)

    assert (Cost(), NO_PRIORITY) == (found.cost(victims([marked])), found.priority(marked))


def test_a_pod_that_has_not_started_loses_no_work() -> None:
    late = [bound_pod("x", "n1", started_at=0), bound_pod("y", "n1", started_at=NOW + 5)]

    assert 0 == tolls(*late).cost(victims(late)).lost_work


def test_the_price_of_a_gang_is_its_highest_priority() -> None:
    whole = [*of_gang("g", 2, priority=1), bound_pod("g-2", "n1", gang="g", priority=5)]

    assert 5 == tolls(*whole).priority(whole[0])
    assert 1 == tolls(*whole, surplus={"g": 1}).priority(whole[0])


def test_costs_are_compared_from_the_budget_to_the_number() -> None:
    falling = [
        Cost(over_budget=1),
        Cost(highest_priority=1),
        Cost(broken=1),
        Cost(touched=1),
        Cost(unprotected=1),
        Cost(lost_work=1),
        Cost(pods=9),
    ]

    assert falling == sorted(falling, reverse=True)


def test_the_running_cost_is_that_of_the_whole() -> None:
    elastic = of_gang("e", 4, priority=3, started_at=NOW - 7)
    others = [bound_pod(f"x-{i}", "n1", budgets=["b"], marked_as_victim=i == 0) for i in range(3)]
    found = tolls(*elastic, *others, surplus={"e": 1}, allowed={"b": 1})
    tally = found.tally()

    for end in range(1, 8):
        so_far = [*elastic, *others][:end]
        tally.add(found.units(victims(so_far[-1:])))
        assert found.cost(victims(so_far)) == tally.cost


# Reprieve.


def apart(found: VictimCosts, those: Iterable[BoundPod]) -> list[list[str]]:
    """Return the names of pods that are spared together, the most valuable unit first."""
    units = found.most_valuable_first(found.units(victims(those)))
    return [names(each.bound_pods) for each in units]


def test_the_most_valuable_are_spared_first() -> None:
    those = [
        bound_pod("marked", "n1", priority=9, marked_as_victim=True, budgets=["b"]),
        bound_pod("young", "n1", priority=2, started_at=9),
        bound_pod("old", "n1", priority=2, started_at=5),
        *of_gang("pair", 2, priority=2, started_at=9),
        bound_pod("dear", "n1", priority=3),
        bound_pod("covered", "n1", priority=1, budgets=["b"]),
    ]

    order = [each[0] for each in apart(tolls(*those), those)]

    assert ["covered", "dear", "pair-0", "old", "young", "marked"] == order


def test_a_pod_that_is_spared_takes_its_gang_along() -> None:
    those = [bound_pod("x", "n1"), *of_gang("g", 2)]

    assert [["g-0", "g-1"], ["x"]] == apart(tolls(*those), those)


def test_surplus_is_spared_one_by_one() -> None:
    whole = of_gang("g", 3)

    assert [["g-0"], ["g-1"]] == apart(tolls(*whole, surplus={"g": 2}), whole[:2])


# Victims that have left.


def test_a_pod_that_has_left_leaves_less_surplus() -> None:
    whole = of_gang("g", 3)
    found = tolls(*whole, surplus={"g": 1})
    found.leave(whole[:1])

    assert (0, whole[1:]) == (found.surplus(gang_key("g")), found.members(gang_key("g")))
    assert victims(whole[1:]) == found.with_gangs(victims(whole[1:2]))


def test_beyond_the_surplus_the_rest_of_a_gang_that_is_protected_stays() -> None:
    whole = [*of_gang("g", 2), bound_pod("g-2", "n1", gang="g", evictable=False)]
    found = tolls(*whole, surplus={"g": 1})
    found.leave(whole[:1])

    assert not found.may_go(whole[1])


def test_a_pod_that_has_left_has_used_up_what_a_budget_allows() -> None:
    covered = [bound_pod(f"x-{i}", "n1", budgets=["b"]) for i in range(2)]
    found = tolls(*covered, allowed={"b": 1})
    before = found.cost_of(covered[1])
    found.leave(covered[:1])

    assert (0, 1) == (before.over_budget, found.cost_of(covered[1]).over_budget)


def test_the_price_of_a_gang_is_that_of_the_members_that_are_left() -> None:
    whole = [bound_pod("g-0", "n1", gang="g", priority=5), *of_gang("g", 3, priority=1)[1:]]
    found = tolls(*whole, surplus={"g": 1})
    found.leave(whole[:1])

    assert 1 == found.priority(whole[1])


# Roles.


def in_roles(roles: str, **spare: int) -> tuple[VictimCosts, list[BoundPod]]:
    """Return the costs of a gang with members of these roles, and its members."""
    members = [
        replace(each, pod=replace(each.pod, role=role))
        for each, role in zip(of_gang("g", len(roles)), roles, strict=True)
    ]
    held = replace(bound_pods(*members), surplus_by_role={gang_key("g"): spare})
    return VictimCosts(held, 9, NOW), members


def test_surplus_is_that_of_the_role() -> None:
    found, (master, *workers) = in_roles("mwwww", m=0, w=2)

    assert [0, 2] == [found.surplus_of(master), found.surplus_of(workers[0])]
    assert victims(workers[:2]) == found.with_gangs(victims(workers[:2]))
    assert victims([master, *workers]) == found.with_gangs(victims([master]))
    assert victims([master, *workers]) == found.with_gangs(victims(workers[:3]))
    assert [1, 5] == [len(found.unit_of(each)) for each in (workers[0], master)]


def test_a_gang_is_broken_once_any_role_is() -> None:
    found, (master, *workers) = in_roles("mwwww", m=0, w=2)

    assert [0, 0, 1, 1] == [
        found.cost(victims(some)).broken
        for some in (workers[:1], workers[:2], workers[:3], [master])
    ]


def test_victims_of_a_role_use_up_its_surplus_alone() -> None:
    found, (first, second, *workers) = in_roles("mmwww", m=1, w=2)

    found.leave([workers[0]])

    assert [1, 1] == [found.surplus_of(first), found.surplus_of(workers[1])]
    found.leave([first])
    assert [0, 1] == [found.surplus_of(second), found.surplus_of(workers[1])]
    assert found.has_surplus(gang_key("g"))


# Lost work.


def work_lost(saved_at: int = 0, counts_since: int = 0, *, queues: bool = False) -> int:
    """Return what is lost with two pods that have run for 100 s."""
    those = of_gang("g", 2, started_at=NOW - 100)
    found = replace(
        bound_pods(*those), saved_at={gang_key("g"): saved_at}, counts_since=counts_since
    )
    standings = {gang_key("g"): Standing()} if queues else {}
    costs = VictimCosts(found, 9, NOW, standings)
    assert costs.cost(victims(those)).lost_work == sum(map(costs.work, those))
    return costs.cost(victims(those)).lost_work


@pytest.mark.parametrize("queues", [False, True])
@pytest.mark.parametrize(
    ("saved_at", "lost"),
    [(0, 200), (NOW - 30, 60), (NOW, 0), (NOW - 500, 200), (NOW + 1, 200), (NOW + 10**9, 200)],
)
def test_work_counts_since_it_was_saved_last(saved_at: int, lost: int, *, queues: bool) -> None:
    assert lost == work_lost(saved_at, queues=queues)


def test_work_counts_up_to_a_bound() -> None:
    assert 80 == work_lost(counts_since=NOW - 40)
    assert 40 == work_lost(NOW - 20, counts_since=NOW - 40)
    assert 80 == work_lost(NOW - 60, counts_since=NOW - 40)
