"""A cycle takes turns until its work is done: what had none by then is tried in the next one."""

from dataclasses import replace
from functools import partial
from unittest.mock import patch

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Strategy
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import (
    EvictionRules,
    Flavor,
    FlavorResource,
    Product,
    ResourceGroup,
)
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import PodSet, TopologyRequest
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from support.builders import node, pod
from support.call_counts import calls_of
from support.queue_builders import CPU, cluster_queue, cq_ref, our_queue, queue_ref
from support.queue_worlds import BINPACK, charges_of, decide, in_queue, running, with_ends, world

NEVER = EvictionRules(reclaim=EvictionPolicy.NEVER)
GUEST = queue_ref("guest")


def crowd(queues: int, each: int) -> Snapshot:
    """Return gangs of different sizes in queues that get a part of what there is."""
    refs = [queue_ref(f"q{i}") for i in range(queues)]
    declared = [
        our_queue("root", 1_000_000),
        *(our_queue(ref.name, 60_000, evictions=NEVER) for ref in refs),
    ]
    gangs = [
        in_queue(ref, f"{ref.name}-{i}", cpu=20 + i, created_at=i)
        for ref in refs
        for i in range(each)
    ]
    return world(declared, gangs, [node("n", cpu=1000)])


def with_looks(number: int, snapshot: Snapshot) -> Plan:
    with patch.object(effort, "MOST_OF_CYCLE", number):
        return decide(snapshot)


def placed(plan: Plan) -> list[str]:
    return [each.gang.key.name for each in plan.placed]


