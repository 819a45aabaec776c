"""Whether everything is as it should be in the end: speed is not won by leaving work out."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tools.bench.population import DEVICES, PODS
from tools.bench.shape import CPUS, NAMESPACE, RACK_SIZE, ZONES, Shape
from tools.controlplane import ControlPlane

SETTLE_SECONDS = 5.0
STATUSES_A_SECOND = 200
"""More of them than an API server that shares two cores takes in that time take longer."""


def problems(plane: ControlPlane, shape: Shape, *, gangs: bool, statuses: bool) -> list[str]:
    """Return what is wrong, in words; statuses have five seconds to be right, many of them more."""
    nodes = _nodes_by_gang(plane)
    found = [*_crowded(nodes), *(_split(nodes, shape) if gangs else ()), *_rules(nodes, shape)]
    if shape.claims:
        found += _devices(plane)
    if statuses:
        found += _statuses(plane, shape)
    return found


def _pods(plane: ControlPlane) -> list[dict[str, Any]]:
    pods: list[dict[str, Any]] = plane.request("GET", PODS)["items"]
    return pods


def _nodes_by_gang(plane: ControlPlane) -> dict[str, list[int]]:
    nodes: dict[str, list[int]] = defaultdict(list)
    for pod in _pods(plane):
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


def _devices(plane: ControlPlane) -> Iterator[str]:
    """Yield devices that two claims have, and pods without a device of their node."""
    claims = plane.request("GET", f"{DEVICES}/resourceclaims")["items"]
    nodes = {each["metadata"]["uid"]: each["spec"].get("nodeName", "") for each in _pods(plane)}
    users: dict[str, list[str]] = defaultdict(list)
    for claim in claims:
        status, name = claim.get("status", {}), claim["metadata"]["name"]
        for device in status.get("allocation", {}).get("devices", {}).get("results", ()):
            users[f"{device['pool']}/{device['device']}"].append(name)
            pods = [each["uid"] for each in status.get("reservedFor", ())]
            if [nodes.get(uid) for uid in pods] != [device["pool"]]:
                yield f"claim {name} has a device of {device['pool']}, and not of its pod's node"
    for device, names in users.items():
        if len(names) > 1:
            yield f"device {device} is in claims {', '.join(names)}"
    without = sum("allocation" not in each.get("status", {}) for each in claims)
    if without or len(claims) < len(nodes):
        yield f"{len(claims)} claims for {len(nodes)} pods, {without} without a device"


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
