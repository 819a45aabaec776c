"""Law: the largest gang that is shown would start, and one with a member more would not."""

from pathlib import Path
from random import Random

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.listing import domains
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.run import Options, simulate
from support.listed_clusters import Body, gang, node, written
from support.thoroughness import cases

GATHER = "gang.scheduling.koordinator.sh/network-topology-spec"
TREE = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
            {
                "topologyLayer": "NodeTopologyLayer",
                "parentTopologyLayer": "SpineLayer",
                "labelKey": ["kubernetes.io/hostname"],
            },
        ]
    },
}


def a_cluster(dice: Random) -> list[Body]:
    """Return nodes in spines, some of them cordoned, with pods on them."""
    bodies: list[Body] = [TREE]
    for number in range(dice.randint(2, 9)):
        made = node(f"node-{number}", labels={"spine": f"s{dice.randint(0, 2)}"})
        if dice.random() < 0.2:
            made["spec"] = {"unschedulable": True}
        bodies.append(made)
        if dice.random() < 0.5:
            asks = dice.choice((1, 4, 6))
            bodies += gang(f"runs-{number}", 1, gpus=asks, nodes=[f"node-{number}"])
    return bodies


def starts(directory: Path, bodies: list[Body], members: int, gpus: int, layer: str) -> bool:
    """Return whether a gang of so many members is given room."""
    spec = f'{{"gatherStrategy": [{{"layer": "{layer}", "strategy": "MustGather"}}]}}'
    annotations = {GATHER: spec} if layer else {}
    new = gang("new", members, gpus=gpus, annotations=annotations)
    path = written(directory, [*bodies, *new])
    found = objects.load(documents.read([path]), Policy().rules.gangs.scheduler_names[0])
    outcome = simulate(found, Options(Policy(preemption=False)))
    return [len(placed.binds) for placed in outcome.placed] == [members]


@pytest.mark.parametrize("seed", range(cases(30, thorough=600)))
def test_the_largest_gang_starts_and_a_larger_one_does_not(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)  # noqa: S311 - no secret.
    bodies, gpus = a_cluster(dice), dice.choice((1, 2, 5, 8))
    cluster = files.read([written(tmp_path, bodies)], Policy())
    shape = domains.parsed_shape(f"nvidia.com/gpu={gpus}")
    (view,) = domains.trees(cluster, cluster.snapshot(), [shape])

    by_layer: dict[str, int] = {}
    for line in view.lines:
        layer = line.domain.layer if line.domain.path else ""
        by_layer[layer] = max(by_layer.get(layer, 0), line.members[0])
    for layer, members in by_layer.items():
        assert not starts(tmp_path, bodies, members + 1, gpus, layer)
        assert not members or starts(tmp_path, bodies, members, gpus, layer)
