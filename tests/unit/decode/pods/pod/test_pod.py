"""Pods and nodes are read from the wire."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster
from gang_scheduler.decode.pods.pod import OUR_MARK
from gang_scheduler.model.device_needs import PodClaim
from gang_scheduler.model.extended_resources import ContainerRequest
from gang_scheduler.model.nodes import Node, Toleration
from gang_scheduler.model.pods import HostPort, Pod, PodClass, PodPhase
from support import decoded as pod
from support.api_objects import container, node_body, pod_body
from support.builders import GPU, NAMESPACE, SCHEDULER, gang_key, requirement, taint

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def required_terms(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def expression(operator: str, *values: Any, key: str = "zone") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_a_pod_is_read() -> None:
    body = pod_body(
        gang="a",
        metadata={"creationTimestamp": "2026-01-02T03:04:05Z"},
        nodeName="n1",
        priority=7,
        status={"phase": "Running"},
    )

    expected = Pod(
        uid="uid-a-0",
        namespace=NAMESPACE,
        name="a-0",
        gang=gang_key("a"),
        pod_class=PodClass(requests=(("cpu", 1000), ("pods", 1))),
        scheduler=SCHEDULER,
        node="n1",
        priority=7,
        created_at=1767323045,
        phase=PodPhase.RUNNING,
        labels={"pod-group.scheduling.sigs.k8s.io": "a"},
    )
    assert expected == pod.pod(body)


def test_a_pod_of_which_little_is_known_is_read() -> None:
    found = pod.pod({"metadata": {"name": "a"}})

    assert ("a", "", 0, 0, PodPhase.PENDING) == (
        found.name,
        found.node,
        found.priority,
        found.created_at,
        found.phase,
    )


def test_what_asks_for_the_same_is_the_same_object() -> None:
    one, other = pod.pod(pod_body("a-0")), pod.pod(pod_body("a-1"))

    assert one.pod_class is other.pod_class


@pytest.mark.parametrize(
    ("body", "attribute"),
    [
        (pod_body(metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"}), "deleting"),
        (pod_body(schedulingGates=[{"name": "wait"}]), "gated"),
        (pod_body(status={"phase": "Failed"}), "terminal"),
    ],
)
def test_states_in_which_a_pod_is_not_bound_are_read(body: dict[str, Any], attribute: str) -> None:
    found = pod.pod(body)

    assert (True, False) == (getattr(found, attribute), found.living)


def test_only_annotations_that_the_scheduler_knows_are_kept() -> None:
    known = {"gang.scheduling.koordinator.sh/name": "a", "py-gang-scheduler.io/plan-id": "1"}

    found = pod.pod(pod_body(metadata={"annotations": {**known, "example.com/note": "long"}}))

    assert known == found.annotations


def test_the_owners_are_sorted() -> None:
    owners = [{"kind": "Job", "name": "train", "controller": True}, {"kind": "Thing", "name": "a"}]

    found = pod.pod(pod_body(metadata={"ownerReferences": owners}))

    assert "default/a,default/train" == found.owner


def test_why_a_pod_is_not_scheduled_is_read() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Why", "message": "Because"}

    found = pod.pod(pod_body(status={"conditions": [condition]}))

    assert ("Why", "Because") == found.unscheduled
    assert pod.pod(pod_body()) == found


def test_selector_and_tolerations_are_read() -> None:
    found = pod.pod(
        pod_body(
            nodeSelector={"b": "2", "a": "1"},
            tolerations=[{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoExecute"}],
        )
    )

    assert (("a", "1"), ("b", "2")) == found.pod_class.node_selector
    assert (
        Toleration("", "Exists"),
        Toleration("k", "Equal", "v", "NoExecute"),
    ) == found.pod_class.tolerations


def test_node_affinity_is_read() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = required_terms(
        {"matchExpressions": [expression("In", "a", "b")], "matchFields": [field]},
        {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
        {},
    )

    expected = (
        (
            requirement("zone", "In", "a", "b"),
            requirement("metadata.name", "In", "n1", on_field=True),
        ),
        (requirement("gpu", "Exists"),),
        (),
    )
    assert expected == pod.pod(pod_body(affinity=terms)).pod_class.affinity


def test_no_affinity_is_not_the_same_as_no_terms() -> None:
    without, empty = pod_body(affinity={"nodeAffinity": {}}), pod_body(affinity=required_terms())

    assert (None, ()) == (pod.pod(without).pod_class.affinity, pod.pod(empty).pod_class.affinity)


def test_host_ports_are_read_once_and_sorted() -> None:
    ports = [
        {"containerPort": 1, "hostPort": 443},
        {"containerPort": 2, "hostPort": 80, "protocol": "UDP", "hostIP": "10.0.0.1"},
        {"containerPort": 3},
    ]
    found = pod.pod(pod_body(containers=[container(ports=ports), container("b", ports=ports[:1])]))

    assert (HostPort(80, "UDP", "10.0.0.1"), HostPort(443)) == found.pod_class.host_ports


def test_claims_of_devices_are_named_or_were_created_for_the_pod() -> None:
    entries = [
        {"name": "own", "resourceClaimName": "shared"},
        {"name": "made", "resourceClaimTemplateName": "gpus"},
        {"name": "later", "resourceClaimTemplateName": "gpus"},
        {"name": "none", "resourceClaimTemplateName": "nothing"},
    ]
    made = [{"name": "made", "resourceClaimName": "a-0-made"}, {"name": "none"}]
    found = pod.pod(pod_body(resourceClaims=entries, status={"resourceClaimStatuses": made}))

    assert (
        PodClaim("own", "shared"),
        PodClaim("made", "a-0-made", "gpus"),
        PodClaim("later", "", "gpus"),
        PodClaim("none", "", "nothing", unneeded=True),
    ) == found.claims


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"resourceClaims": [{"name": "x"}]}, "spec.resourceClaims"),
        ({"tolerations": [{"key": "a", "operator": "Near"}]}, "spec.tolerations[0].operator"),
    ],
)
def test_what_cannot_be_honoured_is_named(spec: dict[str, Any], field: str) -> None:
    assert (field,) == pod.pod(pod_body(**spec)).pod_class.unsupported


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"configMap": {"name": "x"}}]},
        {"volumes": [{"persistentVolumeClaim": {"claimName": "x"}}]},
        {"volumes": [{"name": "x", "ephemeral": {"volumeClaimTemplate": {}}}]},
        {"tolerations": [{"key": "a", "operator": ""}]},
        {"tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]},
    ],
)
def test_plain_volumes_and_tolerations_are_no_obstacle(spec: dict[str, Any]) -> None:
    assert () == pod.pod(pod_body(**spec)).pod_class.unsupported


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        (
            {
                "initContainers": [
                    container(restartPolicyRules=[{"action": "RestartAllContainers"}])
                ]
            },
            ("RestartAllContainersOnContainerExits",),
        ),
        ({"containers": [container(restartPolicyRules=[{"action": "Restart"}])]}, ()),
        ({"hostNetwork": True, "hostUsers": False}, ("UserNamespacesHostNetworkSupport",)),
        ({"hostNetwork": True, "hostUsers": True}, ()),
        ({"hostUsers": False}, ()),
        (
            {"containers": [container(volumeMounts=[{"bindMountOptions": ["noexec"]}])]},
            ("VolumeBindMountOptions",),
        ),
        ({"containers": [container(volumeMounts=[{"name": "v"}])]}, ()),
    ],
)
def test_what_a_node_must_declare_is_read(spec: dict[str, Any], features: tuple[str, ...]) -> None:
    assert features == pod.pod(pod_body(**spec)).pod_class.features


def test_what_a_node_declares_is_read() -> None:
    found = cluster.read_node(node_body(status={"declaredFeatures": ["B", "A"]}))

    assert frozenset({"A", "B"}) == found.features


def test_a_node_is_read() -> None:
    body = node_body(
        allocatable={GPU: "8", "cpu": "7500m"},
        metadata={"labels": {"zone": "a"}},
        unschedulable=True,
        taints=[{"key": "dedicated", "value": "infra", "effect": "NoExecute"}],
    )

    expected = Node(
        name="n1",
        uid="uid-n1",
        labels={"zone": "a"},
        taints=(taint("dedicated=infra:NoExecute"),),
        unschedulable=True,
        allocatable=(("cpu", 7500), (GPU, 8)),
    )
    assert expected == cluster.read_node(body)


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "MemoryPressure", "status": "False"}], True),
        ([], True),
    ],
)
def test_readiness_is_the_condition_ready(conditions: list[dict[str, str]], *, ready: bool) -> None:
    assert ready == cluster.read_node(node_body(status={"conditions": conditions})).ready


def test_capacity_stands_in_for_what_is_allocatable() -> None:
    status = {"allocatable": {}, "capacity": {"cpu": "2"}}

    assert (("cpu", 2000),) == cluster.read_node(node_body(status=status)).allocatable


def test_what_preemption_depends_on_is_read() -> None:
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": f"{OUR_MARK}, preemptor: a/b",
    }
    body = pod_body(
        metadata={"deletionTimestamp": "2026-01-02T03:04:35Z"},
        preemptionPolicy="Never",
        status={
            "nominatedNodeName": "n1",
            "startTime": "2026-01-02T03:04:05Z",
            "conditions": [mark],
        },
    )

    found = pod.pod(body)

    assert ("n1", False, True) == (found.nominated, found.preempts, found.marked_as_victim)
    assert (1767323045, 1767323075) == (found.started_at, found.gone_by)


def test_no_pod_on_a_node_is_nominated_and_by_default_every_pod_preempts() -> None:
    found = pod.pod(pod_body(nodeName="n1", status={"nominatedNodeName": "n1"}))

    assert ("", True, False) == (found.nominated, found.preempts, found.marked_as_victim)


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"},
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": "default-scheduler: preempting to accommodate a higher priority pod",
        },
        {"type": "Ready", "status": "True", "reason": "PreemptionByScheduler"},
    ],
)
def test_other_conditions_mark_no_victim(condition: dict[str, Any]) -> None:
    assert not pod.pod(pod_body(status={"conditions": [condition]})).marked_as_victim


def test_a_member_of_a_gang_that_starts_anew_is_marked() -> None:
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "DegradedDomain"}

    found = pod.pod(pod_body(status={"conditions": [mark]}))
    withdrawn = pod.pod(pod_body(status={"conditions": [{**mark, "status": "False"}]}))

    assert (True, True) == (found.marked_as_victim, found.starting_anew)
    assert (False, False) == (withdrawn.marked_as_victim, withdrawn.starting_anew)


@pytest.mark.parametrize(
    ("status", "expected"), [("False", (1767323045, 0)), ("True", (0, 1767323045))]
)
def test_since_when_a_pod_waits_or_has_a_node_is_read(
    status: str, expected: tuple[int, int]
) -> None:
    said = {"type": "PodScheduled", "status": status, "lastTransitionTime": "2026-01-02T03:04:05Z"}

    found = pod.pod(pod_body(status={"conditions": [said]}))

    assert expected == (found.unscheduled_at, found.scheduled_at)


DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x", "controller": True}
MIRROR = {"kubernetes.io/config.mirror": "x"}
NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1", "controller": True}


def for_nodes(*names: str, key: str = "metadata.name", operator: str = "In") -> dict[str, Any]:
    """Return a node affinity like the one that the controller of DaemonSets writes."""
    fields = [{"key": key, "operator": operator, "values": [*names]}]
    return {"nodeSelectorTerms": [{"matchFields": fields}]}


@pytest.mark.parametrize(
    ("owner", "required", "expected"),
    [
        ({}, for_nodes("n1"), True),
        ({"controller": False}, for_nodes("n1"), False),
        ({"apiVersion": "example.com/v1"}, for_nodes("n1"), False),
        ({"apiVersion": "apps.kruise.io/v1alpha1"}, for_nodes("n1"), False),
        ({"kind": "Job"}, for_nodes("n1"), False),
        ({}, None, False),
        ({}, for_nodes("n2"), False),
        ({}, for_nodes("n1", "n2"), False),
        ({}, for_nodes("n2", operator="NotIn"), False),
        ({}, {"nodeSelectorTerms": [*for_nodes("n1")["nodeSelectorTerms"] * 2]}, False),
    ],
)
def test_a_pod_of_a_daemon_set_is_pinned_to_the_node_that_it_was_made_for(
    owner: dict[str, Any], required: dict[str, Any] | None, *, expected: bool
) -> None:
    of_nodes = {REQUIRED: required} if required else {}
    metadata = {"ownerReferences": [{**DAEMON_SET, **owner}]}

    body = pod_body(metadata=metadata, affinity={"nodeAffinity": of_nodes}, nodeName="n1")

    assert expected is pod.pod(body).pinned


@pytest.mark.parametrize(
    ("present", "owner", "expected"),
    [
        (MIRROR, NODE, True),
        ({}, NODE, False),
        (MIRROR, None, False),
        (MIRROR, {**NODE, "controller": False}, False),
        (MIRROR, {**NODE, "name": "n2"}, False),
        (MIRROR, {**NODE, "apiVersion": "example.com/v1"}, False),
    ],
)
def test_a_mirror_pod_is_pinned_to_the_node_that_controls_it(
    present: dict[str, str], owner: dict[str, Any] | None, *, expected: bool
) -> None:
    metadata = {"annotations": present, "ownerReferences": [owner] if owner else []}

    assert expected is pod.pod(pod_body(metadata=metadata, nodeName="n1")).pinned


def test_a_time_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidField) as caught:
        pod.pod(pod_body(status={"startTime": "yesterday"}))

    assert "status.startTime" == caught.value.field


def test_requests_for_resources_that_may_stand_for_devices_are_read_by_container() -> None:
    gpu = "nvidia.com/gpu"
    init = [
        {**container(requests={gpu: "1"}), "name": "i"},
        {**container(requests={gpu: "1"}), "name": "s", "restartPolicy": "Always"},
    ]
    main = {**container(requests={"cpu": "1", "memory": "1Gi"}, limits={gpu: "2"}), "name": "m"}
    found = pod.pod(pod_body(containers=[main], initContainers=init))

    assert found.extended == (
        ContainerRequest("i", 0, gpu, 0, 1, ends=True),
        ContainerRequest("s", 1, gpu, 0, 1),
        ContainerRequest("m", 2, gpu, 2, 2),
    )


def test_most_pods_ask_for_nothing_that_may_stand_for_devices() -> None:
    assert () == pod.pod(pod_body(containers=[container(requests={"cpu": "1"})])).extended
