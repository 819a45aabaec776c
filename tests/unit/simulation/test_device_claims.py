"""`simulate` makes the claims that kube-controller-manager would make from templates."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner

from gang_scheduler.cli import main
from gang_scheduler.model.extended_resources import claim_name
from support import device_objects, yaml_texts
from support.device_objects import Body, by_name, by_template
from support.in_memory_cluster import native_body

NODE: Body = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n0"},
    "status": {
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
POOL = {"generation": 1, "resourceSliceCount": 1}
CLUSTER = [NODE, device_objects.device_class(), device_objects.resource_slice("n0", 2)]


def pod(name: str, *entries: Body) -> Body:
    """Return a pod with claims."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "schedulerName": "py-gang-scheduler",
        "containers": [container],
        "resourceClaims": [*entries],
    }
    metadata = {"namespace": "default", "name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def simulated(*bodies: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decisions about these objects on a node with two devices."""
    said = yaml_texts.written_all([*CLUSTER, *bodies])
    outcome = CliRunner().invoke(main, ["simulate", "-f", "-", "-o", "json"], input=said)
    assert outcome.exit_code == 0, outcome.output
    found: dict[str, Any] = json.loads(outcome.stdout)
    return found


def test_each_pod_gets_a_claim_of_its_own() -> None:
    found = simulated(
        device_objects.template("one"),
        *(pod(name, by_template("one")) for name in ("a", "b", "c")),
    )

    claims = {each["pod"]: each["claims"]["gpu"] for each in found["bindings"]}
    assert {name: each["claim"] for name, each in claims.items()} == {
        "default/a": "default/a-gpu",
        "default/b": "default/b-gpu",
    }
    assert claims["default/b"] == {
        "claim": "default/b-gpu",
        "devices": [
            {
                "request": "gpu",
                "driver": "gpu.example.com",
                "pool": "n0",
                "device": "gpu-1",
                "shareID": None,
                "consumedCapacity": {},
                "adminAccess": False,
            }
        ],
        "reservedFor": ["pods/b"],
    }
    assert [each["pods"] for each in found["unschedulable"]] == [["default/c"]]


def test_users_of_one_claim_are_all_named_as_its_holders() -> None:
    found = simulated(
        device_objects.claim("data"), pod("a", by_name("data")), pod("b", by_name("data"))
    )

    assert [each["claims"]["gpu"]["reservedFor"] for each in found["bindings"]] == [
        ["pods/a", "pods/b"]
    ] * 2


def test_pods_of_a_native_pod_group_share_its_claims_and_have_their_own_others() -> None:
    entry = by_template("one", "channel")
    group = native_body("g", 2, resourceClaims=[entry])
    del group["metadata"]["uid"]
    members = [pod(name, entry, by_template("one")) for name in ("a", "b")]
    for each in members:
        each["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    more = device_objects.resource_slice("n0", 1, pool={**POOL, "name": "more"})
    more["metadata"] = {"name": "more"}

    found = simulated(more, device_objects.template("one"), *members, group)

    first, second = (each["claims"] for each in found["bindings"])
    assert first["channel"] == second["channel"]
    assert first["channel"]["claim"] == "default/g-channel"
    assert first["channel"]["reservedFor"] == ["podgroups/g"]
    assert [each["gpu"]["claim"] for each in (first, second)] == ["default/a-gpu", "default/b-gpu"]
    assert first["gpu"]["reservedFor"] == ["pods/a"]
    used = [each["devices"][0] for each in (first["channel"], first["gpu"], second["gpu"])]
    assert len({(each["pool"], each["device"]) for each in used}) == 3


def test_a_template_that_does_not_exist_is_reported_by_name() -> None:
    (refused,) = simulated(pod("a", by_template("nowhere")))["unschedulable"]

    assert refused["reason"] == "ClaimNotFound"
    assert 'ResourceClaimTemplate "nowhere"' in refused["message"]


def test_a_pod_without_claims_has_no_such_field() -> None:
    (bound,) = simulated(pod("a"))["bindings"]

    assert "claims" not in bound


# Extended resources that stand for devices.

GPU = "nvidia.com/gpu"


def asking(name: str, number: int = 2, **metadata: Any) -> Body:
    """Return a pod that asks for GPUs as an extended resource."""
    made = pod(name)
    resources = {"requests": {"cpu": "1", GPU: str(number)}, "limits": {GPU: str(number)}}
    made["spec"]["containers"][0]["resources"] = resources
    made["metadata"] |= metadata
    return made


def test_devices_of_extended_resources_have_a_field_of_their_own() -> None:
    found = simulated(device_objects.device_class("other", extendedResourceName=GPU), asking("a"))

    (bound,) = found["bindings"]
    assert {} == bound["claims"]
    assert ["gpu-0", "gpu-1"] == [each["device"] for each in bound["extended"]]
    assert {"container-0-request-1"} == {each["request"] for each in bound["extended"]}


def test_an_eviction_frees_the_devices_of_an_extended_resource() -> None:
    low = asking("low", uid="uid-low")
    low["spec"] |= {"nodeName": "n0", "priority": 0}
    low["status"] = {"phase": "Running"}
    request = device_objects.request(2, "container-0-request-1", "other")
    claim = device_objects.claim(claim_name("low", "uid-low"), request, owner="low")
    high = asking("high")
    high["spec"]["priority"] = 10
    found = simulated(
        device_objects.device_class("other", extendedResourceName=GPU),
        low,
        device_objects.allocated(claim, "n0", "gpu-0", "gpu-1", pods=("low",)),
        high,
    )

    assert ["default/high"] == [each["pod"] for each in found["nominations"]]
    assert ["gpu-0", "gpu-1"] == [each["device"] for each in found["nominations"][0]["extended"]]
    assert {f"{device_objects.DRIVER}/n0/gpu-0", f"{device_objects.DRIVER}/n0/gpu-1"} == {
        device for each in found["victims"] for device in each["frees"]
    }


@pytest.mark.parametrize("spec", [-1, "x", [None], True])
def test_a_group_that_is_no_object_is_refused_by_its_field(spec: object) -> None:
    member = pod("a", by_template("one"))
    member["spec"]["schedulingGroup"] = {"podGroupName": "claims"}
    said = yaml_texts.written_all([*CLUSTER, {**native_body("claims", 1), "spec": spec}, member])
    outcome = CliRunner().invoke(main, ["simulate", "-f", "-"], input=said)

    assert outcome.exit_code == 2
    assert "spec must be an object" in outcome.output


@pytest.mark.parametrize("field", ["spec.resourceClaims", "status", "status.resourceClaimStatuses"])
def test_claims_of_a_pod_that_are_no_list_are_refused_by_their_field(field: str) -> None:
    member = pod("a", by_template("one"))
    *path, last = field.split(".")
    part = member
    for name in path:
        part = part.setdefault(name, {})
    part[last] = 7
    said = yaml_texts.written_all([*CLUSTER, device_objects.template("one"), member])
    outcome = CliRunner().invoke(main, ["simulate", "-f", "-"], input=said)

    assert outcome.exit_code == 2
    assert f"{field} must be" in outcome.output
