"""What a cycle with queues costs, counted in calls of Python functions: times differ by machine."""

from collections.abc import Iterator
from dataclasses import replace

from gang_scheduler.model.api_words import EvictionPolicy, Fairness
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.queues import (
    EvictionRules,
    Flavor,
    FlavorResource,
    Fungibility,
    Product,
    Queue,
    ResourceGroup,
)
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.snapshot import Snapshot
from support.builders import node
from support.call_counts import Calls, calls_of
from support.queue_builders import cluster_queue, cq_ref, our_queue, queue_ref
from support.queue_worlds import decide, in_queue, promising, running, with_ends, world

NOW = 10_000
BIG, GUEST = queue_ref("big"), queue_ref("guest")
NEVER = EvictionRules(within_queue=EvictionPolicy.NEVER, reclaim=EvictionPolicy.NEVER)
RESERVED = "reservations.Reservations._reserve"
FOUND = "promise.FutureRoom.find"
HELD, WITHOUT_VICTIMS = "releases.Running._release", "releases.Running._compute"
RELEASED = "forest.Forest.release"
SEATS = "releases._seats"
POSSIBLE = "legal_victims.Reclaim._found_possible"
JUDGED = "after_eviction.FinalState.classes_of"
TRIAL = "gather.place"
CHARGED, TOP = "charges._beyond", "queue_turns._Heap.top"
ASSIGNMENT_NOW = "by_turns.TurnTaking._assignment_now"


