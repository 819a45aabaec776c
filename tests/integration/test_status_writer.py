"""What users read is current, and written no more often than it changes."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from gang_scheduler.api.kinds import (
    CLUSTER_NETWORK_TOPOLOGIES,
    GVR,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
)
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.queues import NONE, Queue, QueueFigures
from gang_scheduler.report import status_writer as status
from gang_scheduler.report.queues.gang_texts import QueuePlaces
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state import pruning
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import api_objects, applying, builders, cache_feeding, parts, watches

NAMESPACE = "default"


class StatusHarness:
    """A cache that sees a fake cluster at once, and the writer of statuses. `now` is in seconds."""

    def __init__(self, *, without_status: tuple[GVR, ...] = ()) -> None:
        self.now = 1000
        self.cluster = FakeCluster(without_status=without_status)
        self.api = FakeApi(self.cluster)
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.writer = parts.status_writer(self.api, self.cache, clock=lambda: self.now)
        kinds = (POD_GROUPS, PODS, NODES, CLUSTER_NETWORK_TOPOLOGIES)
        watches.tell_at_once(self.cluster, self.cache, kinds)

    def gang(self, name: str, minimum: int, pods: int) -> None:
        """Add a PodGroup and pods of it."""
        self.cluster.put(POD_GROUPS, api_objects.pod_group_body(name, min_member=minimum))
        for i in range(pods):
            labels = {builders.POD_GROUP_LABEL: name}
            self.cluster.put(PODS, api_objects.pod_body(f"{name}-{i}", metadata={"labels": labels}))

    def spines(self, **nodes: str) -> None:
        """Add nodes by spine, and the topology of the spines; or move them."""
        layers = [
            {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "SpineLayer"},
        ]
        body = {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "ClusterNetworkTopology",
            "metadata": {"name": "default", "uid": "uid-default"},
            "spec": {"networkTopologySpec": layers},
        }
        self.cluster.put(CLUSTER_NETWORK_TOPOLOGIES, body)
        for name, spine in nodes.items():
            labels = {"labels": {"spine": spine}}
            self.cluster.put(NODES, api_objects.node_body(name, metadata=labels))

    async def flush_and_wait(self, seconds: int) -> list[str]:
        """Let time pass and write; return the reason that the third member is told, "" for none."""
        self.now += seconds
        await self.writer.flush()
        return conditions(self, "a-2")

    def assume(self, *names: str) -> None:
        """Begin to bind pods."""
        for name in names:
            pod = self.cache.pod(f"uid-{name}")
            assert pod is not None
            self.cache.assume(Bind(pod, "n0"))

    def bind(self, name: str) -> None:
        """Have a pod on its node."""
        with self.cluster.changing(PODS, NAMESPACE, name) as body:
            body["spec"]["nodeName"] = "n0"

    async def look(self, seconds: int = 1) -> None:
        """Let time pass, run a cycle that binds no pod, and write the statuses that are due."""
        self.now += seconds
        plan = schedule(self.cache.snapshot(self.now), PROFILES["binpack"])
        applying.take_in(self.cache, plan, self.now, applying.WritesNothing())
        await self.writer.flush()

    def phase(self, name: str) -> str | None:
        """Return the phase that is written on a PodGroup."""
        return self.written(name, "phase")

    def written(self, name: str, field: str) -> str | None:
        """Return a field of the status that is written on a PodGroup."""
        status: Mapping[str, Any] = self.cluster.get(POD_GROUPS, NAMESPACE, name).get("status", {})
        return status.get(field)

    def writes(self, method: str) -> int:
        """Return how many writes of a kind were sent."""
        return sum(call.method == method for call in self.api.calls)


def conditions(harness: StatusHarness, *names: str) -> list[str]:
    """Return the reasons of the conditions of pods, "" for none."""
    pods = (harness.cache.pod(f"uid-{name}") for name in names)
    return [pod.unscheduled[0] if pod and pod.unscheduled else "" for pod in pods]


async def test_a_status_is_written_once_for_as_long_as_nothing_changes() -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=1)

    for _ in range(5):
        await harness.look()

    assert ("Pending", 1) == (harness.phase("a"), harness.writes("patch_status"))


async def test_the_status_of_a_gang_that_is_being_bound_is_written_once_it_is_bound() -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=2)
    harness.assume("a-0", "a-1")
    await harness.look()
    harness.bind("a-0")
    await harness.look()
    before = harness.phase("a")

    harness.bind("a-1")
    await harness.look()

    assert (None, "Scheduled") == (before, harness.phase("a"))
    assert 1 == harness.writes("patch_status")


async def test_the_status_of_a_gang_that_is_being_bound_for_long_is_written() -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=2)
    harness.assume("a-0", "a-1")
    await harness.look()

    await harness.look(seconds=status.QUIET_SECONDS)

    assert "PreScheduling" == harness.phase("a")
    assert 1 == harness.writes("patch_status")


async def test_what_another_scheduler_tells_of_its_gang_is_left_alone() -> None:
    harness = StatusHarness()
    told = {**api_objects.pod_group_body("a", min_member=1), "status": {"phase": "Running"}}
    harness.cluster.put(PODS, api_objects.pod_body("a-0", gang="a", schedulerName="another"))
    harness.cluster.put(POD_GROUPS, told)
    await harness.look()
    before = harness.phase("a")

    harness.cluster.delete(PODS, NAMESPACE, "a-0")
    harness.gang("a", 1, pods=1)
    await harness.look()

    assert ("Running", "Scheduling") == (before, harness.phase("a"))


async def test_the_status_of_a_gang_whose_pods_name_another_scheduler_shows_no_members() -> None:
    harness = StatusHarness()
    harness.gang("a", 1, pods=0)
    harness.cluster.put(PODS, api_objects.pod_body("a-0", gang="a", schedulerName="another"))

    await harness.look()

    assert "Pending" == harness.phase("a")


async def test_the_status_of_a_gang_of_ours_is_written_when_only_foreign_members_are_left() -> None:
    harness = StatusHarness()
    harness.gang("a", 1, pods=1)
    harness.cluster.put(PODS, api_objects.pod_body("b", gang="a", schedulerName="another"))
    await harness.look()

    harness.cluster.delete(PODS, NAMESPACE, "a-0")
    await harness.look()

    assert "Pending" == harness.phase("a")


async def test_a_pod_group_that_is_created_again_gets_its_status_again() -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=0)
    await harness.look()
    harness.cluster.delete(POD_GROUPS, NAMESPACE, "a")
    body = api_objects.pod_group_body("a", min_member=2)
    body["metadata"]["uid"] = "another life"

    harness.cluster.put(POD_GROUPS, body)
    await harness.look()

    assert "Pending" == harness.phase("a")


async def test_without_a_status_subresource_a_status_is_not_written_for_ever() -> None:
    harness = StatusHarness(without_status=(POD_GROUPS,))
    harness.gang("a", 2, pods=1)

    for _ in range(5):
        await harness.look()

    assert ("Pending", True) == (harness.phase("a"), harness.writes("patch_status") <= 2)


@pytest.mark.parametrize("status", [409, 503])
async def test_a_write_that_failed_is_sent_again(status: int) -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=1)
    harness.api.fail("patch_status", Fault(ApiError(status, "not now")))

    await harness.look()
    before = harness.phase("a")
    await harness.look()

    assert (None, "Pending") == (before, harness.phase("a"))


async def test_a_write_that_the_server_has_no_time_for_is_sent_again_when_it_asks_for_it() -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=1)
    harness.api.fail("patch_status", Fault(ApiError(429, "too many requests", retry_after=5)))

    await harness.look()
    for _ in range(4):
        await harness.look()
    before = harness.writes("patch_status")
    await harness.look()

    assert (1, "Pending") == (before, harness.phase("a"))


async def test_missing_members_are_reported_to_pods_once_and_after_a_while() -> None:
    harness = StatusHarness()
    harness.gang("a", 3, pods=2)

    await harness.look()
    early = harness.writes("patch_pod_condition")
    await harness.look(status.QUIET_SECONDS)
    for _ in range(3):
        await harness.look()

    assert (0, 2) == (early, harness.writes("patch_pod_condition"))


async def test_where_a_gang_is_is_written_with_the_rest() -> None:
    harness = StatusHarness()
    harness.spines(n1="s1", n2="s1", n3="s2")
    harness.gang("a", 2, pods=0)
    for i, node in enumerate(["n1", "n2"]):
        harness.cluster.put(PODS, api_objects.pod_body(f"a-{i}", gang="a", nodeName=node))

    for _ in range(3):
        await harness.look()

    found = (harness.written("a", "domain"), harness.writes("patch_status"))
    assert ("SpineLayer/s1", 1) == found


async def test_a_node_that_moves_takes_its_gangs_to_another_domain() -> None:
    harness = StatusHarness()
    harness.spines(n1="s1", n2="s1")
    harness.gang("a", 2, pods=0)
    for i, node in enumerate(["n1", "n2"]):
        harness.cluster.put(PODS, api_objects.pod_body(f"a-{i}", gang="a", nodeName=node))
    await harness.look()

    before = harness.written("a", "domain"), harness.writes("patch_status")
    harness.spines(n2="s2")
    await harness.look()

    assert ("SpineLayer/s1", 1) == before
    assert (None, 2) == (harness.written("a", "domain"), harness.writes("patch_status"))


async def test_reports_on_gangs_that_are_gone_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pruning, "MOST_GONE", 3)
    harness = StatusHarness()
    for i in range(10):
        harness.gang(f"g{i}", 1, pods=0)
        await harness.look()
        harness.cluster.delete(POD_GROUPS, NAMESPACE, f"g{i}")

    await harness.look()

    assert len(harness.writer._records) <= 4


class FullStatusHarness(StatusHarness):
    """One in which the gang `a` waits, of three pods; `room` is for how many there is room."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room(room)
        self.gang("a", 3, pods=3)

    def room(self, pods: int) -> None:
        """Set for how many pods there is room."""
        offered = {"cpu": str(pods), "memory": "32Gi", "pods": "110"}
        self.cluster.put(NODES, api_objects.node_body("n1", allocatable=offered))

    def said(self) -> str:
        """Return the message of the condition Scheduled."""
        conditions = self.cluster.get(POD_GROUPS, NAMESPACE, "a")["status"]["conditions"]
        (found,) = [each["message"] for each in conditions if each["type"] == "Scheduled"]
        return str(found)


