"""Which texts become pseudonyms, and which stay."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest

from gang_scheduler.api import annotations
from gang_scheduler.decode.reader import Reader
from gang_scheduler.inspection.snapshots import pseudonyms, taking
from gang_scheduler.inspection.snapshots.pseudonyms import Pseudonyms
from gang_scheduler.inspection.snapshots.taking import Snapshot
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.recording.wire_shapes import WRITTEN, Shape
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents
from gang_scheduler.state import kinds
from gang_scheduler.wire.pods import REQUIRED
from support.api_objects import node_body, pod_body, pod_group_body

UID = "7b0c9a52-0b5a-4c1e-9d55-0123456789ab"


def anonymized(*bodies: Any, policy: Policy | None = None) -> tuple[list[Any], Pseudonyms]:
    """Return the lines of objects with pseudonyms, header and all, and what these stand for."""
    content = "".join(f"{json.dumps(each)}\n" for each in bodies).encode()
    items = [*documents.of_content("f.jsonl", content)]
    snapshot = taking.of_items(items, policy or Policy())
    found = pseudonyms.of(snapshot)
    written = pseudonyms.anonymized(snapshot, found)
    return [json.loads(line) for line in written.content()], found


def test_references_go_to_the_same_objects() -> None:
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "llama", "uid": UID}
    node = node_body("gpu-node-17", metadata={"labels": {"kubernetes.io/hostname": "gpu-node-17"}})
    pod = pod_body(
        "llama-0",
        gang="llama",
        nodeName="gpu-node-17",
        metadata={"uid": UID, "ownerReferences": [owner]},
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "llama-data"}}],
    )

    (_, node, pod), names = anonymized(node, pod)

    llama, at = names.text("llama"), names.text("gpu-node-17")
    assert "llama" != llama
    assert (at, at) == (
        node["metadata"]["name"],
        node["metadata"]["labels"]["kubernetes.io/hostname"],
    )
    assert (f"{llama}-0", llama, at) == (
        pod["metadata"]["name"],
        pod["metadata"]["labels"][annotations.POD_GROUP_LABEL],
        pod["spec"]["nodeName"],
    )
    assert (llama, UID) == (
        pod["metadata"]["ownerReferences"][0]["name"],
        pod["metadata"]["ownerReferences"][0]["uid"],
    )
    claim = pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert claim.startswith(f"{llama}-")


def test_selectors_ask_for_the_same_labels() -> None:
    asks = {"key": "acme.com/team", "operator": "In", "values": ["Vision", "speech"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [asks]}]}
    required = {REQUIRED: terms}

    (_, node, pod), names = anonymized(
        node_body(metadata={"labels": {"acme.com/team": "Vision", "app": "x9"}}),
        pod_body(affinity={"nodeAffinity": required}, nodeSelector={"app": "x9"}),
    )

    (term,) = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    (asked,) = term["matchExpressions"]
    assert names.text("Vision") == node["metadata"]["labels"][asked["key"]] == asked["values"][0]
    assert "In" == asked["operator"]
    assert pod["spec"]["nodeSelector"].items() <= node["metadata"]["labels"].items()


def test_numbers_amounts_durations_and_times_stay() -> None:
    elastic = {"minWorkers": 1, "maxWorkers": 4, "scalePolicy": {"scaleUpCooldown": "1h30m"}}
    group = pod_group_body(
        metadata={
            "creationTimestamp": "2024-05-01T12:00:00Z",
            "annotations": {annotations.ELASTIC: json.dumps(elastic)},
        },
        minResources={"memory": "16Gi", "cpu": "500m", "nvidia.com/gpu": 8},
    )

    (_, found), _ = anonymized(group)

    assert elastic == json.loads(found["metadata"]["annotations"][annotations.ELASTIC])
    assert group["spec"] == found["spec"]
    assert "2024-05-01T12:00:00Z" == found["metadata"]["creationTimestamp"]


def test_names_in_json_are_the_same_names() -> None:
    groups = json.dumps(["research/llama", "research/eval"])
    layers = {"gatherStrategy": [{"layer": "spine", "strategy": "MustGather"}]}
    metadata = {
        "annotations": {
            annotations.GANG_GROUPS: groups,
            annotations.NETWORK_TOPOLOGY_SPEC: json.dumps(layers),
        }
    }

    (_, found), names = anonymized(pod_group_body("llama", metadata=metadata))

    present = found["metadata"]["annotations"]
    assert [names.text("research/llama"), names.text("research/eval")] == json.loads(
        present[annotations.GANG_GROUPS]
    )
    (asked,) = json.loads(present[annotations.NETWORK_TOPOLOGY_SPEC])["gatherStrategy"]
    assert {"layer": names.text("spine"), "strategy": "MustGather"} == asked


def test_text_for_people_is_hidden() -> None:
    ours = "py-gang-scheduler: preempting to accommodate higher priority pods (gang research/x)"
    conditions = [
        {"type": "PodScheduled", "status": "False", "message": "vision/eval-2 has 2"},
        {"type": "DisruptionTarget", "status": "True", "message": ours},
    ]

    (_, found), _ = anonymized(pod_body(status={"conditions": conditions}))

    assert ["hidden", ours.partition(" (")[0]] == [
        each["message"] for each in found["status"]["conditions"]
    ]


def test_settings_name_what_the_objects_name() -> None:
    policy = Policy(scheduler_names=("acme-gangs",), gpu_resources=("acme.com/gpu",))
    pod = pod_body(schedulerName="acme-gangs", containers=[])

    (header, found), names = anonymized(pod, policy=policy)

    profile = header["profile"]
    assert [found["spec"]["schedulerName"]] == profile["scheduler_names"]
    assert [names.text("acme.com/gpu")] == profile["gpu_resources"]
    assert ("binpack", True) == (profile["strategy"], header["anonymized"])


def test_settings_with_pseudonyms_are_settings() -> None:
    selector = {"cel": {"expression": "device.attributes['gpu.corp.example'].model == 'secret'"}}
    counter = {"name": "memory", "driver": "gpu.corp.example", "deviceSelector": selector}
    mapping = {
        "name": "corp.example/memory",
        "deviceClassNames": ["corp-gpus"],
        "sources": [{"counter": counter}, {"capacity": {"name": "memory"}}],
    }
    policy = Policy.model_validate({"device_class_mappings": [mapping]})

    (header, _), _ = anonymized(pod_body(), policy=policy)

    found = json.dumps(header["profile"]["device_class_mappings"])
    (renamed,) = Policy.model_validate(header["profile"]).rules.queues.device_class_mappings
    assert [True, False] == [each.counter is not None for each in renamed.sources]
    assert "corp" not in found
    assert "secret" not in found


def test_the_same_names_have_the_same_pseudonyms() -> None:
    assert anonymized(pod_body("a-x"))[0] == anonymized(pod_body("a-x"))[0]


READERS = [each.reader for each in kinds.KINDS]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def canary(dice: Random) -> str:
    """Return a text that is found nowhere by chance."""
    letters = "".join(dice.choice(LETTERS) for _ in range(12))
    return letters + "".join(dice.choice("23456789") for _ in range(12))


def filled(shape: Shape, dice: Random, told: list[str]) -> Any:
    """Return a value of a shape with a canary in each text, and in the keys of each map."""
    if shape.fields is not None:
        return {name: filled(each, dice, told) for name, each in shape.fields.items()}
    if shape.values is not None:
        key = canary(dice)
        if shape.only is not None:
            key = "py-gang-scheduler.io/gang-name"
        else:
            told.append(key)
        return {key: filled(shape.values, dice, told)}
    if shape.items is not None:
        return [filled(shape.items, dice, told) for _ in range(2)]
    told.append(canary(dice))
    return told[-1]


@pytest.mark.parametrize("reader", [pytest.param(each, id=each.name) for each in READERS])
def test_no_text_of_any_field_is_found_in_what_is_written(reader: Reader[Any]) -> None:
    told: list[str] = []
    gvr = reader.gvr
    body = filled(WRITTEN[gvr], Random(reader.name), told)  # noqa: S311 - for texts.
    body["apiVersion"] = gvr.api_version
    line = taking.line_of_body(gvr, body)
    content = line.text.decode()
    empty = taking.of_items([], Policy())
    snapshot = Snapshot(empty.header, (line,), empty.cluster)

    written = pseudonyms.anonymized(snapshot, pseudonyms.of(snapshot))

    (anonymous,) = (each.text.decode() for each in written.lines)
    left = [each for each in told if each in content]
    assert left
    assert [] == [each for each in left if each in anonymous]
    assert [] == [each for each in left if each[:12] in anonymous or each[12:] in anonymous]


def test_addresses_become_others_wherever_they_are() -> None:
    port = {"containerPort": 80, "hostPort": 80, "hostIP": "10.20.30.41"}
    pod = pod_body("p", nodeName="ip-10-20-30-40", containers=[{"name": "c", "ports": [port]}])

    (_, node, pod), _ = anonymized(node_body("ip-10-20-30-40"), pod)

    assert node["metadata"]["name"] == pod["spec"]["nodeName"]
    assert "20-30-40" not in json.dumps([node, pod])
    assert "10.20.30.41" not in json.dumps([node, pod])


def test_what_is_no_word_of_the_api_is_a_pseudonym_where_words_are() -> None:
    conditions = [
        {"type": "acme.com/Gold", "status": "True", "reason": "AcmeSaysSo", "message": "x"},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2024-05-01T12:00:00Z"},
    ]

    (_, pod), _ = anonymized(pod_body("p", status={"phase": "Running", "conditions": conditions}))

    assert "cme" not in json.dumps(pod)
    assert "PodScheduled" == pod["status"]["conditions"][1]["type"]
    assert "Running" == pod["status"]["phase"]


def test_events_have_pseudonyms_and_no_text() -> None:
    told = SchedulerEvent(
        namespace="vision", name="llama-0", reason="Preempted", note="for llama", first=7
    )
    pod = pod_body("llama-0", metadata={"namespace": "vision"})
    snapshot = taking.of_items([*documents.of_content("f", json.dumps(pod).encode())], Policy())
    header = msgspec.structs.replace(snapshot.header, events=[told])
    known = replace(snapshot, header=header)
    names = pseudonyms.of(known)

    events = pseudonyms.anonymized(known, names).header.events
    assert events is not None
    (event,) = events

    assert (names.text("vision"), names.text("llama-0")) == (event.namespace, event.name)
    assert ("Preempted", "", 7) == (event.reason, event.note, event.first)
    assert not {"vision", "llama-0"} & {event.namespace, event.name}
