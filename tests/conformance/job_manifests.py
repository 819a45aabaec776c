"""The clusters and jobs of `job-cases.yaml` as manifests: cpu in cores, memory in Gi."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import builders
from conformance import trees
from gang_scheduler.api import annotations

Case = Mapping[str, Any]
Body = dict[str, Any]


def manifests(case: Case) -> Iterator[Body]:
    """Yield the cluster, what runs in it, and the job: a gang."""
    cluster = trees.DATA["clusters"][case["cluster"]]
    if cluster["topology"]:
        yield _topology(cluster["topology"])
    for node in cluster["nodes"]:
        offered = _quantities(node["allocatable"])
        metadata = {"labels": node["labels"]}
        yield builders.node_body(node["name"], allocatable=offered, metadata=metadata)
    for pod in case.get("existingPods", []):
        yield _pod(pod, nodeName=pod["node"], schedulerName="another")
    yield from _gang(case["job"])


def _topology(spec: list[Case]) -> Body:
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": spec},
    }


def _gang(job: Case) -> Iterator[Body]:
    namespace, _, name = job["gangGroup"].partition("/")
    spec = json.dumps({"gatherStrategy": job["gatherStrategy"]})
    yield builders.pod_group_body(
        name,
        min_member=job["minMember"],
        metadata={"namespace": namespace, "annotations": {annotations.NETWORK_TOPOLOGY_SPEC: spec}},
    )
    for pod in job["pods"]:
        body = _pod(pod)
        body["metadata"]["labels"] = {builders.POD_GROUP_LABEL: name}
        if "index" in pod:
            index = {annotations.NETWORK_TOPOLOGY_INDEX: str(pod["index"])}
            body["metadata"]["annotations"] = index
        yield body


def _pod(pod: Case, **spec: Any) -> Body:
    containers = [builders.container(requests=_quantities(pod["requests"]))]
    phase = "Running" if spec else "Pending"
    return builders.pod_body(
        pod["name"],
        containers=containers,
        priority=pod["priority"],
        status={"phase": phase},
        **spec,
    )


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {key: f"{each}Gi" if key == "memory" else str(each) for key, each in amounts.items()}
