"""Which sets of victims are allowed where there are queues, and which of two is better."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.evictions import EvictionClass, YieldedTo
from gang_scheduler.model.queues import EvictionRules, Queue
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.queue_rules import Judge
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts, Victims
from gang_scheduler.scheduler.reclaim.ping_pong import Memory
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest
from support.builders import gang_key
from support.queue_builders import CPU, cluster_queue, cohort, cq_ref
from support.reclaim_builders import NOW, Nodes, request

OVERRUN, RECLAIM, IN_QUEUE, *_ = EvictionClass
A, B, C = cq_ref("a"), cq_ref("b"), cq_ref("c")
QUEUES = [cohort("all"), *(cluster_queue(name, "all", 10) for name in "abc")]
ANY_PRIORITY = 2**31
V, W = gang_key("v"), gang_key("w")


def judge_of(
    nodes: Nodes,
    asking: ReclaimRequest,
    queues: Sequence[Queue] = QUEUES,
    *,
    yielded: Mapping[GangKey, Iterable[YieldedTo]] | None = None,
    **bound: Any,
) -> Judge:
    reclaim_requests = nodes.reclaim_requests(queues)
    judge = Judge(reclaim_requests, reclaim_requests.reclaim(asking), Memory(yielded or {}))
    there = nodes.bound_pods(**bound)
    judge.costs = VictimCosts(there, ANY_PRIORITY, NOW, judge.standings())
    return judge


def going(*pods: BoundPod) -> Victims:
    return {each.pod.uid: each for each in pods}


def cost(judge: Judge, victims: Victims) -> Cost:
    assert judge.costs is not None
    classes = judge.classes(victims)
    assert classes is not None
    return judge.cost(judge.costs.cost(victims), victims, classes)


def test_a_set_is_allowed_with_a_class_for_each_gang_or_not_at_all() -> None:
    nodes = Nodes()
    own, other = nodes.run(A, "v", 3, priority=-1), nodes.run(B, "w", 20)
    judge = judge_of(nodes, request(A, 10))
    straddling = [*nodes.run(C, "x", 8), *nodes.run(C, "y", 8)]
    twice = judge_of(nodes, request(A, 10))

    assert {V: IN_QUEUE, W: RECLAIM} == judge.classes(going(*own, *other))
    assert twice.classes(going(*own, *straddling)) is None
    assert {gang_key("x"), gang_key("y")} == twice.judged(going(*own, *straddling)).illegal


def test_quota_that_still_lacks_is_reported_and_nothing_where_only_room_does() -> None:
    nodes = Nodes()
    own = nodes.run(A, "v", 8, priority=-1)
    nodes.run(B, "w", 16)
    short, enough = judge_of(nodes, request(A, 8)), judge_of(nodes, request(A, 1))

    assert {CPU: 2} == short.lacking({})
    assert {} == short.lacking(going(*own))
    assert {} == enough.lacking({})


def test_a_gang_that_the_preemptor_yielded_to_stays_unless_the_new_right_is_stronger() -> None:
    nodes = Nodes()
    own, other = nodes.run(A, "v", 5, priority=-1), nodes.run(B, "w", 25)
    known = [YieldedTo(each, "", IN_QUEUE, 1) for each in (V, W)]
    judge = judge_of(nodes, request(A, 5), yielded={gang_key("p"): known})

    assert frozenset({V}) == judge.judged(going(*own)).illegal
    assert {W: RECLAIM} == judge.classes(going(*other))


def test_a_victim_that_would_take_it_all_back_refuses_the_set() -> None:
    rules = EvictionRules(within_queue=EvictionPolicy.ANY)
    nodes = Nodes()
    pods = nodes.run(A, "v", 10)
    queues = [cluster_queue("a", nominal=10, evictions=rules)]

    assert frozenset({V}) == judge_of(nodes, request(A, 10), queues).judged(going(*pods)).illegal


def test_surplus_goes_pod_by_pod_and_yields_to_no_gang() -> None:
    nodes = Nodes()
    one, two, three = nodes.run(B, "v", 6, 6, 6)
    nodes.run(C, "w", 12)
    judge = judge_of(nodes, request(A, 10), surplus={"v": 2})
    some, all_of_it = going(one), going(one, two, three)

    assert [{}, {V: RECLAIM}] == [
        judge.yielding(each, judge.classes(each) or {}) for each in (some, all_of_it)
    ]
    # The second pod may straddle what the queue was promised, as a whole gang may.
    assert {V: RECLAIM} == judge.classes(going(one, two))


def test_the_highest_class_decides_before_the_highest_priority() -> None:
    nodes = Nodes()
    own, other = nodes.run(A, "v", 5, priority=-5), nodes.run(B, "w", 25, priority=5)
    judge = judge_of(nodes, request(A, 5, priority=6))

    assert cost(judge, going(*other)) < cost(judge, going(*own))


def test_of_equal_priorities_the_queue_that_borrows_most_gives_back() -> None:
    nodes = Nodes()
    less, more = nodes.run(B, "v", 12), nodes.run(C, "w", 12)
    nodes.run(C, "stays", 6, evictable=False)
    judge = judge_of(nodes, request(A, 10))

    assert cost(judge, going(*more)) < cost(judge, going(*less))


def test_of_sets_that_cost_the_same_that_which_frees_less_beyond_the_need_goes() -> None:
    nodes = Nodes()
    large, small = nodes.run(B, "v", 14), nodes.run(B, "w", 12)
    nodes.run(B, "stays", 4, evictable=False)
    judge = judge_of(nodes, request(A, 10))

    assert cost(judge, going(*small)) < cost(judge, going(*large))


def test_what_a_queue_borrows_is_seen_as_its_gangs_leave_and_all_are_back_in_the_end() -> None:
    nodes = Nodes()
    nodes.run(B, "v", 12)
    nodes.run(B, "w", 12)
    judge = judge_of(nodes, request(A, 10))
    costs = judge.costs
    assert costs is not None
    one, other = (costs.unit(costs.members(key)) for key in (V, W))

    with judge.draining() as drained:
        before = drained.rank(other)
        drained.take(one)
        after = drained.rank(other)
    with judge.draining() as drained:
        again = drained.rank(other)

    assert before < after
    assert before == again
