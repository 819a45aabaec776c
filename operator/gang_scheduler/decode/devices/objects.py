"""From the JSON of `resource.k8s.io/v1` to objects, and allocations back to JSON.

Invalid and unsupported fields are collected in `problems` of the object, and never raised.
"""

from collections.abc import Mapping
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.decode import fields
from gang_scheduler.decode.devices.fields import Fields
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.devices import (
    AllocatedConfig,
    Allocation,
    Attribute,
    AttributeKind,
    Capacity,
    CapacityPolicy,
    Claim,
    ClaimConfig,
    ClaimTemplate,
    Constraint,
    Consumer,
    CounterSet,
    CounterUse,
    Device,
    DeviceClass,
    DeviceId,
    DeviceResult,
    DeviceStatus,
    DeviceTaint,
    DeviceToleration,
    Mode,
    OpaqueConfig,
    Owner,
    Request,
    Slice,
    SubRequest,
    TaintRule,
)
from gang_scheduler.model.selectors import NodeTerm, Requirement

Json = dict[str, Any]

MOST_ALTERNATIVES: Final = 8
"""The most subrequests of `firstAvailable`."""
LONGEST_MARK: Final = 64
"""The most characters of the mark of an allocation that are kept: ours are shorter."""

DERIVED_ATTRIBUTES: Final = "DRADerivedAttributes"
COMPATIBILITY_GROUPS: Final = "DRADeviceCompatibilityGroups"
NODE_ALLOCATABLE: Final = "DRANodeAllocatableResources"
OPTIONAL_OPERATIONS: Final = "DRAOptionalNodeOperations"

_LISTS: Final = {
    "ints": AttributeKind.INT,
    "bools": AttributeKind.BOOL,
    "strings": AttributeKind.STRING,
    "versions": AttributeKind.VERSION,
}


# Classes and taint rules.


def decode_class(body: Mapping[str, Any]) -> DeviceClass:
    """Return a DeviceClass."""
    top = Fields.of(body)
    spec = top.child("spec")
    return DeviceClass(
        uid=top.child("metadata").text("uid"),
        name=top.child("metadata").text("name"),
        selectors=_selectors(spec),
        extended_resource=spec.text("extendedResourceName"),
        created=fields.timestamp_or_zero(top.child("metadata").text("creationTimestamp")),
        config=tuple(found for each in spec.items("config") if (found := _opaque(each))),
        problems=tuple(top.problems),
    )


def decode_taint_rule(body: Mapping[str, Any]) -> TaintRule:
    """Return a DeviceTaintRule."""
    top = Fields.of(body)
    spec = top.child("spec")
    selector = spec.child("deviceSelector")
    return TaintRule(
        name=top.child("metadata").text("name"),
        taint=_taint(spec.child("taint")),
        selects="deviceSelector" in spec,
        driver=selector.text("driver"),
        pool=selector.text("pool"),
        device=selector.text("device"),
        problems=tuple(top.problems),
        uid=top.child("metadata").text("uid"),
    )


# Slices.


def decode_slice(body: Mapping[str, Any]) -> Slice:
    """Return a ResourceSlice. One with problems does not count for its pool."""
    top = Fields.of(body)
    spec = top.child("spec")
    pool = spec.child("pool")
    spec.refuse("skipNodeOperations", OPTIONAL_OPERATIONS)
    return Slice(
        uid=top.child("metadata").text("uid"),
        name=top.child("metadata").text("name"),
        driver=spec.required("driver"),
        pool=pool.required("name"),
        generation=pool.whole("generation", 0),
        slice_count=pool.whole("resourceSliceCount", 0),
        node_name=spec.text("nodeName"),
        node_selector=node_selector_of(spec, "nodeSelector"),
        all_nodes=spec.flag("allNodes"),
        per_device=spec.flag("perDeviceNodeSelection"),
        counters=tuple(
            CounterSet(each.text("name"), _counters(each)) for each in spec.items("sharedCounters")
        ),
        devices=tuple(map(_device, spec.items("devices"))),
        problems=tuple(top.problems),
    )


