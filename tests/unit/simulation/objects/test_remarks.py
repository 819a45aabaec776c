"""What the decisions do not show of the input is said beside them."""

import pytest

from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.run import Options, simulate

NODE = "{kind: Node, apiVersion: v1, metadata: {name: n}}"
POD = "{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {schedulerName: ours}}"
ASKS = """
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, spec: {minMember: 1},
 metadata: {name: g, annotations: {gang.scheduling.koordinator.sh/network-topology-spec:
  '{"gatherStrategy": [{"layer": "Rack", "strategy": "HOW"}]}'}}}
"""
TREE = """
{kind: ClusterNetworkTopology, apiVersion: scheduling.koordinator.sh/v1alpha1,
 metadata: {name: default}, spec: {networkTopologySpec: [
  {topologyLayer: Spine, labelKey: [spine]},
  {topologyLayer: NodeTopologyLayer, parentTopologyLayer: Spine}]}}
"""
SUSPENDED = """
{kind: LocalQueue, apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: q}, spec: {clusterQueue: c}}
---
{kind: Job, apiVersion: batch/v1, metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: q}},
 spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c}]}}}}
"""
MEMBER = """
{kind: Pod, apiVersion: v1, metadata: {name: a, labels: {pod-group.scheduling.sigs.k8s.io: g}}}
"""
ASSUMED = (
    "1 pod has no spec.schedulerName: simulate treats it as a pod of mine. On a cluster, "
    "default-scheduler would place it. To simulate that, add --no-assume-scheduler-name."
)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([NODE, POD], []),
        ([], ["the input has no nodes", "the input has no pods"]),
        ([NODE], ["the input has no pods"]),
        ([NODE, SUSPENDED], []),
        (
            [NODE, SUSPENDED, POD.replace("ours", "other")],
            ["1 pod without a node has schedulerName other: not scheduled here"],
        ),
        ([POD], ["the input has no nodes"]),
        (
            [NODE, POD.replace("ours", "other")],
            ["none of the 1 pod in the input has schedulerName mine or ours"],
        ),
        ([NODE, POD.replace("schedulerName: ours", "")], [ASSUMED]),
        (
            [NODE, POD, POD.replace("ours", "other").replace("a}", "b}")],
            ["1 pod without a node has schedulerName other: not scheduled here"],
        ),
    ],
)
def test_what_is_assumed_and_missing_is_said(texts: list[str], expected: list[str]) -> None:
    found = objects.load(documents.parse("f", "\n---\n".join(texts)), "mine")

    assert expected == [*objects.remarks_of(found, ("mine", "ours"))]


@pytest.mark.parametrize(("strategy", "topology"), [("MustGather", ""), ("PreferGather", TREE)])
def test_layers_are_said_to_be_unknown_for_want_of_a_topology(strategy: str, topology: str) -> None:
    text = "\n---\n".join(filter(None, (NODE, topology, ASKS.replace("HOW", strategy), MEMBER)))
    found = objects.load(documents.parse("f", text), "ours")

    outcome = simulate(found, Options(Policy(scheduler_names=("ours",))))

    said = [*objects.remarks_on_topologies(found, outcome.cache)]

    assert bool(topology) == (not said)
    assert all("the input has no ClusterNetworkTopology" in each for each in said)
