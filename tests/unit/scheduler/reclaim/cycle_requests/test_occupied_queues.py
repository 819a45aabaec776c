"""Which queues a claim may look into, all judged at once."""

from collections.abc import Mapping, Sequence

import pytest

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.queues import NONE, EvictionRules, Queue, QueueRef
from gang_scheduler.scheduler.reclaim.cycle_requests import OccupiedQueues
from gang_scheduler.scheduler.reclaim.legal_victims import Reclaim
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest
from support.queue_builders import cluster_queue, cohort, cq_ref
from support.reclaim_builders import LIMITS, NOW, ledger, request, running

NEVER, LOWER, NEWER_EQUAL, ANY = EvictionPolicy
A, B, C, FAR = cq_ref("a"), cq_ref("b"), cq_ref("c"), cq_ref("far")


def declared(**rules: EvictionRules) -> list[Queue]:
    """Return `a` and `b` below `near`, `c` beside that, and `far` in a tree of its own."""
    usual = EvictionRules()
    return [
        cohort("root", evictions=rules.get("root", usual)),
        cohort("near", "root", evictions=rules.get("near", usual)),
        cluster_queue("a", "near", 10, evictions=rules.get("a", usual)),
        cluster_queue("b", "near", 10, evictions=rules.get("b", usual)),
        cluster_queue("c", "root", 10, evictions=rules.get("c", usual)),
        cluster_queue("far", nominal=10, evictions=rules.get("far", usual)),
    ]


def reached(
    queues: Sequence[Queue],
    asking: ReclaimRequest | None = None,
    priorities: Mapping[QueueRef, int] | None = None,
    started_at: int = 0,
    *,
    borrowed: bool = True,
) -> str:
    """Return the names of the queues in which a claim may find candidates, one gang in each.

    `borrowed`: all queues borrow what is missing, and otherwise none does.
    """
    gangs = [
        running(ref, priority=(priorities or {}).get(ref, 0), started_at=started_at)
        for ref in (A, B, C, FAR)
    ]
    reclaim = Reclaim(ledger(queues, gangs), asking or request(A, 10, priority=1), LIMITS)
    trees = ledger(queues).forest.accounts.promises.trees
    there = OccupiedQueues(gangs, trees, LIMITS)
    worth = there.rows >= 0 if borrowed else None
    return " ".join(trees.queues[row].ref.name for row in there.reached(reclaim, worth))


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ({}, "a b c far"),
        ({"b": EvictionRules(may_lose=False)}, "a c far"),
        ({"near": EvictionRules(may_lose=False)}, "a b c far"),
        ({"root": EvictionRules(may_lose=False)}, "a b c far"),
        ({"far": EvictionRules(may_lose=False)}, "a b c"),
        ({"a": EvictionRules(fence=True)}, "a"),
        ({"near": EvictionRules(fence=True)}, "a b"),
        ({"root": EvictionRules(fence=True)}, "a b c"),
        ({"c": EvictionRules(fence=True)}, "a b c far"),
    ],
)
def test_fences_and_vetoes_rule_queues_out(rules: dict[str, EvictionRules], names: str) -> None:
    assert names == reached(declared(**rules))


@pytest.mark.parametrize(
    ("asked_by", "asking", "names"),
    [
        ("b", A, "a c far"),
        ("a", A, "b c far"),
        ("near", A, "a b c far"),
        ("near", C, "a b c far"),
        ("root", A, "a b c far"),
        ("c", A, "a b far"),
    ],
)
def test_gangs_are_safe_for_the_min_runtime_of_queues_below_the_common_parent(
    asked_by: str, asking: QueueRef, names: str
) -> None:
    queues = declared(**{asked_by: EvictionRules(min_runtime=600)})

    assert names == reached(queues, request(asking, 10, priority=1), started_at=NOW - 599)
    assert "a b c far" == reached(queues, request(asking, 10, priority=1), started_at=NOW - 600)


def test_a_queue_between_counts_where_the_ways_part_above_it() -> None:
    queues = [
        cohort("root"),
        cohort("high", "root"),
        cohort("low", "high", evictions=EvictionRules(min_runtime=600)),
        cluster_queue("b", "low", 10),
        cluster_queue("c", "high", 10),
        cluster_queue("a", "root", 10),
        cluster_queue("far", nominal=10),
    ]

    assert "a c far" == reached(queues, started_at=NOW)
    assert "a b c far" == reached(queues, request(C, 10, priority=1), started_at=NOW)


@pytest.mark.parametrize(
    ("policies", "names"),
    [
        ((NEVER, ANY, NEVER), "b c far"),
        ((ANY, LOWER, NEVER), "a b"),
        ((LOWER, NEVER, NEWER_EQUAL), "b c"),
        ((NEWER_EQUAL, LOWER, ANY), "a b c far"),
    ],
)
def test_queues_in_which_all_are_too_high_are_ruled_out(
    policies: tuple[EvictionPolicy, EvictionPolicy, EvictionPolicy], names: str
) -> None:
    queues = declared(a=EvictionRules(*policies))
    priorities = {A: 5, B: 4, C: 5, FAR: 6}

    assert names == reached(queues, request(A, 10, priority=5), priorities)


@pytest.mark.parametrize(("lowest", "names"), [(4, "a"), (5, "")])
def test_only_the_own_queue_is_reached_where_none_borrows(lowest: int, names: str) -> None:
    queues = declared(a=EvictionRules(LOWER, ANY, NEVER))

    found = reached(queues, request(A, 10, priority=5), {A: lowest}, borrowed=False)

    assert names == found


def test_a_queue_that_is_not_there_reaches_none() -> None:
    assert "" == reached(declared(), request(cq_ref("gone")))
    assert "a b c far" == reached(declared(), request(NONE, pod_priority=1))
