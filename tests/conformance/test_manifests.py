"""Manifests that other projects wrote, as they stand: what starts together, and on how many nodes.

Every node has room for one pod, whatever it asks for. `manifest-cases.yaml` says of each file:

    - file: pytorch-simple          # in manifests/
      from: REPOSITORY PATH         # of which commit and licence: at the top
      pods: 2                       # that its controller makes; on as many nodes all of them start
      gangs: {gang: {role: least}}  # how many of each role must start together
      labels: {...}                 # of the nodes; a rack of its own for every so many: `rack: 4`

On one node less than the smallest gang needs, nothing starts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.documents import Document, Problem
from gang_scheduler.simulation.run import Options, simulate
from support import yaml_texts

HERE = Path(__file__).parent
CASES = yaml_texts.read((HERE / "manifest-cases.yaml").read_text())
OURS = "py-gang-scheduler"
ROOM = {
    "cpu": 512,
    "memory": "4Ti",
    "ephemeral-storage": "4Ti",
    "nvidia.com/gpu": 16,
    "google.com/tpu": 16,
    "pods": 1,
}

Case = dict[str, Any]

each_manifest = pytest.mark.parametrize(
    "case", [pytest.param(each, id=each["file"]) for each in CASES["manifests"]]
)


@each_manifest
def test_with_a_node_for_each_pod_all_start(case: Case) -> None:
    found = decided(case, case["pods"])

    assert case["pods"] == len(found["bindings"])
    assert case["gangs"] == dict(minima(found))


@each_manifest
def test_a_gang_starts_with_the_least_that_it_needs(case: Case) -> None:
    least = smallest(case)

    assert least == len(decided(case, least)["bindings"])


@each_manifest
def test_with_a_node_less_nothing_starts(case: Case) -> None:
    assert [] == decided(case, smallest(case) - 1)["bindings"]


def test_every_manifest_has_a_case_and_an_origin() -> None:
    files = sorted(each.stem for each in (HERE / "manifests").glob("*.yaml"))

    assert files == sorted(case["file"] for case in CASES["manifests"])
    assert {case["from"].split()[0] for case in CASES["manifests"]} <= CASES["origins"].keys()
    assert 25 <= len(files)


def smallest(case: Case) -> int:
    """Return how many pods the smallest gang needs: one where pods are alone."""
    return min((sum(least.values()) for least in case["gangs"].values()), default=1)


def decided(case: Case, nodes: int) -> Case:
    """Return what is decided of a manifest on so many nodes."""
    cluster = yaml_texts.written_all(node(i, case) for i in range(nodes))
    text = (HERE / "manifests" / f"{case['file']}.yaml").read_text()
    read: list[Document | Problem] = [*documents.parse("cluster", cluster)]
    found = objects.load([*read, *documents.parse("manifest", text)], OURS)
    return output_document.document(simulate(found, Options(Policy())))


def node(i: int, case: Case) -> Case:
    labels = {"kubernetes.io/hostname": f"n{i}", **case.get("labels", {})}
    if "rack" in case:
        key, number = case["rack"]
        labels[key] = f"r{i // number}"
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": f"n{i}", "labels": labels},
        "status": {"allocatable": ROOM},
    }


def minima(found: Case) -> Iterator[tuple[str, Case]]:
    """Yield the gangs of more than one pod with the least of each role; of no role: `pods`."""
    for each in found["gangs"]:
        roles = {role["role"]: role["minMember"] for role in each.get("roles", ())}
        if roles or (each["minMember"] or 1) > 1:
            yield each["gang"].removeprefix("default/"), roles or {"pods": each["minMember"]}
