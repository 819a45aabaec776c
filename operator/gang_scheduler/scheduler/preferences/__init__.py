"""The preferences of pods for nodes. Each file follows one plugin of kube-scheduler.

Open `node_affinity` first.
"""

from gang_scheduler.scheduler.preferences import (
    inter_pod_affinity,
    node_affinity,
    taints,
    topology_spread,
)

__all__ = ["inter_pod_affinity", "node_affinity", "taints", "topology_spread"]
