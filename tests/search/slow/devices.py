"""The devices of a slow world, and what the pods of its crowds claim of them."""

from collections.abc import Iterator
from typing import Any, Final

from search import manifests
from search.manifests import Manifest
from search.slow.recipes import NODES, Genes

DEVICES: Final = "resource.k8s.io/v1"
DRIVER: Final = "d.example.com"
CLASS: Final = "any"
MOST: Final = 40_000
"""Devices of one world; of more, each node has fewer."""
A_SLICE: Final = 64
"""The most devices, or counter sets, of one ResourceSlice."""
AHEAD: Final = 4
"""A pool for several nodes has so many times more devices than that of a node."""
BY_NAME, BY_ZONE, EVERYWHERE = range(3)
CEL: Final = (
    "device.attributes['d.example.com'].index >= {}",
    "device.capacity['d.example.com'].memory.compareTo(quantity('{}Gi')) >= 0",
    "device.attributes['d.example.com'].model != 'm{}'",
    "device.driver == 'd.example.com' && has(device.attributes['d.example.com'].model) || {} == 0",
)

Body = dict[str, Any]


def draw(genes: Genes) -> Iterator[Manifest]:
    """Yield the class of devices, the slices of all pools, and claims that have devices already."""
    if not genes["devices"]:
        return
    expression = f"device.driver == '{DRIVER}'"
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    yield _global("DeviceClass", CLASS, spec)
    nodes = min(genes["nodes"], NODES)
    if genes["reach"] == BY_ZONE:
        for zone in range(min(genes["zones"], nodes)):
            wanted = {"key": "zone", "operator": "In", "values": [f"z{zone}"]}
            terms = [{"matchExpressions": [wanted]}]
            where = {"nodeSelector": {"nodeSelectorTerms": terms}}
            yield from _pool(genes, f"z{zone}", where, AHEAD * _cards(genes))
    elif genes["reach"] == EVERYWHERE:
        yield from _pool(genes, "all", {"allNodes": True}, AHEAD * _cards(genes))
    else:
        for number in range(nodes):
            for pool in range(min(genes["pools"], _cards(genes))):
                cards = -(-(_cards(genes) - pool) // genes["pools"])
                yield from _pool(genes, f"n{number}-{pool}", {"nodeName": f"n{number}"}, cards)


def template(genes: Genes, variant: int, name: str, namespace: str) -> Manifest:
    """Return the template of the claims of a gang's pods."""
    body = manifests.manifest(DEVICES, "ResourceClaimTemplate", name, namespace=namespace)
    return {**body, "spec": {"spec": _claimed(genes, variant)}}


def claim(genes: Genes, variant: int, name: str, namespace: str) -> Manifest:
    """Return a claim that all pods of a gang share."""
    body = manifests.manifest(DEVICES, "ResourceClaim", name, namespace=namespace)
    return {**body, "spec": _claimed(genes, variant)}


def _cards(genes: Genes) -> int:
    """Return how many devices a node has, parts of devices not counted."""
    together = min(genes["nodes"], NODES) * (1 + genes["parts"])
    return min(genes["devices"], max(1, MOST // together))


def _pool(genes: Genes, name: str, where: Body, cards: int) -> Iterator[Manifest]:
    made = [each for card in range(cards) for each in _devices(genes, card)]
    parts: list[Body] = [
        {"devices": made[start : start + A_SLICE]} for start in range(0, len(made), A_SLICE)
    ]
    if genes["parts"]:
        counters = {"memory": {"value": "80Gi"}, "slices": {"value": str(genes["parts"])}}
        sets = [{"name": f"c{card}", "counters": counters} for card in range(cards)]
        parts += [
            {"sharedCounters": sets[start : start + A_SLICE]} for start in range(0, cards, A_SLICE)
        ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": len(parts)}
    for number, each in enumerate(parts):
        spec = {"driver": DRIVER, "pool": pool, **where, **each}
        yield _global("ResourceSlice", f"{name}-{number}", spec)
    taken = [card for card in range(cards) if (card * 31 + len(name) * 7) % 100 < genes["taken"]]
    if taken:
        yield _taken(name, taken)


def _devices(genes: Genes, card: int) -> Iterator[Body]:
    """Yield a device, and its parts, of which some can be allocated in place of the whole."""
    attributes = {"model": {"string": f"m{card % genes['models']}"}, "index": {"int": card}}
    for part in range(1 + genes["parts"]):
        memory, slices = (80 // genes["parts"], 1) if part else (80, genes["parts"])
        device: Body = {
            "name": f"d{card}-{part}" if part else f"d{card}",
            "attributes": attributes,
            "capacity": {"memory": {"value": f"{memory}Gi"}},
        }
        if genes["parts"]:
            used = {"memory": {"value": f"{memory}Gi"}, "slices": {"value": str(slices)}}
            device["consumesCounters"] = [{"counterSet": f"c{card}", "counters": used}]
        yield device


def _taken(pool: str, cards: list[int]) -> Manifest:
    """Return a claim of something else that has these devices."""
    body = manifests.manifest(DEVICES, "ResourceClaim", f"taken-{pool}", namespace="default")
    exactly = {"deviceClassName": CLASS, "count": len(cards)}
    results = [
        {"request": "r0", "driver": DRIVER, "pool": pool, "device": f"d{card}"} for card in cards
    ]
    spec = {"devices": {"requests": [{"name": "r0", "exactly": exactly}]}}
    return {**body, "spec": spec, "status": {"allocation": {"devices": {"results": results}}}}


def _claimed(genes: Genes, variant: int) -> Body:
    requests: list[Body] = []
    for number in range(genes["asks"]):
        asked: Body = {"deviceClassName": CLASS, "count": genes["each"]}
        if genes["cel"]:
            asked["selectors"] = [
                {"cel": {"expression": CEL[each % len(CEL)].format(variant + number + each)}}
                for each in range(genes["cel"])
            ]
        if genes["options"]:
            first = [
                {"name": f"o{option}", **asked, "count": genes["each"] + genes["options"] - option}
                for option in range(genes["options"])
            ]
            requests.append({"name": f"r{number}", "firstAvailable": first})
        else:
            requests.append({"name": f"r{number}", "exactly": asked})
    constraints = []
    if genes["alike"] & 1:
        constraints.append({"matchAttribute": f"{DRIVER}/model"})
    if genes["alike"] & 2:
        constraints.append({"distinctAttribute": f"{DRIVER}/index"})
    return {"devices": {"requests": requests, "constraints": constraints}}


def _global(kind: str, name: str, spec: Body) -> Manifest:
    body = manifests.manifest(DEVICES, kind, name)
    metadata = {key: each for key, each in body["metadata"].items() if key != "namespace"}
    return {**body, "metadata": metadata, "spec": spec}