def after(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """Return what the next cycle sees: gangs are charged that were placed, and others are left."""
    queues, free = snapshot.queues, snapshot.free.copy()
    assert queues is not None
    for bind in (bind for each in plan.placed for bind in each.binds):
        free[0] -= snapshot.nodes.vector(bind.pod.pod_class.requests)
    charged = {ref: dict(charge) for ref, charge in queues.usage.charged.items()}
    for ref, charge in charges_of(plan).items():
        of_queue = charged.setdefault(ref, {})
        for key, amount in charge.items():
            of_queue[key] = of_queue.get(key, 0) + amount
    usage = replace(queues.usage, charged=charged)
    groups = tuple(each for each in snapshot.groups if is_untried(each, plan))
    return replace(snapshot, free=free, groups=groups, queues=replace(queues, usage=usage))


def is_untried(group: GangGroup, plan: Plan) -> bool:
    return any(gang.key in plan.untried for gang in group.waiting)


def test_gangs_that_the_cycle_has_no_looks_left_for_are_untried() -> None:
    snapshot = crowd(6, 5)

    plan = with_looks(100, snapshot)

    tried = {each.gang.key for each in plan.placed} | {each.gang.key for each in plan.refused}
    assert tried
    assert plan.untried
    assert not tried & plan.untried
    assert tried | plan.untried == {gang.key for each in snapshot.groups for gang in each.waiting}


def test_a_cycle_of_few_looks_takes_one_turn_at_least() -> None:
    plan = with_looks(1, crowd(3, 2))

    assert len(plan.placed) + len(plan.refused) == 1
    assert len(plan.untried) == 5


def test_the_turns_of_several_cycles_are_those_of_one() -> None:
    left = crowd(5, 4)
    expected, found = decide(left), list[str]()

    cycles = 0
    while left.groups:
        plan = with_looks(100, left)
        found += placed(plan)
        left = after(left, plan)
        cycles += 1

    assert cycles > 3
    assert found == placed(expected)
    assert 10 == len(found)


def test_a_queue_that_keeps_its_order_goes_on_where_it_stopped() -> None:
    strict = replace(our_queue("q", 1_000_000), strategy=Strategy.STRICT_FIFO)
    gangs = [in_queue(queue_ref("q"), f"g{i}", cpu=6, created_at=i) for i in range(4)]
    snapshot = world([our_queue("root", 10**7), strict], gangs, [node("n", cpu=8)])

    first = with_looks(1, snapshot)
    second = with_looks(1, after(snapshot, first))

    assert placed(first) == ["g0"]
    assert [each.gang.key.name for each in second.refused] == ["g1"]
    assert {each.name for each in second.untried} == {"g2", "g3"}


def test_while_no_search_has_looks_left_others_have_their_turns() -> None:
    """A gang that needs no victims does not wait for those that others look for."""
    queues = [
        our_queue("root", 100_000),
        our_queue("owner", 60_000),
        our_queue("late", 4_000, evictions=NEVER),
        our_queue("guest", 0, borrowing=True, evictions=NEVER),
    ]
    # Guests may be evicted, and that would make too little room beside the pods that stay.
    runs = [running(GUEST, f"r{i}", f"n{i}", cpu=1) for i in range(3)]
    runs += [running(GUEST, f"fixed{i}", f"n{i}", cpu=7, evictable=False) for i in range(3)]
    owners = [in_queue(queue_ref("owner"), f"g{i}", cpu=5 + i, created_at=i) for i in range(3)]
    late = in_queue(queue_ref("late"), "late", cpu=4, created_at=10)
    nodes = [*(node(f"n{i}", cpu=8) for i in range(3)), node("small", cpu=4)]
    snapshot = with_ends(world(queues, [*owners, late], nodes, runs), {})

    with patch.object(effort, "MOST_LOOKS", 1), patch.object(effort, "MOST_OF_ALL", 1):
        plan = decide(snapshot)

    assert placed(plan) == ["late"]
    assert plan.untried == frozenset()
    # One of them has looks of its own in each cycle, in turn.
    assert len(plan.unsearched) == 2


def test_a_thousand_gangs_that_do_not_fit_keep_no_turn_from_those_of_the_same_queue() -> None:
    declared = [our_queue("root", 1_000_000), our_queue("guest", 1_000_000, evictions=NEVER)]
    large = [in_queue(GUEST, f"large-{i:04}", cpu=2_000 + i, created_at=i) for i in range(1_100)]
    small = in_queue(GUEST, "small", cpu=1, created_at=5_000)
    snapshot = world(declared, [*large, small], [node("n", cpu=1000)])

    for _ in range(10):
        plan = decide(snapshot)
        if not plan.untried:
            break
        snapshot = after(snapshot, plan)

    assert ["small"] == placed(plan)


FLAVORS = tuple(f"f{i}" for i in range(8))


def of_two_classes(first: str, second: str, taken_at: int = 0) -> Snapshot:
    """Return a gang of two classes and 64 flavor assignments, one of which has room: this one."""
    room = {first: 30, second: 60} if first != second else {first: 90}
    nodes = [node(f"n-{each}", cpu=room.get(each, 1), labels={"t": each}) for each in FLAVORS]
    quotas = {FlavorResource(each, "cpu"): 1_000_000 for each in FLAVORS}
    queue = replace(
        cluster_queue("q", nominal=quotas), resource_groups=(ResourceGroup(("cpu",), FLAVORS),)
    )
    members = [pod(f"m{i}", gang="g", cpu=1 + i % 2) for i in range(60)]
    declared = [Flavor(Product.KUEUE, each, node_labels=(("t", each),)) for each in FLAVORS]
    gang = in_queue(cq_ref("q"), "g", members=members)
    return world([queue], [gang], nodes, flavors=declared, taken_at=taken_at)


def test_a_gang_tries_some_of_its_flavor_assignments_in_a_cycle_and_its_refusal_says_so() -> None:
    plan = with_looks(500, of_two_classes("f6", "f3"))

    (refused,) = plan.refused
    assert refused.misfit is not None
    assert refused.misfit.cut_off
    assert {refused.gang.key} == plan.unsearched
    assert placed(schedule(of_two_classes("f6", "f3"), BINPACK, to_the_end=True)) == ["g"]


@pytest.mark.parametrize("number", range(0, 64, 21))
def test_each_flavor_assignment_is_tried_in_some_cycle(number: int) -> None:
    first, second = FLAVORS[number // 8], FLAVORS[(number // 8 + number) % 8]

    plans = (with_looks(500, of_two_classes(first, second, now)) for now in range(100, 200))

    assert any(placed(plan) for plan in plans)


def test_the_first_flavor_assignment_is_tried_in_each_cycle() -> None:
    for now in range(20):
        assert placed(with_looks(1, of_two_classes("f0", "f0", now))) == ["g"]


def test_the_flavor_assignments_of_one_gang_are_a_part_of_the_work_of_a_cycle() -> None:
    snapshot = of_two_classes("f6", "f3")

    few, all_ = (calls_of(partial(with_looks, n, snapshot)) for n in (500, 100_000))

    assert 52 == all_["gather.place"]
    assert few["gather.place"] <= 12


def test_a_cycle_makes_no_more_requests_than_it_has_looks_for() -> None:
    full = our_queue("q", 6, evictions=NEVER)
    gangs = [in_queue(queue_ref("q"), f"g{i}", cpu=7, created_at=i) for i in range(300)]
    snapshot = world([our_queue("root", 6), full], gangs, [node("n", cpu=1000)])

    first = calls_of(lambda: with_looks(100, snapshot))["quota.Quota._plain"]
    rest = calls_of(lambda: decide(snapshot))["quota.Quota._plain"]

    assert 0 < first < 60
    assert first + rest == 300


def of_many_combinations(*others: Gang) -> Snapshot:
    """Return gangs with 64 combinations of flavors, none of which has quota, and other gangs."""
    quotas = {FlavorResource(each, "cpu"): 1000 for each in FLAVORS}
    queue, other = (
        replace(
            cluster_queue(name, nominal=quotas), resource_groups=(ResourceGroup(("cpu",), FLAVORS),)
        )
        for name in ("q", "r")
    )
    members = [[pod(f"m{i}-{n}", gang=f"g{i}", cpu=n) for n in (8, 9)] for i in range(100)]
    gangs = [in_queue(queue.ref, f"g{i}", members=some) for i, some in enumerate(members)]
    flavors = [Flavor(Product.KUEUE, each) for each in FLAVORS]
    nodes = [node("n", cpu=1000)]
    return world([queue, other], [*gangs, *others], nodes, flavors=flavors)


def test_a_request_costs_as_much_as_its_combinations_of_flavors() -> None:
    calls = calls_of(lambda: with_looks(100, of_many_combinations()))

    assert 0 < calls["quota.Quota._plain"] < 20


def test_no_turn_is_taken_until_the_cycles_have_looked_for_the_first_gang_of_each_queue() -> None:
    first = in_queue(cq_ref("r"), "first", cpu=1, created_at=10)
    snapshot, cycles = of_many_combinations(first), 0
    looked_at = "requests.Requests._assignments"

    while snapshot.groups:
        calls = calls_of(partial(with_looks, 100, snapshot))
        assert calls[looked_at] < 40
        plan = with_looks(100, snapshot)
        assert placed(plan) == ([] if plan.untried else ["first"])
        snapshot = after(snapshot, plan)
        cycles += 1

    assert cycles > 3


def test_a_gang_that_is_refused_in_each_cycle_keeps_no_turn_away() -> None:
    """The first gangs of all queues cost more than a cycle, and a user makes gangs all the time."""
    crowded, refused = [f"q{i:02}" for i in range(40)], "a"
    queues = [
        replace(
            cluster_queue(name, nominal={FlavorResource(each, "cpu"): most for each in FLAVORS}),
            resource_groups=(ResourceGroup(("cpu",), FLAVORS),),
        )
        for name, most in ((refused, 1000), *((each, 10**6) for each in crowded))
    ]

    def of_two_sizes(queue: str, name: str) -> Gang:
        members = [pod(f"{name}-{n}", gang=name, cpu=n) for n in (8, 9)]
        return in_queue(cq_ref(queue), name, members=members)

    flavors, nodes = [Flavor(Product.KUEUE, each) for each in FLAVORS], [node("n", cpu=1000)]
    gangs, found = [of_two_sizes(each, f"of-{each}") for each in crowded], list[str]()
    for cycle in range(3):
        bad = of_two_sizes(refused, f"bad-{cycle}")
        found += placed(with_looks(100, world(queues, [bad, *gangs], nodes, flavors=flavors)))

    assert len(found) >= 3


def test_surplus_that_was_not_searched_for_waits_for_that_though_other_lacks_quota() -> None:
    """Only a gang whose search was cut off is tried again after a pause."""

    def member(owner: str, cpu: int = 1, memory: int = 0) -> Pod:
        podset = PodSet(TopologyRequest(), owner)
        return pod(f"a-{owner}", gang="a", podset=podset, cpu=cpu, memory=memory)

    memory = CPU._replace(resource="memory")
    large = [member(f"l{i:02}", cpu=20 + i) for i in range(12)]
    members = [member("0"), member("m", memory=50), *large, member("z")]
    waits = in_queue(GUEST, "a", members=members, min_member=1)
    nodes = [node(f"n{i}", cpu=8, memory=1_000) for i in range(3)]
    made = world([our_queue("guest", 40, key=memory)], [waits], nodes)

    (whole,), (cut_off,) = decide(made).refused, with_looks(150, made).refused

    assert Reason.WAITING_FOR_QUOTA is whole.reason
    assert (Reason.UNSCHEDULABLE, 14) == (cut_off.reason, len(cut_off.pods))
    assert cut_off.misfit is not None
    assert cut_off.misfit.cut_off
