"""What is written of each kind."""

import json
from typing import Any

import msgspec
import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, NATIVE_POD_GROUPS, NODES, PODS
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.recording import wire_shapes
from gang_scheduler.state import kinds
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.workloads import spark
from support.api_objects import pod_body

CANARY = "canary"
READERS = [each.reader for each in kinds.KINDS]


def test_every_kind_that_is_read_is_written() -> None:
    assert {each.gvr for each in READERS} == wire_shapes.WRITTEN.keys()


def full(depth: int = 6) -> Any:
    """Return an object that has a canary wherever an API server lets one be."""
    unread = ("env", "args", "command", "image", "data", "stringData", "managedFields", "envFrom")
    if not depth:
        return CANARY
    inner = full(depth - 1)
    return {name: [inner] if depth % 2 else inner for name in unread} | {
        "metadata": {"annotations": {"example.com/note": CANARY}, "managedFields": [inner]},
        "spec": inner,
        "template": inner,
        "containers": [inner],
        "volumes": [{"name": "v", "configMap": {"name": CANARY}, "secret": inner}],
        "status": inner,
    }


@pytest.mark.parametrize("gvr", [pytest.param(each.gvr, id=each.name) for each in READERS])
def test_what_is_not_read_is_not_written(gvr: GVR) -> None:
    written = wire_shapes.of_body(gvr, "Kind", full())

    assert CANARY not in json.dumps(written)


POD = pod_body(
    metadata={
        "annotations": {
            "example.com/note": CANARY,
            "kubectl.kubernetes.io/last-applied-configuration": CANARY,
            annotations.GANG_NAME: "a",
            "gang.scheduling.koordinator.sh/nmae": "typo",
        },
        "labels": {"any": "label"},
        "managedFields": [{"fieldsV1": CANARY}],
        "finalizers": [CANARY],
    },
    containers=[
        {
            "name": "c",
            "image": CANARY,
            "env": [{"name": "TOKEN", "value": CANARY}],
            "args": [CANARY],
            "command": [CANARY],
            "resources": {"requests": {"cpu": "1"}},
        }
    ],
    schedulingGates=[{"name": CANARY}],
    volumes=[
        {"name": "s", "secret": {"secretName": CANARY}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"metadata": {"name": CANARY}}}},
    ],
    status={"containerStatuses": [{"name": "c", "image": CANARY, "state": {"m": CANARY}}]},
)


def lines() -> list[bytes]:
    """Return the line of the pod, by both ways."""
    source = msgspec.json.decode(msgspec.json.encode(POD), type=pod_wire.Pod)
    return [
        wire_shapes.of_struct(PODS, "Pod", source),
        msgspec.json.encode(wire_shapes.of_body(PODS, "Pod", POD)),
    ]


@pytest.mark.parametrize("way", [0, 1])
def test_a_pod_has_no_secret_and_all_that_is_read(way: int) -> None:
    line = lines()[way]
    body = msgspec.json.decode(line)

    assert CANARY.encode() not in line
    assert {"any": "label"} == body["metadata"]["labels"]
    assert {annotations.GANG_NAME, "gang.scheduling.koordinator.sh/nmae"} == {
        *body["metadata"]["annotations"]
    }
    assert ("v1", "Pod", "1") == (
        body["apiVersion"],
        body["kind"],
        body["spec"]["containers"][0]["resources"]["requests"]["cpu"],
    )
    assert [{}] == body["spec"]["schedulingGates"]
    assert {} == body["spec"]["volumes"][1]["ephemeral"]


def test_what_is_encoded_again_is_decoded_as_before() -> None:
    raw = msgspec.json.encode(pod_body(hostNetwork=True, priority=3, nodeName="n"))
    source = msgspec.json.decode(raw, type=pod_wire.Pod)

    written = wire_shapes.of_struct(PODS, "Pod", source)

    assert source == msgspec.json.decode(written, type=pod_wire.Pod)


def test_of_the_settings_of_spark_three_are_read() -> None:
    conf = {"spark.executor.instances": "2", "spark.hadoop.fs.s3a.secret.key": CANARY}
    body = {"metadata": {"name": "s"}, "spec": {"sparkConf": conf}}

    written = wire_shapes.of_body(spark.KIND.versions[0], "SparkApplication", body)

    assert {"spark.executor.instances": "2"} == written["spec"]["sparkConf"]


def test_a_constraint_that_is_not_known_keeps_a_pod_group_waiting() -> None:
    constraints = {"topology": [{"key": "rack", "mode": "x"}], "other": {"deep": CANARY}}
    body = {
        "apiVersion": NATIVE_POD_GROUPS[0].api_version,
        "metadata": {"name": "g", "namespace": "a", "uid": "u"},
        "spec": {"schedulingConstraints": constraints},
    }

    written = wire_shapes.of_body(NATIVE_POD_GROUPS[0], "PodGroup", body)

    assert pod_groups.native_pod_group_object(body) == pod_groups.native_pod_group_object(written)
    assert CANARY not in json.dumps(written)


def test_an_object_that_cannot_be_read_is_written_all_the_same() -> None:
    body = {"metadata": {"name": "n", "uid": "u"}, "spec": {"taints": "none", "x": CANARY}}

    assert {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "uid": "u"},
        "spec": {"taints": ""},
    } == wire_shapes.of_body(NODES, "Node", body)


@pytest.mark.parametrize(
    "key", ["gpu-fraction", "slurmjob.slinky.slurm.net/gres", "volcano.sh/preemptable"]
)
def test_what_is_refused_of_other_products_is_written(key: str) -> None:
    assert wire_shapes.is_read(key)
