"""Victims that the preemptor may not evict."""

from typing import Any

import pytest

from gang_scheduler.api import annotations as keys
from support.audit_streams import Manifest, Stream, bound, changed, deleted, node, pod, pod_group
from support.audit_victims import marked, nominated, queue, queued, quota

SETTLED = 20
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NAMED = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
FOR_THE_NODE = {
    "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [NAMED]}]}},
}


@pytest.fixture
def stream() -> Stream:
    stream = Stream("evictions")
    stream.see(node("n1", cpu=8), pod_group("big", 1))
    return stream


def evict(stream: Stream, victim: Manifest, preemptor: Manifest) -> list[str]:
    # What came a moment ago may not be known to the scheduler.
    stream.wait(SETTLED)
    return evict_now(stream, victim, preemptor)


def evict_now(stream: Stream, victim: Manifest, preemptor: Manifest) -> list[str]:
    stream.see(victim, preemptor, marked(victim, "big", preemptor["metadata"]["name"]))
    stream.end()
    return [each.message for each in stream.found]


def big(priority: int = 10, **fields: Any) -> Manifest:
    return nominated(pod("big-0", gang="big", priority=priority, **fields), "n1")


def small(priority: int = 0, **fields: Any) -> Manifest:
    return bound(pod("small", priority=priority, **fields), "n1")


def controlled_by(api_version: str, kind: str, body: Manifest) -> Manifest:
    owner = {"apiVersion": api_version, "kind": kind, "name": "n1", "controller": True}
    return changed(body, metadata={"ownerReferences": [owner]})


def test_a_victim_of_a_lower_priority_is_right(stream: Stream) -> None:
    assert [] == evict(stream, small(), big())


def test_an_equal_priority_is_found(stream: Stream) -> None:
    words = "evicted for lab/big, whose priority 10 is not above 10"
    assert [words] == evict(stream, small(10), big())


def test_the_priority_of_a_gang_is_the_lowest_of_its_members(stream: Stream) -> None:
    stream.see(pod("big-1", gang="big", priority=5))

    assert ["evicted for lab/big, whose priority 5 is not above 7"] == evict(
        stream, small(7), big()
    )


def test_a_mark_is_judged_once(stream: Stream) -> None:
    victim, preemptor = small(10), big()
    evict(stream, victim, preemptor)
    stream.see(deleted(marked(victim, "big", "big-0")))

    assert 1 == len(stream.end())


@pytest.mark.parametrize(
    ("victim", "words"),
    [
        (small(labels={keys.DISABLE_PREEMPTIBLE: "true"}), "though a label protects it"),
        (small(labels={keys.QUOTA_PREEMPTIBLE: "false"}), "though a label protects it"),
        (
            controlled_by("v1", "Node", small(annotations={keys.MIRROR_POD: "x"})),
            "though it is a mirror pod",
        ),
        (
            changed(
                controlled_by("apps/v1", "DaemonSet", small()), spec={"affinity": FOR_THE_NODE}
            ),
            "though it is of a DaemonSet",
        ),
    ],
)
def test_protected_pods_are_no_victims(stream: Stream, victim: Manifest, words: str) -> None:
    assert [f"evicted for lab/big, {words}"] == evict(stream, victim, big())


@pytest.mark.parametrize(
    "victim",
    [
        small(annotations={keys.MIRROR_POD: "x"}),
        controlled_by("apps/v1", "DaemonSet", small()),
        controlled_by(
            "example.com/v1", "DaemonSet", changed(small(), spec={"affinity": FOR_THE_NODE})
        ),
    ],
    ids=["mirror of no node", "of no node", "of another product"],
)
def test_pods_that_call_themselves_protected_may_be_victims(
    stream: Stream, victim: Manifest
) -> None:
    assert [] == evict(stream, victim, big())


