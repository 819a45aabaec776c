"""What is measured: gangs, nodes, what the gangs ask for, and how their pods come."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

NAMESPACE: Final = "default"
RACK: Final = "example.com/rack"
ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
RACK_SIZE: Final = 20
ZONES: Final = 10
CPUS: Final = 16
RULES: Final = ("", "rack", "anti-affinity", "spread")
Body = Mapping[str, Any]


@dataclass(frozen=True)
class Shape:
    """`gangs` of `size` pods of 1 CPU and 1 GiB, on `nodes` of 16 CPUs and 64 GiB.

    `rule`: each gang in one rack of 20 nodes, or its members on different nodes, or spread over 10
    zones with a skew of 1. `rate` is how many pods are created a second while the scheduler runs;
    0: all are there before it starts. `kwok`: kubelets that make pods run. `queues`: how many
    queues the gangs are in; 0: there is none. `claims`: each pod has a claim of a device, made of a
    template by kube-controller-manager, and each node has 16 devices.
    """

    gangs: int = 250
    size: int = 20
    nodes: int = 1000
    rule: str = ""
    rate: int = 0
    kwok: bool = False
    queues: int = 0
    claims: bool = False

    @property
    def pods(self) -> int:
        """All pods."""
        return self.gangs * self.size

    def __str__(self) -> str:
        how = f"live at {self.rate} pods/s" if self.rate else "drain"
        queues = f"in {self.queues} queues" if self.queues else ""
        claims = "a claim a pod" if self.claims else ""
        extras = [self.rule, queues, claims, "KWOK" if self.kwok else ""]
        return ", ".join(
            filter(None, [f"{self.gangs} x {self.size} on {self.nodes}", how, *extras])
        )

    def names(self, gang: int) -> Iterator[str]:
        """Yield the names of the pods of a gang."""
        return (f"g{gang}-{i}" for i in range(self.size))

    def pod_names(self) -> Iterator[str]:
        """Yield the names of all pods, gang by gang."""
        return (name for gang in range(self.gangs) for name in self.names(gang))


def node_labels(index: int) -> dict[str, str]:
    """Return the rack and the zone of a node."""
    return {RACK: f"rack-{index // RACK_SIZE}", ZONE: f"zone-{index % ZONES}"}


def rules_of(rule: str, gang: str) -> dict[str, Any]:
    """Return what a pod template says to ask for a rule of pods; a rack is asked for by gangs."""
    selector = {"matchLabels": {"gang": gang}}
    if rule == "anti-affinity":
        term = {"topologyKey": HOST, "labelSelector": selector}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        return {"affinity": {"podAntiAffinity": required}}
    if rule == "spread":
        constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        return {"topologySpreadConstraints": [{**constraint, "labelSelector": selector}]}
    return {}
