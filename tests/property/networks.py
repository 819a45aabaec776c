"""Small networks, and members that ask to be close together in one of them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import PodSet, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.brute_force import Instance, Path, common
from support.builders import gang, group, snapshot
from support.plan_reading import nodes_of


@dataclass(frozen=True)
class Network:
    """Nodes with a label for each layer, and pods that have one of the nodes."""

    layers: tuple[str, ...]
    nodes: tuple[Node, ...]
    bound: tuple[Pod, ...] = ()

    @property
    def tree_spec(self) -> TreeSpec:
        """How a tree is made of the labels."""
        parents = ("", *self.layers)
        upper = [
            Layer(name, above, (name,)) for name, above in zip(self.layers, parents, strict=False)
        ]
        return TreeSpec("network", (*upper, Layer(NODE_LAYER, parents[-1])))

    def depth(self, layer: str) -> int:
        """Return how far a layer is below the top, where the whole cluster is."""
        return (*self.layers, NODE_LAYER).index(layer) + 1

    def path(self, each: Node) -> Path:
        """Return the domains of a node, from the top down to itself; nothing if it is outside."""
        names = [each.labels.get(layer, "") for layer in self.layers]
        if names and not names[-1]:
            names[-1] = f"{each.name} alone"
        return (*names, each.name) if all(names) else ()

    def paths(self) -> dict[str, Path]:
        """Return the paths of all nodes inside, by name and in the order of the tree."""
        found = {each.name: path for each in self.nodes if (path := self.path(each))}
        return dict(sorted(found.items(), key=lambda item: [_natural(name) for name in item[1]]))

    def free(self, each: Node) -> tuple[tuple[str, int], ...]:
        """Return what is left of a node."""
        left = Counter(dict(each.allocatable))
        for other in self.bound:
            if other.node == each.name:
                left.subtract(dict(other.pod_class.requests))
        return tuple(sorted(left.items()))


@dataclass(frozen=True)
class Case:
    """Members in rank order, what they ask of a network, and how they are said to be a gang.

    `parts` says how many members each gang has; a single gang may be elastic. With `by_pods` the
    request stands on the pods and not on the group.
    """

    network: Network
    members: tuple[Pod, ...]
    topology_request: TopologyRequest
    minimum: int
    parts: tuple[int, ...] = ()
    by_pods: bool = False

    def group(self) -> GangGroup:
        """Return the gang, or the gangs that start together."""
        members = self.members
        if self.by_pods:
            asked = PodSet(self.topology_request, owner="job")
            members = tuple(replace(each, podset=asked) for each in members)
        gangs, start = [], 0
        for name, size in zip("abc", self.parts or (len(members),), strict=False):
            some = members[start : start + size]
            minimum = len(some) if self.parts else self.minimum
            gangs.append(gang(name, members=some, min_member=minimum))
            start += size
        return group(*gangs, topology_request=None if self.by_pods else self.topology_request)

    def snapshot(self) -> Snapshot:
        """Return the case as the scheduler sees it."""
        network = self.network
        return snapshot(network.nodes, [self.group()], network.bound, [network.tree_spec])

    def plan(self, strategy: str = "binpack") -> Plan:
        """Return what the scheduler decides."""
        return schedule(self.snapshot(), PROFILES[strategy])

    def placed(self, strategy: str = "binpack") -> dict[str, Path]:
        """Return the path of each member that the scheduler places, in rank order."""
        return self.paths_of(nodes_of(self.plan(strategy)))

    def paths_of(self, nodes: Mapping[str, str]) -> dict[str, Path]:
        """Return the path of each member that has a node, in rank order."""
        paths = {each.name: self.network.path(each) for each in self.network.nodes}
        return {each.name: paths[nodes[each.name]] for each in self.members if each.name in nodes}

    def is_as_asked(self, placed: Mapping[str, Path]) -> bool:
        """Return whether all are in one domain, and every slice is, where that is required."""
        paths = [*placed.values()]
        runs = (
            {path[:depth] for path in paths[start : start + size]}
            for depth, size in self.instance().runs
            for start in range(0, len(paths), size)
        )
        together = {path[: self.must] for path in paths}
        return all(paths) and len(together) <= 1 and all(len(run) == 1 for run in runs)

    def instance(self) -> Instance:
        """Return the case as brute force sees it."""
        network = self.network
        classes = Counter(each.pod_class for each in self.members)
        return Instance(
            free=tuple(
                (path, network.free(each)) for each in network.nodes if (path := network.path(each))
            ),
            requests=tuple(each.requests for each in classes),
            counts=tuple(classes.values()),
            runs=tuple(
                (network.depth(each.layer.name), each.size) for each in self.topology_request.slices
            ),
        )

    def split_at(self, placed: Iterable[Path]) -> int | None:
        """Return the depth of the highest layer that is split and counts; None if none is.

        That is a preferred one before any other, but for one of slices above it.
        """
        inside = len(common(placed))
        if inside > len(self.network.layers):
            return None
        preferred = next((depth for depth in self.prefer if depth > inside), inside + 1)
        sliced = [depth for depth, size in self.instance().runs if size > 1 and depth > inside]
        return min([preferred, *sliced])

    @property
    def must(self) -> int:
        """The depth at which all must be in one domain."""
        return max(
            (self.network.depth(each.name) for each in self.topology_request.must), default=0
        )

    @property
    def prefer(self) -> list[int]:
        """The depths at which members should be together, from the top down."""
        depths = {self.network.depth(each.name) for each in self.topology_request.prefer}
        return sorted(
            range(1, max(depths, default=0) + 1) if self.topology_request.upward else depths
        )


def _natural(name: str) -> list[tuple[int, str, int]]:
    parts = re.findall(r"\d+|\D+", name)
    return [(0, "", int(each)) if each.isdecimal() else (1, each, 0) for each in parts]
