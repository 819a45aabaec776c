"""Where a gang is: the lowest domain that holds all of it, as `simulate` writes it."""

from typing import Any

import pytest

from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.run import Options, simulate
from support import yaml_texts
from support.simulated_pages import page_of

NODES = """
{kind: Node, apiVersion: v1, metadata: {name: n1, labels: {spine: s1, block: b1}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n2, labels: {spine: s1, block: b1}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n3, labels: {spine: s1, block: b2}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n4, labels: {spine: s2, block: b1}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: a},
 spec: {minMember: 2}}
"""
TOPOLOGY = """
---
{kind: ClusterNetworkTopology, apiVersion: scheduling.koordinator.sh/v1alpha1,
 metadata: {name: default}, spec: {networkTopologySpec: [
  {topologyLayer: Spine, labelKey: [spine]},
  {topologyLayer: Block, labelKey: [block], parentTopologyLayer: Spine},
  {topologyLayer: NodeTopologyLayer, parentTopologyLayer: Block}]}}
"""
MEMBER = """
---
{{kind: Pod, apiVersion: v1,
 metadata: {{name: a-{i}, labels: {{pod-group.scheduling.sigs.k8s.io: a}}}},
 spec: {{nodeName: "{node}", containers: [{{name: c}}]}}}}
"""
WORKER = """
---
{{kind: Pod, apiVersion: v1,
 metadata: {{name: a-{i}, labels: {{pod-group.scheduling.sigs.k8s.io: a}},
  annotations: {{kueue.x-k8s.io/podset-required-topology: spine}}}},
 spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 5}}}}}}]}}}}
"""


def domain(text: str) -> Any:
    """Return the domain of the gang `a`."""
    found = objects.load(documents.parse("f", text), "ours")
    (gang,) = output_document.document(simulate(found, Options(Policy(scheduler_names=("ours",)))))[
        "gangs"
    ]
    return gang["domain"]


def members(*nodes: str) -> str:
    """Return members on these nodes; "" is none."""
    return "".join(MEMBER.format(i=i, node=node) for i, node in enumerate(nodes))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (["n1", "n2"], {"layer": "Block", "path": ["s1", "b1"]}),
        (["n1", "n2", "n3"], {"layer": "Spine", "path": ["s1"]}),
        (["n1", "n1"], {"layer": "NodeTopologyLayer", "path": ["s1", "b1", "n1"]}),
        (["n1", "n4"], None),
        (["n1", "gone"], None),
        ([""], None),
        ([], None),
    ],
)
def test_a_gang_is_in_the_lowest_domain_that_holds_its_bound_members(
    nodes: list[str], expected: dict[str, Any] | None
) -> None:
    assert expected == domain(NODES + TOPOLOGY + members(*nodes))


def test_without_a_topology_there_are_no_domains() -> None:
    assert domain(NODES + members("n1", "n2")) is None


def test_a_label_that_a_gang_asks_for_makes_domains() -> None:
    workers = "".join(WORKER.format(i=i) for i in range(2))

    assert {"layer": "spine", "path": ["s1"]} == domain(NODES + workers)


def test_a_job_whose_pods_name_a_pod_group_is_not_another_gang() -> None:
    """Its request for a topology would make a gang of its pods, had they no PodGroup."""
    text = """
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: d1},
 spec: {minMember: 2}}
---
{kind: Job, apiVersion: batch/v1, metadata: {name: d1}, spec: {parallelism: 2, completions: 2,
 template: {metadata: {labels: {pod-group.scheduling.sigs.k8s.io: d1},
  annotations: {kueue.x-k8s.io/podset-required-topology: block}}}}}
"""
    found = objects.load(documents.parse("f", text), Policy().rules.gangs.scheduler_names[0])

    gangs = output_document.document(simulate(found, Options(Policy())))["gangs"]

    assert [("default/d1", 2)] == [(each["gang"], each["members"]) for each in gangs]


@pytest.mark.parametrize("scheduler", ["volcano", "default-scheduler", "other"])
@pytest.mark.parametrize("kind", ["Volcano", "PodGroup", "Job"])
def test_of_members_of_another_scheduler_it_is_said_whose_they_are(
    kind: str, scheduler: str
) -> None:
    member = {"spec": {"schedulerName": scheduler, "containers": [{"name": "c"}]}}
    group = {"pod-group.scheduling.sigs.k8s.io": "a"}
    ask = {"labels": {"py-gang-scheduler.io/gang": "true"}}
    never = {"spec": {**member["spec"], "restartPolicy": "Never"}}
    bodies: dict[str, list[dict[str, Any]]] = {
        "Volcano": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "metadata": {"name": "a"},
                "spec": {
                    "schedulerName": scheduler,
                    "minAvailable": 2,
                    "tasks": [{"name": "w", "replicas": 2, "template": never}],
                },
            }
        ],
        "PodGroup": [
            {
                "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "a"},
                "spec": {"minMember": 2},
            },
            *(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": f"a-{i}", "labels": group},
                    **member,
                }
                for i in range(2)
            ),
        ],
        "Job": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "a"},
                "spec": {
                    "parallelism": 2,
                    "completions": 2,
                    "template": {"metadata": ask, **never},
                },
            }
        ],
    }
    found = objects.load(documents.parse("f", yaml_texts.written_all(bodies[kind])), "ours")
    outcome = simulate(found, Options(Policy(scheduler_names=("ours",))))
    document = output_document.document(outcome)
    (told,) = document["unschedulable"]
    page = page_of(outcome)

    assert f"2 of its pods have schedulerName {scheduler}; ours is ours." == told["message"]
    assert 2 == len(told["pods"])
    assert 1 == page.count(told["message"])
    assert "members are missing" not in page
