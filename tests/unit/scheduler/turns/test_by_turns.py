"""Which gangs of which queues are placed in a cycle, and why the others wait."""

from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Fairness, StopPolicy, Strategy
from gang_scheduler.model.causes.queues import AdmissionLimit, BehindGang, LimitMissed, QuotaShort
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.nodes import Node, Taint
from gang_scheduler.model.plan import EmptyFlavor, IfEmpty
from gang_scheduler.model.queues import (
    AdmissionLimits,
    EvictionRules,
    Flavor,
    FlavorResource,
    Fungibility,
    LocalQueueKey,
    LocalQueueWeight,
    Product,
    Queue,
    ResourceGroup,
)
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.resources import RequestRules, Transformation
from gang_scheduler.model.rules import PreemptionRules, Rules
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.cycle import schedule
from support.builders import GPU, node, pod, pod_class
from support.plan_reading import gangs_placed, nodes_of, nominations_of, reasons, victims_of
from support.queue_builders import cluster_queue, cq_ref, our_queue, queue_ref
from support.queue_worlds import BINPACK, decide, in_queue, running, with_ends, world

DEFAULT = Fungibility()
NEVER = EvictionRules(reclaim=EvictionPolicy.NEVER)
GPUS = FlavorResource("default", GPU)
A, B = queue_ref("a"), queue_ref("b")
BIG = [node("big", cpu=1000)]
WITH_GPUS = [node("gpus", cpu=8, gpu=8)]
CPUS = (ResourceGroup(("cpu",), ("default",)),)


def two(**fields: Any) -> list[Queue]:
    """Return two queues with 4 CPUs each, and all that there is; `fields` are of the first."""
    return [our_queue("root", 8000), our_queue("a", 4000, **fields), our_queue("b", 4000)]


def counting(snapshot: Snapshot, rules: RequestRules) -> Snapshot:
    """Return a snapshot with quotas that count requests by these rules."""
    assert snapshot.queues is not None
    declared = replace(snapshot.queues.declared, request_rules=rules)
    return replace(snapshot, queues=replace(snapshot.queues, declared=declared))


def test_quota_is_charged_turn_by_turn() -> None:
    gangs = [
        in_queue(A, "x", pods=3),
        in_queue(A, "y", pods=2, created_at=1),
        in_queue(B, "z", pods=4),
    ]

    plan = decide(world(two(), gangs, BIG))

    assert set(gangs_placed(plan)) == {"x", "z"}
    assert reasons(plan) == {"y": "WaitingForQuota"}
    (refused,) = plan.refused
    assert refused.cause == QuotaShort("a", "default", "cpu", 2000, 1000)


def test_more_than_the_potential_can_never_run() -> None:
    plan = decide(world(two(), [in_queue(A, "x", pods=5)], BIG))

    assert reasons(plan) == {"x": "QuotaExceeded"}


@pytest.mark.parametrize(
    "queue",
    [our_queue("a", 0, key=GPUS), cluster_queue("cq", nominal=4000, resource_groups=CPUS)],
    ids=["ours", "kueue"],
)
def test_what_quotas_do_not_count_takes_no_quota(queue: Queue) -> None:
    gang = in_queue(queue.ref, "x", gpu=2)
    waits = world([our_queue("root", 8, key=GPUS), queue], [gang], WITH_GPUS)

    assert reasons(decide(waits)) == {"x": "QuotaExceeded"}
    assert gangs_placed(decide(counting(waits, RequestRules({}, ("nvidia.com/",))))) == ["x"]


@pytest.mark.parametrize(
    ("counts_as", "reasons_of"),
    [
        (Transformation((("cpu", 2000),), replaces=True), {"x": "QuotaExceeded"}),
        (Transformation((("cpu", 1000),), replaces=True), {}),
        (Transformation((("cpu", 1000),)), {"x": "QuotaExceeded"}),
    ],
)
def test_what_a_resource_counts_as_takes_quota(
    counts_as: Transformation, reasons_of: dict[str, str]
) -> None:
    queue = cluster_queue("cq", nominal=4000, resource_groups=CPUS)
    snapshot = world([queue], [in_queue(queue.ref, "x", cpu=1, gpu=2)], WITH_GPUS)

    plan = decide(counting(snapshot, RequestRules({GPU: counts_as})))

    assert reasons(plan) == reasons_of