@pytest.mark.parametrize(("seconds", "is_found"), [(10, False), (20, True)])
def test_a_victim_may_have_gone_while_its_mark_was_on_its_way(
    stream: Stream, seconds: float, *, is_found: bool
) -> None:
    victim = small()
    stream.see(victim, deleted(victim))
    stream.wait(seconds)
    found = evict_now(stream, deleted(victim), big())

    assert (["evicted for lab/big, while it was being deleted"] if is_found else []) == found


def test_a_gang_that_never_preempts_has_no_victims(stream: Stream) -> None:
    words = "evicted for lab/big, whose preemptionPolicy is Never"
    assert [words] == evict(stream, small(), big(preemptionPolicy="Never"))


def test_a_preemptor_that_is_gone_cannot_be_judged(stream: Stream) -> None:
    stream.see(small(10), marked(small(10), "big", "big-0"))

    assert [] == stream.end()


LOW, HIGH = 0, 10
OF_A = {keys.QUEUE: "a"}


def of(**preemption: Any) -> Manifest:
    """Return what a Queue says of preemption."""
    return {"preemption": preemption}


@pytest.mark.parametrize(
    ("policies", "used", "priority", "words"),
    [
        # What is borrowed is taken back, whatever the priorities.
        (({}, {}), 4, LOW, ""),
        (({}, {}), 2, HIGH, "from b, which is within quota"),
        (({}, of(allowPreemption=False)), 4, HIGH, "from b, of which no queue may take"),
        (({}, of(allowPreemptFrom=["c"])), 4, HIGH, "from b, of which a may not take"),
        (({}, of(allowPreemptFrom=["a"])), 4, HIGH, ""),
        ((of(reclaim="LowerPriority"), {}), 4, HIGH, ""),
        ((of(reclaim="LowerPriority"), {}), 4, LOW, "whose queue may not take from others"),
        ((of(reclaim="Never"), {}), 4, HIGH, "whose queue may not take from others"),
        ((of(reclaim="Never", whileBorrowing={"policy": "LowerPriority"}), {}), 4, HIGH, ""),
    ],
)
def test_another_queue_gives_what_it_borrows(
    stream: Stream, policies: tuple[Manifest, Manifest], used: int, priority: int, words: str
) -> None:
    of_a, of_b = policies
    stream.see(queue("a", quota=quota(4), **of_a), queue("b", quota=quota(2), **of_b))
    victim = queued("small", "b", cpu=used, priority=5)
    found = evict(stream, victim, nominated(pod("big-0", priority=priority, labels=OF_A), "n1"))

    assert bool(words) == bool(found)
    assert all(each.startswith(f"evicted for lab/big, {words}") for each in found)


@pytest.mark.parametrize(("waited", "words"), [(0, []), (SETTLED, ["which is within quota"])])
def test_a_quota_that_has_just_been_raised_may_be_unknown(
    stream: Stream, waited: int, words: list[str]
) -> None:
    stream.see(queue("a", quota=quota(4)), queue("b", quota=quota(2)))
    victim = queued("small", "b", cpu=4, priority=5)
    preemptor = nominated(pod("big-0", priority=HIGH, labels=OF_A), "n1")
    stream.wait(SETTLED)
    stream.see(victim, preemptor, queue("b", quota=quota(4)))
    stream.wait(waited)

    found = evict_now(stream, victim, preemptor)

    assert words == [each.partition(", from b, ")[2] for each in found]


@pytest.mark.parametrize(("waited", "words"), [(0, []), (SETTLED, ["which is within quota"])])
def test_a_pod_that_has_just_left_may_have_been_charged(
    stream: Stream, waited: int, words: list[str]
) -> None:
    stream.see(queue("a", quota=quota(4)), queue("b", quota=quota(2)))
    victim, other = (queued(name, "b", cpu=2, priority=5) for name in ("small", "other"))
    preemptor = nominated(pod("big-0", priority=HIGH, labels=OF_A), "n1")
    stream.wait(SETTLED)
    stream.see(victim, other, preemptor)
    stream.gone(other)
    stream.wait(waited)

    found = evict_now(stream, victim, preemptor)

    assert words == [each.partition(", from b, ")[2] for each in found]


