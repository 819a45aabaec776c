"""The one page that lists every policy by name. To add a policy, add a file and a line here."""

from collections.abc import Mapping

from gang_scheduler.scheduler.filters import (
    allocated_claims,
    bound_volumes,
    declared_features,
    devices,
    host_ports,
    inter_pod_affinity,
    node_affinity,
    readiness,
    refused_shapes,
    resources,
    spare_nodes,
    taints,
    topology_spread,
    unschedulable,
    volume_binding,
    volume_limits,
    volume_restrictions,
    volume_zone,
)
from gang_scheduler.scheduler.ordering import priority_then_age
from gang_scheduler.scheduler.placement import binpack, spread
from gang_scheduler.scheduler.policies import (
    CoupledFilter,
    Fill,
    FillOrder,
    NodeFilter,
    Preference,
    Profile,
    RoomFilter,
)
from gang_scheduler.scheduler.preferences import devices as preference_devices
from gang_scheduler.scheduler.preferences import inter_pod_affinity as preference_inter_pod_affinity
from gang_scheduler.scheduler.preferences import node_affinity as preference_node_affinity
from gang_scheduler.scheduler.preferences import taints as preference_taints
from gang_scheduler.scheduler.preferences import topology_spread as preference_topology_spread

NODE_FILTERS: tuple[NodeFilter, ...] = (
    *(unschedulable, readiness, taints, node_affinity),
    *(bound_volumes, volume_zone, allocated_claims, declared_features, refused_shapes),
)
ROOM_FILTERS: tuple[RoomFilter, ...] = (spare_nodes, host_ports, resources, volume_limits)
COUPLED_FILTERS: tuple[CoupledFilter, ...] = (
    *(volume_restrictions, volume_binding, devices),
    *(topology_spread, inter_pod_affinity),
)
PREFERENCES: tuple[tuple[int, Preference], ...] = (
    # The weights of kube-scheduler.
    (3, preference_taints),
    (2, preference_node_affinity),
    (2, preference_topology_spread),
    (2, preference_inter_pod_affinity),
    (2, preference_devices),
)


def _profile(fill_order: FillOrder, fill: Fill) -> Profile:
    return Profile(
        order=priority_then_age.key,
        node_filters=NODE_FILTERS,
        room_filters=ROOM_FILTERS,
        coupled_filters=COUPLED_FILTERS,
        preferences=PREFERENCES,
        fill_order=fill_order,
        fill=fill,
    )


PROFILES: Mapping[str, Profile] = {
    "binpack": _profile(binpack.fill_order, binpack.fill),
    "spread": _profile(spread.fill_order, spread.fill),
}
