"""Objects of `resource.k8s.io/v1`: read whole, and refused field by field."""

from typing import Any

import pytest

from gang_scheduler.decode.devices import objects as decoding
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.device_quantities import parse
from gang_scheduler.model.devices import (
    Allocation,
    Attribute,
    AttributeKind,
    Consumer,
    DeviceResult,
    DeviceTaint,
    DeviceToleration,
    Invalid,
    Mode,
    OpaqueConfig,
    Owner,
    Unsupported,
)
from gang_scheduler.model.selectors import Requirement

OPAQUE = {"driver": "gpu.example.com", "parameters": {"sharing": "TimeSlicing"}}
SELECTOR = {
    "nodeSelectorTerms": [
        {
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}],
            "matchExpressions": [{"key": "rack", "operator": "Exists"}],
        }
    ]
}


def claim(**exactly: Any) -> dict[str, Any]:
    """Return a claim with one request."""
    asked = {"deviceClassName": "gpu", **exactly}
    return {
        "metadata": {"namespace": "default", "name": "c"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": asked}]}},
    }


def slice_of(device: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a slice with one device."""
    return {
        "metadata": {"name": "s"},
        "spec": {
            "driver": "gpu.example.com",
            "pool": {"name": "n0", "generation": 2, "resourceSliceCount": 3},
            "nodeName": "n0",
            "devices": [{"name": "gpu-0", **device}],
            **spec,
        },
    }


def test_a_class_has_its_selectors_its_resource_and_its_age() -> None:
    found = decoding.decode_class(
        {
            "metadata": {"name": "gpu", "creationTimestamp": "1970-01-01T00:01:00Z"},
            "spec": {
                "selectors": [{"cel": {"expression": "true"}}],
                "extendedResourceName": "example.com/gpu",
                "config": [{"opaque": OPAQUE}],
            },
        }
    )

    assert ("gpu", ("true",), "example.com/gpu", 60) == (
        found.name,
        found.selectors,
        found.extended_resource,
        found.created,
    )
    assert (OpaqueConfig("gpu.example.com", {"sharing": "TimeSlicing"}),) == found.config
    assert not found.problems


def test_a_device_has_typed_attributes_and_all_that_the_search_asks_for() -> None:
    (device,) = decoding.decode_slice(
        slice_of(
            {
                "attributes": {
                    "model": {"string": "A100"},
                    "index": {"int": 0},
                    "nvlink": {"bool": True},
                    "driverVersion": {"version": "1.2.3"},
                    "lanes": {"ints": [1, 2]},
                },
                "capacity": {
                    "memory": {
                        "value": "80Gi",
                        "requestPolicy": {
                            "default": "1Gi",
                            "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"},
                        },
                    }
                },
                "consumesCounters": [{"counterSet": "card", "counters": {"m": {"value": "4"}}}],
                "taints": [{"key": "bad", "value": "yes", "effect": "NoSchedule"}],
                "bindingConditions": ["Attached"],
                "bindingFailureConditions": ["Failed"],
                "bindsToNode": True,
                "allowMultipleAllocations": True,
            }
        )
    ).devices

    assert {
        "model": Attribute(AttributeKind.STRING, "A100"),
        "index": Attribute(AttributeKind.INT, 0),
        "nvlink": Attribute(AttributeKind.BOOL, value=True),
        "driverVersion": Attribute(AttributeKind.VERSION, "1.2.3"),
        "lanes": Attribute(
            AttributeKind.LIST,
            (Attribute(AttributeKind.INT, 1), Attribute(AttributeKind.INT, 2)),
        ),
    } == device.attributes
    policy = device.capacity["memory"].policy
    assert policy is not None
    assert (parse("1Gi"), parse("8Gi")) == (policy.minimum, policy.maximum)
    assert {"m": parse("4")} == device.consumes[0].counters
    assert (DeviceTaint("bad", "yes", "NoSchedule"),) == device.taints
    assert (("Attached",), ("Failed",)) == (
        device.binding_conditions,
        device.binding_failure_conditions,
    )
    assert device.binds_to_node
    assert device.allow_multiple


def test_a_slice_says_its_pool_its_generation_and_its_nodes() -> None:
    found = decoding.decode_slice(
        slice_of({}, nodeSelector=SELECTOR, sharedCounters=[{"name": "card", "counters": {}}])
    )

    assert ("n0", 2, 3, "n0") == (
        found.pool,
        found.generation,
        found.slice_count,
        found.reach.node_name,
    )
    assert (
        (
            Requirement("rack", Operator.EXISTS),
            Requirement("metadata.name", Operator.IN, ("n0",), on_field=True),
        ),
    ) == found.node_selector
    assert ["card"] == [each.name for each in found.counters]
    assert not found.problems


@pytest.mark.parametrize(
    ("device", "problem"),
    [
        (
            {"nodeAllocatableResources": {"cpu": {}}},
            Unsupported("spec.devices[0].nodeAllocatableResources", decoding.NODE_ALLOCATABLE),
        ),
        (
            {"consumesCounters": [{"counterSet": "c", "compatibilityGroups": ["g"]}]},
            Unsupported(
                "spec.devices[0].consumesCounters[0].compatibilityGroups",
                decoding.COMPATIBILITY_GROUPS,
            ),
        ),
        (
            {"attributes": {"x": {"float": 1.5}}},
            Unsupported("spec.devices[0].attributes.x.value"),
        ),
        (
            {"capacity": {"memory": {"value": "lots"}}},
            Invalid("spec.devices[0].capacity.memory.value", "lots", "must be a quantity"),
        ),
        (
            {"capacity": {"m": {"value": "1", "requestPolicy": {"validRange": {"step": "0"}}}}},
            Invalid(
                "spec.devices[0].capacity.m.requestPolicy.validRange.step", "0", "must be above 0"
            ),
        ),
    ],
)
def test_a_device_that_is_not_understood_is_refused_by_name(
    device: dict[str, Any], problem: object
) -> None:
    assert (problem,) == decoding.decode_slice(slice_of(device)).problems


def test_a_slice_whose_operations_are_skipped_is_refused_by_name() -> None:
    found = decoding.decode_slice(slice_of({}, skipNodeOperations=["*"]))

    assert (Unsupported("spec.skipNodeOperations", decoding.OPTIONAL_OPERATIONS),) == found.problems


def test_a_request_has_the_defaults_of_the_api_server() -> None:
    (request,) = decoding.decode_claim(claim()).requests
    (asked,) = request.alternatives

    assert (Mode.EXACT_COUNT, 1, False) == (asked.mode, asked.count, asked.admin_access)
    assert not request.is_prioritized


def test_a_request_is_read_whole() -> None:
    (request,) = decoding.decode_claim(
        claim(
            selectors=[{"cel": {"expression": "true"}}],
            allocationMode="All",
            adminAccess=True,
            tolerations=[{"key": "bad", "operator": "Exists", "tolerationSeconds": 5}],
            capacity={"requests": {"memory": "4Gi"}},
        )
    ).requests
    (asked,) = request.alternatives

    assert (("true",), Mode.ALL, True) == (asked.selectors, asked.mode, asked.admin_access)
    assert (DeviceToleration("bad", "Exists", seconds=5),) == asked.tolerations
    assert {"memory": parse("4Gi")} == asked.capacity


@pytest.mark.parametrize(
    ("exactly", "problem"),
    [
        (
            {"derivedAttributes": [{"name": "a/b"}]},
            Unsupported(
                "spec.devices.requests[0].exactly.derivedAttributes", decoding.DERIVED_ATTRIBUTES
            ),
        ),
        (
            {"allocationMode": "Half"},
            Unsupported("spec.devices.requests[0].exactly.allocationMode"),
        ),
        (
            {"selectors": [{"regex": {}}]},
            Unsupported("spec.devices.requests[0].exactly.selectors[0].cel"),
        ),
        (
            {"deviceClassName": ""},
            Invalid("spec.devices.requests[0].exactly.deviceClassName", "", "must not be empty"),
        ),
        (
            {"capacity": {"requests": {"memory": "-1"}}},
            Invalid(
                "spec.devices.requests[0].exactly.capacity.requests.memory",
                "-1",
                "must not be negative",
            ),
        ),
    ],
)
def test_a_request_that_is_not_understood_is_refused_by_name(
    exactly: dict[str, Any], problem: object
) -> None:
    assert (problem,) == decoding.decode_claim(claim(**exactly)).problems


def test_alternatives_are_read_in_their_order_and_at_most_eight() -> None:
    body = claim()
    several = [{"name": f"a{i}", "deviceClassName": "gpu"} for i in range(9)]
    body["spec"]["devices"]["requests"] = [{"name": "gpu", "firstAvailable": several}]

    found = decoding.decode_claim(body)

    assert found.requests[0].is_prioritized
    assert "a0" == found.requests[0].alternatives[0].name
    field = "spec.devices.requests[0].firstAvailable"
    assert (Invalid(field, "9 entries", "must have at most 8 entries"),) == found.problems


@pytest.mark.parametrize(
    ("part", "body", "field"),
    [
        ("requests", [{"name": "gpu"}], "requests[0].exactly"),
        ("constraints", [{"requests": ["gpu"]}], "constraints[0].matchAttribute"),
        ("config", [{"requests": ["gpu"]}], "config[0].opaque"),
    ],
)
def test_an_unknown_kind_of_request_constraint_or_configuration_is_refused(
    part: str, body: list[Any], field: str
) -> None:
    given = claim()
    given["spec"]["devices"][part] = body

    found = decoding.decode_claim(given)

    assert (Unsupported(f"spec.devices.{field}"),) == found.problems


def test_a_claim_has_its_owner_its_state_and_its_holders() -> None:
    body = claim()
    body["metadata"] |= {
        "uid": "u",
        "resourceVersion": "7",
        "deletionTimestamp": "2026-11-29T10:00:00Z",
        "finalizers": ["resource.kubernetes.io/delete-protection"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "n0", "uid": "1"},
            {"apiVersion": "v1", "kind": "Pod", "name": "g-0", "uid": "2", "controller": True},
        ],
    }
    body["status"] = {
        "reservedFor": [{"resource": "pods", "name": "g-0", "uid": "2"}],
        "devices": [
            {
                "driver": "d",
                "pool": "p",
                "device": "x",
                "conditions": [{"type": "Attached", "status": "True"}],
            }
        ],
    }

    found = decoding.decode_claim(body)

    assert Owner("v1", "Pod", "g-0", "2") == found.owner
    assert (Consumer("", "pods", "g-0", "2"),) == found.reserved_for
    assert (("Attached", "True"),) == found.device_statuses[0].conditions
    assert found.deleting
    assert found.allocation is None
    assert ("7", ("resource.kubernetes.io/delete-protection",)) == (
        found.resource_version,
        found.finalizers,
    )
    assert not found.problems


def test_a_template_gives_what_its_claims_ask_for() -> None:
    body = {"metadata": {"namespace": "default", "name": "t"}, "spec": {"spec": claim()["spec"]}}

    found = decoding.decode_template(body)

    assert ("t", "gpu") == (found.name, found.requests[0].name)
    assert not found.problems


def test_a_taint_rule_selects_by_driver_pool_and_device() -> None:
    taint = {"key": "bad", "effect": "NoExecute"}
    spec = {"deviceSelector": {"driver": "d", "pool": "p"}, "taint": taint}

    found = decoding.decode_taint_rule({"metadata": {"name": "r"}, "spec": spec})

    assert ("d", "p", "", True) == (found.driver, found.pool, found.device, found.selects)
    assert not decoding.decode_taint_rule({"spec": {"taint": taint}}).selects


ALLOCATION = {
    "devices": {
        "results": [
            {
                "request": "gpu",
                "driver": "d",
                "pool": "p",
                "device": "x",
                "adminAccess": True,
                "tolerations": [{"key": "bad", "operator": "Exists", "tolerationSeconds": 0}],
                "bindingConditions": ["Attached"],
                "bindingFailureConditions": ["Failed"],
                "shareID": "8f3c",
                "consumedCapacity": {"memory": "4Gi"},
            },
            {"request": "nic", "driver": "d", "pool": "p", "device": "y"},
        ],
        "config": [
            {"source": "FromClass", "requests": ["gpu"], "opaque": OPAQUE},
            {"source": "FromClaim", "opaque": OPAQUE},
        ],
    },
    "nodeSelector": SELECTOR,
    "allocationTimestamp": "2026-11-29T10:00:00Z",
}


def test_an_allocation_is_written_as_it_was_read() -> None:
    body = claim()
    body["status"] = {"allocation": ALLOCATION}
    found = decoding.decode_claim(body)

    assert found.allocation is not None
    assert not found.problems
    assert ALLOCATION == decoding.encode_allocation(found.allocation)


def test_an_allocation_without_anything_special_has_results_alone() -> None:
    written = decoding.encode_allocation(Allocation((DeviceResult("gpu", "d", "p", "x"),)))

    device = {"request": "gpu", "driver": "d", "pool": "p", "device": "x"}
    assert {"devices": {"results": [device]}} == written


@pytest.mark.parametrize("body", [{}, {"spec": None}, {"spec": []}, {"spec": {"devices": 3}}])
@pytest.mark.parametrize("kind", ["class", "claim", "slice", "template", "taint_rule"])
def test_nothing_that_is_written_raises(kind: str, body: dict[str, Any]) -> None:
    getattr(decoding, f"decode_{kind}")(body)
