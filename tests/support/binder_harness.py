"""A fake cluster with the binder and the cache on it, joined as the operator joins them."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import anyio

from gang_scheduler.api.kinds import GVR, NODES, POD_GROUPS, PODS
from gang_scheduler.apply.attached_devices import ATTACH_SECONDS, AttachedDevices
from gang_scheduler.apply.binder import Binder
from gang_scheduler.apply.device_claims import DeviceClaims
from gang_scheduler.apply.outcomes import (
    ClaimsAwaited,
    GangBinding,
    Outcomes,
    WriteOutcome,
    count_binding,
)
from gang_scheduler.apply.volume_binder import HOLD_SECONDS, VolumeBinder
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import Change, Document, FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Placed, Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.report.words.text import text_of
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import api_objects, applying, builders
from support import decoded as pod_decode
from support.watches import ECHO_SECONDS, DelayedWatch

CPU_A_NODE = 4


class _Binds(applying.WritesNothing):
    """Writes bindings, and nothing else."""

    def __init__(self, binder: Binder) -> None:
        self._binder = binder

    def bind(self, together: Sequence[Placed]) -> None:
        """Queue bindings, all of one plan id."""
        self._binder.submit([GangBinding(placed, "plan") for placed in together])


class BinderHarness:
    """Use as an async context manager: the binder and the watch run inside.

    `finished` are the bindings that the binder reported; `crowded` are the nodes that ever had
    more pods on them than fit. Pods ask for one CPU each.
    """

    def __init__(
        self,
        nodes: int = 2,
        *,
        concurrency: int = 4,
        may_write: Callable[[], bool] = lambda: True,
        hold_seconds: float = HOLD_SECONDS,
        attach_seconds: float = ATTACH_SECONDS,
        echo_seconds: Callable[[], float] = lambda: ECHO_SECONDS,
    ) -> None:
        self.cluster = FakeCluster()
        self.api = FakeApi(self.cluster)
        changes = Changes()
        self.cache = Cache([builders.SCHEDULER], changes)
        self._outcomes = Outcomes()
        writes = Writes(may_write)
        self.device_claims = DeviceClaims(
            *(self.api, self.cache, concurrency), not_served=lambda: (), writes=writes
        )
        volume_binder = VolumeBinder(
            *(self.api, self.cache, concurrency),
            device_claims=self.device_claims,
            attached_devices=AttachedDevices(self.cache.devices, attach_seconds),
            outcomes=self._outcomes,
            changes=changes,
            hold_seconds=hold_seconds,
            writes=writes,
        )
        self.binder = Binder(
            *(self.api, self.cache, concurrency),
            volume_binder=volume_binder,
            outcomes=self._outcomes,
            writes=writes,
        )
        self.finished: list[GangBinding] = []
        self.crowded: set[str] = set()
        self._node_by_uid: dict[str, str] = {}
        self._room: dict[str, int] = {}
        self._watch = DelayedWatch(self.cluster, self.cache, echo_seconds)
        self._tasks: list[asyncio.Task[None]] = []
        self.cluster.watchers.append(self._count)
        self._watch.begin()
        for number in range(nodes):
            self.node(f"n{number}", CPU_A_NODE)

    async def __aenter__(self) -> Self:
        parts = (self._follow, self.device_claims.run, self.binder.run, self._watch.run)
        self._tasks = [asyncio.create_task(each()) for each in parts]
        await self.quiet()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def node(self, name: str, cpu: int, **spec: Any) -> None:
        """Add a node."""
        self._room[name] = cpu
        offered = {"cpu": str(cpu), "memory": "32Gi", "pods": "110"}
        labels = {"labels": {"kubernetes.io/hostname": name}}
        body = api_objects.node_body(name, allocatable=offered, metadata=labels, **spec)
        self.cluster.put(NODES, body)

    def gang(self, name: str, pods: int, namespace: str = builders.NAMESPACE) -> None:
        """Add a rigid gang and its pods, `<name>-<i>`."""
        metadata = {"namespace": namespace}
        body = api_objects.pod_group_body(name, min_member=pods, metadata=metadata)
        self.cluster.put(POD_GROUPS, body)
        for number in range(pods):
            self.pod(f"{name}-{number}", name, namespace=namespace)

    def pod(self, name: str, gang: str, uid: str = "", namespace: str = builders.NAMESPACE) -> None:
        """Add a pod of a gang, or replace it by another one of its name."""
        metadata = {"uid": uid or f"uid-{name}", "namespace": namespace}
        self.cluster.put(PODS, api_objects.pod_body(name, gang=gang, metadata=metadata))

    async def quiet(self) -> None:
        """Wait until everything submitted is settled and the watch has told all of it."""
        await self.binder.drain()
        self._take_in_outcomes()
        await self._watch.told_all()

    def cycle(self) -> Plan:
        """Plan what is due and submit it, as the loop does."""
        self._take_in_outcomes()
        now = int(asyncio.get_running_loop().time())
        plan = self.plan(schedule(self.cache.snapshot(now), PROFILES["binpack"]))
        applying.take_in(self.cache, plan, now, _Binds(self.binder))
        return plan

    def plan(self, plan: Plan) -> Plan:
        """Return the plan that is carried out."""
        return plan

    async def cycles(self, done: Callable[[], bool], seconds: float = 1000) -> None:
        """Make cycles until a condition holds."""
        with anyio.fail_after(seconds):
            while not done():
                self.cycle()
                await asyncio.sleep(0.1)
            await self.quiet()

    def truth(self) -> dict[str, str]:
        """Return the node of every pod by uid, as the API server has it."""
        return {pod.uid: pod.node for pod in self._pods()}

    def belief(self) -> dict[str, str]:
        """Return the same as the cache has it."""
        return {pod.uid: pod.node for pod in self.cache.pods()}

    def nodes(self) -> dict[str, str]:
        """Return the node of every pod by name."""
        return {pod.name: pod.node for pod in self._pods()}

    def all_bound(self) -> bool:
        """Return whether every pod has a node, in truth."""
        return all(self._node_by_uid.values())

    def assert_the_cache_is_right(self) -> None:
        """Check what the cache believes, of pods and of room, against the API server."""
        assert self.truth() == self.belief()
        assert [] == [pod.name for pod in self.cache.pods() if pod.assumed]
        assert set() == self.crowded
        used = Counter(node for node in self.truth().values() if node)
        table = self.cache.node_usage.table()
        cpu = table.axis["cpu"]
        taken = table.allocatable[:, cpu] - self.cache.node_usage.free()[:, cpu]
        names = [node.name for node in table.nodes]
        assert [used[name] * 1000 for name in names] == taken.tolist()

    def _pods(self) -> Iterator[Pod]:
        return (pod_decode.pod(body) for body in self.cluster.all(PODS))

    async def _follow(self) -> None:
        while True:
            self._take(await self._outcomes.next())

    def _take_in_outcomes(self) -> None:
        for outcome in self._outcomes.take_all():
            self._take(outcome)

    def _take(self, outcome: WriteOutcome) -> None:
        if isinstance(outcome, GangBinding):
            self.finished.append(outcome)
            count_binding(self.cache, outcome, int(asyncio.get_running_loop().time()))
        elif isinstance(outcome, ClaimsAwaited):
            self._told(outcome.gang, text_of(outcome.cause))

    def _told(self, gang: Gang, words: str) -> None:
        """Hear of claims that people are told of."""

    def _count(self, gvr: GVR, change: Change, body: Document) -> None:
        """Keep count at the very moment of a write, apart from what the cache counts later."""
        if gvr != PODS:
            return
        uid, node = body["metadata"]["uid"], body["spec"].get("nodeName", "")
        self._node_by_uid.pop(uid, None)
        if change != "DELETED":
            self._node_by_uid[uid] = node
        if node and Counter(self._node_by_uid.values())[node] > self._room[node]:
            self.crowded.add(node)
