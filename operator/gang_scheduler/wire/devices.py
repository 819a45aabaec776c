"""The fields that are read of claims, classes and slices of devices (`resource.k8s.io`)."""

from typing import Any

from msgspec import field

from gang_scheduler.wire.base import (
    Condition,
    Metadata,
    NodeSelector,
    Quantities,
    Quantity,
    Wire,
)


class Named(Wire, frozen=True):
    """Base of all kinds here."""

    metadata: Metadata


class Cel(Wire, frozen=True):
    """`selectors[].cel`."""

    expression: str = ""


class Selector(Wire, frozen=True):
    """`selectors[]` of a class or a request."""

    cel: Cel | None = None


class Opaque(Wire, frozen=True):
    """`config[].opaque`: the parameters of a driver, of which only the presence is read."""

    driver: str = ""
    parameters: Any = None


class Config(Wire, frozen=True):
    """`config[]` of a class, a claim or an allocation."""

    requests: list[str] = field(default_factory=list)
    source: str = ""
    opaque: Opaque | None = None


class DeviceClassSpec(Wire, frozen=True):
    """`spec` of a DeviceClass."""

    selectors: list[Selector] = field(default_factory=list)
    config: list[Config] = field(default_factory=list)
    extended_resource_name: str = ""


class DeviceClass(Named, frozen=True):
    """A DeviceClass."""

    spec: DeviceClassSpec = DeviceClassSpec()


class Pool(Wire, frozen=True):
    """`spec.pool` of a ResourceSlice."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class Taint(Wire, frozen=True):
    """A taint of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""


class TaintSelector(Wire, frozen=True):
    """`spec.deviceSelector` of a DeviceTaintRule."""

    driver: str = ""
    pool: str = ""
    device: str = ""


class DeviceTaintRuleSpec(Wire, frozen=True):
    """`spec` of a DeviceTaintRule."""

    device_selector: TaintSelector | None = None
    taint: Taint = Taint()


class DeviceTaintRule(Named, frozen=True):
    """A DeviceTaintRule."""

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


class Toleration(Wire, frozen=True):
    """A toleration of a request."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Attribute(Wire, frozen=True):
    """`attributes[]` of a device: one of these. Lists are not supported."""

    int_: int | None = field(default=None, name="int")
    bool_: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: list[int] | None = None
    bools: list[bool] | None = None
    strings: list[str] | None = None
    versions: list[str] | None = None


class ValidRange(Wire, frozen=True):
    """`capacity[].requestPolicy.validRange`."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class RequestPolicy(Wire, frozen=True):
    """`capacity[].requestPolicy`."""

    default: Quantity | None = None
    valid_values: list[Quantity] = field(default_factory=list)
    valid_range: ValidRange | None = None


class Capacity(Wire, frozen=True):
    """`capacity[]` of a device."""

    value: Quantity | None = None
    request_policy: RequestPolicy | None = None


class Counter(Wire, frozen=True):
    """`counters[]`."""

    value: Quantity | None = None


class CounterSet(Wire, frozen=True):
    """`spec.sharedCounters[]` of a ResourceSlice."""

    name: str = ""
    counters: dict[str, Counter] = field(default_factory=dict)


class ConsumedCounters(Wire, frozen=True):
    """`consumesCounters[]` of a device."""

    counter_set: str = ""
    counters: dict[str, Counter] = field(default_factory=dict)
    compatibility_groups: Any = None


class Device(Wire, frozen=True):
    """`spec.devices[]` of a ResourceSlice."""

    name: str = ""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    capacity: dict[str, Capacity] = field(default_factory=dict)
    consumes_counters: list[ConsumedCounters] = field(default_factory=list)
    taints: list[Taint] = field(default_factory=list)
    binding_conditions: list[str] = field(default_factory=list)
    binding_failure_conditions: list[str] = field(default_factory=list)
    binds_to_node: bool = False
    allow_multiple_allocations: bool = False
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    node_allocatable_resources: Any = None


class ResourceSliceSpec(Wire, frozen=True):
    """`spec` of a ResourceSlice."""

    driver: str = ""
    pool: Pool = Pool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    shared_counters: list[CounterSet] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    skip_node_operations: Any = None


class ResourceSlice(Named, frozen=True):
    """A ResourceSlice."""

    spec: ResourceSliceSpec = ResourceSliceSpec()


class RequestedCapacity(Wire, frozen=True):
    """`capacity` of a request."""

    requests: Quantities = field(default_factory=dict)


class SubRequest(Wire, frozen=True):
    """`exactly` or `firstAvailable[]` of a request; the former has no name."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[Selector] = field(default_factory=list)
    allocation_mode: str = ""
    count: int = 0
    tolerations: list[Toleration] = field(default_factory=list)
    capacity: RequestedCapacity | None = None
    admin_access: bool = False
    derived_attributes: Any = None


class Request(Wire, frozen=True):
    """`spec.devices.requests[]` of a claim."""

    name: str = ""
    exactly: SubRequest | None = None
    first_available: list[SubRequest] = field(default_factory=list)


class Constraint(Wire, frozen=True):
    """`spec.devices.constraints[]` of a claim."""

    requests: list[str] = field(default_factory=list)
    match_attribute: str = ""
    distinct_attribute: str = ""


class ClaimDevices(Wire, frozen=True):
    """`spec.devices` of a claim."""

    requests: list[Request] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    config: list[Config] = field(default_factory=list)


class ClaimSpec(Wire, frozen=True):
    """`spec` of a ResourceClaim."""

    devices: ClaimDevices = ClaimDevices()


class Result(Wire, frozen=True):
    """`status.allocation.devices.results[]` of a claim."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    tolerations: list[Toleration] = field(default_factory=list)
    share_id: str = field(default="", name="shareID")
    consumed_capacity: Quantities = field(default_factory=dict)
    binding_conditions: list[str] = field(default_factory=list)
    binding_failure_conditions: list[str] = field(default_factory=list)


class AllocatedDevices(Wire, frozen=True):
    """`status.allocation.devices` of a claim."""

    results: list[Result] = field(default_factory=list)
    config: list[Config] = field(default_factory=list)


class Allocation(Wire, frozen=True):
    """`status.allocation` of a claim."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str = ""


class Consumer(Wire, frozen=True):
    """`status.reservedFor[]` of a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceStatus(Wire, frozen=True):
    """`status.devices[]` of a claim."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str = field(default="", name="shareID")
    conditions: list[Condition] = field(default_factory=list)


class ClaimStatus(Wire, frozen=True):
    """`status` of a ResourceClaim."""

    allocation: Allocation | None = None
    reserved_for: list[Consumer] = field(default_factory=list)
    devices: list[DeviceStatus] = field(default_factory=list)


class ResourceClaim(Named, frozen=True):
    """A ResourceClaim."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class TemplateSpec(Wire, frozen=True):
    """`spec` of a ResourceClaimTemplate."""

    metadata: Metadata = Metadata()
    spec: ClaimSpec = ClaimSpec()


class ResourceClaimTemplate(Named, frozen=True):
    """A ResourceClaimTemplate."""

    spec: TemplateSpec = TemplateSpec()
