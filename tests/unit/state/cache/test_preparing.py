"""Where very many gangs of queues have changed, their groups are made ahead of the snapshot."""

import pytest

from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.gangs import gangs_to_try
from gang_scheduler.state.queues import usage
from support import declared_objects
from support.in_memory_cluster import InMemoryCluster, group_body

GANGS = 6


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> InMemoryCluster:
    """Return a cluster with so many gangs in a queue that they are very many."""
    monkeypatch.setattr(gangs_to_try, "MANY", GANGS)
    monkeypatch.setattr(usage, "PODS_A_PART", 1)
    return crowded()


def crowded() -> InMemoryCluster:
    made = InMemoryCluster(cpu=3)
    made.put(declared_objects.queue_body("one", 4))
    for number in range(GANGS):
        made.members(f"g{number}", 1)
        made.put(in_queue(f"g{number}"))
    return made


def in_queue(name: str) -> dict[str, object]:
    body = dict(group_body(name, 1))
    labels = {declared_objects.QUEUE_LABEL: "one"}
    return {**body, "metadata": {**body["metadata"], "labels": labels}}


def parts(cluster: InMemoryCluster) -> int:
    """Do all that can be done ahead, and return in how many parts."""
    return sum(1 for _ in cluster.cache.prepare(cluster.now))


def planned(cluster: InMemoryCluster) -> tuple[Plan, float]:
    """Return the plan of a snapshot, and how much of the work was left to that."""
    snapshot = cluster.cache.snapshot(cluster.now)
    return schedule(snapshot, PROFILES["binpack"]), snapshot.build_work


def test_the_plan_is_the_same_and_the_snapshot_has_no_work_left(cluster: InMemoryCluster) -> None:
    other = crowded()

    number = parts(cluster)

    (plan, left), (expected, whole) = planned(cluster), planned(other)
    assert expected == plan
    # Each gang is heard and made, and pods are charged one by one.
    assert (3 * GANGS, 0) == (number, left)
    assert whole >= GANGS


def test_few_gangs_are_left_to_the_snapshot(cluster: InMemoryCluster) -> None:
    cluster.gone("g0-0")
    cluster.delete(in_queue("g0"))

    assert parts(cluster) == 0


@pytest.mark.parametrize("after", range(3 * GANGS))
def test_a_gang_may_go_between_two_parts(cluster: InMemoryCluster, after: int) -> None:
    for number, _ in enumerate(cluster.cache.prepare(cluster.now)):
        if number == after:
            cluster.gone("g5-0")
            cluster.delete(in_queue("g5"))

    plan, _ = planned(cluster)
    assert {"g0", "g1", "g2"} == {each.gang.key.name for each in plan.placed}


def test_where_queues_have_changed_all_groups_are_made_again(cluster: InMemoryCluster) -> None:
    waiting = GANGS - len(cluster.bound())
    cluster.put(declared_objects.queue_body("one", 5))

    # Every pod is charged anew, and the groups that wait are made.
    assert (3, GANGS + waiting) == (waiting, parts(cluster))
