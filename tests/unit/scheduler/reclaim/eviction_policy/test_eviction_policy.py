"""Which classes of eviction are possible at all, before any state is looked at."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Fairness, FairStrategy
from gang_scheduler.model.evictions import Backfilled, EvictionClass
from gang_scheduler.model.queues import NONE, EvictionRules, Product, Queue, QueueRef
from gang_scheduler.model.rules import QueueRules, Rules
from gang_scheduler.scheduler.reclaim.eviction_policy import (
    NOTHING_ALLOWED,
    AllowedClasses,
    EvictionLimits,
    allowed_classes,
    allows,
    is_young,
    min_runtime,
)
from support.builders import gang_key
from support.queue_builders import cluster_queue, cohort, cohort_ref, cq_ref, our_queue, queue_ref
from support.reclaim_builders import LIMITS, NOW, ledger, request, running

OVERRUN, RECLAIM, IN_QUEUE, WHILE_BORROWING, FAIR_SHARE, AT_FIRST = EvictionClass
NEVER, LOWER, NEWER_EQUAL, ANY = EvictionPolicy
A, B, C = cq_ref("a"), cq_ref("b"), cq_ref("c")
LEFT, RIGHT, OURS = cohort_ref("left"), cohort_ref("right"), queue_ref("ours")
POLICIES = ("within_queue", "reclaim", "while_borrowing")
ALL_ENFORCED = frozenset(Product)


def queues(**rules: EvictionRules) -> list[Queue]:
    """Return a and b below left, c below right, and a queue of another product."""
    made = [
        cohort("all"),
        cohort("left", "all"),
        cohort("right", "all"),
        cluster_queue("a", "left", 10),
        cluster_queue("b", "left", 10),
        cluster_queue("c", "right", 10),
        our_queue("ours", 10),
    ]
    default = EvictionRules()
    return [replace(each, evictions=rules.get(each.ref.name, default)) for each in made]


def between(
    ours: QueueRef,
    theirs: QueueRef,
    *,
    limits: EvictionLimits = LIMITS,
    fairness: Fairness = Fairness.PRIORITY,
    enforced: frozenset[Product] = ALL_ENFORCED,
    **rules: EvictionRules,
) -> AllowedClasses:
    state = ledger(queues(**rules), fairness=fairness, enforced=enforced).forest.accounts
    return allowed_classes(state, request(ours), state.promises.trees.rows[theirs], limits)


@pytest.mark.parametrize(
    ("fairness", "strategies", "classes"),
    [
        (Fairness.PRIORITY, tuple(FairStrategy), (WHILE_BORROWING,)),
        (Fairness.DRS, tuple(FairStrategy), (FAIR_SHARE, AT_FIRST)),
        (Fairness.DRF, (FairStrategy.FINAL,), (FAIR_SHARE,)),
        (Fairness.DRF, (FairStrategy.INITIAL,), (AT_FIRST,)),
        (Fairness.FAIR_SHARE, (FairStrategy.INITIAL,), (FAIR_SHARE,)),
    ],
)
def test_how_borrowers_are_evicted_by_borrowers_follows_from_the_fairness(
    fairness: Fairness, strategies: tuple[FairStrategy, ...], classes: tuple[EvictionClass, ...]
) -> None:
    limits = LIMITS._replace(rules=Rules(queues=QueueRules(fair_strategies=strategies)))

    assert (OVERRUN, RECLAIM, *classes) == between(A, C, limits=limits, fairness=fairness).classes


def test_between_trees_there_is_only_reclaim() -> None:
    assert AllowedClasses((RECLAIM,), foreign=True) == between(A, OURS)
    assert AllowedClasses((RECLAIM,), foreign=True) == between(A, NONE)


def test_without_a_queue_or_quota_of_our_own_only_the_own_queue_is_reached() -> None:
    kueue_apart = frozenset({Product.OURS})

    assert NOTHING_ALLOWED == between(NONE, OURS)
    assert NOTHING_ALLOWED == between(A, B, enforced=kueue_apart)
    assert NOTHING_ALLOWED == between(OURS, A, enforced=kueue_apart)
    assert (OVERRUN, IN_QUEUE) == between(A, A, enforced=kueue_apart).classes
    assert (OVERRUN, IN_QUEUE) == between(NONE, NONE).classes


@pytest.mark.parametrize("keeper", ["c", "right"])
@pytest.mark.parametrize(
    ("rules", "may"),
    [
        (EvictionRules(may_lose=False), False),
        (EvictionRules(may_lose_to=frozenset({"b"})), False),
        (EvictionRules(may_lose_to=frozenset({"b", "a"})), True),
        (EvictionRules(may_lose_to=frozenset({"left"})), True),
    ],
)
def test_a_veto_holds_for_all_below_it_and_names_leaves_or_subtrees(
    keeper: str, rules: EvictionRules, *, may: bool
) -> None:
    kept: dict[str, Any] = {keeper: rules}

    assert may == bool(between(A, C, **kept).classes)


def test_a_veto_is_for_gangs_from_outside() -> None:
    closed = EvictionRules(may_lose=False)

    assert (OVERRUN, IN_QUEUE) == between(A, A, a=closed).classes
    assert between(A, B, left=closed).classes
    assert NOTHING_ALLOWED == between(OURS, B, left=closed)


def test_a_fence_ends_the_search_for_victims_where_it_is() -> None:
    fence = EvictionRules(fence=True)

    assert NOTHING_ALLOWED == between(A, B, a=fence)
    assert (OVERRUN, IN_QUEUE) == between(A, A, a=fence).classes
    assert between(A, B, left=fence).classes
    assert NOTHING_ALLOWED == between(A, C, left=fence)
    assert NOTHING_ALLOWED == between(A, OURS, all=fence)
    assert between(A, B, b=fence).classes


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        (NEVER, []),
        (LOWER, ["lower"]),
        (NEWER_EQUAL, ["lower", "newer"]),
        (ANY, ["lower", "newer", "equal", "higher"]),
    ],
)
@pytest.mark.parametrize(
    ("by", "field"),
    [
        (RECLAIM, "reclaim"),
        (IN_QUEUE, "within_queue"),
        (WHILE_BORROWING, "while_borrowing"),
        (AT_FIRST, "reclaim"),
    ],
)
def test_each_class_has_a_policy_of_the_queue_of_the_preemptor(
    by: EvictionClass, field: str, policy: EvictionPolicy, names: list[str]
) -> None:
    policies: dict[str, Any] = {**dict.fromkeys(POLICIES, NEVER), field: policy}
    rules = EvictionRules(**policies)
    queue = cluster_queue("a", evictions=rules)
    asking = request(A, priority=5, created_at=50)
    victims = [
        running(B, "lower", priority=4),
        running(B, "newer", priority=5, created_at=51),
        running(B, "equal", priority=5, created_at=50),
        running(B, "higher", priority=6, created_at=51),
    ]

    found = [each.key.name for each in victims if allows(by, asking, each, queue, LIMITS)]

    assert names == found


def test_while_borrowing_no_gang_above_the_threshold_is_evicted() -> None:
    rules = EvictionRules(while_borrowing=LOWER, while_borrowing_threshold=2)
    queue, asking = cluster_queue("a", evictions=rules), request(A, priority=9)

    found = [allows(WHILE_BORROWING, asking, running(B, priority=n), queue, LIMITS) for n in (2, 3)]

    assert [True, False] == found


@pytest.mark.parametrize(
    ("until", "ahead_of", "may"), [(NOW, "p", True), (NOW + 1, "p", False), (NOW, "q", False)]
)
def test_overrun_needs_no_policy_but_an_end_that_has_passed_and_the_gang_that_was_passed(
    until: int, ahead_of: str, *, may: bool
) -> None:
    queue = cluster_queue("a", evictions=EvictionRules(NEVER, NEVER, NEVER))
    passed = running(B, priority=9, backfilled=Backfilled(until, gang_key(ahead_of)))

    assert may == allows(OVERRUN, request(A), passed, queue, LIMITS)


@pytest.mark.parametrize(
    ("rules", "of_gang", "needs"),
    [
        ({}, 0, 0),
        ({}, 50, 50),
        ({"c": 60, "right": 400}, 50, 60),
        ({"c": 5_000}, 0, 3_600),
        ({"c": 5_000}, 4_000, 4_000),
    ],
)
def test_a_gang_is_safe_for_the_longest_time_that_it_or_its_queue_asks_for(
    rules: dict[str, int], of_gang: int, needs: int
) -> None:
    state = ledger(
        queues(**{name: EvictionRules(min_runtime=n) for name, n in rules.items()})
    ).forest.accounts
    rows = state.promises.trees.rows
    branches = allowed_classes(state, request(A), rows[C], LIMITS).branches
    gangs = [running(C, min_runtime=of_gang, started_at=NOW - n) for n in (needs, needs - 1)]

    least = min_runtime(state, rows[C], branches, LIMITS)

    assert [False, True] == [is_young(each, least, LIMITS) for each in gangs]
