"""Which nodes a pod prefers. One preference a file, named after the upstream plugin it follows."""

from gang_scheduler.scheduler.preferences import (
    inter_pod_affinity,
    node_affinity,
    taints,
    topology_spread,
)

__all__ = ["inter_pod_affinity", "node_affinity", "taints", "topology_spread"]
