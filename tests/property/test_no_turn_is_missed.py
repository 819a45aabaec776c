"""Law: to refuse a gang before its turn, since there is no quota for it, changes no decision.

The plan is compared with that of a cycle in which every gang has its turn. What is known of gangs
that were refused so does not change a word: not even a figure differs if all is asked again.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given

from gang_scheduler.model.api_words import EvictionPolicy, Fairness, StopPolicy, Strategy
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import (
    AdmissionLimits,
    EvictionRules,
    FlavorResource,
    Product,
    Queue,
    QueueRef,
    QueueState,
    QueueUsage,
)
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.reclaim.cycle_requests import OccupiedQueues
from gang_scheduler.scheduler.turns import shortages
from gang_scheduler.scheduler.turns.known_lines import KnownLine
from gang_scheduler.scheduler.turns.lines import OpenTrees
from gang_scheduler.scheduler.turns.shortages import KnownShortage, Shortages
from property.random_cases import SEEDS, dice_of
from support.builders import node, pod
from support.call_counts import calls_of
from support.queue_builders import CPU, cluster_queue, cohort, our_queue
from support.queue_worlds import decide, in_queue, running, usage_of, world

NODES: Final = 4
JUDGED: Final = "shortages.Shortages.permanent_shortage"
OPEN: Final = "cycle_requests.OccupiedQueues.open_to"
RECLAIM: Final = (EvictionPolicy.ANY, EvictionPolicy.ANY, EvictionPolicy.NEVER)


def with_every_turn(snapshot: Snapshot) -> Plan:
    """Return the plan of a cycle in which no gang is refused for quota before its turn."""
    with patch.object(OpenTrees, "is_open", return_value=True):
        return decide(snapshot)


def queues_of(dice: Random) -> list[Queue]:
    """Return queues of two trees, with few CPUs for each."""
    ours = [our_queue("root", dice.randint(2, 12) * 1000)]
    parents = dice.sample(["p0", "p1"], dice.randint(0, 2))
    ours += [our_queue(name, dice.randint(0, 6) * 1000, borrowing=True) for name in parents]
    ours += [
        our_queue(
            f"q{i}",
            dice.randint(0, 4) * 1000,
            parent=dice.choice(["", *parents]),
            borrowing=dice.choice((True, True, False)),
            **_fields(dice),
        )
        for i in range(dice.randint(1, 4))
    ]
    kueues = [cohort("co", nominal=dice.choice((0, 2000)))]
    kueues += [
        cluster_queue(f"cq{i}", "co", dice.randint(0, 4) * 1000, **_fields(dice))
        for i in range(dice.randint(0, 3))
    ]
    return ours + kueues


def _fields(dice: Random) -> dict[str, Any]:
    return {
        "strategy": dice.choice((*[Strategy.BEST_EFFORT_FIFO] * 3, Strategy.STRICT_FIFO)),
        "evictions": EvictionRules(reclaim=dice.choice(RECLAIM)),
        "limits": AdmissionLimits(jobs=dice.choice((None, None, 1)), highest_priority=3),
        "stop": dice.choice((*[StopPolicy.NONE] * 12, StopPolicy.HOLD)),
    }


def a_world(dice: Random, fairness: Fairness) -> Snapshot:
    """Return a world in which gangs run, wait, and wait with nominated nodes."""
    queues = queues_of(dice)
    leaves = [each.ref for each in queues if each.ref.name.startswith(("q", "cq"))]
    nodes = [node(f"n{i}", cpu=dice.randint(1, 8)) for i in range(NODES)]
    # Now and then all nodes are full.
    free = [each.name for each in nodes for _ in range(dict(each.allocatable)["cpu"] // 1000)]
    number = dice.choice((len(free), dice.randint(0, len(free))))
    runs = [
        running(dice.choice(leaves), f"r{i}", at, cpu=1, priority=dice.randint(0, 1))
        for i, at in enumerate(dice.sample(free, number))
    ]
    gangs = [_gang(dice, dice.choice(leaves), i) for i in range(dice.randint(1, 12))]
    by_product = dict.fromkeys(Product, fairness)
    made = world(queues, gangs, nodes, runs, fairness=by_product)
    assert made.queues is not None
    usage = _with_nominated(usage_of(runs, gangs), gangs)
    return replace(made, queues=QueueState(made.queues.declared, usage))


def _gang(dice: Random, ref: QueueRef, number: int) -> Gang:
    name, size, priority = f"g{number}", dice.choice((1, 1, 2, 4)), dice.choice((0, 1, 2, 3, 4))
    cpu, target = dice.choice((1, 1, 2)), dice.choice([*[""] * 9, "n0"])
    members = [
        pod(f"{name}-{i}", gang=name, cpu=cpu, priority=priority, nominated=target)
        for i in range(size)
    ]
    asks = {"members": members, "min_member": dice.randint(1, size), "priority": priority}
    return in_queue(ref, name, **asks, created_at=dice.randint(0, 3))


def _with_nominated(usage: QueueUsage, gangs: list[Gang]) -> QueueUsage:
    charged: dict[QueueRef, dict[FlavorResource, int]]
    charged = {ref: dict(charge) for ref, charge in usage.charged.items()}
    for gang in gangs:
        for each in gang.pending:
            if each.nominated and gang.queue is not None:
                of_queue = charged.setdefault(gang.queue, {})
                asked = dict(each.pod_class.requests)["cpu"]
                of_queue[CPU] = of_queue.get(CPU, 0) + asked
    return replace(usage, charged=charged)


def decisions(plan: Plan) -> tuple[object, ...]:
    """Return what a plan decides, with the reasons, but not in which figures."""
    waits = {each.gang.key: (each.reason, each.pods, each.left_over) for each in plan.refused}
    return plan.placed, plan.preemptions, waits, set(plan.warned), plan.failures


def _cycles(dice: Random, whole: Snapshot) -> Iterator[Snapshot]:
    """Yield cycles in which other gangs wait, and other charges have ended."""
    state = whole.queues
    assert state is not None
    for _ in range(4):
        groups = tuple(each for each in whole.groups if dice.random() < 0.8)
        charged = {
            ref: {key: dice.choice((amount, amount, amount // 2)) for key, amount in charge.items()}
            for ref, charge in state.usage.charged.items()
        }
        usage = replace(state.usage, charged=charged)
        yield replace(whole, groups=groups, queues=QueueState(state.declared, usage))


@pytest.mark.parametrize("fairness", list(Fairness))
@given(seed=SEEDS)
def test_no_decision_depends_on_a_turn_that_is_left_out(fairness: Fairness, seed: int) -> None:
    snapshot = a_world(dice_of(seed), fairness)

    assert decisions(with_every_turn(snapshot)) == decisions(decide(snapshot))


@given(seed=SEEDS)
def test_gangs_that_are_judged_one_by_one_are_refused_as_those_alike(seed: int) -> None:
    snapshot = a_world(dice_of(seed), Fairness.FAIR_SHARE)

    with patch.object(Shortages, "kind_of", lambda *_: object()):
        plan = decide(snapshot)

    assert plan == decide(snapshot)


@given(seed=SEEDS)
def test_a_shortage_that_was_found_before_is_that_of_now(seed: int) -> None:
    snapshot = a_world(dice_of(seed), Fairness.FAIR_SHARE)

    with patch.object(
        shortages, "KnownShortage", lambda _, *found: KnownShortage(object(), *found)
    ):
        plan = decide(snapshot)

    assert plan == decide(snapshot)


@given(seed=SEEDS)
def test_what_earlier_cycles_know_of_the_lines_changes_nothing(seed: int) -> None:
    dice = dice_of(seed)
    whole = a_world(dice, Fairness.FAIR_SHARE)

    for cycle in _cycles(dice, whole):
        with patch.object(KnownLine, "is_of", return_value=False):
            alone = decide(cycle)

        assert alone == decide(cycle)
        assert alone == decide(cycle)


@given(seed=SEEDS)
def test_queues_that_can_reach_no_gang_have_nothing_to_free(seed: int) -> None:
    snapshot = a_world(dice_of(seed), Fairness.FAIR_SHARE)

    with patch.object(OccupiedQueues, "_reaches", return_value=True):
        plan = decide(snapshot)

    assert plan == decide(snapshot)


def test_the_worlds_have_what_is_kept() -> None:
    judged, kept, bounded = Counter[bool](), Counter[bool](), Counter[bool]()
    known = Counter[bool]()
    for seed in range(60):
        snapshot = a_world(dice_of(seed), Fairness.FAIR_SHARE)
        calls = calls_of(partial(decide, snapshot))
        refused = calls["full_trees.FullTrees.refuse"]
        judged[calls["full_trees.FullTrees._may_have_quota"] > calls[JUDGED]] += 1
        kept[refused > 0] += 1
        again = calls_of(partial(decide, snapshot))
        known[again["by_turns.TurnTaking._in_order"] < calls["by_turns.TurnTaking._in_order"]] += 1
        bounded[calls["cycle_requests.OccupiedQueues._reaches"] > calls[OPEN]] += 1

    assert min(judged[True], kept[True], bounded[True], known[True]) > 10
