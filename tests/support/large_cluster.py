"""A large cluster in memory: cycles on it as the loop makes them, with many gangs that wait.

A cycle is made because one pod elsewhere has ended, so that every gang that is short of room is
tried again. What the cycles decide is not carried out.

| case     | what waits, in gangs of 20 of eight shapes                                     |
|----------|--------------------------------------------------------------------------------|
| full     | nothing fits anywhere                                                          |
| fit      | all fit, and have just been created                                            |
| priority | nothing fits; `outranking` gangs outrank one in ten of those that run          |
| racks    | nothing fits; every other gang must be in one rack                             |
| groups   | nothing fits; every two gangs are one group                                    |
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, POD_GROUPS
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangName
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import applying, builders, cache_feeding, parts

CASES: Final = ("full", "fit", "priority", "racks", "groups")
SIZE: Final = 20
SHAPES: Final = 8
FREE_CPUS: Final = 4
RACK: Final = 20
LOWEST, WAITING, OUTRANKING, RUNNING = range(4)
START: Final = 1_000_000
TREE_SPEC: Final = TreeSpec(
    "ClusterNetworkTopology default",
    (Layer("RackLayer", label_keys=("rack",)), Layer(NODE_LAYER, "RackLayer")),
)


@dataclass(frozen=True)
class Scale:
    """How large a cluster is. Gangs wait, of which some outrank others, and pods run."""

    nodes: int = 5_000
    gangs: int = 1_000
    running: int = 50_000
    outranking: int = 10


class LargeCluster:
    """A cluster that fills its nodes but for a few CPUs, and the operator's synchronous parts."""

    def __init__(self, case: str, scale: Scale) -> None:
        self.case = case
        self.now = START
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.api = FakeApi(FakeCluster())
        self._gang_events = parts.gang_events(self.cache, parts.events(self.api, self._clock))
        self._statuses = parts.status_writer(self.api, self.cache, clock=self._clock, concurrency=1)
        self.elsewhere = builders.pod("elsewhere", node="node-0", scheduler="other", cpu="1m")
        self.first: list[Pod] = []
        self.fill(scale)
        self.await_gangs(scale)

    def happens(self) -> None:
        """Let a pod end elsewhere."""
        self.now += 1
        self.cache.delete_pod(self.elsewhere.uid)
        self.cache.upsert_pod(self.elsewhere)
        if self.case.endswith("fit"):
            # They have not been bound: to the cache they are as good as new.
            for pod in self.first:
                self.cache.gang_queue.upsert_member(
                    builders.gang_key(pod.name.removesuffix("-0")), pod
                )

    def snapshot(self) -> Snapshot:
        """Return the cluster with the gangs that are worth a try."""
        return self.cache.snapshot(self.now)

    def decide(self, snapshot: Snapshot) -> Plan:
        """Return the plan, made by the default policies."""
        return schedule(snapshot, PROFILES["binpack"])

    async def tell(self, plan: Plan) -> None:
        """Note the verdicts, and tell what is new of them."""
        verdicts = replace(plan, placed=(), preemptions=())
        applying.take_in(self.cache, verdicts, self.now, applying.WritesNothing())
        self._gang_events.planned(plan, self.now)
        await self._statuses.flush()

    async def cycle(self) -> Plan:
        """Make a cycle."""
        self.happens()
        plan = self.decide(self.snapshot())
        await self.tell(plan)
        return plan

    def _clock(self) -> float:
        return self.now

    def fill(self, scale: Scale) -> None:
        """Add the nodes, and the gangs that run on them."""
        for number in range(scale.nodes):
            pods = -(-(scale.running - number) // scale.nodes)
            self.cache.upsert(self.cache.node_store, plain_node(number, pods + FREE_CPUS))
        if self.case == "racks":
            cache_feeding.upsert(
                self.cache,
                CLUSTER_NETWORK_TOPOLOGIES,
                DeclaredTopology("uid-default", "default", tree_spec=TREE_SPEC),
            )
        self.cache.upsert_pod(self.elsewhere)
        one = builders.pod_class(cpu=1)
        for gang in range(-(-scale.running // SIZE)):
            priority = LOWEST if gang % 10 == 0 else RUNNING
            for number in range(gang * SIZE, min((gang + 1) * SIZE, scale.running)):
                self.member(f"run-{gang}", number, one, priority, f"node-{number % scale.nodes}")
            self.declare(f"run-{gang}")

    def await_gangs(self, scale: Scale) -> None:
        """Add the gangs that wait."""
        pod_classes = [_pod_class(self.case, shape) for shape in range(SHAPES)]
        for gang in range(scale.gangs):
            pod_class = pod_classes[gang % SHAPES]
            outranks = self.case == "priority" and gang < scale.outranking
            priority = OUTRANKING if outranks else LOWEST
            members = [self.member(f"wait-{gang}", i, pod_class, priority) for i in range(SIZE)]
            self.first.append(members[0])
            racks = (LayerRef("RackLayer"),) if self.case == "racks" and gang % 2 else ()
            mate = GangName(builders.NAMESPACE, f"wait-{gang ^ 1}")
            bound_members = [mate] if self.case == "groups" else []
            self.declare(
                f"wait-{gang}", TopologyRequest(must=racks) if racks else None, bound_members
            )

    def declare(
        self,
        gang: str,
        topology_request: TopologyRequest | None = None,
        bound_members: Sequence[GangName] = (),
    ) -> None:
        """Declare a gang."""
        said = replace(
            builders.gang_spec(gang, SIZE, groups=bound_members), topology_request=topology_request
        )
        cache_feeding.upsert_gang_specs(self.cache, POD_GROUPS.group, said.uid, [said])

    def member(
        self,
        gang: str,
        number: int,
        pod_class: PodClass,
        priority: int,
        node: str = "",
        **fields: Any,
    ) -> Pod:
        """Add a pod. Pods of one class share what they ask for, as those do that are read."""
        name = f"{gang}-{number}"
        pod = Pod(
            uid=f"uid-{name}",
            namespace=builders.NAMESPACE,
            name=name,
            gang=builders.gang_key(gang),
            pod_class=pod_class,
            scheduler=builders.SCHEDULER,
            node=node,
            priority=priority,
            labels={builders.POD_GROUP_LABEL: gang},
            unscheduled=None if node else ("Unschedulable", "no room"),
            **fields,
        )
        self.cache.upsert_pod(pod)
        return pod


def plain_node(number: int, cpu: int) -> Node:
    """Return a node, in racks of so many."""
    labels = {"rack": f"rack-{number // RACK}"}
    return builders.node(f"node-{number}", cpu=cpu, pods=1_000, labels=labels)


def _pod_class(case: str, shape: int) -> PodClass:
    return builders.pod_class(cpu=f"{shape + 1}m" if case == "fit" else FREE_CPUS + 1 + shape)
