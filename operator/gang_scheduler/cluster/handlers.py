"""Every Kopf decorator. Each body hands the event on; nothing is ever written back through Kopf.

Only `on.event`: the other kinds of handlers put finalizers and annotations on users' objects.
Kinds whose CRD is absent cost nothing, and are watched from the moment it appears.
"""

import kopf

from gang_scheduler.cluster.connection import Connection
from gang_scheduler.cluster.intake import Intake
from gang_scheduler.cluster.ports import (
    CLUSTER_NETWORK_TOPOLOGIES,
    KUEUE_TOPOLOGIES,
    NATIVE_POD_GROUPS,
    POD_DISRUPTION_BUDGETS,
)


def register(registry: kopf.OperatorRegistry, intake: Intake, connection: Connection) -> None:
    """Put all handlers into a registry."""
    _watch_cluster(registry, intake)
    _watch_gangs(registry, intake)
    _watch_networks(registry, intake)

    @kopf.on.login(registry=registry)
    async def login(**_: object) -> kopf.ConnectionInfo:
        return await connection.kopf_login()


def _watch_cluster(registry: kopf.OperatorRegistry, intake: Intake) -> None:
    @kopf.on.event("", "v1", "pods", registry=registry)
    async def pod(event: kopf.RawEvent, **_: object) -> None:
        intake.pod(event)

    @kopf.on.event("", "v1", "nodes", registry=registry)
    async def node(event: kopf.RawEvent, **_: object) -> None:
        intake.node(event)

    @kopf.on.event(*POD_DISRUPTION_BUDGETS, registry=registry)
    async def pod_disruption_budget(event: kopf.RawEvent, **_: object) -> None:
        intake.pod_disruption_budget(event)


def _watch_gangs(registry: kopf.OperatorRegistry, intake: Intake) -> None:
    @kopf.on.event("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", registry=registry)
    @kopf.on.event("scheduling.x-k8s.io", "v1alpha1", "podgroups", registry=registry)
    async def pod_group(event: kopf.RawEvent, **_: object) -> None:
        intake.pod_group(event)

    # Kopf takes a kind without a version for one of the group's preferred version, which is v1, and
    # that has no PodGroups.
    @kopf.on.event(*NATIVE_POD_GROUPS[0], registry=registry)
    @kopf.on.event(*NATIVE_POD_GROUPS[1], registry=registry)
    @kopf.on.event(*NATIVE_POD_GROUPS[2], registry=registry)
    async def native_pod_group(event: kopf.RawEvent, **_: object) -> None:
        intake.native_pod_group(event)

    @kopf.on.event("batch", "v1", "jobs", registry=registry)
    async def job(event: kopf.RawEvent, **_: object) -> None:
        intake.job(event)

    @kopf.on.event("jobset.x-k8s.io", "jobsets", registry=registry)
    async def job_set(event: kopf.RawEvent, **_: object) -> None:
        intake.job_set(event)


def _watch_networks(registry: kopf.OperatorRegistry, intake: Intake) -> None:
    @kopf.on.event(*CLUSTER_NETWORK_TOPOLOGIES, registry=registry)
    async def topology(event: kopf.RawEvent, **_: object) -> None:
        intake.topology(event)

    # Of older Kueues the preferred version has no Topologies either.
    @kopf.on.event(*KUEUE_TOPOLOGIES[0], registry=registry)
    @kopf.on.event(*KUEUE_TOPOLOGIES[1], registry=registry)
    @kopf.on.event(*KUEUE_TOPOLOGIES[2], registry=registry)
    async def kueue_topology(event: kopf.RawEvent, **_: object) -> None:
        intake.kueue_topology(event)
