"""The cases of `topology-cases.yaml` as manifests.

A podset is a Job with Kueue's annotations in its pod template. Podsets of one group are the
replicatedJobs of one JobSet. Written as bare pods instead, a podset is a PodGroup, and those of a
group name each other. The members that a case of a replacement has already are bare pods always.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.model.resources import amount_of
from support import api_objects, builders

Case = Mapping[str, Any]
Body = dict[str, Any]
Path = tuple[str, ...]

HOSTNAME = "kubernetes.io/hostname"
PREFIX = annotations.KUEUE_PODSET_PREFIX
JOB_SET = "set"
MODES = ("required", "preferred")


def manifests(case: Case, *, bare: bool) -> Iterator[Body]:
    """Yield the cluster and the podsets that are to be placed."""
    yield _topology(case["levels"])
    for node in nodes(case):
        yield _node(node)
    for pod in case.get("existing_pods", []):
        yield _running(pod["name"], pod["node"], pod["requests"], pod["phase"])
    yield from _usage(case)
    tried = [podset for podset in case["podsets"] if is_tried(case, podset)]
    yield from _as_pods(case, tried) if bare or "replace" in case else _as_jobs(case, tried)


def nodes(case: Case) -> Iterator[Case]:
    """Yield the nodes, the repeated ones written out."""
    for node in case["nodes"]:
        for i in range(node.get("repeat", 1)):
            yield {**node, "name": node["name"].replace("{i}", str(i))}


def path_of(case: Case, node: Case) -> Path:
    """Return the domains of a node from the top down to the leaf."""
    return tuple(node.get("labels", {}).get(level, "") for level in case["levels"])


def leaf(case: Case, domain: list[str]) -> Path:
    """Return the domains of a leaf as a case writes it: by its host name, or by all levels."""
    if case["levels"][-1] != HOSTNAME:
        return tuple(domain)
    return next(path for node in nodes(case) if (path := path_of(case, node))[-1] == domain[0])


def is_tried(case: Case, podset: Case) -> bool:
    """Return whether the podset is tried, as podsets after a failed one are not."""
    failure = case["expect"][podset["name"]].get("failure", {})
    return bool(failure.get("kind") != "not-attempted")


def members(case: Case, podset: Case, *, bare: bool) -> list[str]:
    """Return the names of a podset's pods in rank order."""
    name = podset["name"]
    if "group" in podset and not bare and "replace" not in case:
        name = f"{JOB_SET}-{name}-0"
    return [f"{name}-{i}" for i in range(podset["count"])]


def survivors(case: Case, podset: Case) -> dict[str, Path]:
    """Return the members that a replacement leaves where they are, with their leaves."""
    if "replace" not in case:
        return {}
    current = case["replace"]["current"]
    leaves = [leaf(case, each["domain"]) for each in current for _ in range(each["count"])]
    named = zip(members(case, podset, bare=True), leaves, strict=True)
    return {name: path for name, path in named if path[-1] != case["replace"]["failed_node"]}


def slices_of(podset: Case) -> list[Case]:
    """Return the slices of a podset, coarsest first. One without a size is none."""
    return [each for each in podset.get("slices", []) if each["size"] is not None]


def _topology(levels: list[str]) -> Body:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Topology",
        "metadata": {"name": "default"},
        "spec": {"levels": [{"nodeLabel": level} for level in levels]},
    }


def _node(node: Case) -> Body:
    ready = [{"type": "Ready", "status": str(node.get("ready", True))}]
    return api_objects.node_body(
        node["name"],
        allocatable=node["allocatable"],
        metadata={"labels": node.get("labels", {})},
        status={"conditions": ready},
        unschedulable=node.get("unschedulable", False),
        taints=node.get("taints", []),
    )


def _running(name: str, node: str, requests: Case, phase: str = "Running") -> Body:
    return api_objects.pod_body(
        name,
        containers=[api_objects.container(requests=requests)],
        status={"phase": phase},
        nodeName=node,
        schedulerName="another",
    )


def _usage(case: Case) -> Iterator[Body]:
    """Yield the pods of other gangs. Those of a gang that loses a node are among the usage."""
    own = [path for podset in case["podsets"] for path in survivors(case, podset).values()]
    left = Counter(own)
    free = {node["name"]: _amounts(node["allocatable"]) for node in nodes(case)}
    for number, usage in enumerate(case.get("existing_gang_usage", [])):
        path = leaf(case, usage["domain"])
        asked = _amounts({"pods": 1, **usage["per_pod"]})
        for i in range(usage["count"] - left.pop(path, 0)):
            here = [node["name"] for node in nodes(case) if path_of(case, node) == path]
            roomy = (name for name in here if asked <= free[name])
            node = next(roomy, here[0])
            free[node] -= asked
            yield _running(f"usage-{number}-{i}", node, usage["per_pod"])


