"""The trees of a world, and where its nodes are in them; told again, from the manifests alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from search.manifests import NODE_LAYER, Manifest

HOSTNAME = "kubernetes.io/hostname"
Path = tuple[str, ...]


@dataclass(frozen=True)
class Tree:
    """Layers from the top down, each with the key of its label; the nodes are below them."""

    layers: tuple[tuple[str, str], ...]
    lone_nodes: bool
    """A node that lacks only the lowest label is a domain by itself."""

    def path(self, labels: Mapping[str, str]) -> Path:
        """Return the domains of a node; nothing for one outside."""
        names = [labels.get(key, "") for _, key in self.layers]
        if self.lone_nodes and names and not names[-1]:
            names[-1] = f"alone: {labels.get(HOSTNAME)}"
        return (*names, labels.get(HOSTNAME, "")) if all(names) else ()

    def depth(self, *, layer: str = "", key: str = "") -> int:
        """Return how deep a layer is, by its name or by its key; 0 for one that there is not."""
        if NODE_LAYER == layer or key == HOSTNAME:
            return len(self.layers) + 1
        found = (i for i, each in enumerate(self.layers, start=1) if each[bool(key)] == layer + key)
        return next(found, 0)


@dataclass(frozen=True)
class Place:
    """A layer of a tree: members gather in one of its domains."""

    tree: Tree
    depth: int


def trees(documents: Iterable[Manifest]) -> list[Tree]:
    """Return the trees in the order in which a request is looked up in them."""
    declared, kueue = [], []
    for body in documents:
        if body["kind"] == "ClusterNetworkTopology":
            declared.append(_declared(body["spec"]["networkTopologySpec"]))
        elif body["kind"] == "Topology":
            keys = [level["nodeLabel"] for level in body["spec"]["levels"]]
            layers = tuple((key, key) for key in keys if key != HOSTNAME)
            kueue.append((body["metadata"]["name"], Tree(layers, lone_nodes=False)))
    return [*declared, *(tree for _, tree in sorted(kueue, key=lambda each: each[0]))]


def _declared(entries: Sequence[Manifest]) -> Tree:
    by_parent = {entry.get("parentTopologyLayer", ""): entry for entry in entries}
    layers: list[tuple[str, str]] = []
    above = ""
    while above in by_parent and by_parent[above]["topologyLayer"] != NODE_LAYER:
        entry = by_parent[above]
        above = entry["topologyLayer"]
        layers.append((above, entry["labelKey"][0]))
    return Tree(tuple(layers), lone_nodes=True)


def by_layer(known: Sequence[Tree], layers: Sequence[str]) -> Place | None:
    """Return the lowest of these layers, in the first tree that has them all."""
    for tree in known:
        depths = [tree.depth(layer=layer) for layer in layers]
        if all(depths):
            return Place(tree, max(depths))
    return None


def by_key(known: Sequence[Tree], key: str) -> Place:
    """Return the layer of a label key; one that no tree has makes a tree of its own."""
    for tree in known:
        if depth := tree.depth(key=key):
            return Place(tree, depth)
    if key == HOSTNAME:
        return Place(Tree((), lone_nodes=False), 1)
    return Place(Tree(((key, key),), lone_nodes=False), 1)
