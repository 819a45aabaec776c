"""People get narrow tables that can be read without colour."""

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


def rendered(*, terminal: bool) -> str:
    found = objects.load(documents.parse("f", INPUT), "py-gang-scheduler")
    outcome = simulate(found, Options(("py-gang-scheduler",)))
    return tables.render(report.document(outcome), outcome.cache.room, terminal=terminal)


def test_a_page_has_gangs_reasons_and_nodes() -> None:
    assert EXPECTED == rendered(terminal=False)


def test_only_a_terminal_gets_colour() -> None:
    assert (False, True) == tuple("\x1b[" in rendered(terminal=each) for each in (False, True))
