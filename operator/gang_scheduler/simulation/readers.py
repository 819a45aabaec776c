"""How objects are read: as on a cluster, with what its API server would fill in and refuse."""

from collections.abc import Callable

from msgspec import field

from gang_scheduler.api.kinds import (
    CLUSTER_NETWORK_TOPOLOGIES,
    GVR,
    KUEUE_TOPOLOGIES,
    NATIVE_POD_GROUPS,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    SCHED_PLUGINS_POD_GROUPS,
)
from gang_scheduler.decode import budgets, fields
from gang_scheduler.decode.fields import amounts
from gang_scheduler.decode.gangs import gang_objects
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.pods import pod
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.priority_classes import Priorities
from gang_scheduler.simulation import (
    defaults,
    networks,
)
from gang_scheduler.simulation.found import Body, SchedulerNames
from gang_scheduler.state.kinds import KINDS
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.pod_groups import NativePodGroup
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Wire


def fillers(
    scheduler_names: SchedulerNames, known: Priorities
) -> dict[GVR, Callable[[Body], Body]]:
    """Return what an API server would fill in before an object is read."""
    return {
        PODS: lambda body: _filled_pod(body, scheduler_names, known),
        NATIVE_POD_GROUPS[0]: lambda body: _filled_native_pod_group(body, known),
    }


def readers(membership: Membership) -> dict[GVR, Callable[[Body], object]]:
    """Return how objects are read: as on a cluster, apart from what its API server would do.

    An API server refuses wrong types, and counts for budgets.
    """
    return {each.reader.gvr: each.reader.read for each in KINDS} | {
        PODS: lambda body: pod.pod(body, membership),
        POD_GROUPS: _pod_group,
        SCHED_PLUGINS_POD_GROUPS: _pod_group,
        NATIVE_POD_GROUPS[0]: _native_pod_group,
        POD_DISRUPTION_BUDGETS: budgets.read_uncounted,
        CLUSTER_NETWORK_TOPOLOGIES: networks.cluster_network_topology,
        KUEUE_TOPOLOGIES[0]: networks.kueue_topology,
    }


def _filled_pod(body: Body, scheduler_names: SchedulerNames, known: Priorities) -> Body:
    fields.read(body, pod_wire.Pod)  # What is filled in next relies on the types.
    filled = defaults.with_pod_defaults(body, scheduler_names.of(body["metadata"]["uid"]))
    return {**filled, "spec": known.spec(filled["spec"])}


def _filled_native_pod_group(body: Body, known: Priorities) -> Body:
    fields.read(body, NativePodGroup)  # What is filled in next relies on the types.
    return {**body, "spec": known.with_priority(body.get("spec", {}))}


class _PodGroupSpec(Wire, frozen=True):
    """The types in a PodGroup. Its values are checked as on a cluster."""

    min_member: int = 1
    min_resources: Quantities = field(default_factory=dict)
    schedule_timeout_seconds: int = 1


class _PodGroup(Wire, frozen=True):
    spec: _PodGroupSpec = _PodGroupSpec()


def _pod_group(body: Body) -> GangObject:
    amounts(fields.read(body, _PodGroup).spec.min_resources, "spec.minResources")
    return gang_objects.pod_group(body)


def _native_pod_group(body: Body) -> GangObject:
    fields.read(body, NativePodGroup)  # A wrong type is unreadable input, not a problem.
    return gang_objects.native_pod_group(body)
