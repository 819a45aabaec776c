"""RayClusters: the head and the groups of workers."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import ELASTIC, NETWORK_TOPOLOGY_SPEC
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import ray
from gang_scheduler.workloads.ray import CLUSTERS as RAY_CLUSTERS
from support import decoded
from support.api_objects import pod_body

SMALL = {"groupName": "small", "replicas": 3, "minReplicas": 1, "maxReplicas": 4}


def gang_of(*groups: dict[str, Any], **fields: Any) -> GangSpec:
    metadata = {"name": "ray", "namespace": "ns", "uid": "u"}
    metadata["annotations"] = fields.pop("annotations", {})
    spec = {"workerGroupSpecs": list(groups), **fields}
    body = {"apiVersion": "ray.io/v1", "metadata": metadata, "spec": spec}
    (found,) = ray.read(body).gang_specs
    return found


def pod(node_type: str, group: str = "") -> Pod:
    labels = {"ray.io/cluster": "ray", "ray.io/node-type": node_type, "ray.io/group": group}
    return decoded.pod(pod_body("a", metadata={"labels": labels}))


@pytest.mark.parametrize(
    ("node_type", "group", "role", "rank"),
    [("head", "headgroup", "head", (0,)), ("worker", "small", "small", (1,))],
)
def test_a_pod_is_the_head_or_of_a_group(
    node_type: str, group: str, role: str, rank: tuple[int, ...]
) -> None:
    found = pod(node_type, group)

    assert ("RayCluster", "ray") == (found.gang.source, found.gang.name)
    assert (role, rank) == (found.role, found.rank)


def test_a_group_that_is_called_as_the_head_is_another_role() -> None:
    group = {**SMALL, "groupName": "head"}

    assert [Role("head", 1, 1), Role("head-worker", 3)] == [*gang_of(group).roles]
    assert "head-worker" == pod("worker", "head").role


def test_a_pod_that_cleans_up_is_no_member() -> None:
    assert "Pod" == pod("redis-cleanup").gang.source


def test_all_pods_of_all_groups_are_the_quorum() -> None:
    gang = gang_of(SMALL, {"groupName": "tpu", "replicas": 2, "numOfHosts": 4})

    assert (GangKey("RayCluster", "ns", "ray"), RAY_CLUSTERS[0]) == (gang.key, gang.gvr)
    assert (Role("head", 1, 1), Role("small", 3), Role("tpu", 8)) == gang.roles
    assert 12 == gang.min_member


@pytest.mark.parametrize(
    "elastic", [{"enableInTreeAutoscaling": True}, {"annotations": {ELASTIC: "{}"}}]
)
def test_a_cluster_that_is_scaled_starts_with_the_least(elastic: dict[str, Any]) -> None:
    gang = gang_of(SMALL, {"groupName": "tpu", "replicas": 2, "numOfHosts": 4}, **elastic)

    assert (Role("head", 1, 1), Role("small", 1), Role("tpu", 0)) == gang.roles


@pytest.mark.parametrize(
    ("group", "number"),
    [
        ({"replicas": 1, "minReplicas": 2}, 2),
        ({"replicas": 9, "maxReplicas": 4}, 4),
        ({"replicas": 3, "minReplicas": 5, "maxReplicas": 4}, 4),
        ({"replicas": 3, "suspend": True}, 0),
        ({"replicas": 3, "numOfHosts": 0}, 3),
        ({}, 0),
    ],
)
def test_replicas_are_within_their_bounds(group: dict[str, Any], number: int) -> None:
    assert number == gang_of({"groupName": "small", **group}).roles[1].min_member


def test_requests_that_differ_between_templates_are_a_problem() -> None:
    def asking(layer: str) -> dict[str, Any]:
        text = f'{{"gatherStrategy": [{{"layer": "{layer}", "strategy": "MustGather"}}]}}'
        return {"template": {"metadata": {"annotations": {NETWORK_TOPOLOGY_SPEC: text}}}}

    same = gang_of({**SMALL, **asking("rack")}, headGroupSpec=asking("rack"))
    other = gang_of({**SMALL, **asking("rack")}, headGroupSpec=asking("row"))

    assert same.topology_request is not None
    assert other.problem is not None
    assert "must be the same" in text_of(other.problem.cause)
