"""What one namespace may know of all others."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gang_scheduler.inspection.snapshots import taking, tenants
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents
from support.api_objects import container, node_body, pod_body, pod_group_body

UID = "7b0c9a52-0b5a-4c1e-9d55-0123456789ab"
OPTICS = {"namespace": "optics"}


def restricted(*bodies: Any, policy: Policy | None = None) -> list[Any]:
    """Return the lines for namespace default."""
    content = "".join(f"{json.dumps(each)}\n" for each in bodies).encode()
    items = [*documents.of_content("f.jsonl", content)]
    snapshot = tenants.restricted(taking.of_items(items, policy or Policy()), "default")
    content = b"".join(snapshot.content())
    assert [] == [*taking.differences("f", content, snapshot.cluster)]
    return [json.loads(line) for line in content.splitlines()]


def test_pods_of_others_are_usage_of_their_nodes() -> None:
    labels = {"team": "eyes"}
    foreign = pod_body(
        "eval-2",
        nodeName="n1",
        priority=7,
        metadata={
            **OPTICS,
            "uid": UID,
            "labels": labels,
            "creationTimestamp": "2024-05-01T12:00:00Z",
        },
        containers=[container("eyeball", requests={"cpu": "3"})],
        status={"phase": "Running", "containerStatuses": [{"name": "eyeball"}]},
    )

    _, _, own, usage = restricted(node_body("n1"), pod_body("mine"), foreign)

    assert "mine" == own["metadata"]["name"]
    assert {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pod-1",
            "namespace": "other-namespaces",
            "uid": UID,
            "creationTimestamp": "2024-05-01T12:00:00Z",
            "annotations": {},
        },
        "spec": {
            "nodeName": "n1",
            "schedulerName": "py-gang-scheduler",
            "priority": 7,
            "containers": [{"name": "c0", "resources": {"requests": {"cpu": "3"}}}],
        },
        "status": {"phase": "Running", "containerStatuses": [{"name": "c0"}]},
    } == usage


def test_what_waits_or_describes_gangs_elsewhere_is_not_there() -> None:
    ended = pod_body("ended", nodeName="n1", metadata=OPTICS, status={"phase": "Succeeded"})
    waits = pod_body("waits", metadata=OPTICS)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "optics"}}

    found = restricted(ended, waits, pod_group_body("g", metadata=OPTICS), namespace, node_body())

    assert ["SnapshotHeader", "Node"] == [each["kind"] for each in found]


@pytest.mark.parametrize("name", ["optics", "acme-optics"])
def test_no_name_of_another_namespace_is_left(name: str) -> None:
    queue = {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {
            "namespaceSelector": {
                "matchExpressions": [
                    {
                        "key": "kubernetes.io/metadata.name",
                        "operator": "In",
                        "values": [name, "default"],
                    }
                ]
            }
        },
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {"claimRef": {"namespace": name, "name": "data", "uid": "u"}},
    }
    groups = {"gang.scheduling.koordinator.sh/groups": json.dumps([f"{name}/eval", "default/g"])}
    told = {"type": "PodScheduled", "status": "False", "message": f"{name}/eval-2 has 2"}
    own = pod_body("mine", status={"conditions": [told]})
    foreign = pod_body("eval", nodeName="n1", metadata={"namespace": name})

    found = restricted(
        *(queue, volume, own, foreign, pod_group_body("g", metadata={"annotations": groups})),
        policy=Policy(require_queue=(name,)),
    )

    text = json.dumps(found)
    assert name not in text
    assert "eval" not in text
    assert "default/g" in text
    assert ["other-1"] == found[0]["profile"]["require_queue"]


def test_of_events_a_namespace_has_its_own_and_no_name_of_others() -> None:
    bodies = (pod_body("mine"), pod_body("eval", metadata=OPTICS))
    content = "".join(f"{json.dumps(each)}\n" for each in bodies).encode()
    snapshot = taking.of_items([*documents.of_content("f.jsonl", content)], Policy())
    events = [
        SchedulerEvent(namespace=namespace, name=name, reason="Preempted", note=note, first=7)
        for namespace, name, note in (
            ("default", "mine", "for optics/eval"),
            ("default", "mine", "it lacks room"),
            ("optics", "eval", "it lacks room"),
        )
    ]
    header = msgspec.structs.replace(snapshot.header, events=events)

    found = tenants.restricted(replace(snapshot, header=header), "default").header.events

    assert [("default", ""), ("default", "it lacks room")] == [
        (each.namespace, each.note) for each in found or ()
    ]
