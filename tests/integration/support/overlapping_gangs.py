"""Full nodes on which gangs overlap in stretches, and gangs that need whole nodes of them.

Pod k of the crowd is on node k mod the number of nodes, so that no node is free before all gangs of
its stretch have gone: that leaves room for several preemptors at once.
"""

from collections import Counter
from typing import Any

from conformance import simulated
from gang_scheduler.api.kinds import GVR, NODES, POD_GROUPS, PODS
from gang_scheduler.client.fake.cluster import Document
from support.scheduler_process import FakeWorkloads

NODES_THERE = 12
PODS_A_NODE = 2
CPUS = 4
SIZE = 4
NEEDED = 2
HELD = ("example.com/held",)


class OverlappingGangs(FakeWorkloads):
    """So many preemptors, and full nodes that they must share; a stretch has room for two of them.

    `gone` are the pods of the crowd that have been evicted, `waiting` the members of preemptors
    that have no node. `held` pods terminate until a test takes their finalizers off.
    """

    def __init__(self, preemptors: int, *, held: bool = False) -> None:
        names = [f"n{number}" for number in range(NODES_THERE)]
        super().__init__(*names)
        finalizers = HELD if held else ()
        for number in range(NODES_THERE * PODS_A_NODE // SIZE):
            there = [names[(number * SIZE + i) % NODES_THERE] for i in range(SIZE)]
            how: dict[str, Any] = {
                "nodes": there,
                "finalizers": finalizers,
                "cpu": CPUS // PODS_A_NODE,
            }
            self.gang(f"crowd-{number}", SIZE, priority=1, **how)
        self.gone: set[str] = set()
        self.waiting: set[str] = set()
        self.cluster.watchers.append(self._hear)
        for number in range(preemptors):
            self.gang(f"high-{number}", NEEDED, priority=10, cpu=CPUS)

    def simulated(self) -> frozenset[str]:
        """Return the names of the pods that `simulate` evicts of what is there."""
        kinds = (NODES, POD_GROUPS, PODS)
        return simulated.decide([each for kind in kinds for each in self.cluster.all(kind)]).victims

    def all_bound(self) -> bool:
        """Return whether all members of the preemptors have a node."""
        return not self.waiting

    def let_go(self) -> None:
        """End all pods that terminate."""
        for name, pod in self.pods().items():
            if pod.deleting:
                self.cluster.remove(PODS, pod.namespace, name)

    def broken(self) -> set[str]:
        """Return the gangs of the crowd that have lost members and still have some."""
        crowd = (name.rpartition("-")[0] for name in self.pods() if name.startswith("crowd-"))
        return {gang for gang, number in Counter(crowd).items() if number < SIZE}

    def _hear(self, gvr: GVR, change: str, document: Document) -> None:
        if gvr != PODS:
            return
        name = document["metadata"]["name"]
        leaves = change == "DELETED" or "deletionTimestamp" in document["metadata"]
        if name.startswith("crowd-"):
            self.gone |= {name} if leaves else set()
        elif leaves or document["spec"].get("nodeName"):
            self.waiting.discard(name)
        else:
            self.waiting.add(name)
