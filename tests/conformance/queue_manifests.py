"""The clusters, queues and gangs of `queue-cases.yaml` as manifests; its header has the format."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support import api_objects, builders, in_memory_cluster, yaml_texts

Case = Mapping[str, Any]
Body = dict[str, Any]

DATA: dict[str, Any] = yaml_texts.read((Path(__file__).parent / "queue-cases.yaml").read_text())
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KUEUE = "kueue.x-k8s.io/v1beta2"
KINDS = {
    "Queue": ("py-gang-scheduler.io/v1alpha1", "Queue"),
    "Flavor": ("py-gang-scheduler.io/v1alpha1", "ResourceFlavor"),
    "VolcanoQueue": ("scheduling.volcano.sh/v1beta1", "Queue"),
}
"""What the kinds of the data are; the others are Kueue's by their own names."""
LABELS = {
    "ours": "py-gang-scheduler.io/queue",
    "kueue": "kueue.x-k8s.io/queue-name",
    "volcano": "scheduling.volcano.sh/queue-name",
}
SPEC = {
    "preemptionPolicy": "preemptionPolicy",
    "scheduler": "schedulerName",
    "deadline": "activeDeadlineSeconds",
}
"""Fields of gangs that are fields of their pods."""
BIG = {
    "name": "big",
    "allocatable": {"cpu": 1000, "memory": "4000Gi", "nvidia.com/gpu": 1000, "pods": 5000},
}


def at(seconds: float) -> str:
    """Return a time as manifests have it, in seconds from the time of the cases."""
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def manifests(case: Case) -> Iterator[Body]:
    """Yield what a case declares: queues, nodes, and gangs that run or wait."""
    objects = [*_sets(case), *(case.get("objects") or [])]
    yield from map(_object, objects)
    if case.get("declare", True):
        yield from _implied(objects)
    nodes = _nodes(case)
    for node in nodes:
        yield _node(node)
    named_by = LABELS[case.get("via") or _product(objects)]
    for gang in case.get("running", []):
        yield from _running(gang, named_by, nodes[0]["name"])
    for place, gang in enumerate(case.get("pending", [])):
        yield from _gang(gang, named_by, created=-gang.get("age", 100 - place))


def _sets(case: Case) -> Iterator[Case]:
    used = case.get("use", [])
    for name in [used] if isinstance(used, str) else used:
        yield from DATA["sets"][name]


def _product(objects: Sequence[Case]) -> str:
    kinds = {each["kind"] for each in objects}
    return "kueue" if "ClusterQueue" in kinds else "volcano" if "VolcanoQueue" in kinds else "ours"


def _object(declared: Case) -> Body:
    version, kind = KINDS.get(declared["kind"], (KUEUE, declared["kind"]))
    place = {"namespace": declared.get("namespace", "default")} if kind == "LocalQueue" else {}
    metadata = {"name": declared["name"], **place, **declared.get("metadata", {})}
    content = {key: each for key, each in declared.items() if key in ("spec", "status", "value")}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **_dated(content)}


