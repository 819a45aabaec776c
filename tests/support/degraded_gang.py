"""A gang that runs in one block, a member a node, and what becomes of its nodes."""

from dataclasses import replace

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, POD_GROUPS
from gang_scheduler.decode import topology as decode_topology
from gang_scheduler.model.failures import Degraded
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import applying, cache_feeding
from support.builders import SCHEDULER, gang_key, gang_spec, node, pod
from support.topology_builders import must
from support.topology_harness import SPEC

KEY = gang_key("a")
LABELS = {"spine": "s0", "block": "b0"}
LABELS_ELSEWHERE = {"spine": "s0", "block": "b1"}
SIZE = 4
NOW = 1000
LATER = NOW + 100


def name_of(number: int) -> str:
    """Return the name of a member."""
    return f"a-{number}"


class DegradedGang:
    """The gang `a` of four on the nodes n0 to n3 of a block that has `free` nodes more.

    Another block is free.
    """

    def __init__(self, free: int = 1, changes: Changes | None = None) -> None:
        self.cache = Cache([SCHEDULER], changes or Changes())
        topology = {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "ClusterNetworkTopology",
            "metadata": {"name": "default", "uid": "uid-default"},
            "spec": {"networkTopologySpec": SPEC},
        }
        cache_feeding.upsert(self.cache, CLUSTER_NETWORK_TOPOLOGIES, decode_topology.read(topology))
        for number in range(SIZE + free):
            self.heals(number)
        for number in range(SIZE):
            made = node(f"other-{number}", cpu=4, labels=LABELS_ELSEWHERE)
            self.cache.upsert(self.cache.node_store, made)
        spec = replace(gang_spec("a", SIZE), gvr=POD_GROUPS, topology_request=must("BlockLayer"))
        cache_feeding.upsert_gang_specs(self.cache, POD_GROUPS.group, spec.uid, [spec])
        for number in range(SIZE):
            self.joins(number, f"n{number}")
        self.decide(NOW)

    def fails(self, *numbers: int) -> None:
        """Let nodes not be ready from NOW on."""
        for number in numbers:
            broken = replace(self._node(number), ready=False, not_ready_since=NOW)
            self.cache.upsert(self.cache.node_store, broken)

    def heals(self, *numbers: int) -> None:
        """Let nodes be ready."""
        for number in numbers:
            self.cache.upsert(self.cache.node_store, self._node(number))

    def deletes(self, number: int, gone_by: int) -> None:
        """Let a member be deleted, and stay."""
        leaving = pod(
            name_of(number), gang="a", node=f"n{number}", cpu=4, deleting=True, gone_by=gone_by
        )
        self.cache.upsert_pod(leaving)

    def gone(self, number: int) -> None:
        """Let a member be gone."""
        self.cache.delete_pod(f"uid-{name_of(number)}")

    def waits(self, number: int, told_at: int = 0) -> None:
        """Create a member in place of a lost one, told from a moment on that it has no room."""
        made = self._replacement(number, "")
        if told_at:
            told = ("Unschedulable", "no room")
            made = replace(made, unscheduled=told, unscheduled_at=told_at)
        self.cache.upsert_pod(made)

    def lacks_room(self, number: int, now: int, told_at: int = 0) -> None:
        """Let a member be lost with its node and created again; decide then. As `waits`."""
        self.fails(number)
        self.gone(number)
        self.waits(number, told_at)
        self.decide(now)

    def marks(self, number: int, *, starting_anew: bool = True) -> None:
        """Mark a member as one of a gang that starts again, or as a victim of another gang."""
        made = self._replacement(number, f"n{number}")
        self.cache.upsert_pod(replace(made, marked_as_victim=True, starting_anew=starting_anew))

    def joins(self, number: int, where: str) -> None:
        """Let a member run on a node."""
        self.cache.upsert_pod(self._replacement(number, where))

    def decide(self, now: int) -> Plan:
        """Make a cycle, and count what it decides."""
        plan = schedule(self.cache.snapshot(now), PROFILES["binpack"])
        applying.take_in(self.cache, plan, now, applying.WritesNothing())
        self.cache.degraded.refused(plan.refused, now)
        return plan

    def found(self, now: int = NOW) -> Degraded | None:
        """Return what the gang lacks."""
        self.cache.settle_failed_nodes(now)
        return self.cache.degraded.of(KEY, now)

    def _node(self, number: int) -> Node:
        return node(f"n{number}", cpu=4, labels=LABELS)

    def _replacement(self, number: int, where: str) -> Pod:
        uid = f"uid-{name_of(number)}" if where == f"n{number}" else f"new-{number}"
        phase = "Running" if where else "Pending"
        made = pod(name_of(number), gang="a", node=where, cpu=4, uid=uid, phase=phase)
        return replace(made, rank=(number,))
