"""Network domains of nodes, read from their labels, and the topology requests of gangs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from gang_auditor.gangs import ANNOTATED, JOB, JOB_SET, OURS, SCHED_PLUGINS, GangName
from gang_auditor.objects import Kind, Node, Pod, mapping, rows
from gang_auditor.watch_events import Object
from gang_scheduler.api import annotations as keys

if TYPE_CHECKING:
    from gang_auditor.world import World

NETWORK: Final = Kind("scheduling.koordinator.sh", "ClusterNetworkTopology")
KUEUE: Final = Kind("kueue.x-k8s.io", "Topology")
NODE_LAYER: Final = "NodeTopologyLayer"
HOSTNAME: Final = "kubernetes.io/hostname"
MUST: Final = "MustGather"

Domain = tuple[str, ...]
"""The names of a domain and of the domains above it, highest first."""


class Request(NamedTuple):
    """The layer in which the gang must gather: the layer's name, or the key of its node label."""

    layer: str = ""
    label: str = ""

    @property
    def where(self) -> str:
        """The layer as findings name it."""
        return self.layer or self.label


class Layer(NamedTuple):
    """A layer of a tree, with the label keys that make its domains."""

    name: str
    label_keys: Sequence[str]


def request_of(pod: Pod, gang: GangName | None, world: "World") -> Request | None:
    """Return the topology request of a pod's gang; None if it has none or it is unreadable."""
    if any(key.startswith("kueue.x-k8s.io/podset-slice-") for key in pod.annotations):
        return None
    label = pod.annotations.get(keys.PODSET_REQUIRED)
    if label:
        return Request(label=label)
    if gang is None:
        return None
    texts = _texts(pod, gang, world)
    return next((found for text in texts if (found := _lowest_must(text, world))), None)


def _texts(pod: Pod, gang: GangName, world: "World") -> Iterator[str]:
    if gang.kind in (ANNOTATED, JOB, JOB_SET):
        yield pod.annotations.get(keys.NETWORK_TOPOLOGY_SPEC) or ""
    for kind in (OURS, SCHED_PLUGINS) if gang.kind == OURS else ():
        found = world.objects(kind).latest(gang.object_key)
        if found is not None:
            annotations = mapping(mapping(found, "metadata"), "annotations")
            yield str(annotations.get(keys.NETWORK_TOPOLOGY_SPEC) or "")


def _lowest_must(text: str, world: "World") -> Request | None:
    try:
        spec: Any = msgspec.json.decode(text) if text else {}
    except (msgspec.DecodeError, RecursionError):
        return None
    wanted = rows(spec, "gatherStrategy") if isinstance(spec, Mapping) else ()
    must = {str(each.get("layer")) for each in wanted if each.get("strategy") == MUST}
    names = [NODE_LAYER, *(each.name for each in reversed(_tree(world)))]
    return next((Request(layer=name) for name in names if name in must), None)


def domains_of(
    request: Request, node: str, world: "World", begin: float, end: float
) -> set[Domain] | None:
    """Return the domains that a node was in around a time; None if there is no such layer.

    There are several if its labels changed, and none if it is outside of the tree.
    """
    if request.layer == NODE_LAYER or request.label == HOSTNAME:
        return {(node,)}
    trees = world.objects(NETWORK).between("default", begin, end)
    if len({msgspec.json.encode(mapping(e, "spec")) for e in trees if e}) > 1:
        return None
    layers, wanted = _layers_of(request, world)
    if wanted is None:
        return None
    versions = [each for each in world.nodes.between(node, begin, end) if each]
    found = (_path(each, layers, wanted) for each in versions)
    return {path for path in found if path is not None} if versions else None


def _layers_of(request: Request, world: "World") -> tuple[Sequence[Layer], int | None]:
    """Return the layers of the tree that a request refers to, and the index of its layer there."""
    trees = [_tree(world), *_kueue_trees(world)]
    if request.layer:
        names = [each.name for each in trees[0]]
        return trees[0], names.index(request.layer) if request.layer in names else None
    for layers in trees:
        for place, layer in enumerate(layers):
            if request.label in layer.label_keys:
                return layers, place
    return [Layer(request.label, [request.label])], 0


def _path(node: Node, layers: Sequence[Layer], wanted: int) -> Domain | None:
    path = []
    for place, layer in enumerate(layers[: wanted + 1]):
        values = (node.labels[key] for key in layer.label_keys if node.labels.get(key))
        value = next(values, None)
        if value is None and place == len(layers) - 1:
            # There, a node without the lowest label is a domain of its own.
            value = f"node {node.name}"
        if value is None:
            return None
        path.append(value)
    return tuple(path)


def _tree(world: "World") -> list[Layer]:
    """Return the layers of the ClusterNetworkTopology, highest first, without the nodes' layer."""
    found = world.objects(NETWORK).latest("default")
    listed = rows(mapping(found, "spec"), "networkTopologySpec") if found is not None else ()
    by_name = {str(each.get("topologyLayer")): each for each in listed}
    layers: list[Layer] = []
    name = str(mapping(by_name, NODE_LAYER).get("parentTopologyLayer") or "")
    while name in by_name and len(layers) < len(by_name):
        layer = by_name[name]
        label_keys = layer.get("labelKey") or []
        layers.append(Layer(name, label_keys if isinstance(label_keys, list) else [label_keys]))
        name = str(layer.get("parentTopologyLayer") or "")
    return layers[::-1]


def _kueue_trees(world: "World") -> Iterator[list[Layer]]:
    def name(found: Object) -> str:
        return str(mapping(found, "metadata").get("name"))

    for found in sorted(world.objects(KUEUE), key=name):
        levels = [str(each.get("nodeLabel")) for each in rows(mapping(found, "spec"), "levels")]
        yield [Layer(each, [each]) for each in levels if each != HOSTNAME]
