"""Whether everything is as it should be in the end: speed is not won by leaving work out."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator

from tools.bench.shape import CPUS, NAMESPACE, RACK_SIZE, ZONES, Shape
from tools.controlplane import ControlPlane

SETTLE_SECONDS = 5.0
STATUSES_A_SECOND = 200
"""More of them than an API server that shares two cores takes in that time take longer."""


def problems(plane: ControlPlane, shape: Shape, *, gangs: bool, statuses: bool) -> list[str]:
    """Return what is wrong, in words; statuses have five seconds to be right, many of them more."""
    nodes = _nodes_by_gang(plane)
    found = [*_crowded(nodes), *(_split(nodes, shape) if gangs else ()), *_rules(nodes, shape)]
    if statuses:
        found += _statuses(plane, shape)
    return found


def _nodes_by_gang(plane: ControlPlane) -> dict[str, list[int]]:
    pods = plane.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    nodes: dict[str, list[int]] = defaultdict(list)
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        if node:
            nodes[pod["metadata"]["labels"]["gang"]].append(int(node.removeprefix("node-")))
    return nodes


def _crowded(nodes: dict[str, list[int]]) -> Iterator[str]:
    pods = Counter(node for gang in nodes.values() for node in gang)
    for node, number in pods.items():
        if number > CPUS:
            yield f"{number} pods on node-{node}"


def _split(nodes: dict[str, list[int]], shape: Shape) -> Iterator[str]:
    for gang in (f"g{number}" for number in range(shape.gangs)):
        bound = len(nodes.get(gang, ()))
        if bound != shape.size:
            yield f"{bound} of {shape.size} pods of {gang} are bound"


def _rules(nodes: dict[str, list[int]], shape: Shape) -> Iterator[str]:
    for gang, those in nodes.items():
        racks = {node // RACK_SIZE for node in those}
        zones = Counter(node % ZONES for node in those)
        emptiest = min(zones[zone] for zone in range(ZONES))
        broken = {
            "rack": len(racks) > 1,
            "anti-affinity": len(set(those)) < len(those),
            "spread": max(zones.values()) - emptiest > 1,
        }
        if broken.get(shape.rule):
            yield f"{gang} breaks its rule of {shape.rule}"


def _statuses(plane: ControlPlane, shape: Shape) -> list[str]:
    path = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{NAMESPACE}/podgroups"
    deadline = time.monotonic() + max(SETTLE_SECONDS, shape.gangs / STATUSES_A_SECOND)
    while True:
        groups = plane.request("GET", path)["items"]
        phases = Counter(each.get("status", {}).get("phase", "none") for each in groups)
        right = phases["Scheduled"] + phases["Running"]
        if right == shape.gangs or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return [] if right == shape.gangs else [f"phases of PodGroups: {dict(phases)}"]