def test_gangs_of_a_queue_that_has_its_share_may_take_none_of_others() -> None:
    """In a queue with 4 of its 4 CPUs, gangs like the first one are refused as it is."""
    runs = [running(A, "r", "n", cpu=4), running(B, "s", "n", cpu=1)]
    gangs = [in_queue(A, "x", pods=2), in_queue(A, "y", pods=2), in_queue(B, "z", pods=1)]

    plan = decide(world(two(borrowing=True), gangs, [node("n", cpu=5)], runs))

    assert {"x", "y", "z"} == set(reasons(plan))
    assert {"x", "y"} == {key.name for key in plan.without_right}


def test_no_gang_of_a_group_may_take_any_where_the_group_may_not() -> None:
    """Else the group would be tried again with each gang that starts elsewhere, by its others."""
    runs = [running(A, "r", "n", cpu=4), running(B, "s", "n", cpu=1)]
    x, y, z = in_queue(A, "x"), in_queue(A, "y"), in_queue(B, "z")
    snapshot = world(two(borrowing=True), [x, y, z], [node("n", cpu=5)], runs)

    plan = decide(replace(snapshot, groups=(GangGroup((x, y)), GangGroup((z,)))))

    assert {"x", "y", "z"} == set(reasons(plan))
    assert {"x", "y"} == {key.name for key in plan.without_right}


def test_a_queue_borrows_what_is_idle() -> None:
    plan = decide(world(two(borrowing=True), [in_queue(A, "x", pods=6)], BIG))

    assert [each.borrows for each in plan.placed] == [True]


def test_a_queue_that_keeps_its_order_waits_behind_its_head() -> None:
    queues = two(strategy=Strategy.STRICT_FIFO)
    gangs = [
        in_queue(A, "first", pods=2),
        in_queue(A, "never", pods=5, created_at=1),
        in_queue(A, "head", pods=3, created_at=2),
        in_queue(A, "last", pods=1, created_at=3),
        in_queue(B, "other", pods=1, created_at=4),
    ]

    plan = decide(world(queues, gangs, BIG))

    assert set(gangs_placed(plan)) == {"first", "other"}
    assert reasons(plan) == {
        "never": "QuotaExceeded",
        "head": "WaitingForQuota",
        "last": "WaitingForTurn",
    }
    (last,) = [each for each in plan.refused if each.gang.key.name == "last"]
    assert last.cause == BehindGang("a", gangs[2].key)


def test_the_head_of_a_queue_is_hidden_from_gangs_of_other_namespaces_if_so_set() -> None:
    queues = two(strategy=Strategy.STRICT_FIFO)
    head, last = in_queue(A, "head", pods=3), in_queue(A, "last", pods=3, created_at=1)
    own = in_queue(A, "own", pods=3, created_at=2)
    last = replace(last, key=last.key._replace(namespace="other"))
    runs = [running(A, "r", "big", cpu=2), running(B, "s", "big", cpu=4)]
    hiding = replace(BINPACK, rules=Rules(preemption=PreemptionRules(hide_foreign_names=True)))

    plan = schedule(world(queues, [head, last, own], BIG, runs), hiding)

    causes = {each.gang.key.name: each.cause for each in plan.refused}
    assert causes["last"] == BehindGang("a", None)
    assert causes["own"] == BehindGang("a", head.key)


def test_gangs_like_the_head_that_waits_are_behind_it_too() -> None:
    queues = two(strategy=Strategy.STRICT_FIFO)
    gangs = [in_queue(A, f"g{i}", pods=3, created_at=i) for i in range(3)]

    plan = decide(world(queues, gangs, BIG))

    assert reasons(plan) == {"g1": "WaitingForQuota", "g2": "WaitingForTurn"}


