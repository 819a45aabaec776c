"""The clusters and jobs of `job-cases.yaml` as manifests: cpu in cores, memory in Gi."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance import trees
from gang_scheduler.api import annotations
from support import api_objects, builders

Case = Mapping[str, Any]
Body = dict[str, Any]


def manifests(case: Case, *, peaceful: bool = False) -> Iterator[Body]:
    """Yield the cluster, what runs in it, and the job: a gang, or gangs that start together.

    A peaceful job evicts no pod.
    """
    cluster = trees.DATA["clusters"][case["cluster"]]
    if cluster["topology"]:
        yield _topology(cluster["topology"])
    for node in cluster["nodes"]:
        offered = _quantities(node["allocatable"])
        metadata = {"labels": node["labels"]}
        yield api_objects.node_body(node["name"], allocatable=offered, metadata=metadata)
    for pod in case.get("existingPods", []):
        # Pods that may be evicted are of our own scheduler.
        whose = builders.SCHEDULER if case["kind"].startswith("preempt") else "another"
        yield _pod(pod, nodeName=pod["node"], schedulerName=whose)
    yield from _job(case["job"], peaceful=peaceful)


def _topology(spec: list[Case]) -> Body:
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": spec},
    }


def _job(job: Case, *, peaceful: bool) -> Iterator[Body]:
    """Yield the PodGroups of a job and its pods, dealt out among them."""
    gangs = job["gangGroup"].split(",")
    policy = {"preemptionPolicy": "Never"} if peaceful else {}
    for number, gang in enumerate(gangs):
        members = job["pods"][number :: len(gangs)]
        yield _pod_group(gang, job, len(members))
        for pod in members:
            body = _pod(pod, **policy)
            body["metadata"]["labels"] = {builders.POD_GROUP_LABEL: gang.partition("/")[2]}
            if "index" in pod:
                index = {annotations.NETWORK_TOPOLOGY_INDEX: str(pod["index"])}
                body["metadata"]["annotations"] = index
            yield body


def _pod_group(gang: str, job: Case, members: int) -> Body:
    namespace, _, name = gang.partition("/")
    gangs = job["gangGroup"].split(",")
    said = {}
    if job["gatherStrategy"]:
        spec = json.dumps({"gatherStrategy": job["gatherStrategy"]})
        said[annotations.NETWORK_TOPOLOGY_SPEC] = spec
    if len(gangs) > 1:
        said[annotations.GANG_GROUPS] = json.dumps(gangs)
    return api_objects.pod_group_body(
        name,
        min_member=job.get("minMember", members),
        metadata={"namespace": namespace, "annotations": said},
    )


def _pod(pod: Case, **spec: Any) -> Body:
    containers = [api_objects.container(requests=_quantities(pod["requests"]))]
    body = api_objects.pod_body(
        pod["name"],
        containers=containers,
        priority=pod["priority"],
        status={"phase": "Running" if "node" in pod else "Pending", **_status(pod)},
        **spec,
    )
    if pod.get("terminating"):
        body["metadata"]["deletionTimestamp"] = "2024-05-01T12:00:00Z"
    return body


def _status(pod: Case) -> Body:
    said: Body = {}
    if "nominatedNode" in pod:
        said["nominatedNodeName"] = pod["nominatedNode"]
    if "conditions" in pod:
        said["conditions"] = pod["conditions"]
    return said


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {key: f"{each}Gi" if key == "memory" else str(each) for key, each in amounts.items()}
