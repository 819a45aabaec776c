"""Which nodes a pod prefers. One preference a file, named after the upstream plugin it follows.

| module             | promise                                           |
|--------------------|---------------------------------------------------|
| inter_pod_affinity | preferred affinity and anti-affinity between pods |
| node_affinity      | preferred node affinity                           |
| taints             | taints PreferNoSchedule                           |
| topology_spread    | spread constraints with ScheduleAnyway            |
"""

from gang_scheduler.scheduler.preferences import (
    inter_pod_affinity,
    node_affinity,
    taints,
    topology_spread,
)

__all__ = ["inter_pod_affinity", "node_affinity", "taints", "topology_spread"]
