"""What `tools.bench.cycles` measures."""

import json

from gang_scheduler.simulation import documents
from search import manifests
from search.manifests import Manifest
from tools.bench import cycles


def test_cycles_are_those_of_simulate_and_every_object_and_echo_is_counted() -> None:
    node = manifests.node("n0", {"cpu": 4, "pods": 110}, {})
    bodies = [node, *_gang("a", 2), *_gang("b", 3)]
    text = json.dumps(_listed(bodies))
    found = cycles.measure([*documents.parse("x", text)], 2)
    assert found.kinds["Pod"].number == 5
    first, second = found.cycles
    assert (first.groups, first.placed, first.refused) == (2, 2, 1)
    assert first.echoes.number == 2
    assert (second.groups, second.placed) == (1, 0)
    assert found.worst == max(first.seconds, second.seconds) > 0
    assert found.slowest_handler > 0


def test_looks_are_counted_over_the_searches_of_all_gangs() -> None:
    full = {"app": "full"}
    term = {"labelSelector": {"matchLabels": full}, "topologyKey": "kubernetes.io/hostname"}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    first = manifests.pod("p0", {"cpu": 1}, labels=full, spec={"affinity": near})
    other = manifests.pod("p1", {"cpu": 1}, labels=full, spec={"affinity": near})
    node = manifests.node("n0", {"cpu": 4, "pods": 110}, {})
    found = cycles.measure([*documents.parse("x", json.dumps(_listed([node, first, other])))], 1)
    assert found.cycles[0].placed == 2
    assert found.cycles[0].spent > 0


def _listed(bodies: list[Manifest]) -> Manifest:
    return {"apiVersion": "v1", "kind": "List", "items": bodies}


def _gang(name: str, size: int) -> list[Manifest]:
    members = [
        manifests.pod(f"{name}-{i}", {"cpu": 1}, labels={manifests.POD_GROUP_LABEL: name})
        for i in range(size)
    ]
    return [manifests.pod_group(name, size), *members]
