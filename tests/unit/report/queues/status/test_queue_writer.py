"""The status of Queues is written when it says something else, and not all the time."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.queues import Amounts, QueueFigures, QueueKind, QueueRef, RecentUsage
from gang_scheduler.report.queues.status import LEAST_SECONDS, QueueWriter
from support.queue_figures import CPU, IMPLIED_ROOT, TEAM_A, TEAM_B, TREE


@dataclass(frozen=True)
class Declared:
    """A Queue as it was read."""

    generation: int = 1
    status: Mapping[str, Any] = field(default_factory=dict)


class Harness:
    """An API server with two Queues, and the writer of their status."""

    def __init__(self) -> None:
        self.api = FakeApi(FakeCluster(served=[QUEUES]))
        for each in (TEAM_A, TEAM_B):
            metadata = {"name": each.queue.ref.name, "uid": each.queue.uid}
            self.api.cluster.put(QUEUES, {"kind": "Queue", "metadata": metadata})
        self.now = 1000.0
        self.declared = {each.queue.uid: Declared() for each in (TEAM_A, TEAM_B)}
        self.lately: RecentUsage | None = None
        self.may_write = True
        self.writer = QueueWriter(
            *(self.api, self.declared),
            recent=lambda *_: self.lately,
            writes=Writes(lambda: self.may_write),
            clock=lambda: self.now,
        )

    def show(self, *figures: QueueFigures) -> None:
        """Let the writer see figures, and write."""
        self.writer.show(figures)
        asyncio.run(self.writer.flush())

    def status(self, name: str) -> Any:
        """Return the status of a Queue."""
        return self.api.cluster.get(QUEUES, "", name).get("status", {})

    @property
    def writes(self) -> int:
        """How many statuses were sent."""
        return sum(call.method == "patch_status" for call in self.api.calls)


def using(amount: int) -> QueueFigures:
    return replace(TEAM_A, amounts={CPU: Amounts(6000, amount)})


def test_every_queue_that_is_declared_gets_a_status() -> None:
    cluster = Harness()
    cluster.show(*TREE)

    assert {"default": {"cpu": "8", "memory": "1536Mi"}} == cluster.status("team-a")["used"]
    assert 2 == cluster.status("team-b")["pendingJobs"]
    assert 2 == cluster.writes


def test_the_same_is_not_written_again() -> None:
    cluster = Harness()
    cluster.show(*TREE)
    cluster.now += LEAST_SECONDS
    cluster.show(*TREE)

    assert 2 == cluster.writes


def test_what_the_object_says_already_is_not_written() -> None:
    cluster = Harness()
    cluster.show(TEAM_A)
    again = Harness()
    again.declared[TEAM_A.queue.uid] = Declared(status=cluster.status("team-a"))
    again.show(TEAM_A)

    assert 0 == again.writes


def test_a_queue_is_written_at_most_once_in_some_seconds() -> None:
    cluster = Harness()
    cluster.show(using(1000))
    cluster.show(using(2000))
    assert "1" == cluster.status("team-a")["used"]["default"]["cpu"]

    cluster.now += LEAST_SECONDS
    asyncio.run(cluster.writer.flush())
    assert "2" == cluster.status("team-a")["used"]["default"]["cpu"]


def test_a_resource_that_is_governed_no_more_is_removed() -> None:
    cluster = Harness()
    cluster.show(TEAM_A)
    cluster.now += LEAST_SECONDS
    cluster.show(using(1000))

    assert {"default": {"cpu": "1"}} == cluster.status("team-a")["used"]


@pytest.mark.parametrize("status", [409, 429, 500])
def test_a_write_that_failed_is_made_again(status: int) -> None:
    cluster = Harness()
    cluster.api.fail("patch_status", Fault(ApiError(status, "why")))
    cluster.show(TEAM_A)
    assert {} == cluster.status("team-a")

    cluster.now += LEAST_SECONDS
    asyncio.run(cluster.writer.flush())
    assert 2 == cluster.status("team-a")["runningJobs"]


def test_a_write_that_the_server_has_no_time_for_waits_as_it_asks() -> None:
    cluster = Harness()
    throttled = ApiError(429, "too many requests", retry_after=3 * LEAST_SECONDS)
    cluster.api.fail("patch_status", Fault(throttled))
    cluster.show(TEAM_A)
    for _ in range(2):
        cluster.now += LEAST_SECONDS
        asyncio.run(cluster.writer.flush())
    assert {} == cluster.status("team-a")

    cluster.now += LEAST_SECONDS
    asyncio.run(cluster.writer.flush())
    assert 2 == cluster.status("team-a")["runningJobs"]


def test_nothing_is_written_of_what_no_object_of_ours_declares() -> None:
    cluster = Harness()
    foreign = replace(TEAM_A.queue, ref=QueueRef(QueueKind.CLUSTER_QUEUE, "team-a"))
    cluster.show(IMPLIED_ROOT, replace(TEAM_A, queue=foreign))

    assert 0 == cluster.writes


def test_at_the_end_what_queues_used_lately_is_written_at_once() -> None:
    cluster = Harness()
    cluster.show(using(1000))
    for now, amount in ((1001, 1000), (1002, 2000)):
        cluster.lately = RecentUsage(now, {"cpu": amount})
        cluster.now = now
        asyncio.run(cluster.writer.close())

    assert {"cpu": "2"} == cluster.status("team-a")["recentUsage"]["amounts"]
    assert 3 == cluster.writes


def test_at_the_end_only_the_leader_writes() -> None:
    cluster = Harness()
    cluster.writer.show([using(1000)])
    cluster.may_write = False
    asyncio.run(cluster.writer.close())

    assert 0 == cluster.writes