def test_members_that_go_one_by_one_are_tried_where_a_gang_like_them_fails() -> None:
    whole = in_queue(A, "whole", pods=4)
    each_by_itself = replace(in_queue(A, "single", pods=4, created_at=1), each_alone=True)

    plan = decide(world(two(), [whole, each_by_itself], [node("n", cpu=2)]))

    assert nodes_of(plan) == {"single-0": "n", "single-1": "n"}


def test_surplus_comes_after_all_quorums_and_within_quota() -> None:
    queues = [our_queue("root", 10_000), our_queue("a", 10_000)]
    gangs = [in_queue(A, "e1", pods=8, min_member=4), in_queue(A, "e2", pods=4, created_at=1)]

    plan = decide(world(queues, gangs, [node("n", cpu=20)]))

    assert {each.gang.key.name: len(each.binds) for each in plan.placed} == {"e1": 6, "e2": 4}
    (left,) = plan.refused
    assert (left.reason, len(left.pods), left.left_over) == ("WaitingForQuota", 2, True)


def test_a_stopped_queue_takes_nothing_new() -> None:
    plan = decide(world(two(stop=StopPolicy.HOLD), [in_queue(A, "x")], BIG))

    assert reasons(plan) == {"x": "QueueStopped"}


def test_limits_of_a_queue() -> None:
    limits = AdmissionLimits(jobs=1, gpus_per_job=2, lowest_priority=-1, highest_priority=9)
    gangs = [
        in_queue(A, "x", pods=3, gpu=1),
        in_queue(A, "low", priority=-2),
        in_queue(A, "high", priority=10),
        in_queue(A, "one", priority=5),
        in_queue(A, "two"),
    ]

    plan = decide(world(two(limits=limits), gangs, [node("n", cpu=100, gpu=8)]))

    assert gangs_placed(plan) == ["one"]
    assert reasons(plan) == {
        "x": "AdmissionDenied",
        "low": "AdmissionDenied",
        "high": "AdmissionDenied",
        "two": "JobLimitReached",
    }


def test_the_local_queue_that_used_least_of_late_comes_first() -> None:
    queue = cluster_queue("q", nominal=2000, resource_groups=CPUS)

    def local(name: str, weight: int = 1, **asks: Any) -> Gang:
        key = LocalQueueKey("default", name)
        gang = in_queue(cq_ref("q"), f"{name}-{asks.get('priority', 0)}", **asks)
        return replace(gang, local_queue=LocalQueueWeight(key, Fraction(weight)))

    gangs = [local("much", priority=9), local("heavy", 4), local("little", priority=1)]
    seen = world([queue], gangs, BIG)
    assert seen.queues is not None
    used = {"much": 900, "heavy": 1600, "little": 300, "gone": 1}
    recent = {LocalQueueKey("default", n): {"cpu": m, "x": 1} for n, m in used.items()}
    usage = replace(seen.queues.usage, local_recent=recent)
    fair = replace(seen, queues=replace(seen.queues, usage=usage))

    assert (["much-9", "little-1"], ["little-1", "heavy-0"]) == (
        gangs_placed(decide(seen)),
        gangs_placed(decide(fair)),
    )


def test_members_that_may_still_come_count_for_the_limit_of_gpus() -> None:
    few, gpu = AdmissionLimits(gpus_per_job=2), pod_class(gpu=1)
    gangs = [
        replace(in_queue(A, "grows", gpu=1), absent=((gpu, 1), (pod_class(), 9), (gpu, 1))),
        replace(in_queue(A, "stays", gpu=1), absent=((gpu, 1),)),
    ]

    plan = decide(world(two(limits=few), gangs, [node("n", cpu=100, gpu=8)]))

    assert gangs_placed(plan) == ["stays"]
    (refused,) = plan.refused
    assert refused.cause == LimitMissed("a", AdmissionLimit.GPUS_PER_JOB, 3, 2)