def _device(device: Fields) -> Device:
    device.refuse("nodeAllocatableResources", NODE_ALLOCATABLE)
    return Device(
        name=device.required("name"),
        attributes={
            name: found
            for name, each in device.child("attributes").entries()
            if (found := _attribute(each)) is not None
        },
        capacity={name: _capacity(each) for name, each in device.child("capacity").entries()},
        consumes=tuple(map(_counter_use, device.items("consumesCounters"))),
        taints=tuple(map(_taint, device.items("taints"))),
        binding_conditions=device.texts("bindingConditions"),
        binding_failure_conditions=device.texts("bindingFailureConditions"),
        binds_to_node=device.flag("bindsToNode"),
        allow_multiple=device.flag("allowMultipleAllocations"),
        node_name=device.text("nodeName"),
        node_selector=node_selector_of(device, "nodeSelector"),
        all_nodes=device.flag("allNodes"),
    )


def _attribute(value: Fields) -> Attribute | None:
    """Return an attribute; None, with a problem, for an unknown type."""
    if "int" in value:
        return Attribute(AttributeKind.INT, value.whole("int", 0))
    if "bool" in value:
        return Attribute(AttributeKind.BOOL, value.flag("bool"))
    if "string" in value:
        return Attribute(AttributeKind.STRING, value.text("string"))
    if "version" in value:
        return Attribute(AttributeKind.VERSION, value.text("version"))
    for key, kind in _LISTS.items():
        if key in value:
            listed = tuple(Attribute(kind, each) for each in value.raw_list(key))
            return Attribute(AttributeKind.LIST, listed)
    value.unsupported("value")
    return None


def _capacity(capacity: Fields) -> Capacity:
    if "requestPolicy" not in capacity:
        return Capacity(capacity.amount("value"))
    policy = capacity.child("requestPolicy")
    allowed = policy.child("validRange")
    found = CapacityPolicy(
        default=policy.quantity("default"),
        valid_values=tuple(
            policy.quantity_of(f"validValues[{i}]", each)
            for i, each in enumerate(policy.raw_list("validValues"))
        ),
        minimum=allowed.quantity("min"),
        maximum=allowed.quantity("max"),
        step=allowed.quantity("step"),
    )
    if found.step is not None and found.step.nanos <= 0:
        allowed.invalid("step", found.step, "must be above 0")
    return Capacity(capacity.amount("value"), found)


def _counter_use(use: Fields) -> CounterUse:
    use.refuse("compatibilityGroups", COMPATIBILITY_GROUPS)
    return CounterUse(use.text("counterSet"), _counters(use))


def _counters(of: Fields) -> dict[str, Any]:
    return {name: each.amount("value") for name, each in of.child("counters").entries()}


def _taint(taint: Fields) -> DeviceTaint:
    return DeviceTaint(taint.text("key"), taint.text("value"), taint.text("effect"))


def node_selector_of(of: Fields, key: str) -> tuple[NodeTerm, ...] | None:
    """Return the terms of a node selector; None if the field is absent."""
    if key not in of:
        return None
    return tuple(
        (
            *_requirements(term, "matchExpressions", on_field=False),
            *_requirements(term, "matchFields", on_field=True),
        )
        for term in of.child(key).items("nodeSelectorTerms")
    )


def _requirements(term: Fields, key: str, *, on_field: bool) -> tuple[Requirement, ...]:
    found = []
    for each in term.items(key):
        try:
            operator = Operator(each.text("operator"))
        except ValueError:
            each.invalid("operator", each.raw("operator"), f"must be one of {', '.join(Operator)}")
            continue
        found.append(Requirement(each.text("key"), operator, each.texts("values"), on_field))
    return tuple(found)


# Claims and templates.


