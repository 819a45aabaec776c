"""People get narrow tables that can be read without colour."""

from gang_scheduler.settings import Policy
from gang_scheduler.simulation import documents, objects, report, tables
from gang_scheduler.simulation.run import Options, simulate

INPUT = """
{kind: Node, apiVersion: v1, metadata: {name: n-1},
 status: {allocatable: {cpu: 3500m, memory: 8Gi, pods: 110, nvidia.com/gpu: 2}}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: train},
 spec: {minMember: 3}}
---
{kind: Pod, apiVersion: v1, metadata: {name: lone},
 spec: {containers: [{resources: {requests: {cpu: 500m, memory: 1536Mi}}}]}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: w-0, labels: {pod-group.scheduling.sigs.k8s.io: train}}}
"""

EXPECTED = """\
GANG            PHASE       MIN   MEMBERS   SCHEDULED   DOMAIN   REASON
default/train   Pending       3         1           0   -        WaitingForMembers
default/lone    Scheduled     1         1           1   -        -

default/train: WaitingForMembers
  1 of minMember 3 members exist

NODE       CPU      MEMORY    PODS   nvidia.com/gpu
n-1    0.5/3.5   1.5Gi/8Gi   1/110              0/2
"""


SPINES = """
{kind: ClusterNetworkTopology, apiVersion: scheduling.koordinator.sh/v1alpha1,
 metadata: {name: default}, spec: {networkTopologySpec: [
  {topologyLayer: SpineLayer, labelKey: [spine]},
  {topologyLayer: NodeTopologyLayer, parentTopologyLayer: SpineLayer}]}}
---
{kind: Node, apiVersion: v1, metadata: {name: n1, labels: {spine: s1}},
 status: {allocatable: {cpu: 4, pods: 110}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n2, labels: {spine: s1}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n3, labels: {spine: s2}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1,
 metadata: {name: waits, annotations: {gang.scheduling.koordinator.sh/network-topology-spec:
  '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGather"}]}'}},
 spec: {minMember: 2}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1,
 metadata: {name: goes, annotations: {gang.scheduling.koordinator.sh/network-topology-spec:
  '{"gatherStrategy": [{"layer": "spineLayer", "strategy": "PreferGather"}]}'}},
 spec: {minMember: 1}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: waits-0, labels: {pod-group.scheduling.sigs.k8s.io: waits}},
 spec: {containers: [{resources: {requests: {cpu: 6}}}]}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: waits-1, labels: {pod-group.scheduling.sigs.k8s.io: waits}},
 spec: {containers: [{resources: {requests: {cpu: 6}}}]}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: goes-0, labels: {pod-group.scheduling.sigs.k8s.io: goes}},
 spec: {containers: [{resources: {requests: {cpu: 500m}}}]}}
"""

EXPECTED_TREE = """\
default/goes: UnknownLayer (a warning)
  layer "spineLayer" is unknown: the layers are SpineLayer, NodeTopologyLayer; \
did you mean SpineLayer?

ClusterNetworkTopology default (used/all)
DOMAIN                 NODES      CPU   default/waits
ClusterTopologyLayer     1/3   0.5/20
  SpineLayer/s1          1/2   0.5/12   1 of 2
    n1                   1/1    0.5/4
    n2                   0/1      0/8
  SpineLayer/s2          0/1      0/8   1 of 2
    n3                   0/1      0/8
"""


def rendered(text: str = INPUT, *, terminal: bool) -> str:
    found = objects.load(documents.parse("f", text), "py-gang-scheduler")
    outcome = simulate(found, Options(Policy(scheduler_names=("py-gang-scheduler",))))
    return tables.render(report.document(outcome), outcome, terminal=terminal)


def test_a_page_has_gangs_reasons_and_nodes() -> None:
    assert EXPECTED == rendered(terminal=False)


def test_only_a_terminal_gets_colour() -> None:
    assert (False, True) == tuple("\x1b[" in rendered(terminal=each) for each in (False, True))


def test_a_page_has_the_tree_with_what_it_offers_who_waits() -> None:
    page = rendered(SPINES, terminal=False)

    assert EXPECTED_TREE in page
    assert "NODE " not in page


def test_a_gang_in_the_table_is_in_its_domain() -> None:
    (row,) = [
        line for line in rendered(SPINES, terminal=False).splitlines() if "Scheduled " in line
    ]

    assert ["n1", "-"] == row.split()[-2:]
