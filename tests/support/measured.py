"""A cluster whose gangs, decisions and nodes are measured. Times are in seconds."""

from dataclasses import replace
from typing import Any

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES
from gang_scheduler.apply.outcomes import GangBinding, Outcome
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.plan import Bind, Placed, Plan, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.rules import Rules
from gang_scheduler.report.gang_metrics import Measures
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, cache_feeding
from support.topology_builders import BLOCK_KEY, SPINE_KEY, TREE_SPEC

COMPLETION = "training_job_completion_seconds_sum"
DURATION = "training_job_scheduling_duration_seconds_sum"
DECISIONS = "training_gang_scheduling_total"
TIMEOUT = 600


class Measured:
    """Two nodes of 8 CPUs. `now` is the time of everything that looks at it."""

    def __init__(self, **how: Any) -> None:
        self.now = 1000
        self.cache = Cache([builders.SCHEDULER], Changes(), Rules(**how))
        for name in ("n1", "n2"):
            self.cache.upsert(self.cache.node_store, builders.node(name))
        self.measures = Measures(self.cache, lambda: self.now)
        self.measures.show()

    def gang(self, name: str, members: int = 2, **of_pod: Any) -> list[Pod]:
        """Add a PodGroup with all of its members; return these."""
        spec = replace(builders.gang_spec(name, members), created_at=self.now)
        cache_feeding.upsert_gang_specs(
            self.cache, "podgroups.scheduling.sigs.k8s.io", spec.uid, [spec]
        )
        pods = [builders.pod(f"{name}-{at}", gang=name, **of_pod) for at in range(members)]
        self.see(*pods)
        return pods

    def label_blocks(self) -> None:
        """Put n1 and n2 into two blocks of one spine; other nodes are in none."""
        for name in ("n1", "n2"):
            labels = {SPINE_KEY: "s", BLOCK_KEY: f"block of {name}"}
            self.cache.upsert(self.cache.node_store, builders.node(name, labels=labels))
        declared = DeclaredTopology("uid-default", "default", tree_spec=TREE_SPEC)
        cache_feeding.upsert(self.cache, CLUSTER_NETWORK_TOPOLOGIES, declared)

    def see(self, *pods: Pod) -> None:
        """Let pods be seen as they are now."""
        for pod in pods:
            self.cache.upsert_pod(pod)
        self.cache.snapshot(self.now)

    def bind(self, pods: list[Pod], node: str = "n1") -> list[Pod]:
        """Let pods be seen with a node; return them as they are then."""
        there = [
            replace(pod, node=node, phase=type(pod.phase).RUNNING, scheduled_at=self.now)
            for pod in pods
        ]
        self.see(*there)
        return there

    def end(self, pods: list[Pod], phase: str) -> None:
        """Let pods have ended."""
        self.see(*(replace(pod, phase=type(pod.phase)(phase)) for pod in pods))

    def delete(self, pods: list[Pod]) -> None:
        """Let pods and the PodGroup be gone."""
        for pod in pods:
            self.cache.delete_pod(pod.uid)
        name = pods[0].gang.name
        cache_feeding.delete_gang_specs(
            self.cache, "podgroups.scheduling.sigs.k8s.io", f"uid-{name}"
        )
        self.cache.snapshot(self.now)

    def refuse(self, name: str, reason: Reason) -> None:
        """Let a cycle refuse a gang."""
        info = self.cache.gang_queue.infos[builders.gang_key(name)]
        gang = info.as_gang(self.cache.schedulers)
        refused = Refused(gang, reason, gang.pending)
        self.cache.decisions.refused(refused, self.now)
        self.measures.planned(Plan(refused=(refused,)))

    def carry_out(
        self, name: str, *nodes: str, outcome: Outcome = Outcome.BOUND, joins: bool = False
    ) -> None:
        """Let the bindings of a gang end so; those that `joins` are of members with own claims."""
        info = self.cache.gang_queue.infos[builders.gang_key(name)]
        gang = info.as_gang(self.cache.schedulers)
        placed = Placed(gang, tuple(map(Bind, gang.pending, nodes)))
        outcomes = {pod.uid: outcome for pod in gang.pending}
        binding = GangBinding(placed, "plan", joins, submitted_at=0, outcomes=outcomes)
        self.measures.bound(binding, seconds=2.0)

    def preempt(self, victims: list[Pod]) -> None:
        """Let pods be evicted."""
        made = tuple(BoundPod(pod, pod.gang) for pod in victims)
        self.cache.decisions.preempted(victims[0].gang, "another gang")
        self.measures.preempted(Preemption((), (), made), len(made))