def reclaiming(owners: int, guests: int) -> Snapshot:
    """Return a full cluster of guests, a gang that is promised a start, and owners that reclaim.

    Each owner evicts one guest, so the promise is looked at again before the next one.
    """
    queues: list[Queue] = [
        our_queue("root", 80_000 * guests),
        our_queue("big", 40_000 * guests, evictions=NEVER),
        our_queue("guest", 0, borrowing=True, evictions=NEVER),
        *(our_queue(f"o{i}", 8_000) for i in range(owners)),
    ]
    runs = [running(GUEST, f"r{i}", f"n{i}", cpu=8) for i in range(guests)]
    big = in_queue(BIG, "big", cpu=8, pods=guests // 2, min_member=guests // 2, priority=1)
    fairness = {Product.OURS: Fairness.PRIORITY}
    nodes = [node(f"n{i}", cpu=8) for i in range(guests)]
    waiting = [big, *_owners(owners)]
    made = world(queues, waiting, nodes, runs, taken_at=NOW, fairness=fairness)
    return with_ends(made, {f"r{i}": NOW + 60 * i for i in range(guests)})


def _owners(number: int) -> Iterator[Gang]:
    for i in range(number):
        yield in_queue(queue_ref(f"o{i}"), f"g{i}", cpu=8, created_at=NOW - 1)


def cost(snapshot: Snapshot) -> Calls:
    return calls_of(lambda: promising(snapshot))


def test_a_promise_is_looked_for_around_its_last_place_after_each_eviction() -> None:
    made = reclaiming(20, 64)
    assert len(promising(made).preemptions) == 20

    calls = cost(made)

    assert calls[RESERVED] > 10
    # The first time by halving; then where it was, and one place before; and beside each eviction.
    assert calls[FOUND] <= 8 + 3 * 20


def test_what_gangs_on_nodes_hold_is_worked_out_once_and_of_victims_once_more() -> None:
    calls = cost(reclaiming(20, 64))

    assert (64 + 20, 20) == (calls[HELD], calls[WITHOUT_VICTIMS])


def test_a_promise_of_an_earlier_cycle_is_looked_for_where_it_was() -> None:
    made = reclaiming(0, 64)
    (reservation,) = promising(made).reservations
    again = replace(made, promised={reservation.gangs[0].key: reservation})

    assert cost(made)[FOUND] >= 6
    # Where it was, and one place before.
    assert 2 == cost(again)[FOUND]


def test_a_promise_of_an_earlier_cycle_changes_no_plan() -> None:
    made = reclaiming(2, 20)
    plan = promising(made)
    (reservation,) = plan.reservations
    assert made.bound_pods is not None

    for after in (*made.bound_pods.gangs, None):
        promised = {reservation.gangs[0].key: replace(reservation, after=after)}
        assert plan == promising(replace(made, promised=promised)), after


def test_what_a_gang_holds_is_kept_from_cycle_to_cycle() -> None:
    made = reclaiming(0, 64)

    assert (64, 0) == (cost(made)[SEATS], cost(made)[SEATS])


def test_classes_that_no_final_state_allows_are_ruled_out_by_queue_and_not_by_gang() -> None:
    few, many = (cost(reclaiming(20, guests)) for guests in (64, 128))

    assert many[JUDGED] <= 1.1 * few[JUDGED]


def test_what_leaves_is_taken_out_of_accounts_by_queue_and_not_by_pod() -> None:
    few, many = (cost(reclaiming(20, guests)) for guests in (64, 128))

    assert many[RELEASED] <= 1.1 * few[RELEASED]


def above_quota(guests: int) -> Snapshot:
    """Return a full cluster of guests, and gangs of several shapes whose queue is above its quota.

    They could evict only for quota that is their own.
    """
    quota = 7_000 * guests + 1_000_000
    queues = [our_queue("root", quota), our_queue("guest", 0, borrowing=True)]
    queues.append(our_queue("own", 1_000, borrowing=True))
    runs = [running(GUEST, f"r{i}", f"n{i}", cpu=7) for i in range(guests)]
    waiting = [in_queue(queue_ref("own"), f"g{i}", cpu=i + 2) for i in range(6)]
    nodes = [node(f"n{i}", cpu=8) for i in range(guests)]
    fairness = {Product.OURS: Fairness.PRIORITY}
    return with_ends(world(queues, waiting, nodes, runs, fairness=fairness), {})


def test_gangs_of_a_queue_above_its_quota_look_for_victims_queue_by_queue() -> None:
    few, many = (cost(above_quota(guests)) for guests in (8, 80))

    # The smallest is refused, and with it all that ask for more.
    assert few[POSSIBLE] == many[POSSIBLE] == 1


def delaying(number: int) -> Snapshot:
    """Return a gang that is promised a start, and others, all alike, that would all delay it."""
    queues = [our_queue("root", 10_000), our_queue("big", 10_000)]
    big = in_queue(BIG, "big", cpu=8, created_at=0)
    later = [in_queue(BIG, f"l{i}", cpu=4, created_at=NOW - 1) for i in range(number)]
    runs, nodes = [running(BIG, "r", "n", cpu=6)], [node("n", cpu=10)]
    return with_ends(world(queues, [big, *later], nodes, runs, taken_at=NOW), {"r": NOW + 60})


def test_gangs_alike_that_delay_a_promised_start_cost_the_trials_of_one() -> None:
    few, many = delaying(1), delaying(40)

    assert {"WaitingForTurn"} == {each.reason for each in promising(many).refused[1:]}
    assert cost(few)[TRIAL] == cost(many)[TRIAL] > 0


def borrowing(flavors: int, gangs: int, cpu: int) -> Snapshot:
    """Return gangs that may borrow in each of so many flavors, of a node each."""
    names = [f"f{i}" for i in range(flavors)]
    nothing = {FlavorResource(name, "cpu"): 0 for name in names}
    groups = (ResourceGroup(("cpu",), tuple(names)),)
    rules = Fungibility(stop_when_borrowing=False)
    own = replace(cluster_queue("q", "co", nothing), resource_groups=groups, fungibility=rules)
    lender = cluster_queue("o", "co", dict.fromkeys(nothing, 1000000))
    nodes = [node(f"n-{name}", cpu=4, labels={"t": name}) for name in names]
    waiting = [in_queue(cq_ref("q"), f"g{i}", cpu=cpu) for i in range(gangs)]
    declared = [Flavor(Product.KUEUE, name, node_labels=(("t", name),)) for name in names]
    return world([own, lender], waiting, nodes, flavors=declared)


def test_a_gang_that_borrows_looks_for_room_in_one_flavor_after_the_other() -> None:
    snapshot = borrowing(16, 4, cpu=1)

    calls = cost(snapshot)

    assert len(promising(snapshot).placed) == 4
    assert calls[TRIAL] == 4


def many_heads(queues: int, quota: int) -> Snapshot:
    """Return queues of two flavors that share a quota of the first one, and a gang in each."""
    names = ("f0", "f1")
    keys = [FlavorResource(name, "cpu") for name in names]
    groups = (ResourceGroup(("cpu",), names),)
    nothing = dict.fromkeys(keys, 0)
    made = [
        replace(cluster_queue(f"q{i}", "co", nothing), resource_groups=groups)
        for i in range(queues)
    ]
    lender = cluster_queue("o", "co", {keys[0]: quota, keys[1]: 1_000_000})
    nodes = [node(f"n-{name}", cpu=1_000, labels={"t": name}) for name in names]
    waiting = [in_queue(cq_ref(f"q{i}"), f"g{i}", cpu=1) for i in range(queues)]
    declared = [Flavor(Product.KUEUE, name, node_labels=(("t", name),)) for name in names]
    return world([*made, lender], waiting, nodes, flavors=declared)


def test_a_charge_costs_a_look_at_the_heads_that_it_may_have_outgrown() -> None:
    for queues in (20, 40):
        snapshot = many_heads(queues, quota=queues * 500)

        calls = cost(snapshot)

        assert len(promising(snapshot).placed) == queues
        # Once as it becomes the head, and once as the first flavor is full.
        assert calls[ASSIGNMENT_NOW] <= 2 * queues + 1


def deep(levels: int, gangs: int = 4) -> Snapshot:
    """Return gangs in the lowest of so many queues, each below the one before."""
    queues = [
        our_queue(f"q{i}", 1_000_000, parent=f"q{i - 1}" if i else "", borrowing=True)
        for i in range(levels)
    ]
    last = queue_ref(f"q{levels - 1}")
    waiting = [in_queue(last, f"g{i}", cpu=1) for i in range(gangs)]
    return world(queues, waiting, [node("n1", cpu=1_000)], fairness={Product.OURS: Fairness.DRF})


def test_a_turn_costs_so_much_a_level_and_not_a_pair_of_levels() -> None:
    few, many = (cost(deep(levels)) for levels in (100, 200))

    assert len(promising(deep(200)).placed) == 4
    assert many[CHARGED] <= 2.1 * few[CHARGED]
    assert many[TOP] <= 2.1 * few[TOP]


def test_the_levels_of_a_turn_count_as_work() -> None:
    plan = promising(deep(1_000, gangs=20))

    # One turn in such a tree takes 800 looks, of 6,000 in a cycle.
    assert 5 <= len(plan.placed) <= 8
    assert len(plan.placed) + len(plan.untried) == 20


def test_gangs_of_a_full_tree_are_compared_with_its_quota_once() -> None:
    queues = [our_queue("root", 8_000), our_queue("big", 8_000), our_queue("guest", 0)]
    runs = [running(BIG, "r", "n", cpu=8)]
    waiting = [in_queue(BIG, f"g{i}", cpu=1 + i % 3, created_at=i) for i in range(30)]
    made = world(queues, waiting, [node("n", cpu=16)], runs, taken_at=NOW)
    assert {Reason.WAITING_FOR_QUOTA} == {each.reason for each in decide(made).refused}

    calls = calls_of(lambda: decide(made))

    # Of three sizes, and in the same order as in the cycle before.
    assert 3 == calls["quota.Quota.plain_request"]
    assert 3 == calls["shortages.Shortages.permanent_shortage"]
