"""The operator of the scripted hour: joined as it joins itself, on a fake API server."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast
from unittest.mock import patch

from gang_scheduler import __version__, scheduling_loop, wiring
from gang_scheduler.client import connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, FakeApi, Fault
from gang_scheduler.model.rules import SpareNodes
from gang_scheduler.periodic import largest_fit, queue_reports
from gang_scheduler.report import gang_metrics
from gang_scheduler.settings.choices import PodSource
from gang_scheduler.settings.run import Settings
from gang_scheduler.telemetry import metrics as telemetry_metrics
from gang_scheduler.watch import synced
from monitoring.hour import clock
from monitoring.hour.cluster import GPU, Cluster
from monitoring.hour.watches import Watches

SETTINGS: Final = Settings(
    leader_elect=False,
    lease_namespace="",
    schedule_timeout_seconds=600,
    victim_timeout_seconds=60,
    reservation_after_seconds=300,
    node_failure_seconds=30,
    checkpoint_annotations=True,
    provisioning_requests=True,
    gauge_shapes=(f"{GPU}=4",),
    spare_nodes=(SpareNodes("BlockLayer", node_selector={"pool": "side"}),),
)
BIND_SECONDS: Final = 0.3
"""How long the API server takes for a binding."""
LAG_SECONDS: Final = 0.003
"""How late the event loop is each second."""
HANDOVER_SECONDS: Final = 16.0
"""How long before it leads another replica has last renewed the Lease."""
CREATED, BROKEN = 201, 500


class OperatorProcess:
    """One replica. `refuses` are the pods whose bindings the API server does not take."""

    def __init__(self, cluster: Cluster) -> None:
        for module in (queue_reports, largest_fit, gang_metrics, synced):
            clock.hand_to(module, clock.Clock())
        clock.hand_to(scheduling_loop, clock.ClockOfCycles())
        self.api = FakeApi(cluster.objects)
        self.api.scripts.append(self._answer)
        self.refuses: set[str] = set()
        self._tasks: list[asyncio.Task[Any]] = []
        with (
            patch.object(wiring, "KubernetesApi", lambda _: self.api),
            patch.object(wiring, "_source", self._source),
        ):
            self.parts = wiring.build(
                *(SETTINGS, cast("Any", None)),
                watched_by=PodSource.KOPF,
                may_write=lambda: True,
                after_start=lambda: None,
            )
        telemetry_metrics.most_queues(SETTINGS.metrics_queues)
        telemetry_metrics.BUILD_INFO.labels(__version__, PodSource.KOPF.value).set(1)
        telemetry_metrics.expose()
        telemetry_metrics.LEADER.set(0)

    def see(self) -> None:
        """Watch the cluster, as a replica does that waits for the Lease."""
        self._start(self.parts.source.run)
        self._start(self.parts.left_out_events.run)
        self._start(_lag)

    async def lead(self) -> None:
        """Schedule, as the replica does that holds the Lease."""
        await self.parts.quota_controllers.look()
        self.parts.provisioner.note_served()
        telemetry_metrics.lead()
        telemetry_metrics.HANDOVER_SECONDS.labels("expired").observe(HANDOVER_SECONDS)
        for part in self.parts.writers:
            self._start(part.run)
        self._start(self.parts.loop.run)

    async def kill(self) -> None:
        """End at this moment. Raises what a part ended with that should not have ended."""
        ended = [each for each in self._tasks if each.done()]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in ended:
            each.result()

    def _start(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(asyncio.create_task(run()))

    def _source(self, _: object, __: object, ___: object, handlers: Any, ____: object) -> Any:
        self.watches = Watches(self.api, handlers)
        return self.watches

    def _answer(self, call: Call) -> Fault | None:
        if call.method != "bind":
            return None
        refused = call.name in self.refuses
        error = ApiError(BROKEN, "a webhook does not answer") if refused else None
        path = f"/api/v1/namespaces/{call.namespace}/pods/{call.name}/binding"
        status = BROKEN if error else CREATED
        connection.count_request("POST", path, status, BIND_SECONDS)
        return Fault(error, delay_seconds=BIND_SECONDS)


async def _lag() -> None:
    while True:
        await asyncio.sleep(1)
        telemetry_metrics.LOOP_LAG.observe(LAG_SECONDS)