def decode_claim(body: Mapping[str, Any]) -> Claim:
    """Return a ResourceClaim."""
    top = Fields.of(body)
    metadata, status = top.child("metadata"), top.child("status")
    requests, constraints, config = _specification(top.child("spec"))
    return Claim(
        namespace=metadata.text("namespace"),
        name=metadata.text("name"),
        uid=metadata.text("uid"),
        owner=_controller(metadata),
        requests=requests,
        constraints=constraints,
        config=config,
        allocation=_allocation(status.child("allocation")) if "allocation" in status else None,
        reserved_for=tuple(map(_consumer, status.items("reservedFor"))),
        device_statuses=tuple(map(_device_status, status.items("devices"))),
        deleting=bool(metadata.text("deletionTimestamp")),
        finalizers=metadata.texts("finalizers"),
        resource_version=metadata.text("resourceVersion"),
        mark=metadata.child("annotations").text(annotations.ALLOCATED)[:LONGEST_MARK],
        problems=tuple(top.problems),
    )


def decode_template(body: Mapping[str, Any]) -> ClaimTemplate:
    """Return a ResourceClaimTemplate."""
    top = Fields.of(body)
    spec = top.child("spec")
    requests, constraints, config = _specification(spec.child("spec"))
    return ClaimTemplate(
        uid=top.child("metadata").text("uid"),
        namespace=top.child("metadata").text("namespace"),
        name=top.child("metadata").text("name"),
        requests=requests,
        constraints=constraints,
        config=config,
        problems=tuple(top.problems),
    )


def _controller(metadata: Fields) -> Owner | None:
    for each in metadata.items("ownerReferences"):
        if each.flag("controller"):
            keys = ("apiVersion", "kind", "name", "uid")
            return Owner(*(each.text(key) for key in keys))
    return None


def _specification(
    spec: Fields,
) -> tuple[tuple[Request, ...], tuple[Constraint, ...], tuple[ClaimConfig, ...]]:
    devices = spec.child("devices")
    return (
        tuple(map(_request, devices.items("requests"))),
        tuple(map(_constraint, devices.items("constraints"))),
        tuple(
            ClaimConfig(each.texts("requests"), found)
            for each in devices.items("config")
            if (found := _opaque(each))
        ),
    )


def _request(request: Fields) -> Request:
    name = request.required("name")
    if "firstAvailable" in request:
        alternatives = tuple(
            _alternative(each, each.required("name")) for each in request.items("firstAvailable")
        )
        if len(alternatives) > MOST_ALTERNATIVES:
            expected = f"must have at most {MOST_ALTERNATIVES} entries"
            request.invalid("firstAvailable", f"{len(alternatives)} entries", expected)
        return Request(name, alternatives, is_prioritized=True)
    if "exactly" not in request:
        request.unsupported("exactly")
        return Request(name, ())
    return Request(name, (_alternative(request.child("exactly"), name),))


def _alternative(asked: Fields, name: str) -> SubRequest:
    asked.refuse("derivedAttributes", DERIVED_ATTRIBUTES)
    mode = asked.text("allocationMode") or Mode.EXACT_COUNT
    if mode not in {*Mode}:
        asked.unsupported("allocationMode")
    capacity = asked.child("capacity")
    return SubRequest(
        name=name,
        device_class=asked.required("deviceClassName"),
        selectors=_selectors(asked),
        mode=Mode.ALL if mode == Mode.ALL else Mode.EXACT_COUNT,
        # The API server stores no 0: as in its defaults, an absent count is 1.
        count=asked.whole("count", 1, least=0) or 1,
        tolerations=tuple(map(_toleration, asked.items("tolerations"))),
        capacity=capacity.amounts("requests"),
        admin_access=asked.flag("adminAccess"),
    )


def _selectors(of: Fields) -> tuple[str, ...]:
    found = []
    for each in of.items("selectors"):
        if "cel" not in each:
            each.unsupported("cel")
            continue
        found.append(each.child("cel").required("expression"))
    return tuple(found)


def _toleration(of: Fields) -> DeviceToleration:
    return DeviceToleration(
        key=of.text("key"),
        operator=of.text("operator") or "Equal",
        value=of.text("value"),
        effect=of.text("effect"),
        seconds=of.whole("tolerationSeconds", 0) if "tolerationSeconds" in of else None,
    )


def _constraint(of: Fields) -> Constraint:
    found = Constraint(
        requests=of.texts("requests"),
        match_attribute=of.text("matchAttribute"),
        distinct_attribute=of.text("distinctAttribute"),
    )
    if not found.attribute:
        of.unsupported("matchAttribute")
    return found


