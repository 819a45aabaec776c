"""Random clusters as manifests: what people may write, valid or wrong in its meaning."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import Objects

Manifest = dict[str, Any]

OURS = "py-gang-scheduler"
KOORDINATOR = "gang.scheduling.koordinator.sh"
KUEUE = "kueue.x-k8s.io"
LABEL = "pod-group.scheduling.sigs.k8s.io"
EARLY, LATE = "2024-01-01T00:00:00Z", "2024-01-01T00:10:00Z"

NETWORK: Manifest = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "Spine", "labelKey": ["spine"]},
            {"topologyLayer": "Rack", "labelKey": ["rack"], "parentTopologyLayer": "Spine"},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "Rack"},
        ]
    },
}
SPECS = [
    json.dumps({"gatherStrategy": [{"layer": layer, "strategy": strategy, **more}]})
    for layer in ("Spine", "Rack", "Nowhere")
    for strategy in ("MustGather", "PreferGather")
    for more in ({}, {"podCountMultiple": 2})
]
ON_GANGS: Sequence[dict[str, str]] = (
    {},
    *({f"{KOORDINATOR}/network-topology-spec": text} for text in SPECS),
    *({f"{KOORDINATOR}/total-number": number} for number in ("2", "9", "none")),
    *({f"{KOORDINATOR}/mode": mode} for mode in ("NonStrict", "Strange")),
    *({f"{KOORDINATOR}/match-policy": policy} for policy in ("only-waiting", "once-satisfied")),
    *({f"{KOORDINATOR}/groups": json.dumps(names)} for names in (["default/a", "default/b"],)),
    {f"{KOORDINATOR}/groups": '["default/missing"]'},
)
ON_PODS: Sequence[dict[str, str]] = (
    *({} for _ in range(6)),
    {f"{KUEUE}/podset-required-topology": "rack"},
    {f"{KUEUE}/podset-preferred-topology": "rack"},
    {f"{KUEUE}/podset-unconstrained-topology": "true"},
    {f"{KUEUE}/podset-required-topology": "spine", f"{KUEUE}/podset-slice-size": "2"},
    {f"{KOORDINATOR}/network-topology-index": "1"},
)


def chance(draw: st.DrawFn, one_in: int) -> bool:
    """Return whether something rare is so."""
    return draw(st.integers(1, one_in)) == one_in


def a_node(draw: st.DrawFn, name: str) -> Manifest:
    places = {"rack": draw(st.sampled_from(["", "r1", "r2"])), "spine": "s1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {key: at for key, at in places.items() if at}},
        "spec": {"unschedulable": chance(draw, 9)},
        "status": {
            "allocatable": {"cpu": draw(st.integers(1, 6)), "pods": draw(st.integers(1, 6))},
            "conditions": [{"type": "Ready", "status": "False" if chance(draw, 9) else "True"}],
        },
    }


def a_template(draw: st.DrawFn) -> Manifest:
    requests = {"cpu": draw(st.integers(0, 4))}
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}


def a_pod(draw: st.DrawFn, name: str, nodes: Sequence[str], priority: int) -> Manifest:
    """Return a pod: mostly one that waits, sometimes one in any other state."""
    spec: Manifest = {**a_template(draw), "priority": priority}
    metadata: Manifest = {"name": name, "annotations": dict(draw(st.sampled_from(ON_PODS)))}
    status: Manifest = {}
    if chance(draw, 3):
        spec["nodeName"] = draw(st.sampled_from(nodes))
    if chance(draw, 9):
        spec["schedulingGates"] = [{"name": "later"}]
    if chance(draw, 9):
        metadata["deletionTimestamp"] = LATE
    if chance(draw, 9):
        status["phase"] = draw(st.sampled_from(["Succeeded", "Failed", "Running", "Unknown"]))
    if chance(draw, 9):
        status["nominatedNodeName"] = draw(st.sampled_from([*nodes, "gone"]))
    if chance(draw, 9):
        spec["schedulerName"] = draw(st.sampled_from([OURS, "default-scheduler"]))
    if chance(draw, 9):
        spec["preemptionPolicy"] = "Never"
    if chance(draw, 3):
        metadata["creationTimestamp"] = draw(st.sampled_from([EARLY, LATE]))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    return {key: part for key, part in pod.items() if part}


def joined(pod: Manifest, labels: dict[str, str], annotations: dict[str, str]) -> Manifest:
    """Return the pod as one with these labels and annotations."""
    metadata = pod["metadata"]
    return {
        **pod,
        "metadata": {
            **metadata,
            "labels": {**metadata.get("labels", {}), **labels},
            "annotations": {**metadata["annotations"], **annotations},
        },
    }


def a_pod_group(draw: st.DrawFn, name: str, nodes: Sequence[str], priority: int) -> list[Manifest]:
    group, label = draw(
        st.sampled_from(
            [
                ("scheduling.sigs.k8s.io/v1alpha1", LABEL),
                ("scheduling.x-k8s.io/v1alpha1", "scheduling.x-k8s.io/pod-group"),
            ]
        )
    )
    said = {
        "apiVersion": group,
        "kind": "PodGroup",
        "metadata": {"name": name, "annotations": dict(draw(st.sampled_from(ON_GANGS)))},
        "spec": {"minMember": draw(st.integers(1, 4))},
    }
    pods = [a_pod(draw, f"{name}-{i}", nodes, priority) for i in range(draw(st.integers(0, 5)))]
    return [
        *([] if chance(draw, 9) else [said]),
        *(joined(each, {label: name}, {}) for each in pods),
    ]


def a_native_group(
    draw: st.DrawFn, name: str, nodes: Sequence[str], priority: int
) -> list[Manifest]:
    policy = draw(st.sampled_from([{"gang": {"minCount": 2}}, {"basic": {}}]))
    must = draw(st.sampled_from([{}, {"topology": [{"key": "rack"}]}]))
    said = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": policy, "schedulingConstraints": must, "priority": priority},
    }
    pods = [a_pod(draw, f"{name}-{i}", nodes, priority) for i in range(draw(st.integers(0, 5)))]
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": name}
    return [*([] if chance(draw, 9) else [said]), *pods]


def an_annotated_gang(
    draw: st.DrawFn, name: str, nodes: Sequence[str], priority: int
) -> list[Manifest]:
    said = {
        f"{KOORDINATOR}/name": name,
        f"{KOORDINATOR}/min-available": str(draw(st.integers(1, 4))),
        **draw(st.sampled_from(ON_GANGS)),
    }
    pods = [a_pod(draw, f"{name}-{i}", nodes, priority) for i in range(draw(st.integers(0, 5)))]
    return [joined(each, {}, said) for each in pods]


def a_job(draw: st.DrawFn, name: str, _: Sequence[str], priority: int) -> list[Manifest]:
    labels = draw(st.sampled_from([{}, {"py-gang-scheduler.io/gang": "true"}, {LABEL: "a"}]))
    metadata = {"labels": labels, "annotations": dict(draw(st.sampled_from(ON_PODS)))}
    template = {"metadata": metadata, "spec": {**a_template(draw), "priority": priority}}
    count = {"parallelism": draw(st.integers(0, 4)), "completions": draw(st.integers(0, 4))}
    spec = {**count, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    if not chance(draw, 3):
        return [job]
    parts = [{"name": part, "replicas": 1, "template": {"spec": spec}} for part in ("x", "y")]
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    return [{**job_set, "metadata": {"name": name}, "spec": {"replicatedJobs": parts}}]


def plain_pods(draw: st.DrawFn, name: str, nodes: Sequence[str], priority: int) -> list[Manifest]:
    return [a_pod(draw, f"{name}-{i}", nodes, priority) for i in range(draw(st.integers(1, 3)))]


GANGS = (a_pod_group, a_pod_group, a_native_group, an_annotated_gang, a_job, plain_pods)


@st.composite
def clusters(draw: st.DrawFn) -> list[Manifest]:
    """Return up to four nodes and four gangs of all sources, in any order."""
    nodes = [f"n{i}" for i in range(1, draw(st.integers(1, 4)) + 1)]
    found = [a_node(draw, name) for name in nodes]
    if draw(st.booleans()):
        found.append(NETWORK)
    for name in "abcd"[: draw(st.integers(1, 4))]:
        found += draw(st.sampled_from(GANGS))(draw, name, nodes, draw(st.integers(0, 3)))
    if chance(draw, 4):
        found.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": 1, "selector": {}},
            }
        )
    return draw(st.permutations(found))


def read(manifests: Sequence[Manifest]) -> Objects:
    """Return what these manifests say."""
    text = "\n".join(json.dumps(each) for each in manifests)
    return objects.load(documents.parse("f", text), OURS)