class QueuedHarness(FullStatusHarness):
    """One in which the gang `a` waits in the queue for gangs that name none."""

    def __init__(self) -> None:
        super().__init__(room=2)
        self.places = QueuePlaces()
        self.writer = parts.status_writer(
            self.api, self.cache, clock=lambda: self.now, places=self.places
        )
        body = {"kind": "Queue", "metadata": {"name": "team-a", "uid": "uid-team-a"}, "spec": {}}
        handlers = cache_feeding.event_handlers(self.cache)
        cache_feeding.tell(handlers, "ADDED", {"apiVersion": QUEUES.api_version, **body})

    def tell_places(self, *pending: str) -> None:
        """Tell the places of gangs in their queue."""
        keys = tuple(builders.gang_key(name) for name in pending)
        figures = QueueFigures(Queue(NONE), {}, pending=keys)
        self.cache.gang_queue.changed |= self.places.show([figures], self.now)

    def position(self) -> int | None:
        """Return the place that the status tells; None while no status is written."""
        status = self.cluster.get(POD_GROUPS, NAMESPACE, "a").get("status", {})
        position: int | None = status.get("queue", {}).get("position")
        return position


async def test_the_first_status_of_a_gang_that_waits_has_its_place() -> None:
    harness = QueuedHarness()
    harness.tell_places("other")
    await harness.look()
    before = harness.position()

    harness.tell_places("other", "a")
    await harness.writer.flush()

    assert (None, 2) == (before, harness.position())