def flavored(
    fungibility: Fungibility = DEFAULT, first: int = 4
) -> tuple[list[Queue], list[Flavor], list[Node]]:
    """Return a queue with two flavors, one that lends in the first of them, and a node of each."""

    def key(name: str) -> FlavorResource:
        return FlavorResource(name, "cpu")

    group = ResourceGroup(("cpu",), ("od", "spot"))
    own = replace(
        cluster_queue("q", "co", {key("od"): first * 1000, key("spot"): 10_000}),
        resource_groups=(group,),
        fungibility=fungibility,
    )
    other = cluster_queue("o", "co", {key("od"): 10_000, key("spot"): 0})
    flavors = [Flavor(Product.KUEUE, name, node_labels=(("t", name),)) for name in ("od", "spot")]
    nodes = [node(f"n-{name}", cpu=100, labels={"t": name}) for name in ("od", "spot")]
    return [own, other], flavors, nodes


def test_a_gang_borrows_in_the_first_flavor() -> None:
    queues, flavors, nodes = flavored()

    plan = decide(world(queues, [in_queue(cq_ref("q"), "x", pods=6)], nodes, flavors=flavors))

    assert set(nodes_of(plan).values()) == {"n-od"}
    assert {bind.flavors for bind in plan.placed[0].binds} == {(("cpu", "od"),)}
    assert plan.placed[0].binds[0].pod.pod_class.node_selector == ()


def test_a_gang_tries_the_next_flavor_before_it_borrows() -> None:
    queues, flavors, nodes = flavored(Fungibility(stop_when_borrowing=False))

    plan = decide(world(queues, [in_queue(cq_ref("q"), "x", pods=6)], nodes, flavors=flavors))

    assert set(nodes_of(plan).values()) == {"n-spot"}
    assert not plan.placed[0].borrows


def test_a_flavor_with_quota_and_no_room_is_passed_over() -> None:
    queues, flavors, nodes = flavored(first=10)
    nodes[0] = node("n-od", cpu=2, labels={"t": "od"})

    plan = decide(world(queues, [in_queue(cq_ref("q"), "x", pods=6)], nodes, flavors=flavors))

    assert set(nodes_of(plan).values()) == {"n-spot"}


def test_without_room_in_any_flavor_with_quota_the_nodes_are_to_blame() -> None:
    queues, flavors, nodes = flavored(first=10)
    small = [node(each.name, cpu=2, labels=each.labels) for each in nodes]

    plan = decide(world(queues, [in_queue(cq_ref("q"), "x", pods=6)], small, flavors=flavors))

    assert reasons(plan) == {"x": "Unschedulable"}


def test_a_gang_whose_flavors_have_no_nodes_never_fits_and_they_are_named() -> None:
    queues, flavors, _ = flavored(first=10)
    gangs = [in_queue(cq_ref("q"), "x", pods=6)]

    plan = decide(world(queues, gangs, [node("n", cpu=60)], flavors=flavors))

    (refused,) = plan.refused
    assert (Reason.UNSCHEDULABLE, IfEmpty.TOO_LARGE) == (refused.reason, refused.if_empty)
    assert (EmptyFlavor("od", (("t", "od"),)),) == refused.empty_flavors


def test_of_flavors_without_room_one_that_has_nodes_is_reported() -> None:
    queues, flavors, (_, spot) = flavored(first=10)
    waits, runs = in_queue(cq_ref("q"), "x", pods=6), [running(cq_ref("o"), "y", spot.name, cpu=98)]

    plan = decide(world(queues, [waits], [spot], runs, flavors=flavors))

    (refused,) = plan.refused
    assert (IfEmpty.FITS, ()) == (refused.if_empty, refused.empty_flavors)