def _amounts(quantities: Case) -> Counter[str]:
    return Counter({name: amount_of(name, text) for name, text in quantities.items()})


def _as_jobs(case: Case, podsets: list[Case]) -> Iterator[Body]:
    """Yield a Job for each podset, and at the first one of a group its JobSet."""
    grouped = [podset for podset in podsets if "group" in podset]
    for podset in podsets:
        if podset not in grouped:
            yield _job(podset["name"], case, podset)
        elif podset is grouped[0]:
            jobs = [_replicated_job(case, each) for each in grouped]
            yield {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": {"name": JOB_SET},
                "spec": {"replicatedJobs": jobs},
            }


def _replicated_job(case: Case, podset: Case) -> Body:
    return {"name": podset["name"], "replicas": 1, "template": {"spec": _job_spec(case, podset)}}


def _job(name: str, case: Case, podset: Case) -> Body:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": _job_spec(case, podset),
    }


def _job_spec(case: Case, podset: Case) -> Body:
    metadata = {
        "labels": {annotations.JOB_GANG_LABEL: "true"},
        "annotations": _annotations(podset),
    }
    return {
        "parallelism": podset["count"],
        "completions": podset["count"],
        "completionMode": "Indexed",
        "template": {"metadata": metadata, "spec": _pod_spec(case, podset)},
    }


def _as_pods(case: Case, podsets: list[Case]) -> Iterator[Body]:
    """Yield a PodGroup and its pods for each podset."""
    grouped = [f"{builders.NAMESPACE}/{podset['name']}" for podset in podsets if "group" in podset]
    for podset in podsets:
        said = {annotations.GANG_GROUPS: json.dumps(grouped)} if "group" in podset else {}
        yield api_objects.pod_group_body(
            podset["name"], min_member=podset["count"], metadata={"annotations": said}
        )
        leaves = survivors(case, podset)
        hosts = {path_of(case, node): node["name"] for node in nodes(case)}
        for name in members(case, podset, bare=True):
            where = {"nodeName": hosts[leaves[name]]} if name in leaves else {}
            yield _member(name, case, podset, where)


def _member(name: str, case: Case, podset: Case, where: Case) -> Body:
    body = api_objects.pod_body(
        name,
        status={"phase": "Running" if where else "Pending"},
        **_pod_spec(case, podset),
        **where,
    )
    labels = {builders.POD_GROUP_LABEL: podset["name"]}
    body["metadata"].update(labels=labels, annotations=_annotations(podset))
    return body


def _pod_spec(case: Case, podset: Case) -> Body:
    spec = {
        "containers": [api_objects.container(requests=podset["per_pod"])],
        "nodeSelector": {**case.get("flavor_node_labels", {}), **podset.get("node_selector", {})},
        "tolerations": podset.get("tolerations", []),
    }
    if "preferred_node_affinity" in podset:
        terms = [_preferred(each) for each in podset["preferred_node_affinity"]]
        affinity = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {"nodeAffinity": affinity}
    return spec


def _preferred(term: Case) -> Body:
    expression = {"key": term["key"], "operator": "In", "values": term["in"]}
    return {"weight": term["weight"], "preference": {"matchExpressions": [expression]}}


def _annotations(podset: Case) -> dict[str, str]:
    """Return what a user writes for Kueue."""
    asked = podset["topology"]
    said = {}
    if asked["mode"] in MODES:
        said[f"{asked['mode']}-topology"] = asked["level"]
    elif asked["mode"] == "unconstrained":
        said["unconstrained-topology"] = "true"
    if "group" in podset:
        said["group-name"] = podset["group"]
    return {f"{PREFIX}{key}": text for key, text in {**said, **_slices(podset)}.items()}


def _slices(podset: Case) -> dict[str, str]:
    layers = slices_of(podset)
    if len(layers) == 1:
        only = layers[0]
        return {"slice-required-topology": only["level"], "slice-size": str(only["size"])}
    written = [{"topology": each["level"], "size": each["size"]} for each in layers]
    return {"slice-required-topology-constraints": json.dumps(written)} if written else {}
