"""What a decision costs, counted in calls of Python functions: times would differ by machine.

The bounds are about a quarter above what was counted when they were written.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import BoolArray, Node, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.effort import MOST_OF_ALL, MOST_OF_CYCLE
from gang_scheduler.scheduler.placement.feasible_slots import (
    FEW_REQUIREMENTS,
    REQUIREMENTS_OF_AN_OFFER,
    offer_slots,
)
from gang_scheduler.scheduler.preemption.victim_pools import PODS_OF_A_POOL
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from support import builders
from support.builders import bound_pod, bound_pods, group, node, pod, pod_class, snapshot
from support.call_counts import PACKAGE, Calls, at_most, calls_of

SIZE = 20
CLASSES = 200
NODES = 500
TRIAL, SEARCH = "gather.place", "cheapest.find"
OF_QUOTA = {
    *("by_turns", "quota", "attempts", "requests", "shortages", "ledger", "lines", "flavors"),
    *("forest", "accounts", "charges", "promises", "trees", "reservations", "promise"),
}
EMPTY = "empty_cluster.EmptyCluster._fit"
ASKED, WEIGHED = "victim_costs._may_go", "eviction_sets.EvictionSets._weigh"
OFFERED = "feasible_slots.offer_slots"
POOL = "victim_costs.VictimCosts.__init__"
GAIN = "preemptor.Slots.gain"
EXHAUSTIVE, BRANCH = "exhaustive.cheapest", "exhaustive._Search._branch"
LOOK, PACKED = "effort.Effort.spend", "mixed_classes.Packing._seat_each"
RACKS = TreeSpec("network", (Layer("rack", "", ("rack",)), Layer(NODE_LAYER, "rack")))


def cost(cluster: Snapshot) -> Calls:
    return calls_of(lambda: schedule(cluster, PROFILES["binpack"]))


def gangs(number: int, one: PodClass, priority: int = 0) -> Iterator[Gang]:
    """Yield equal gangs. Pods of one class share what they ask for, as those do that are read."""
    for name in (f"g{i}" for i in range(number)):
        pods = [pod(f"{name}-{i}", gang=name, priority=priority) for i in range(SIZE)]
        members = [replace(each, pod_class=one) for each in pods]
        yield builders.gang(name, members=members, priority=priority)


def cluster(nodes: int, waiting: Iterable[Gang | GangGroup]) -> Snapshot:
    return snapshot([node(f"n{i}", cpu=8) for i in range(nodes)], waiting)


def full(number: int) -> Snapshot:
    """Return a cluster in which none of these gangs fits."""
    return cluster(10, gangs(number, pod_class(cpu=9)))


def test_new_gangs_that_fit_cost_so_much_a_pod() -> None:
    calls = cost(cluster(1_000, gangs(250, pod_class())))

    at_most(25 * 250 * SIZE, calls)


def test_nodes_are_never_looked_at_one_by_one() -> None:
    few, many = (cost(cluster(nodes, gangs(50, pod_class()))) for nodes in (200, 2_000))

    at_most(1.02 * few.total(), many)


def test_without_queues_nothing_of_quota_is_called() -> None:
    evicting = preempting(2)
    plain = cost(cluster(10, gangs(3, pod_class(cpu=4))))

    called = {name.partition(".")[0] for calls in (plain, cost(evicting)) for name in calls}

    assert not OF_QUOTA & called


def test_a_gang_without_topology_quota_and_preemption_goes_straight_to_the_filters() -> None:
    depths: list[int] = []

    class Counting:
        """A filter that notes how many frames of the package are above it."""

        obstacle = PROFILES["binpack"].node_filters[0].obstacle

        def passes(self, _: PodClass, nodes: NodeTable) -> BoolArray:
            depths.append(sum(PACKAGE in Path(each.filename).parents for each in inspect.stack()))
            return np.ones(len(nodes), dtype=np.bool_)

        def reasons(self, _: PodClass, __: NodeTable, ___: BoolArray) -> Counter[str]:
            return Counter()

    profile = replace(PROFILES["binpack"], node_filters=(Counting(),))
    schedule(cluster(2, gangs(1, pod_class())), profile)

    # From `schedule` on; the filter itself is the last one.
    assert depths
    assert max(depths) + 1 <= 18


def test_a_thousand_equal_gangs_in_a_full_cluster_cost_one_trial() -> None:
    waiting = full(1_000)

    first, second = (cost(waiting) for _ in range(2))

    assert (1, 1) == (first[TRIAL], second[TRIAL])
    # The empty cluster is not searched again while the nodes are the same.
    assert (1, 0) == (first[EMPTY], second[EMPTY])


def test_equal_groups_of_gangs_in_a_full_cluster_cost_the_trials_of_one() -> None:
    waiting = list(gangs(100, pod_class(cpu=9)))
    pairs = [builders.group(*waiting[i : i + 2]) for i in range(0, 100, 2)]

    one, many = (cost(cluster(10, some)) for some in (pairs[:1], pairs))

    assert one[TRIAL] == many[TRIAL]


def test_gangs_that_have_waited_cost_so_much_each() -> None:
    waited = full(1_000)
    cost(waited)

    at_most(80 * 1_000, cost(waited))


def test_gangs_that_are_all_different_cost_in_proportion() -> None:
    few, many = (
        cost(cluster(10, [each for i in range(n) for each in gangs(1, pod_class(cpu=9 + i))]))
        for n in (50, 200)
    )

    at_most(1.05 * 4 * few.total(), many)


def test_equal_gangs_that_can_evict_no_pod_cost_one_search() -> None:
    guards = [bound_pod(f"t{i}", f"n{i}", cpu=8, evictable=i == 0) for i in range(10)]
    nodes = [node(f"n{i}", cpu=8) for i in range(10)]
    waiting = gangs(100, pod_class(), priority=5)

    calls = cost(snapshot(nodes, waiting, bound_pods=bound_pods(*guards), taken_at=1000))

    assert 1 == calls[SEARCH]


def test_bound_pods_are_looked_at_once_for_all_gangs_that_evict() -> None:
    one, many = (cost(preempting(number)) for number in (1, 10))

    assert one[ASKED] == many[ASKED]


def test_of_many_nodes_few_are_weighed_and_for_the_next_of_equal_gangs_those_that_changed() -> None:
    one, many = (cost(preempting(number)) for number in (1, 10))

    assert one[WEIGHED] <= 2 * SIZE
    assert many[WEIGHED] <= 10 * 2 * SIZE


def test_nodes_that_victims_alone_would_not_clear_are_not_weighed() -> None:
    nodes = [node(f"n{i}", cpu=2) for i in range(NODES)]
    low = [bound_pod(f"t{i}", f"n{i}", cpu=1 + i % 2) for i in range(NODES)]
    dear = [bound_pod(f"d{i}", f"n{i}", priority=9) for i in range(0, NODES, 2)]
    waiting = gangs(1, pod_class(cpu=2), priority=5)

    calls = cost(snapshot(nodes, waiting, bound_pods=bound_pods(*low, *dear)))

    assert calls[WEIGHED] <= 2 * SIZE


def test_of_gangs_that_are_all_different_each_weighs_a_few_nodes() -> None:
    calls = cost(unlike(50))

    assert calls[WEIGHED] <= 6 * 50


def unlike(number: int) -> Snapshot:
    """Return single pods of so many sizes, on nodes with two pods each."""
    nodes = [node(f"n{i}", cpu=16, memory=64) for i in range(NODES)]
    low = [
        bound_pod(f"t{i}", f"n{i // 2}", cpu=8, memory=8, started_at=1 + (31 * i) % 997)
        for i in range(2 * NODES)
    ]
    waiting = [
        builders.gang(f"g{i}", cpu=3 + i % 10, memory=20 + i, priority=5, created_at=i)
        for i in range(number)
    ]
    return snapshot(nodes, waiting, bound_pods=bound_pods(*low), taken_at=1_000)


def test_what_is_the_same_on_all_nodes_of_a_gang_is_summed_up_once() -> None:
    nodes = [node(f"n{i}", cpu=2) for i in range(NODES)]
    low = [bound_pod(f"t{i}", f"n{i}", gang=f"low-{i // SIZE}", cpu=2) for i in range(NODES)]
    waiting = gangs(1, pod_class(cpu=2), priority=5)

    calls = cost(snapshot(nodes, waiting, bound_pods=bound_pods(*low)))

    assert calls[GAIN] <= 2 + NODES // SIZE


def preempting(number: int) -> Snapshot:
    """Return gangs that all have to evict, on nodes full of gangs of two."""
    nodes = [node(f"n{i}", cpu=2) for i in range(NODES)]
    low = [bound_pod(f"t{i}", f"n{i // 2}", gang=f"low-{i % NODES}") for i in range(2 * NODES)]
    return snapshot(nodes, gangs(number, pod_class(cpu=2), priority=5), bound_pods=bound_pods(*low))


def test_equal_gangs_that_do_not_fit_in_room_kept_for_others_cost_the_trials_of_one() -> None:
    one, many = (cost(beside_kept_room(number)) for number in (1, 100))

    assert one[TRIAL] == many[TRIAL]


def beside_kept_room(number: int) -> Snapshot:
    """Return gangs that do not fit, though they outrank one that room is kept for."""
    kept = pod("low", gang="low", nominated="n0", cpu=8)
    room = Nominated(kept, builders.gang_key("low"), 0)
    waiting = gangs(number, pod_class(cpu=1), priority=5)
    return snapshot([node("n0", cpu=8)], waiting, nominated=[room])


def test_one_of_many_racks_of_sixteen_losses_is_searched_with_few_branches() -> None:
    calls = cost(racks(64))

    assert calls[EXHAUSTIVE] <= 8
    assert calls[BRANCH] <= 150
    assert calls[TRIAL] <= 20


def test_racks_that_cannot_be_cheaper_cost_no_branches() -> None:
    few, many = (cost(racks(number, cheapest=0)) for number in (2, 64))

    assert (few[BRANCH], few[TRIAL]) == (many[BRANCH], many[TRIAL])


def test_two_classes_cost_few_trials() -> None:
    calls = cost(racks(8, classes=2))

    assert calls[BRANCH] <= 300
    assert calls[TRIAL] <= 40


def test_a_gang_that_no_rack_can_hold_costs_no_branches() -> None:
    calls = cost(racks(8, members=9, classes=9))

    assert (0, 0) == (calls[EXHAUSTIVE], calls[PACKED])


def test_however_many_gangs_evict_the_looks_of_a_cycle_are_bounded() -> None:
    calls = cost(racks(8, waiting=60, classes=3, members=6))

    assert calls[LOOK] <= MOST_OF_ALL
    assert calls[BRANCH] <= MOST_OF_ALL // 3


def racks(
    number: int,
    *,
    members: int = 4,
    classes: int = 1,
    waiting: int = 1,
    cheapest: int | None = None,
) -> Snapshot:
    """Return racks of eight nodes with two pods each, and gangs that want whole nodes in one."""
    size = 8 * number
    nodes = [node(f"n{i}", cpu=8, labels={"rack": f"r{i // 8}"}) for i in range(size)]
    low = [
        bound_pod(
            f"t{i}-{j}",
            f"n{i}",
            cpu=4,
            priority=int(cheapest is not None and i // 8 != cheapest),
            started_at=1 + (31 * i + 17 * j) % 97,
        )
        for i in range(size)
        for j in range(2)
    ]
    wanted = [
        group(
            builders.gang(
                f"g{k}",
                members=[
                    pod(f"g{k}-{i}", gang=f"g{k}", cpu=8, memory=1 + i % classes, priority=5)
                    for i in range(members)
                ],
                priority=5,
            ),
            topology_request=TopologyRequest(must=(LayerRef("rack"),)),
        )
        for k in range(waiting)
    ]
    return snapshot(nodes, wanted, tree_specs=[RACKS], bound_pods=bound_pods(*low), taken_at=1000)


def test_a_gang_of_many_classes_that_does_not_fit_offers_the_nodes_to_each_a_few_times() -> None:
    members = [pod(f"m{i}", gang="g", cpu=1 + i % 7, memory=1 + i) for i in range(CLASSES)]
    nodes = [node(f"n{i}", cpu=1, memory=10_000) for i in range(NODES)]
    waiting = [builders.gang("g", members=members)]

    calls = cost(snapshot(nodes, waiting))

    # In the cluster as it is, and in the empty one: for their order, and for their places.
    assert calls[OFFERED] <= 2 * 2 * CLASSES


def test_for_a_gang_that_evicts_the_empty_cluster_is_not_searched() -> None:
    waiting = preempting(2)

    plan = schedule(waiting, PROFILES["binpack"])

    assert plan.preemptions
    assert 0 == cost(waiting)[EMPTY]


def of_many_priorities(number: int, bound: Callable[[int], int], step: int = 1) -> Snapshot:
    """Return gangs that have to evict, each of a higher priority, among pods of priorities."""
    nodes = [node(f"n{i}", cpu=2) for i in range(NODES)]
    low = [
        bound_pod(f"t{i}", f"n{i // 2}", gang=f"low-{i}", priority=bound(i))
        for i in range(2 * NODES)
    ]
    waiting = [
        builders.gang(
            f"g{i}", members=[pod(f"g{i}-0", gang=f"g{i}", cpu=2, priority=p)], priority=p
        )
        for i, p in ((i, 10_000 + i * step) for i in range(number))
    ]
    return snapshot(nodes, waiting, bound_pods=bound_pods(*low))


def test_gangs_of_priorities_that_may_evict_the_same_pods_sort_these_out_once() -> None:
    calls = cost(of_many_priorities(50, lambda i: i % 5))

    assert 1 == calls[POOL]


def test_gangs_with_members_on_nodes_sort_out_once_what_they_may_evict() -> None:
    made = of_many_priorities(50, lambda i: i % 5, step=0)
    started = [bound_pod(f"s{i}", f"n{i}", gang=f"g{i}", priority=10_000, cpu=0) for i in range(50)]
    there = (*made.bound_pods.pods, *started) if made.bound_pods else ()

    calls = cost(replace(made, bound_pods=bound_pods(*there)))

    assert 1 == calls[POOL]


def test_pods_to_evict_that_are_sorted_out_for_each_priority_count_as_work() -> None:
    made = of_many_priorities(400, lambda i: 10_000 + 2 * (i % 200))

    plan = schedule(made, PROFILES["binpack"])

    # Each priority may evict one more pod than the one below it.
    assert cost(made)[POOL] <= 1 + MOST_OF_CYCLE / (2 * NODES / PODS_OF_A_POOL)
    assert plan.untried


def above(*numbers: int) -> PodClass:
    """Return a class for nodes whose label `number` is above one of these."""
    wanted = [(Requirement("number", Operator.GT, (str(each),)),) for each in numbers]
    return pod_class(cpu=1, affinity=tuple(wanted))


def numbered() -> list[Node]:
    return [node(f"n{i}", labels={"number": str(i)}) for i in range(100)]


def test_labels_that_pods_compare_as_numbers_are_parsed_once() -> None:
    waiting = [
        builders.gang(f"g{i}", members=[replace(pod(f"p{i}", gang=f"g{i}"), pod_class=above(i))])
        for i in range(20)
    ]

    calls = cost(snapshot(numbered(), waiting))

    assert calls["selectors.integer_of"] <= 100 + 20


def test_requirements_of_a_node_affinity_count_as_work() -> None:
    def looks(number: int) -> float:
        trial = Trial(snapshot(numbered()))
        before = trial.effort.done
        offer_slots(above(*range(number)), trial, PROFILES["binpack"])
        return trial.effort.done - before

    assert looks(1) == looks(FEW_REQUIREMENTS)
    assert 3 * looks(1) == looks(FEW_REQUIREMENTS + 2 * REQUIREMENTS_OF_AN_OFFER)
