"""Which pods a gang of a queue may evict, and whose reserved room it may take."""

from dataclasses import replace

import pytest

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import (
    NONE,
    EvictionPolicy,
    EvictionRules,
    Queue,
    QueueKind,
    QueueRef,
    QueueSet,
    QueueState,
    QueueUsage,
)
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler.preemption.legality import Legality
from support.builders import bound_pod, bound_pods, gang, gang_key, node, pod, snapshot

A, B = (QueueRef(QueueKind.QUEUE, name) for name in "ab")
PODS = replace(
    bound_pods(
        *(bound_pod(name, "n") for name in ("of-a", "of-b", "of-none", "uncharged")),
        bound_pod("pinned", "n", evictable=False),
    ),
    queues={"uid-of-a": A, "uid-of-b": B, "uid-of-none": NONE, "uid-pinned": A},
)


def seen_by(queue: QueueRef | None, rules: EvictionRules) -> tuple[GangGroup, Snapshot]:
    """Return a group of a queue with these rules, and the snapshot that it is in."""
    waiting = [replace(gang(name), queue=of) for name, of in (("x", queue), ("y", A), ("z", B))]
    nominated = [Nominated(pod(f"{name}-0"), gang_key(name), 0) for name in ("y", "z", "gone")]
    seen = snapshot([node("n")], waiting, nominated=nominated)
    declared = QueueSet((Queue(A, evictions=rules), Queue(B)))
    return seen.groups[0], replace(seen, queues=QueueState(declared, QueueUsage()))


@pytest.mark.parametrize(
    ("queue", "policy", "victims"),
    [
        (A, EvictionPolicy.LOWER_PRIORITY, {"of-a"}),
        (A, EvictionPolicy.NEVER, set()),
        (B, EvictionPolicy.NEVER, {"of-b"}),
        (NONE, EvictionPolicy.NEVER, {"of-none"}),
        (None, EvictionPolicy.ANY, set()),
    ],
)
def test_a_gang_evicts_in_its_own_queue_only(
    queue: QueueRef | None, policy: EvictionPolicy, victims: set[str]
) -> None:
    group, seen = seen_by(queue, EvictionRules(within_queue=policy))

    legal = Legality(seen).victims(group, PODS)

    assert victims == {each.pod.name for each in legal.pods if each.evictable}


def test_a_gang_takes_room_that_is_reserved_in_its_own_queue_only() -> None:
    group, seen = seen_by(A, EvictionRules())
    keys = [gang_key(name) for name in ("y", "z", "gone")]

    assert [gang_key("y")] == Legality(seen).displaceable(group, keys)


def test_without_queues_all_is_legal() -> None:
    group, seen = seen_by(None, EvictionRules())
    legality = Legality(replace(seen, queues=None))

    assert legality.victims(group, PODS) is PODS
    assert [gang_key("z")] == legality.displaceable(group, [gang_key("z")])