def _dated(value: Any) -> Any:
    """Return content with times: `@-60` is a minute before the time of the cases."""
    if isinstance(value, Mapping):
        return {key: _dated(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_dated(each) for each in value]
    return at(float(value[1:])) if isinstance(value, str) and value.startswith("@") else value


def _implied(objects: Sequence[Case]) -> Iterator[Body]:
    """Yield a LocalQueue for each ClusterQueue, and the flavors that are only named."""
    there = {(each["kind"], each["name"]) for each in objects}
    flavors = dict.fromkeys(
        flavor["name"]
        for each in objects
        if each["kind"] in ("ClusterQueue", "Cohort")
        for group in each["spec"].get("resourceGroups", [])
        for flavor in group["flavors"]
    )
    for name in flavors:
        if ("ResourceFlavor", name) not in there:
            yield _object({"kind": "ResourceFlavor", "name": name, "spec": {}})
    for kind, name in there:
        if kind == "ClusterQueue" and ("LocalQueue", name) not in there:
            yield _object({"kind": "LocalQueue", "name": name, "spec": {"clusterQueue": name}})


def _nodes(case: Case) -> list[Case]:
    return [
        json.loads(json.dumps(node).replace("{i}", str(number)))
        for node in case.get("nodes", [BIG])
        for number in range(node.get("repeat", 1))
    ]


def _node(node: Case) -> Body:
    spec = {key: node[key] for key in ("taints", "unschedulable") if key in node}
    labels = node.get("labels", {})
    uid = f"node-{node['name']}"
    metadata = {"labels": labels, "uid": uid, "creationTimestamp": at(-864_000)}
    return api_objects.node_body(
        node["name"], allocatable={"pods": 110, **node["allocatable"]}, metadata=metadata, **spec
    )


def _running(gang: Case, named_by: str, first_node: str) -> Iterator[Body]:
    started = gang.get("started", 3600)
    nodes = gang.get("node", first_node)
    bodies = _gang(gang, named_by, created=-gang.get("age", started + 60))
    for number, body in enumerate(bodies, start=-1):
        if body["kind"] == "Pod":
            node = nodes if isinstance(nodes, str) else nodes[number % len(nodes)]
            body["spec"]["nodeName"] = node
            body["status"] = {"phase": "Running", "startTime": at(-started)}
        yield body


def _gang(gang: Case, named_by: str, created: float) -> Iterator[Body]:
    """Yield the PodGroup of a gang, and its pods; or the suspended Job that would make these."""
    labels = {**gang.get("labels", {})}
    if gang.get("queue"):
        labels[LABELS.get(gang.get("via", ""), named_by)] = gang["queue"]
    metadata = {
        "namespace": gang.get("namespace", "default"),
        "creationTimestamp": at(created),
        "labels": labels,
        "annotations": _annotations(gang),
    }
    if gang.get("job"):
        yield _suspended_job(gang, metadata)
        return
    podsets = gang.get("podsets", [gang])
    members = [podset for podset in podsets for _ in range(podset.get("pods", 1))]
    yield api_objects.pod_group_body(
        gang["gang"],
        min_member=gang.get("min", len(members)),
        metadata=dict(metadata),
        **({"status": _dated(gang["status"])} if "status" in gang else {}),
    )
    for number, podset in enumerate(members):
        name = f"{gang['gang']}-{number}"
        own = {**labels, builders.POD_GROUP_LABEL: gang["gang"]}
        spec = {SPEC[key]: gang[key] for key in SPEC if key in gang}
        yield api_objects.pod_body(
            name,
            metadata={**metadata, "name": name, "uid": name, "labels": own, **_leaving(gang)},
            containers=[api_objects.container(requests=podset["requests"])],
            priority=gang.get("priority", 0),
            **{key: podset[key] for key in ("tolerations",) if key in podset},
            **({"nodeSelector": podset["selector"]} if "selector" in podset else {}),
            **spec,
        )


def _suspended_job(gang: Case, metadata: Body) -> Body:
    count, pod = gang["pods"], in_memory_cluster.template()
    pod["spec"]["containers"] = [api_objects.container(requests=gang["requests"])]
    pod["spec"]["priority"] = gang["priority"]
    body = in_memory_cluster.job_body(
        gang["gang"],
        pods=pod,
        suspend=True,
        parallelism=count,
        completions=count,
        completionMode="Indexed",
    )
    return {**body, "metadata": {**body["metadata"], **metadata}}


def _leaving(gang: Case) -> Body:
    if not gang.get("deleting"):
        return {}
    return {"deletionTimestamp": at(20), "deletionGracePeriodSeconds": 30}


def _annotations(gang: Case) -> Body:
    said = dict(gang.get("annotations", {}))
    if "duration" in gang:
        said["py-gang-scheduler.io/expected-duration"] = gang["duration"]
    if "flavors" in gang:
        said["py-gang-scheduler.io/flavors"] = json.dumps(gang["flavors"])
    return said
