"""Fake nodes, by the thousand: ready, labelled for KWOK, with any topology labels."""

import concurrent.futures
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.controlplane import access

Labels = Mapping[str, str] | Callable[[int], Mapping[str, str]]
DEFAULT_ALLOCATABLE = {"cpu": "32", "memory": "256Gi", "pods": "110"}
CONNECTIONS = 8
TRY_AGAIN = frozenset({429, 500, 503, 504})
ATTEMPTS = 10


def layers(sizes: Mapping[str, int]) -> Callable[[int], dict[str, str]]:
    """Return topology labels: each key is given the number of neighbouring nodes in one domain.

    layers({"example.com/block": 64, "example.com/rack": 16}) puts node 70 into block-1, rack-4.
    """

    def labels(index: int) -> dict[str, str]:
        return {key: f"{key.rpartition('/')[2]}-{index // size}" for key, size in sizes.items()}

    return labels


def manifest(
    name: str,
    labels: Mapping[str, str],
    allocatable: Mapping[str, str],
    taints: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Return a ready node that KWOK looks after."""
    always = {"type": "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**always, **labels}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {
            "capacity": dict(allocatable),
            "allocatable": dict(allocatable),
            "conditions": [ready],
            "addresses": [{"type": "Hostname", "address": name}],
        },
    }


def create(where: access.Access, manifests: Sequence[Mapping[str, Any]]) -> None:
    """Create nodes over a few connections: a thousand in about a second."""
    slices = [manifests[first::CONNECTIONS] for first in range(CONNECTIONS)]
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        for done in [pool.submit(_create_in_turn, where, part) for part in slices if part]:
            done.result()


def _create_in_turn(where: access.Access, manifests: Sequence[Mapping[str, Any]]) -> None:
    with access.Client(where) as client:
        for node in manifests:
            _create_one(client, node)


def _create_one(client: access.Client, node: Mapping[str, Any]) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        reply = client.request("POST", "/api/v1/nodes", node)
        if reply.status not in TRY_AGAIN or attempt == ATTEMPTS:
            reply.check()
            return
        time.sleep(0.1 * attempt)
