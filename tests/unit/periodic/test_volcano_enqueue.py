"""PodGroups of Volcano Jobs go on once their queue would admit them, and not twice."""

import asyncio
from typing import Any

import anyio
import pytest

from gang_scheduler.api.kinds import VOLCANO_JOBS, VOLCANO_POD_GROUPS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.queues import Product
from gang_scheduler.periodic.volcano_enqueue import MOST_ASKED, PAUSE_SECONDS, VolcanoEnqueue
from gang_scheduler.report.events import About
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER, node

NAMESPACE = "default"


class Said:
    """Takes Events."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str, str]] = []

    def record(  # noqa: D102 - as in Events.
        self, about: About, reason: str, note: str, *, warning: bool = False
    ) -> None:
        assert warning
        self.notes.append((about.name, reason, note))


class Harness:
    """A cluster with Jobs of Volcano, and what lets them go on."""

    def __init__(self) -> None:
        self.api = FakeApi(FakeCluster(served=[VOLCANO_POD_GROUPS, VOLCANO_JOBS]))
        self.cache = Cache([SCHEDULER], Changes())
        self.cache.serve_queues(Product.VOLCANO, served=True)
        self.cache.upsert(self.cache.node_store, node("n", cpu=64, memory=0))
        self.handlers = cache_feeding.event_handlers(self.cache)
        self.now, self.said = 1000.0, Said()
        self.part = VolcanoEnqueue(
            self.api,
            self.cache,
            self.said,  # type: ignore[arg-type]
            writes=Writes(),
            clock=lambda: self.now,
        )

    def queue(self, name: str, cpu: int) -> None:
        """Declare a Queue with so many CPUs."""
        self.see(
            {
                "kind": "Queue",
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "metadata": {"name": name, "uid": f"queue-{name}"},
                "spec": {"capability": {"cpu": str(cpu)}},
            }
        )

    def job(
        self,
        name: str = "j",
        *,
        scheduler: str = SCHEDULER,
        phase: str | None = "Pending",
        cpu: int = 2,
        created: int = 0,
        namespace: str = NAMESPACE,
        **spec: Any,
    ) -> None:
        """Have a Job and its PodGroup."""
        owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name}
        self.api.cluster.put(
            VOLCANO_JOBS,
            {
                "metadata": {"name": name, "namespace": namespace, "uid": f"job-{name}"},
                "spec": {"schedulerName": scheduler},
            },
        )
        group = {
            "kind": "PodGroup",
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"group-{name}",
                "creationTimestamp": f"2026-01-01T00:00:{created:02}Z",
                "ownerReferences": [owner],
            },
            "spec": {"minMember": 2, "minResources": {"cpu": str(cpu)}, **spec},
            "status": {} if phase is None else {"phase": phase},
        }
        self.api.cluster.put(VOLCANO_POD_GROUPS, group)
        self.see(self.api.cluster.get(VOLCANO_POD_GROUPS, namespace, name) | {"kind": "PodGroup"})

    def see(self, body: Any) -> None:
        """Let an object be seen."""
        cache_feeding.tell(self.handlers, None, body)

    def look(self) -> list[str]:
        """Look once; return the PodGroups whose phase was written."""
        before = len(self.api.calls)
        asyncio.run(self.part.look())
        return [call.name for call in self.api.calls[before:] if call.method == "patch_status"]

    def asked_in(self, seconds: float) -> int:
        """Look once a second for so long; return how many Jobs were asked for."""
        before = len(self.api.calls)
        for _ in range(int(seconds)):
            self.look()
            self.now += 1
        return sum(call.method == "get" for call in self.api.calls[before:])

    def phase(self, name: str = "j") -> Any:
        """Return the phase of a PodGroup."""
        found = self.api.cluster.get(VOLCANO_POD_GROUPS, NAMESPACE, name)
        return found.get("status", {}).get("phase")


@pytest.mark.parametrize("phase", [None, "", "Pending"])
def test_a_job_without_a_queue_goes_on(phase: str | None) -> None:
    harness = Harness()
    harness.job(phase=phase)

    assert ["j"] == harness.look()
    assert "Inqueue" == harness.phase()
    assert [] == harness.said.notes


@pytest.mark.parametrize("phase", ["Inqueue", "Running", "Unknown", "Completed"])
def test_no_other_phase_is_written_over(phase: str) -> None:
    harness = Harness()
    harness.job(phase=phase)

    assert [] == harness.look()


def test_the_job_of_another_scheduler_is_left_alone() -> None:
    harness = Harness()
    harness.job(scheduler="volcano")

    assert [] == harness.look() + harness.look()
    assert 1 == sum(call.method == "get" for call in harness.api.calls)


def test_a_phase_is_written_once_until_it_should_have_been_seen() -> None:
    harness = Harness()
    harness.job()

    assert ["j"] == harness.look() + harness.look()
    harness.now += PAUSE_SECONDS
    assert ["j"] == harness.look()


def test_a_job_goes_on_when_its_queue_has_room() -> None:
    harness = Harness()
    harness.queue("q", 1)
    harness.job(queue="q")
    assert [] == harness.look()
    ((name, reason, note),) = harness.said.notes
    assert ("j", "QuotaExceeded") == (name, reason)
    assert note.startswith("no pods are created yet: ")

    harness.queue("q", 2)
    assert ["j"] == harness.look()


def test_those_that_were_let_go_on_count_until_their_pods_do() -> None:
    harness = Harness()
    harness.queue("q", 4)
    harness.job("late", queue="q", cpu=3, created=2)
    harness.job("first", queue="q", created=1)
    assert ["first"] == harness.look()
    assert "WaitingForQuota" == harness.said.notes[-1][1]

    harness.job("first", queue="q", phase="Inqueue", created=1)
    assert [] == harness.look()

    annotations = {"scheduling.k8s.io/group-name": "first"}
    spec = {"schedulerName": SCHEDULER, "nodeName": "n"}
    body = pod_body("p", metadata={"annotations": annotations}, spec=spec)
    harness.see({**body, "kind": "Pod", "apiVersion": "v1"})
    assert ["late"] == harness.look()


@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
def test_pods_that_never_come_are_expected_for_a_while(phase: str) -> None:
    harness = Harness()
    harness.queue("q", 4)
    harness.job("made-by-hand", queue="q", cpu=4, created=1, phase=phase)
    harness.job("waits", queue="q", created=2)
    harness.look()
    harness.job("made-by-hand", queue="q", cpu=4, created=1, phase="Inqueue")
    harness.now += 119
    assert [] == harness.look()

    harness.now += 1
    assert ["waits"] == harness.look()


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"queue": "nowhere"}, "QueueNotFound"),
        ({"subGroupPolicy": [{}]}, "UnsupportedFeature"),
        ({"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}, "UnsupportedFeature"),
    ],
)
def test_what_could_not_be_scheduled_does_not_go_on(spec: dict[str, Any], reason: str) -> None:
    harness = Harness()
    harness.queue("q", 4)
    harness.job(**spec)

    assert [] == harness.look()
    assert [reason] == [each for _, each, _ in harness.said.notes]


def test_pod_groups_of_nothing_or_of_another_kind_are_left_alone() -> None:
    harness = Harness()
    harness.job()
    body = harness.api.cluster.get(VOLCANO_POD_GROUPS, NAMESPACE, "j") | {"kind": "PodGroup"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
    harness.see({**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}})

    assert [] == harness.look()


def test_pod_groups_of_jobs_that_do_not_exist_cost_fewer_and_fewer_requests() -> None:
    harness = Harness()
    for number in range(990):
        harness.job(f"j-{number:03}")
        harness.api.cluster.remove(VOLCANO_JOBS, NAMESPACE, f"j-{number:03}")

    asked = [harness.asked_in(PAUSE_SECONDS) for _ in range(60)]

    assert 990 == asked[0]
    assert sum(asked) <= 990 * 7
    assert not any(asked[32:])


def test_namespaces_take_turns_and_the_job_of_another_one_does_not_wait_for_a_thousand() -> None:
    harness = Harness()
    for number in range(990):
        harness.job(f"j-{number:03}")
    harness.job("other", namespace="other", created=59)

    assert "other" in harness.look()
    assert MOST_ASKED == sum(call.method == "get" for call in harness.api.calls)


def test_while_the_server_does_not_answer_one_job_is_asked_for() -> None:
    harness = Harness()
    for number in range(3):
        harness.job(f"j-{number}")
    harness.api.fail("get", Fault(ApiError(0, "no answer")))

    assert [] == harness.look()
    assert ["j-1", "j-2"] == harness.look()


@pytest.mark.parametrize("method", ["get", "patch_status"])
def test_after_a_failure_it_waits_before_it_asks_again(method: str) -> None:
    harness = Harness()
    harness.job()
    harness.api.fail(method, Fault(ApiError(403, "may not")))

    harness.look()
    harness.look()
    assert 1 == sum(call.method == method for call in harness.api.calls)

    harness.now += PAUSE_SECONDS
    assert ["j"] == harness.look()
    assert "Inqueue" == harness.phase()


def test_it_looks_now_and_then_while_it_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gang_scheduler.periodic.volcano_enqueue.LOOK_SECONDS", 0)
    harness = Harness()
    harness.job()

    async def look_for_a_moment() -> None:
        with anyio.move_on_after(0.1):
            await harness.part.run()

    asyncio.run(look_for_a_moment())

    assert "Inqueue" == harness.phase()
