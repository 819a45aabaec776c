"""Preemptions for gangs of one namespace do not wait for those of another one."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.apply import evictor
from gang_scheduler.apply.evictor import LONGEST_TURN_SECONDS, ROUNDS_AT_ONCE, Evictor
from gang_scheduler.client.errors import BUDGET, ApiError
from gang_scheduler.client.fake.client import Call, FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.model.plan import Bind, Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import api_objects, builders, decoded
from support.parts import Parts

pytestmark = pytest.mark.looptime


@dataclass
class World:
    """An evictor, and pods of several namespaces. No cycle is made."""

    api: FakeApi
    cache: Cache
    evictor: Evictor

    def pod(self, name: str, namespace: str, node: str = "") -> Pod:
        """Add a pod, which runs if it has a node."""
        body = api_objects.pod_body(name, metadata={"namespace": namespace})
        body["metadata"]["uid"] = f"uid-{namespace}-{name}"
        if node:
            body["spec"]["nodeName"] = node
            body["status"]["phase"] = "Running"
        self.api.cluster.put(PODS, body)
        made = decoded.pod(self.api.cluster.get(PODS, namespace, name))
        self.cache.upsert_pod(made)
        return made

    def preempt(self, name: str, namespace: str) -> None:
        """Submit that one pod is evicted for one other."""
        member = self.pod(name, namespace)
        victim = replace(builders.bound_pod("v", "n1"), pod=self.pod(f"of-{name}", namespace, "n1"))
        gang = replace(builders.gang(name), key=builders.gang_key(name, namespace))
        self.evictor.submit(Preemption((gang,), (Bind(member, "n1"),), (victim,)))

    def written(self, method: str) -> list[str]:
        """Return the names of the pods of all calls of a method."""
        return [call.name for call in self.api.calls if call.method == method]


@asynccontextmanager
async def running(*, use_eviction_api: bool = False) -> AsyncIterator[World]:
    api, changes = FakeApi(FakeCluster()), Changes()
    cache = Cache([builders.SCHEDULER], changes)
    clock = asyncio.get_running_loop().time
    parts = Parts(api, cache, changes, clock=clock, use_eviction_api=use_eviction_api)
    made = World(api, cache, parts.evictor)
    task = asyncio.create_task(made.evictor.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.wait({task})


def names(number: int) -> Iterable[str]:
    return (f"many-{each}" for each in range(number))


async def test_a_preemption_does_not_wait_behind_those_of_another_namespace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evictor, "ROUNDS_AT_ONCE", 1)
    async with running() as world:
        for name in names(50):
            world.preempt(name, "evil")
        world.preempt("one", "good")
        await world.evictor.drain()

        assert 51 == len(world.written("delete_pod"))
        assert "of-one" in world.written("delete_pod")[:3]


async def test_evictions_that_budgets_hold_up_keep_no_others_waiting() -> None:
    """A user closes the budgets of pods as soon as they are marked, and the evictions go on."""

    def closed(call: Call) -> Fault | None:
        is_held = call.method == "evict" and call.name.startswith("of-many")
        if not is_held or call.arguments["dry_run"]:
            return None
        return Fault(ApiError(429, "not now", cause=BUDGET))

    async with running(use_eviction_api=True) as world:
        world.api.scripts.append(closed)
        for name in names(2 * ROUNDS_AT_ONCE):
            world.preempt(name, "evil")
        await asyncio.sleep(0.1)
        world.preempt("one", "good")
        await asyncio.sleep(LONGEST_TURN_SECONDS + 0.5)

        assert 2 == world.written("evict").count("of-one")
        assert world.cache.pod("uid-evil-of-many-0") is not None
