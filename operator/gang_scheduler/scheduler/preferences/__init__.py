"""Which nodes a pod prefers, one file for each upstream plugin that it follows.

Open `node_affinity` first.
"""

from gang_scheduler.scheduler.preferences import (
    inter_pod_affinity,
    node_affinity,
    taints,
    topology_spread,
)

__all__ = ["inter_pod_affinity", "node_affinity", "taints", "topology_spread"]