async def test_a_status_does_not_wait_for_long_for_a_place() -> None:
    harness = QueuedHarness()
    harness.tell_places("other")
    await harness.look()

    await harness.look(status.PLACE_SECONDS)

    assert harness.position() == 0


async def test_other_numbers_in_a_message_are_written_after_a_while() -> None:
    harness = FullStatusHarness(room=2)
    await harness.look()
    harness.room(1)

    await harness.look()
    before = harness.said()
    for _ in range(status.REWORD_SECONDS):
        await harness.look()

    assert ("2 of the 3" in before, "1 of the 3" in harness.said()) == (True, True)
    assert 2 == harness.writes("patch_status")


async def test_another_reason_in_a_message_is_written_at_once() -> None:
    harness = FullStatusHarness(room=2)
    await harness.look()
    harness.cluster.put(NODES, api_objects.node_body("n1", unschedulable=True))

    await harness.look()

    assert "0/1 nodes are available: 1 node(s) were unschedulable." in harness.said()


async def test_a_timeout_is_written_though_the_reason_is_the_same() -> None:
    harness = FullStatusHarness(room=2)
    await harness.look()

    await harness.look(601)

    conditions = harness.cluster.get(POD_GROUPS, NAMESPACE, "a")["status"]["conditions"]
    assert "SchedulingTimeout" in [each["type"] for each in conditions]


