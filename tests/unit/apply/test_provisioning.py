"""Members as objects: of what waits suspended those that its controller would make."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import JOB_SETS, JOBS
from gang_scheduler.apply.provisioning import MemberBodies
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import SERVED, FakeCluster
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.provisioning import NodeRequest, RequestedPodSet
from gang_scheduler.model.suspended import ManagedWorkload, Suspended
from gang_scheduler.state import kinds
from gang_scheduler.workloads.ray import JOBS as RAY_JOBS
from support import builders
from support.suspended_jobs import Body, job, template

OWNER = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "name": "job",
    "uid": "uid-train",
    "controller": True,
}


def read(body: Body) -> GangObject:
    found = (each.reader for each in kinds.KINDS if each.reader.kind == body["kind"])
    described: GangObject = next(found).read(body)
    return described


def bodies(
    cluster: FakeCluster, workload: ManagedWorkload, members: Sequence[Pod]
) -> list[dict[str, Any]]:
    gang = replace(builders.gang("g"), suspended=Suspended(workload))
    node_request = NodeRequest(
        gang, "d", pod_sets=tuple(RequestedPodSet(each, 1) for each in members)
    )
    return [{**each} for each in asyncio.run(MemberBodies(FakeApi(cluster)).of(node_request))]


def like(body: Body, **changes: Any) -> Body:
    return {**job(), **body, **changes}


JOB_SET = like(
    {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"},
    metadata={**job()["metadata"], "ownerReferences": [OWNER]},
    spec={
        "suspend": True,
        "replicatedJobs": [{"name": "node", "template": {"spec": {"template": template()}}}],
    },
)
RAY_JOB = like(
    {"apiVersion": "ray.io/v1", "kind": "RayJob"},
    spec={
        "suspend": True,
        "rayClusterSpec": {
            "headGroupSpec": {"template": template()},
            "enableInTreeAutoscaling": True,
            "workerGroupSpecs": [
                {"groupName": "w", "replicas": 1, "minReplicas": 1, "template": template()}
            ],
        },
    },
)


def test_the_member_of_a_train_job_is_made_of_its_job_set() -> None:
    cluster = FakeCluster()
    cluster.put(JOB_SETS, JOB_SET)
    part = read(JOB_SET).owned
    assert part is not None
    (gang,) = part.gangs

    (pod,) = bodies(cluster, ManagedWorkload("TrainJob", "default", "job", "uid-train"), gang.pods)

    assert "job" == pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"]
    assert template()["spec"]["containers"] == pod["spec"]["containers"]


def test_containers_that_a_controller_adds_have_an_image() -> None:
    cluster = FakeCluster({*SERVED, RAY_JOBS[0]})
    cluster.put(RAY_JOBS[0], RAY_JOB)
    said = read(RAY_JOB).suspended
    assert said is not None

    head, worker = bodies(cluster, said.workload, said.gangs[0].pods)

    assert [("c", "i"), ("autoscaler", "i")] == [
        (each["name"], each["image"]) for each in head["spec"]["containers"]
    ]
    assert ["i"] == [each["image"] for each in worker["spec"]["initContainers"]]


def test_what_flavors_added_before_is_in_no_template() -> None:
    cluster, edited = FakeCluster(), job(of=template(nodeSelector={"zone": "a", "pool": "spot"}))
    added = '[{"path":["spec","template"],"nodeSelector":{"pool":{"now":"spot"}}}]'
    edited["metadata"]["annotations"]["py-gang-scheduler.io/admitted-from"] = added
    cluster.put(JOBS, edited)
    said = read(edited).suspended
    assert said is not None

    (pod,) = bodies(cluster, said.workload, said.gangs[0].pods[:1])

    assert {"zone": "a"} == pod["spec"]["nodeSelector"]


def test_a_workload_that_has_other_members_now_is_looked_at_again() -> None:
    cluster = FakeCluster()
    said = read(job(pods=3)).suspended
    assert said is not None
    cluster.put(JOBS, job(pods=1))

    with pytest.raises(ApiError, match="Job default/job has changed"):
        bodies(cluster, said.workload, said.gangs[0].pods[2:])