def test_the_pods_own_selector_rules_flavors_out() -> None:
    queues, flavors, nodes = flavored()
    gangs = [
        in_queue(cq_ref("q"), "x", selector={"t": "spot", "other": "y"}),
        in_queue(cq_ref("q"), "y", selector={"t": "neither"}),
    ]
    nodes[1] = node("n-spot", labels={"t": "spot", "other": "y"})

    plan = decide(world(queues, gangs, nodes, flavors=flavors))

    assert nodes_of(plan) == {"x-0": "n-spot"}
    assert reasons(plan) == {"y": "AdmissionDenied"}


def test_no_flavor_is_reported_before_a_resource_that_is_not_covered() -> None:
    queues, flavors, nodes = flavored()
    members = [pod("x-0", gang="x", gpu=1), pod("x-1", gang="x", gpu=1, selector={"t": "neither"})]
    gang = in_queue(cq_ref("q"), "x", members=members)

    plan = decide(world(queues, [gang], nodes, flavors=flavors))

    assert reasons(plan) == {"x": "AdmissionDenied"}


def test_a_taint_that_is_not_tolerated_rules_a_flavor_out() -> None:
    queues, flavors, nodes = flavored()
    flavors[0] = replace(flavors[0], node_taints=(Taint("a", "b"),))

    plan = decide(world(queues, [in_queue(cq_ref("q"), "x")], nodes, flavors=flavors))

    assert nodes_of(plan) == {"x-0": "n-spot"}


def owner(reclaim: EvictionPolicy) -> Snapshot:
    """Return a world where a gang waits for a quota of which a part is free."""

    def queue(name: str, gpus: int, rules: EvictionRules = NEVER) -> Queue:
        quotas = {FlavorResource("od", "cpu"): 100_000, FlavorResource("od", GPU): gpus}
        group = ResourceGroup(("cpu", GPU), ("od",))
        made = cluster_queue(name, "root", quotas)
        return replace(made, resource_groups=(group,), evictions=rules)

    own = queue("own", 2, EvictionRules(reclaim=reclaim))
    gangs = [
        in_queue(cq_ref("own"), "a2", gpu=2),
        in_queue(cq_ref("oth"), "b1", gpu=1, created_at=80),
    ]
    made = world([own, queue("oth", 0)], gangs, [node("n", cpu=100, gpu=9)])
    assert made.queues is not None
    usage = replace(made.queues.usage, charged={own.ref: {FlavorResource("od", GPU): 1}})
    return replace(made, queues=replace(made.queues, usage=usage))


def test_an_owner_that_cannot_reclaim_from_all_keeps_its_quota() -> None:
    assert gangs_placed(decide(owner(EvictionPolicy.LOWER_PRIORITY))) == []
    assert gangs_placed(decide(owner(EvictionPolicy.ANY))) == ["b1"]


def test_a_gang_evicts_in_its_own_queue_only_and_only_for_room() -> None:
    nodes = [node("n", cpu=4)]
    runs = [running(A, "low", "n", cpu=2), running(B, "lower", "n", cpu=2, priority=-1)]
    urgent = [in_queue(A, "x", pods=2, priority=9)]

    plan = decide(world(two(), urgent, nodes, runs))

    assert victims_of(plan) == {"low"}
    assert set(nominations_of(plan)) == {"x-0", "x-1"}
    assert reasons(plan) == {"x": "WaitingForVictims"}
    never = two(evictions=EvictionRules(within_queue=EvictionPolicy.NEVER))
    assert not victims_of(decide(world(never, urgent, nodes, runs)))
    short = [in_queue(A, "x", pods=3, priority=9)]
    assert reasons(decide(world(two(), short, nodes, runs))) == {"x": "WaitingForQuota"}


def test_replacements_are_charged_one_by_one() -> None:
    gang = in_queue(A, "x", pods=3, bound=2, satisfied=True)
    runs = [running(A, f"r{i}", "big", cpu=1) for i in range(2)]

    plan = decide(world(two(), [gang], BIG, runs))

    assert len(plan.placed[0].binds) == 2
    assert reasons(plan) == {"x": "WaitingForQuota"}


