"""What a gang asks of its queue, and what is known of the gangs that run."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gang_scheduler.model.bound_pods import BoundGang, BoundPod
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Charge, FlavorResource
from gang_scheduler.scheduler.reclaim.request import (
    ReclaimRequest,
    RunningInQueue,
    reclaim_request_of,
    running_in_queue_of,
)
from support.builders import gang, gang_key, group
from support.queue_builders import CPU, cq_ref
from support.reclaim_builders import Nodes, request

A = cq_ref("a")
SPOT = FlavorResource("spot", "cpu")


def one_each(pods: Iterable[Pod]) -> Charge:
    return {CPU: len(list(pods))}


def running(nodes: Nodes, members: Iterable[BoundPod]) -> RunningInQueue:
    charged = nodes.bound_pods().charged
    pods = tuple(members)
    known = nodes.gangs[pods[0].gang.name]
    found = running_in_queue_of(
        BoundGang(pods, tuple(charged[each.pod.uid] for each in pods), known)
    )
    assert found is not None
    return found


def test_a_group_claims_for_all_its_gangs_that_wait() -> None:
    both = group(gang("x", priority=3, created_at=7), gang("y", priority=3, created_at=9))

    made = reclaim_request_of(both, A, {CPU: 2}, one_each)

    assert (gang_key("x"), gang_key("y")) == made.gangs
    assert (3, both.created_at) == (made.priority, made.created_at)


def test_some_of_its_members_ask_for_less() -> None:
    waiting = gang("x", pods=3)
    made = reclaim_request_of(group(waiting), A, {CPU: 3}, one_each)

    assert {CPU: 2} == made.for_pods(waiting.pending[:2]).charge
    assert {CPU: 3} == made.charge


def test_without_a_price_members_ask_for_all_of_the_claim() -> None:
    made: ReclaimRequest = request(A, 3)

    assert made is made.for_pods(())


def test_a_gang_that_no_queue_is_charged_for_is_not_held() -> None:
    nodes = Nodes()
    members = nodes.run(A, "v", 1)

    assert running_in_queue_of(BoundGang(tuple(members), (None,))) is None


def test_a_gang_without_an_evictable_pod_is_no_victim() -> None:
    nodes = Nodes()
    (member,) = nodes.run(A, "v", 1)
    charged = ((A, {CPU: 1}),)

    assert running_in_queue_of(BoundGang((member,), charged)) is not None
    assert running_in_queue_of(BoundGang((replace(member, evictable=False),), charged)) is None


def test_a_gang_that_stays_as_it_is_is_looked_at_once() -> None:
    nodes = Nodes()
    nodes.run(A, "v", 1)
    (stays,) = nodes.bound_pods().gangs.values()

    assert running_in_queue_of(stays) is running_in_queue_of(stays)


def test_a_gang_counts_by_its_highest_member_unless_its_workload_class_says_otherwise() -> None:
    nodes = Nodes()
    low, high = nodes.run(A, "v", 1, priority=1)[0], nodes.run(A, "v", 1, 1, priority=5)[1]
    assert (5, 5) == (
        running(nodes, [low, high]).priority,
        running(nodes, [low, high]).pod_priority,
    )

    nodes.gangs["v"] = RunningGang(class_priority=2)

    assert (2, 5) == (
        running(nodes, [low, high]).priority,
        running(nodes, [low, high]).pod_priority,
    )


def test_what_pods_are_charged_is_summed_and_what_is_nothing_is_no_key() -> None:
    charges: Mapping[str, Charge] = {"one": {CPU: 2, SPOT: 0}, "two": {CPU: 3}}
    gang_held = RunningInQueue(gang_key("v"), A, 0, RunningGang(), charges)

    assert frozenset({CPU}) == gang_held.keys
    assert gang_held.charge_of(["one", "two", "unknown"])[CPU] == 5


def test_one_member_that_never_preempts_keeps_its_gang_from_it() -> None:
    nodes = Nodes()
    one, other = nodes.run(A, "v", 1, 1)
    meek = replace(other, pod=replace(other.pod, preempts=False))

    assert running(nodes, [one, other]).preempts
    assert not running(nodes, [one, meek]).preempts
