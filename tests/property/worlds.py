"""Random small clusters with gangs: small enough to look at when a law is broken."""

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import Node, Toleration
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import HostPort, Pod, PodClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import NodeTerm
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, node, pod, pod_class, requirement, snapshot

STRATEGIES = st.sampled_from(sorted(PROFILES))

TAINTS = ["spot:NoSchedule", "dedicated=infra:NoExecute", "slow:PreferNoSchedule"]
TOLERATIONS = [
    Toleration("", "Exists"),
    Toleration("spot", "Exists"),
    Toleration("spot", "Exists", "", "NoExecute"),
    Toleration("dedicated", "Equal", "infra"),
    Toleration("dedicated", "Equal", "other"),
    Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"),
    Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoSchedule"),
    Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute"),
]
PORTS = [HostPort(80), HostPort(81), HostPort(80, "UDP"), HostPort(80, "TCP", "10.0.0.1")]
TERMS: list[NodeTerm] = [
    (),
    (requirement("zone", "In", "a", "c"),),
    (requirement("zone", "NotIn", "a"),),
    (requirement("zone", "Exists"), requirement("size", "Gt", "4")),
    (requirement("zone", "DoesNotExist"),),
    (requirement("size", "Lt", "8"),),
    (requirement("metadata.name", "NotIn", "n1", "n10", on_field=True),),
]


@dataclass(frozen=True)
class World:
    """Nodes, pods that have one of them, and gangs that wait."""

    nodes: tuple[Node, ...]
    bound: tuple[Pod, ...]
    gangs: tuple[Gang, ...]

    def snapshot(self) -> Snapshot:
        """Return the world as the scheduler sees it."""
        return snapshot(self.nodes, self.gangs, self.bound)

    def plan(self, strategy: str = "binpack") -> Plan:
        """Return what the scheduler decides."""
        return schedule(self.snapshot(), PROFILES[strategy])

    def with_gangs(self, *gangs: Gang) -> "World":
        """Return the same cluster with other gangs."""
        return replace(self, gangs=gangs)

    def after(self, plan: Plan) -> "World":
        """Return the cluster once a plan has been carried out, without waiting pods."""
        bound = [replace(bind.pod, node=bind.node) for each in plan.placed for bind in each.binds]
        return World(self.nodes, (*self.bound, *bound), ())


@st.composite
def asks(draw: st.DrawFn) -> PodClass:
    """Return what some pod asks for: often only CPU and GPUs, sometimes anything else."""
    plain = draw(st.integers(0, 2)) > 0
    return pod_class(
        cpu=draw(st.integers(0, 3)),
        gpu=draw(st.integers(0, 2)),
        memory=draw(st.sampled_from([0, 1, 2**30])),
        selector={} if plain else draw(st.sampled_from([{}, {"zone": "a"}, {"zone": "b"}])),
        affinity=None if plain else draw(st.none() | st.lists(st.sampled_from(TERMS)).map(tuple)),
        tolerations=() if plain else draw(st.lists(st.sampled_from(TOLERATIONS), max_size=3)),
        ports=() if plain else draw(st.lists(st.sampled_from(PORTS), max_size=2, unique=True)),
    )


@st.composite
def a_node(draw: st.DrawFn, name: str) -> Node:
    """Return a node, mostly a healthy one."""
    zone, size = draw(st.sampled_from(["", "a", "b"])), draw(st.sampled_from(["", "3", "5", "x"]))
    return node(
        name,
        cpu=draw(st.integers(2, 9)),
        gpu=draw(st.integers(0, 4)),
        memory=draw(st.sampled_from([2**30, 3 * 2**30])),
        pods=draw(st.integers(1, 6)),
        labels={key: text for key, text in (("zone", zone), ("size", size)) if text},
        taints=draw(st.just([]) | st.lists(st.sampled_from(TAINTS), max_size=2, unique=True)),
        ready=draw(st.integers(0, 7)) > 0,
        unschedulable=draw(st.integers(0, 7)) == 0,
    )


@st.composite
def clusters(draw: st.DrawFn) -> World:
    """Return nodes with some pods on them, which may be too many, and no gangs."""
    names = draw(st.sampled_from([["n1"], ["n2", "n10"], ["n1", "n2", "n3", "n10"]]))
    nodes = tuple(draw(a_node(name)) for name in names)
    used = draw(st.lists(st.tuples(asks(), st.sampled_from(names)), max_size=3))
    bound = [
        replace(pod(f"x-{i}", node=where, scheduler="other"), pod_class=asked)
        for i, (asked, where) in enumerate(used)
    ]
    return World(nodes, tuple(bound), ())


@st.composite
def gangs(draw: st.DrawFn, name: str, classes: int = 2, *, rigid: bool = False) -> Gang:
    """Return a gang of up to five members of so many classes."""
    pool = draw(st.lists(asks(), min_size=1, max_size=classes))
    each = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=5))
    members = [
        replace(pod(f"{name}-{i}", gang=name), pod_class=asked) for i, asked in enumerate(each)
    ]
    bound = 0 if rigid else draw(st.integers(0, 1))
    return gang(
        name,
        members=members,
        min_member=None if rigid else draw(st.integers(1, len(members) + bound)),
        bound=bound,
        satisfied=not rigid and draw(st.integers(0, 5)) == 0,
        priority=draw(st.integers(0, 2)),
        created_at=draw(st.integers(0, 1)),
        uid=draw(st.sampled_from("xyz")) + name,
    )


@st.composite
def worlds(draw: st.DrawFn, classes: int = 2, *, rigid: bool = False) -> World:
    """Return a cluster with up to five gangs."""
    names = "abcde"[: draw(st.integers(1, 5))]
    waiting = [draw(gangs(name, classes, rigid=rigid)) for name in names]
    return draw(clusters()).with_gangs(*waiting)


def at_once(gang: Gang) -> int:
    """Return how many members a gang gets at least, where it gets any."""
    return min(1, gang.quorum) if gang.placed_singly else gang.quorum


def verdicts(plan: Plan) -> list[GangKey]:
    """Return the gangs that a plan places or refuses, each once; surplus alone can be left over."""
    placed = [each.gang.key for each in plan.placed]
    refused = [each.gang.key for each in plan.refused if each.gang.key not in placed]
    refused += [
        each.gang.key for each in plan.refused if not each.left_over and each.gang.key in placed
    ]
    return sorted(placed + refused)
