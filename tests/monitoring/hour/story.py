"""What happens in the scripted hour. Each part is a coroutine of its own; minutes are of the hour.

The four nodes with GPUs are for queues; every other part has nodes of a pool of its own. A gang
without another time starts as soon as it is there.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import anyio

from gang_scheduler import internal_errors
from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    PROVISIONING_REQUESTS,
    STORAGE_CLASSES,
)
from gang_scheduler.client.errors import ApiError
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.telemetry import metrics
from gang_scheduler.watch.kinds import OptionalKinds
from monitoring.hour.clock import Clock, until
from monitoring.hour.cluster import GPU, NAMESPACE, Cluster
from monitoring.hour.operator_process import OperatorProcess
from support import device_objects, volume_builders

REQUESTS: Final = PROVISIONING_REQUESTS[0]
CPUS: Final = {"cpu": "4"}
GPUS: Final = {"cpu": "32", GPU: "4"}
ANSWERS_SECONDS: Final = 10
"""How long a gang takes to save its work when it is asked to."""
Spec = dict[str, Any]


class Story:
    """The hour of a cluster and of the operator on it."""

    def __init__(self, cluster: Cluster, operator: OperatorProcess) -> None:
        self._cluster = cluster
        self._operator = operator
        self._forbidden = OptionalKinds()

    def begin(self) -> None:
        """Create what is there before the operator starts."""
        cluster = self._cluster
        cluster.topology()
        for number in range(4):
            cluster.node(f"gpu-{number}", f"b{number // 2}", GPUS, "gpu")
        cluster.node("outside", "", CPUS, unschedulable=True)
        for number in range(3):
            cluster.node(f"side-{number}", "b2", CPUS, "side")
        for pool in ("elastic", "timed", "half", "disk"):
            cluster.node(f"{pool}-0", "b3", CPUS, pool)
        cluster.queue("owner", quota={"soft": {GPU: 8}})
        cluster.queue("guest", quota={"soft": {GPU: 8}}, borrowing={"enabled": True})
        cluster.queue("poor", quota={"soft": {GPU: 5}, "guaranteed": {GPU: 5}})
        cluster.queue("side", quota={"soft": {"cpu": 8}})
        cluster.objects.put(STORAGE_CLASSES, volume_builders.class_body())
        device_objects.publish(cluster.objects, "disk-0")

    async def tell(self) -> None:
        """Let it all happen."""
        async with anyio.create_task_group() as group:
            for part in (
                *(self._reclaims, self._saves, self._starves, self._promised, self._wrong),
                *(self._grows, self._degraded, self._bought, self._in_part),
                *(self._has_claims, self._has_devices),
                *(self._heartbeats, self._watches, self._missed, self._broken, self._errors),
            ):
                group.start_soon(part)

    async def _reclaims(self) -> None:
        """Let owners take back 8 of the 16 GPUs that guests use, again and again.

        `big` of 16 waits from 4 to 13, 16 to 25 and 28 to 37, each time until an owner ends, and is
        evicted at 14, 26 and 38. Its last members hang until 46.
        """
        await until(3)
        self._owner("done-1")
        await until(4)
        says = {annotations.CHECKPOINT: "Annotation"}
        self._cluster.pod_group("big", 4, "guest", says)
        self._guest()
        for number, minute in ((2, 14), (3, 26), (4, 38)):
            await until(minute - 1)
            self._cluster.ends(f"done-{number - 1}")
            await until(minute)
            self._owner(f"done-{number}")
            if number < 4:
                await until(minute + 2)
                self._guest()
        big = [each["metadata"]["name"] for each in self._cluster.pods_of("big")]
        self._cluster.hangs.update(big)
        await until(46)
        for name in big:
            self._cluster.gone(name)

    def _owner(self, name: str) -> None:
        high = {"priorityClassName": "high", "priority": 100}
        self._cluster.pod_group(name, 2, "owner")
        self._cluster.members(name, range(2), {GPU: 4}, **high)

    def _guest(self) -> None:
        self._cluster.members("big", range(4), {GPU: 4}, priorityClassName="low")

    async def _saves(self) -> None:
        """Let `big` save its work when it is asked to, but for the last time."""
        answered: set[str] = set()
        while True:
            await asyncio.sleep(1)
            for body in self._cluster.pods_of("big"):
                said = body["metadata"].get("annotations") or {}
                asked = said.get(annotations.CHECKPOINT_REQUEST_ID, "")
                if asked and asked not in answered and len(answered) < 2:
                    answered.add(asked)
                    await asyncio.sleep(ANSWERS_SECONDS)
                    self._saved(body["metadata"]["name"], asked)

    def _saved(self, name: str, asked: str) -> None:
        with self._cluster.objects.changing(PODS, NAMESPACE, name) as found:
            found["metadata"]["annotations"] |= {
                annotations.CHECKPOINT_DONE_AT: rfc3339(int(Clock().time())),
                annotations.CHECKPOINT_REQUEST_ID: asked,
                annotations.CHECKPOINT_STEP: "7",
            }

    async def _starves(self) -> None:
        """Let a gang of queue `poor` wait from 5 on for a node of five GPUs: there is none."""
        await until(5)
        self._cluster.gang("late", 1, {GPU: 5}, "poor")

    async def _promised(self) -> None:
        """Let a gang of queue `side` wait from 5 to 53 for the end of a pod that has 50 minutes."""
        await until(3)
        own: Spec = {"queue": "side", **_in_pool("timed")}
        self._cluster.gang("timed", 1, {"cpu": 4}, activeDeadlineSeconds=3000, **own)
        await until(5)
        self._cluster.gang("promised", 1, {"cpu": 4}, **own)
        await until(53)
        self._cluster.ends("timed")

    async def _wrong(self) -> None:
        """Let a gang wait from 8 on whose annotation cannot be read."""
        await until(8)
        self._cluster.gang("wrong", 1, {"cpu": 1}, says={annotations.ELASTIC: "{"})

    async def _grows(self) -> None:
        """Let an elastic gang run with one worker from 3 on, with two from 9, three from 10."""
        says = {annotations.ELASTIC: '{"minWorkers": 1, "maxWorkers": 3}'}
        place = _in_pool("elastic")
        await until(3)
        self._cluster.pod_group("grows", 1, says=says)
        self._cluster.members("grows", [0], {"cpu": 1}, **place)
        for number, minute in ((1, 9), (2, 10)):
            await until(minute)
            self._cluster.members("grows", [number], {"cpu": 1}, **place)

    async def _degraded(self) -> None:
        """Let a node of a gang of two fail at 20, and a member be stuck on it from 22 to 40.

        The one that replaces it starts on the node that is kept for that.
        """
        place = _in_pool("side")
        await until(3)
        self._cluster.gang("train", 2, {"cpu": 4}, **place)
        await until(20)
        (pod, *_) = self._cluster.pods_of("train")
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        self._cluster.fails(node)
        await until(22)
        self._cluster.hangs.add(name)
        self._cluster.delete_pod(name)
        await until(40)
        self._cluster.gone(name)
        self._cluster.members("train", [int(name[-1])], {"cpu": 4}, **place)

    async def _bought(self) -> None:
        """Let a node be bought at 6, and another one at 16; each is there two minutes later."""
        says = {annotations.PROVISIONING_CLASS: "atomic.example.com"}
        for number, minute in ((1, 6), (2, 16)):
            await until(minute)
            pool = f"bought-{number}"
            self._cluster.gang(pool, 1, {"cpu": 4}, says=says, **_in_pool(pool))
            await until(minute + 1)
            self._answer("Accepted")
            await until(minute + 2)
            self._cluster.node(pool, "b4", CPUS, pool)
            self._answer("Provisioned")

    def _answer(self, condition: str) -> None:
        """Let the autoscaler answer the requests that are not over."""
        for body in self._cluster.objects.all(REQUESTS):
            name, now = body["metadata"]["name"], self._cluster.now()
            with self._cluster.objects.changing(REQUESTS, NAMESPACE, name) as found:
                before = found.setdefault("status", {}).get("conditions", [])
                if all(each["type"] != condition for each in before):
                    said = {"type": condition, "status": "True", "reason": "Hour", "message": ""}
                    found["status"]["conditions"] = [*before, {**said, "lastTransitionTime": now}]

    async def _has_claims(self) -> None:
        """Let a volume be made for a gang at 7, which takes eight seconds."""
        await until(7)
        claims, volumes = PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
        self._cluster.objects.put(claims, volume_builders.claim_body("data"))
        mounts = volume_builders.mounting("data")
        self._cluster.gang("disk", 1, {"cpu": 4}, volumes=mounts, **_in_pool("disk"))
        await asyncio.sleep(8)
        body = volume_builders.volume_body("made", claim="data")
        self._cluster.objects.put(volumes, body)
        bound = volume_builders.claim_body("data", volume="made")
        del bound["metadata"]["resourceVersion"]
        self._cluster.objects.put(claims, bound)

    async def _has_devices(self) -> None:
        """Let a gang claim two of four devices at 48, and another one a third at 51."""
        for minute, name, count in ((48, "pair", 2), (51, "third", 1)):
            await until(minute)
            self._cluster.put(device_objects.claim(name, device_objects.request(count)))
            claims = [device_objects.by_name(name)]
            self._cluster.gang(name, 1, {}, resourceClaims=claims, **_in_pool("disk"))

    async def _in_part(self) -> None:
        """Let the API server refuse the bindings of one of two members from 30 to 45."""
        await until(30)
        self._operator.refuses.add("half-1")
        self._cluster.gang("half", 2, {"cpu": 2}, **_in_pool("half"))
        await until(45)
        self._operator.refuses.clear()

    async def _heartbeats(self) -> None:
        """Let a node be told of again in the middle between two scrapes."""
        await asyncio.sleep(7)
        while True:
            with self._cluster.objects.changing(NODES, "", "outside") as found:
                found["metadata"].setdefault("annotations", {})["beat"] = self._cluster.now()
            await asyncio.sleep(15)

    async def _watches(self) -> None:
        """Let the watch of Jobs be silent from 30 to 36, and be begun again then, as at 12.

        The supervisor starts another one again at 9 and 36.
        """
        watches = self._operator.watches
        await until(9)
        watches.begin_anew("events")
        await until(12)
        watches.list_again("jobs.batch")
        await until(30)
        watches.silent.add("jobs.batch")
        await until(36)
        watches.list_again("jobs.batch")
        watches.begin_anew("events")
        watches.restart()

    async def _missed(self) -> None:
        """Let two deletions be missed, and be found by sweeps at 21 and 28."""
        for minute in (21, 28):
            name = f"ghost-{minute}"
            await until(minute - 1)
            self._cluster.members(name, [0], {"cpu": 1}, nodeName="outside")
            self._operator.watches.missed.add(f"{name}-0")
            await asyncio.sleep(5)
            self._cluster.gone(f"{name}-0")
            await until(minute)
            await self._operator.watches.sweep()

    async def _broken(self) -> None:
        """Let nodes come at 32 and 34 that cannot be read, and a kind be forbidden 31 to 41."""
        await until(31)
        kind = "rayclusters.ray.io"
        self._forbidden.is_absent(kind, ApiError(403, "forbidden"))
        for minute in (32, 34):
            await until(minute)
            self._cluster.node(f"broken-{minute}", "b9", {"cpu": "lots"})
        await until(41)
        self._forbidden.listed(kind)

    async def _errors(self) -> None:
        """Let what must never happen be counted: at 33 and 35, and folded once at 34."""
        steps: tuple[tuple[int, Callable[[], None]], ...] = (
            (33, lambda: internal_errors.note("decide", "a", RuntimeError("scripted"))),
            (34, lambda: metrics.GANGS_PREEMPTED.labels("owner", "guest", "Whim").inc()),
            (35, lambda: internal_errors.note("decide", "a", RuntimeError("scripted"))),
            (35, lambda: metrics.USAGE_DIFFERENCES.inc(2)),
            (35, metrics.COSTLY_DECISIONS.inc),
            (35, metrics.LOOP_HELD.labels("other").inc),
            (35, metrics.RECORDING_ERRORS.labels("ENOSPC").inc),
        )
        for minute, act in steps:
            await until(minute)
            act()


def _in_pool(name: str) -> Spec:
    """Return the fields of pods that are for the nodes of a pool."""
    return {"nodeSelector": {"pool": name}}