async def test_surplus_without_a_verdict_gets_a_reason_why_it_waits() -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=3)
    harness.assume("a-0", "a-1")
    for name in ("a-0", "a-1"):
        harness.bind(name)
    early = await harness.flush_and_wait(0)

    late = await harness.flush_and_wait(status.QUIET_SECONDS)

    assert ([""], ["Unschedulable"]) == (early, late)


async def test_members_that_come_while_others_wait_for_claims_get_that_reason() -> None:
    harness = StatusHarness()
    harness.gang("a", 2, pods=3)
    harness.assume("a-0", "a-1")
    harness.cache.decisions.hold(builders.gang_key("a"))
    early = await harness.flush_and_wait(0)

    await harness.flush_and_wait(status.QUIET_SECONDS)
    late = await harness.flush_and_wait(status.QUIET_SECONDS)

    assert ([""], ["WaitingForVolumes"]) == (early, late)


async def test_a_verdict_takes_the_place_of_what_was_said_without_one() -> None:
    harness = StatusHarness()
    harness.gang("a", 1, pods=3)
    await harness.flush_and_wait(0)
    before = await harness.flush_and_wait(status.QUIET_SECONDS)

    plan = schedule(harness.cache.snapshot(harness.now), PROFILES["binpack"])
    for refused in plan.refused:
        harness.cache.decisions.refused(refused, harness.now)
    after = await harness.flush_and_wait(status.REWORD_SECONDS)

    assert (["WaitingForGangs"], ["Unschedulable"]) == (before, after)


@pytest.mark.looptime
async def test_a_namespace_gets_its_statuses_soon_although_another_one_has_a_thousand_gangs() -> (
    None
):
    """The statuses of one namespace take several seconds; what comes then has its turn."""
    harness, answer_seconds = StatusHarness(), 0.1
    harness.api.scripts.append(lambda _: Fault(delay_seconds=answer_seconds))
    for number in range(1000):
        body = api_objects.pod_group_body(f"g-{number}", min_member=1)
        body["metadata"]["namespace"] = "crowd"
        body["metadata"]["uid"] = f"uid-crowd-{number}"
        harness.cluster.put(POD_GROUPS, body)
    running = asyncio.create_task(harness.writer.run())
    try:
        await asyncio.sleep(5)
        before = len(harness.api.calls)
        assert 0 < before < 900
        harness.gang("a", 2, pods=1)
        await asyncio.sleep(5)
        after = [call.namespace for call in harness.api.calls[before:]]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    assert NAMESPACE in after[: 4 * status.SLICE]
    assert "crowd" == after[-1]


async def test_while_many_gangs_are_looked_at_other_tasks_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = StatusHarness()
    monkeypatch.setattr(status, "SLICE", 5)
    for number in range(20):
        harness.gang(f"g{number}", 2, 1)
    looked: list[int] = []
    others: list[int] = []
    missing = harness.writer._missing_members
    look = missing.look

    def seen(*of: Any) -> Any:
        looked.append(1)
        return look(*of)

    monkeypatch.setattr(missing, "look", seen)

    async def other() -> None:
        while len(looked) < 20:
            others.append(len(looked))
            await asyncio.sleep(0)

    await asyncio.gather(harness.writer.flush(), other())

    assert {5, 10, 15} <= {*others}
    assert 20 == len(harness.cluster.all(POD_GROUPS))