def test_a_job_that_waited_suspended_names_its_queue_itself(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(4)), queue("b", quota=quota(2)))
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": "lab", "name": "big", "labels": OF_A},
    }
    of_job = {"ownerReferences": [{"kind": "Job", "name": "big", "controller": True}]}
    member = changed(pod("big-0", priority=5), metadata=of_job)
    stream.see(job)

    assert [] == evict(stream, queued("small", "b", cpu=4, priority=5), nominated(member, "n1"))


def test_what_waits_and_jobs_that_wait_or_have_just_started_may_be_charged(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(4)), queue("b", quota=quota(2)))
    victim = queued("small", "b", cpu=2, priority=5)
    of_b = {keys.QUEUE: "b"}
    template = {"spec": pod("of-job", cpu=1)["spec"]}
    started = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "namespace": "lab",
            "name": "started",
            "annotations": {**of_b, keys.ADMITTED_AT: "2026-01-01T00:00:00Z"},
        },
        "spec": {"parallelism": 2, "template": template},
        "status": {"active": 1},
    }
    suspended = {
        **started,
        "metadata": {"namespace": "lab", "name": "suspended", "labels": of_b},
        "spec": {"parallelism": 1, "suspend": True, "template": template},
        "status": {},
    }
    preemptor = nominated(pod("big-0", priority=HIGH, labels=OF_A), "n1")
    waits = pod("waits", cpu=1, labels=of_b)
    stream.wait(SETTLED)
    for perhaps, gone in ((waits, None), (started, waits), (suspended, started), ({}, suspended)):
        stream.see(*filter(None, [perhaps]))
        stream.gone(*filter(None, [gone]))
        stream.see(victim, preemptor, marked(victim, "big", "big-0"))
        stream.gone(victim, preemptor)
        stream.wait(SETTLED)

    stream.end()
    assert ["evicted for lab/big, from b, which is within quota"] == [
        each.message for each in stream.found
    ]


@pytest.mark.parametrize(
    ("policy", "priority", "is_right"),
    [
        (None, HIGH, True),
        (None, 5, False),
        ("LowerOrNewerEqualPriority", 5, True),
        ("LowerOrNewerEqualPriority", LOW, False),
        ("Never", HIGH, False),
    ],
)
def test_the_own_queue_says_which_of_its_gangs_go(
    stream: Stream, policy: str | None, priority: int, *, is_right: bool
) -> None:
    stream.see(queue("a", quota=quota(4), preemption={"withinQueue": policy} if policy else {}))
    victim = queued("small", "a", priority=5)
    found = evict(stream, victim, nominated(pod("big-0", priority=priority, labels=OF_A), "n1"))

    assert is_right == (found == [])


def test_gangs_of_other_products_queues_are_not_judged(stream: Stream) -> None:
    victim = small(10, labels={keys.KUEUE_QUEUE: "team"})

    assert [] == evict(stream, victim, big())


def test_a_gang_whose_pod_group_is_not_known_is_not_judged(stream: Stream) -> None:
    stream.gone(pod_group("big", 1))

    assert [] == evict(stream, small(10), big())


def test_a_gang_whose_pod_group_was_gone_a_moment_ago_is_not_judged(stream: Stream) -> None:
    stream.wait(SETTLED)
    stream.gone(pod_group("big", 1))
    stream.see(pod_group("big", 1))

    assert [] == evict_now(stream, small(10), big())
    stream.wait(SETTLED)
    assert ["evicted for lab/big, whose priority 10 is not above 10"] == evict(
        stream, bound(pod("other", priority=10), "n1"), big()
    )


def test_victims_are_not_judged_while_queues_come_and_go(stream: Stream) -> None:
    stream.wait(SETTLED)
    stream.see(queue("a", quota=quota(4)))
    stream.gone(queue("a", quota=quota(4)))

    assert [] == evict_now(stream, small(10), big())
