"""The scheduler on a fake cluster, process after process: the next finds what the last one left."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self
from weakref import WeakKeyDictionary

import anyio

from gang_scheduler.api.kinds import JOBS, NODES, POD_GROUPS, PODS, STATEFUL_SETS
from gang_scheduler.apply.workloads.replicas import Resizer, Shrinking
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.api_words import ElasticKind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.rules import Rules, WorkloadRules
from gang_scheduler.report.events import Backpressure
from gang_scheduler.scheduling_loop import always_fresh
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import api_objects, builders, replicas_of_roles
from support import decoded as pod_decode
from support.parts import NO_BACKPRESSURE, Parts
from support.watches import ECHO_SECONDS, DelayedWatch

_BEGAN: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()
SEEN = (NODES, POD_GROUPS, PODS)
"""No budgets: what they forbid is left for the API server to say."""
WRITES = frozenset(
    {"nominate", "annotate_pod", "patch_pod_condition", "delete_pod", "evict", "bind", "patch"}
)
NOTHING: Mapping[str, str] = {}


class FakeWorkloads:
    """A cluster whose pods can be asked about. Nodes have four CPUs, pods ask for one."""

    def __init__(self, *nodes: str) -> None:
        self.cluster = FakeCluster()
        for name in nodes:
            offered = {"cpu": "4", "memory": "32Gi", "pods": "110"}
            self.cluster.put(NODES, api_objects.node_body(name, allocatable=offered))

    def gang(
        self,
        name: str,
        pods: int,
        *,
        priority: int,
        node: str = "",
        nodes: Sequence[str] = (),
        says: Mapping[str, str] = NOTHING,
        **others: Any,
    ) -> None:
        """Add a rigid gang with its pods `<name>-<i>`, on a node or `nodes` if given.

        `says` are annotations of its PodGroup.
        """
        body = api_objects.pod_group_body(name, min_member=pods)
        body["metadata"]["annotations"] = dict(says)
        self.cluster.put(POD_GROUPS, body)
        for number in range(pods):
            where = nodes[number] if nodes else node
            self.pod(f"{name}-{number}", gang=name, priority=priority, node=where, **others)

    def pod(
        self,
        name: str,
        *,
        gang: str = "",
        priority: int = 0,
        node: str = "",
        cpu: int = 1,
        finalizers: tuple[str, ...] = (),
    ) -> None:
        """Add a pod. A pod with finalizers terminates until they are removed."""
        metadata = {"finalizers": list(finalizers)} if finalizers else {}
        containers = [api_objects.container(requests={"cpu": cpu})]
        body = api_objects.pod_body(name, gang=gang, priority=priority, containers=containers)
        body["metadata"].update(metadata)
        if node:
            body["spec"]["nodeName"] = node
            body["status"]["phase"] = "Running"
        self.cluster.put(PODS, body)

    def pods(self) -> dict[str, Pod]:
        """Return all pods by name, as the API server has them."""
        return {pod.name: pod for pod in map(pod_decode.pod, self.cluster.all(PODS))}

    def nodes(self, gang: str) -> list[str]:
        """Return the nodes of a gang's pods."""
        return [pod.node for name, pod in self.pods().items() if name.startswith(f"{gang}-")]

    def marked(self) -> list[str]:
        """Return the names of those that are marked as victims."""
        return [name for name, pod in self.pods().items() if pod.marked_as_victim]

    def nominated(self) -> dict[str, str]:
        """Return the nominated nodes of those that have one and wait."""
        return {name: pod.nominated for name, pod in self.pods().items() if pod.nominated}


class SchedulerProcess:
    """One process. Use as an async context manager; leaving it is a kill at that moment."""

    def __init__(
        self,
        workloads: FakeWorkloads,
        may_write: Callable[[], bool] = lambda: True,
        backpressure: Backpressure = NO_BACKPRESSURE,
        echo_seconds: float = ECHO_SECONDS,
        fresh: Callable[[], Awaitable[None]] = always_fresh,
        *,
        elastic_kinds: tuple[ElasticKind, ...] = (),
        **how: Any,
    ) -> None:
        self.workloads = workloads
        self.api = FakeApi(workloads.cluster)
        self.changes = Changes()
        rules = Rules(workloads=WorkloadRules(elastic_kinds=elastic_kinds))
        self.cache = Cache([builders.SCHEDULER], self.changes, rules)
        if elastic_kinds:
            resizer = Resizer(self.api, writes=Writes(may_write), clock=_now)
            how["shrinking"] = Shrinking(self.cache, resizer, elastic_kinds, _now)
        self._parts = Parts(
            *(self.api, self.cache, self.changes),
            clock=_now,
            may_write=may_write,
            backpressure=backpressure,
            fresh=fresh,
            **how,
        )
        self.lost_nominations = self._parts.lost_nominations
        self.events = self._parts.events
        self.pod_events = self._parts.pod_events
        self.gang_events = self._parts.gang_events
        self.measures = self._parts.measures
        self.evictor = self._parts.evictor
        self._watch = DelayedWatch(
            *(workloads.cluster, self.cache),
            echo_seconds=lambda: echo_seconds,
            kinds=(*SEEN, JOBS, STATEFUL_SETS, *replicas_of_roles.SERVED)
            if elastic_kinds
            else SEEN,
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._watch.list()
        self._watch.begin()
        tasks = (self._watch.run(), *(run() for run in self._parts.that_run))
        self._tasks = [asyncio.create_task(each) for each in tasks]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watch.end()
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def writes(self) -> list[tuple[str, str]]:
        """Return the writes to pods and to their workloads so far: method and name."""
        return [(call.method, call.name) for call in self.api.calls if call.method in WRITES]

    def hang_from(self, number: int, *, after: bool) -> None:
        """Let the write of this number, and all that come later, never be answered."""
        asked = 0

        def script(call: Any) -> Fault | None:
            nonlocal asked
            if call.method not in WRITES:
                return None
            asked += 1
            if asked <= number:
                return None
            return Fault(hangs=True, after=after and asked == number + 1)

        self.api.scripts.append(script)

    def stop_deciding(self) -> None:
        """Make no more cycles."""
        self._tasks[-1].cancel()

    @property
    def has_stopped_deciding(self) -> bool:
        """No more cycles are made."""
        return self._tasks[-1].done()

    async def until(self, done: Callable[[], bool], seconds: float = 300) -> None:
        """Wait until a condition holds."""
        with anyio.fail_after(seconds):
            while not done():  # noqa: ASYNC110 - what is waited for has no event of its own.
                await asyncio.sleep(0.05)


def began_at() -> float:
    """Return the real moment at which the loop of this test began, in seconds since the epoch.

    The fake cluster writes down real moments: none of them is far from the time of the loop.
    """
    loop = asyncio.get_running_loop()
    return _BEGAN.setdefault(loop, time.time() - loop.time())


def _now() -> float:
    return began_at() + asyncio.get_running_loop().time()
