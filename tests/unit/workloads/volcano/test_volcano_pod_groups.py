"""PodGroups of Volcano, and the pods that name them."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import QUEUE
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.model.topology_request import LayerRef
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import volcano
from support import decoded
from support.api_objects import pod_body

GROUP = "scheduling.k8s.io/group-name"


def gang_of(labels: dict[str, str] | None = None, **spec: Any) -> GangSpec:
    metadata = {"name": "g", "namespace": "ns", "uid": "u", "labels": labels or {}}
    (found,) = volcano.read({"metadata": metadata, "spec": spec}).gang_specs
    return found


@pytest.mark.parametrize("key", [GROUP, "scheduling.volcano.sh/group-name"])
def test_a_pod_names_its_group_and_its_task(key: str) -> None:
    metadata = {"annotations": {key: "g"}, "labels": {"volcano.sh/task-spec": "worker"}}

    found = decoded.pod(pod_body("a", metadata=metadata))

    assert ("VolcanoPodGroup", "g", "worker") == (found.gang.source, found.gang.name, found.role)


@pytest.mark.parametrize(
    ("given", "quorum"), [({}, 1), ({"minMember": 0}, 1), ({"minMember": 4}, 4)]
)
def test_the_least_number_of_members(given: dict[str, Any], quorum: int) -> None:
    gang = gang_of(**given)

    assert (GangKey("VolcanoPodGroup", "ns", "g"), quorum) == (gang.key, gang.min_member)


def test_tasks_are_roles() -> None:
    gang = gang_of(minMember=3, minTaskMember={"master": 1, "worker": 2})

    assert (Role("master", 1), Role("worker", 2)) == gang.roles


def test_a_total_below_that_of_the_tasks_counts_alone() -> None:
    gang = gang_of(minMember=2, minTaskMember={"master": 1, "worker": 2})

    assert (2, (), None) == (gang.min_member, gang.roles, gang.problem)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"minMember": 4, "minTaskMember": {"worker": 2}}, "spec.minMember above the sum"),
        ({"networkTopology": {"mode": "hard", "highestTierAllowed": 2}}, "highestTierAllowed"),
        ({"subGroupPolicy": [{"name": "a"}]}, "spec.subGroupPolicy"),
    ],
)
def test_what_cannot_be_honoured_is_refused(spec: dict[str, Any], field: str) -> None:
    problem = gang_of(**spec).problem

    assert problem is not None
    assert Reason.UNSUPPORTED_FEATURE is problem.reason
    assert field in text_of(problem.cause)


@pytest.mark.parametrize(
    ("mode", "must", "prefer"),
    [("hard", (LayerRef("rack"),), ()), ("soft", (), (LayerRef("rack"),))],
)
def test_a_tier_is_the_layer_of_its_name(mode: str, must: Any, prefer: Any) -> None:
    request = gang_of(networkTopology={"mode": mode, "highestTierName": "rack"}).topology_request

    assert request is not None
    assert (must, prefer) == (request.must, request.prefer)


def test_a_soft_tier_without_a_name_asks_for_nothing() -> None:
    gang = gang_of(networkTopology={"mode": "soft"})

    assert (None, None) == (gang.problem, gang.topology_request)


def test_a_queue_is_one_of_volcano_unless_a_label_names_another() -> None:
    field, label = gang_of(queue="q"), gang_of({QUEUE: "ours"}, queue="q")

    assert QueueRequest((QueueName(QueueNameKind.VOLCANO_QUEUE, "q"),)) == field.queue_request
    assert QueueRequest((QueueName(QueueNameKind.QUEUE, "ours"),)) == label.queue_request


@pytest.mark.parametrize(
    ("spec", "marks", "expected"),
    [
        ({}, {}, True),
        ({"preemptable": True}, {}, True),
        ({"preemptable": False}, {}, False),
        ({}, {"annotations": {"volcano.sh/preemptable": "false"}}, False),
        ({}, {"labels": {"volcano.sh/preemptable": "false"}}, False),
        ({}, {"annotations": {"volcano.sh/preemptable": "true"}}, True),
        ({"preemptable": True}, {"annotations": {"volcano.sh/preemptable": "false"}}, True),
    ],
)
def test_a_group_may_forbid_that_its_pods_make_room(
    spec: dict[str, Any], marks: dict[str, Any], *, expected: bool
) -> None:
    metadata = {"name": "g", "namespace": "ns", "uid": "u", **marks}
    (found,) = volcano.read({"metadata": metadata, "spec": spec}).gang_specs

    assert expected is found.preemptable


def test_least_resources_are_a_gate() -> None:
    assert (("cpu", 4000),) == gang_of(minResources={"cpu": "4"}).min_resources


def test_what_volcano_writes_for_resource_quotas_is_no_other_resource() -> None:
    asked = {"cpu": "4", "requests.cpu": "4", "limits.cpu": "8", "count/pods": "2", "pods": "2"}
    found = gang_of(minResources={**asked, "requests.nvidia.com/gpu": "8"}).min_resources

    assert (("cpu", 4000), ("nvidia.com/gpu", 8), ("pods", 2)) == found


@pytest.mark.parametrize(
    ("version", "kind", "expected"),
    [
        ("batch.volcano.sh/v1alpha1", "Job", GangKey("VolcanoJob", "ns", "j")),
        ("batch/v1", "Job", None),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", None),
        ("ray.io/v1", "RayCluster", GangKey("RayCluster", "ns", "j")),
        ("ray.io/v1alpha1", "RayCluster", GangKey("RayCluster", "ns", "j")),
        ("ray.io/v1", "RayJob", None),
        ("example.com/v1", "RayCluster", None),
    ],
)
def test_the_workload_that_a_group_was_made_for(
    version: str, kind: str, expected: GangKey | None
) -> None:
    owner = {"apiVersion": version, "kind": kind, "name": "j", "uid": "o", "controller": True}
    metadata = {"name": "g", "namespace": "ns", "uid": "u", "ownerReferences": [owner]}
    body = {"metadata": metadata, "spec": {}, "status": {"phase": "Inqueue"}}
    (found,) = volcano.read(body).gang_specs

    assert (expected, "Inqueue") == (found.made_for, found.status["phase"])
