"""Parts of the operator that run at an interval, next to the scheduling loop.

Some show metrics: of devices, queues, and the largest gang that fits. Others write to workloads:
their number of replicas, or the phase in which Volcano creates pods. Open `queue_reports` first.
"""