def test_queues_that_another_controller_judges_refuse_nothing() -> None:
    queue = cluster_queue("q", nominal={FlavorResource("f", "cpu"): 1000})
    queue = replace(queue, resource_groups=(ResourceGroup(("cpu",), ("f",)),))
    gangs = [in_queue(queue.ref, "x", pods=6)]

    plan = decide(world([queue], gangs, BIG, enforced=frozenset({Product.OURS})))

    assert gangs_placed(plan) == ["x"]


@pytest.mark.parametrize(
    "fields",
    [
        {"stop": StopPolicy.HOLD},
        {"checks": ("budget",)},
        {"flavor_checks": {"f": ("budget",)}},
        {"weight": Fraction(-1)},
        {"limits": AdmissionLimits(jobs=0)},
        {"resource_groups": (ResourceGroup(("cpu",), ("gone",)),)},
        {"resource_groups": ()},
    ],
)
def test_whatever_a_queue_says_another_controller_has_judged_it(fields: dict[str, Any]) -> None:
    queue = cluster_queue("q", nominal={FlavorResource("f", "cpu"): 1000})
    queue = replace(queue, resource_groups=(ResourceGroup(("cpu",), ("f",)),))
    queue = replace(queue, **fields)
    gangs = [in_queue(queue.ref, "x", pods=6)]

    plan = decide(world([queue], gangs, BIG, enforced=frozenset({Product.OURS})))

    assert gangs_placed(plan) == ["x"]


def test_a_strict_order_that_another_controller_keeps_holds_up_no_gang() -> None:
    queue = cluster_queue("q", nominal=1000, strategy=Strategy.STRICT_FIFO)
    gangs = [in_queue(queue.ref, "x", pods=6), in_queue(queue.ref, "y", created_at=1)]

    plan = decide(world([queue], gangs, [node("n", cpu=2)], enforced=frozenset({Product.OURS})))

    assert gangs_placed(plan) == ["y"]


def test_an_inactive_queue_admits_nothing() -> None:
    queues = [*two(), our_queue("c", 1000, parent="nowhere")]

    plan = decide(world(queues, [in_queue(queue_ref("c"), "x"), in_queue(A, "y")], BIG))

    assert gangs_placed(plan) == ["y"]
    assert reasons(plan) == {"x": "QueueStopped"}


def test_replacements_keep_the_flavors_of_their_gang() -> None:
    queues, flavors, nodes = flavored()
    started = in_queue(cq_ref("q"), "x", bound=1, satisfied=True)
    gang = replace(started, flavors=frozenset({("cpu", "spot")}))

    plan = decide(world(queues, [gang], nodes, flavors=flavors))

    assert nodes_of(plan) == {"x-0": "n-spot"}


@pytest.mark.parametrize(("looks", "unsearched"), [(effort.MOST_OF_ALL, ""), (1, "y")])
def test_the_plan_names_the_gangs_for_which_no_search_came_to_its_end(
    looks: int, unsearched: str
) -> None:
    """The first one has its turn to search, in vain; then all looks are spent."""
    guest = our_queue("guest", 0, borrowing=True, evictions=NEVER)
    queues = [*two(), our_queue("vain", 0, borrowing=True), guest]
    runs = [running(guest.ref, f"r{n}", "big", cpu=4) for n in range(2)]
    gangs = [
        in_queue(queue_ref("vain"), "x", priority=1, created_at=0),
        in_queue(A, "large", cpu=5, priority=1, created_at=1),
        in_queue(A, "y", cpu=4, created_at=2),
    ]
    fairness = {Product.OURS: Fairness.PRIORITY}
    snapshot = with_ends(world(queues, gangs, BIG, runs, fairness=fairness), {})

    with patch.object(effort, "MOST_OF_ALL", looks):
        plan = decide(snapshot)

    assert len(victims_of(plan)) == (0 if unsearched else 1)
    assert "".join(each.name for each in plan.unsearched) == unsearched