def _opaque(config: Fields) -> OpaqueConfig | None:
    if "opaque" not in config:
        config.unsupported("opaque")
        return None
    opaque = config.child("opaque")
    return OpaqueConfig(opaque.text("driver"), opaque.raw("parameters"))


# The status of a claim.


def _allocation(of: Fields) -> Allocation:
    devices = of.child("devices")
    return Allocation(
        results=tuple(map(_result, devices.items("results"))),
        config=tuple(
            AllocatedConfig(each.text("source"), each.texts("requests"), found)
            for each in devices.items("config")
            if (found := _opaque(each))
        ),
        node_selector=node_selector_of(of, "nodeSelector"),
        timestamp=of.text("allocationTimestamp"),
    )


def _result(of: Fields) -> DeviceResult:
    return DeviceResult(
        request=of.text("request"),
        driver=of.text("driver"),
        pool=of.text("pool"),
        device=of.text("device"),
        admin=of.flag("adminAccess"),
        tolerations=tuple(map(_toleration, of.items("tolerations"))),
        share_id=of.text("shareID"),
        consumed=of.amounts("consumedCapacity"),
        binding_conditions=of.texts("bindingConditions"),
        binding_failure_conditions=of.texts("bindingFailureConditions"),
    )


def _consumer(of: Fields) -> Consumer:
    return Consumer(*(of.text(key) for key in ("apiGroup", "resource", "name", "uid")))


def _device_status(of: Fields) -> DeviceStatus:
    return DeviceStatus(
        id=DeviceId(*(of.text(key) for key in ("driver", "pool", "device"))),
        share_id=of.text("shareID"),
        conditions=tuple(
            (each.text("type"), each.text("status")) for each in of.items("conditions")
        ),
    )


# Back to JSON.


def encode_allocation(allocation: Allocation) -> Json:
    """Return `status.allocation` of a claim, without empty fields."""
    devices: Json = {"results": [_encoded_result(each) for each in allocation.results]}
    if allocation.config:
        devices["config"] = [_encoded_config(each) for each in allocation.config]
    encoded: Json = {"devices": devices}
    if allocation.node_selector is not None:
        encoded["nodeSelector"] = {
            "nodeSelectorTerms": [_encoded_term(each) for each in allocation.node_selector]
        }
    if allocation.timestamp:
        encoded["allocationTimestamp"] = allocation.timestamp
    return encoded


def _without_empty(body: Json) -> Json:
    return {key: value for key, value in body.items() if value}


def _encoded_result(result: DeviceResult) -> Json:
    return {
        "request": result.request,
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
        **_without_empty(
            {
                "adminAccess": result.admin,
                "tolerations": [_encoded_toleration(each) for each in result.tolerations],
                "bindingConditions": list(result.binding_conditions),
                "bindingFailureConditions": list(result.binding_failure_conditions),
                "shareID": result.share_id,
                "consumedCapacity": {name: str(each) for name, each in result.consumed.items()},
            }
        ),
    }


def _encoded_toleration(toleration: DeviceToleration) -> Json:
    encoded = _without_empty(
        {
            "key": toleration.key,
            "operator": toleration.operator,
            "value": toleration.value,
            "effect": toleration.effect,
        }
    )
    if toleration.seconds is not None:
        encoded["tolerationSeconds"] = toleration.seconds
    return encoded


def _encoded_config(config: AllocatedConfig) -> Json:
    opaque = {"driver": config.opaque.driver, "parameters": config.opaque.parameters}
    requests = {"requests": list(config.requests)} if config.requests else {}
    return {"source": config.source, **requests, "opaque": opaque}


def _encoded_term(term: NodeTerm) -> Json:
    parts: Json = {"matchExpressions": [], "matchFields": []}
    for each in term:
        values = {"values": list(each.values)} if each.values else {}
        parts["matchFields" if each.on_field else "matchExpressions"].append(
            {"key": each.key, "operator": str(each.operator), **values}
        )
    return _without_empty(parts)
