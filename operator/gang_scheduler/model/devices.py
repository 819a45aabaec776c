"""Classes, slices, claims, templates and taint rules, as the search of devices reads them."""

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

from gang_scheduler.model.device_quantities import Amounts, Quantity
from gang_scheduler.model.refs import NATIVE
from gang_scheduler.model.selectors import NodeTerm, matches_any_term

MOST_RESULTS: Final = 32
"""The most devices of one claim."""
MOST_CONSUMERS: Final = 256
"""The most entries of `status.reservedFor`."""
NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A field that is not understood, and the alpha feature gate of Kubernetes that it needs."""

    field: str
    gate: str = ""


@dataclass(frozen=True, slots=True)
class Invalid:
    """A field whose value is not valid, and the rule that it breaks."""

    field: str
    value: str
    expected: str


Problem = Unsupported | Invalid


class AttributeKind(enum.StrEnum):
    """The type of an attribute's value. Values of different types are never equal."""

    INT = "int"
    BOOL = "bool"
    STRING = "string"
    VERSION = "version"
    LIST = "list"


class Attribute(NamedTuple):
    """A value of a device, with its type: for Python alone, 1 and true would be equal."""

    kind: AttributeKind
    value: "int | bool | str | tuple[Attribute, ...]"


KEEPING_OUT: Final = frozenset({"NoSchedule", "NoExecute"})
"""The taint effects that keep out requests without a toleration; other effects do not."""


@dataclass(frozen=True, slots=True)
class DeviceTaint:
    """A taint of a device."""

    key: str
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        """Return the taint as kubectl writes it."""
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class DeviceToleration:
    """A toleration of a request. The operator is `Equal` or `Exists`; any other matches nothing."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Return whether the toleration matches a taint: an empty key or effect matches all."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator == "Equal":
            return self.value == taint.value
        return self.operator == "Exists"


@dataclass(frozen=True, slots=True)
class CapacityPolicy:
    """How much of a capacity a share may take: values, or a range with steps, and the default."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    minimum: Quantity | None = None
    maximum: Quantity | None = None
    step: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity of a device."""

    value: Quantity
    policy: CapacityPolicy | None = None


@dataclass(frozen=True, slots=True)
class CounterUse:
    """The amounts that a device uses up of the counters of one set of its pool."""

    counter_set: str
    counters: Amounts


@dataclass(frozen=True, slots=True)
class CounterSet:
    """Counters that the devices of a pool share."""

    name: str
    counters: Amounts


class Reach(NamedTuple):
    """The nodes that a slice or a device reaches, by the first of these that is set."""

    node_name: str = ""
    node_selector: tuple[NodeTerm, ...] | None = None
    all_nodes: bool = False

    @property
    def is_known(self) -> bool:
        """Whether one of the ways to reach a node is set."""
        return bool(self.node_name or self.all_nodes or self.node_selector is not None)

    def reaches(self, node: "NodeView") -> bool:
        """Return whether a node is reached, by the first way that is set."""
        if self.node_name:
            return self.node_name == node.name
        if self.all_nodes or self.node_selector is None:
            return self.all_nodes
        return matches_any_term(self.node_selector, node.name, node.labels)


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a slice. Attributes and capacities named without a domain get the driver's."""

    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    consumes: tuple[CounterUse, ...] = ()
    taints: tuple[DeviceTaint, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    binds_to_node: bool = False
    allow_multiple: bool = False
    node_name: str = ""
    node_selector: tuple[NodeTerm, ...] | None = None
    all_nodes: bool = False

    @property
    def reach(self) -> Reach:
        """The nodes that the device reaches, if its slice says so for each device."""
        return Reach(self.node_name, self.node_selector, self.all_nodes)


@dataclass(frozen=True, slots=True)
class Slice:
    """A ResourceSlice: devices of a pool, or counters that they share."""

    name: str
    driver: str
    pool: str
    generation: int = 1
    slice_count: int = 1
    node_name: str = ""
    node_selector: tuple[NodeTerm, ...] | None = None
    all_nodes: bool = False
    per_device: bool = False
    counters: tuple[CounterSet, ...] = ()
    devices: tuple[Device, ...] = ()
    problems: tuple[Problem, ...] = ()
    uid: str = ""

    @property
    def key(self) -> str:
        """Its name, which is unique in the cluster."""
        return self.name

    @property
    def reach(self) -> Reach:
        """The nodes that the slice reaches, unless each device says it for itself."""
        return Reach(self.node_name, self.node_selector, self.all_nodes)


@dataclass(frozen=True, slots=True)
class OpaqueConfig:
    """Parameters for a driver: copied, never read."""

    driver: str
    parameters: Any


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass. `created` is in seconds since 1970."""

    name: str
    selectors: tuple[str, ...] = ()
    extended_resource: str = ""
    created: float = 0.0
    config: tuple[OpaqueConfig, ...] = ()
    problems: tuple[Problem, ...] = ()
    uid: str = ""

    @property
    def key(self) -> str:
        """Its name, which is unique in the cluster."""
        return self.name


class Mode(enum.StrEnum):
    """How many devices a request asks for: a number, or all that match."""

    EXACT_COUNT = "ExactCount"
    ALL = "All"


@dataclass(frozen=True, slots=True)
class SubRequest:
    """One alternative of a request; a request with `exactly` has only one."""

    name: str
    device_class: str
    selectors: tuple[str, ...] = ()
    mode: Mode = Mode.EXACT_COUNT
    count: int = 1
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: Amounts = field(default_factory=dict, hash=False)
    admin_access: bool = False

    @property
    def least(self) -> int:
        """The least number of devices that it takes exclusively: none with admin access."""
        return 0 if self.admin_access else self.count if self.mode is Mode.EXACT_COUNT else 1


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a claim; one of its alternatives must be satisfied, the first possible one."""

    name: str
    alternatives: tuple[SubRequest, ...]
    is_prioritized: bool = False
    """Whether the alternatives come from `firstAvailable`."""

    def name_of(self, alternative: SubRequest) -> str:
        """Return the name in results: REQUEST, or REQUEST/SUBREQUEST."""
        return f"{self.name}/{alternative.name}" if self.is_prioritized else self.name


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule on the devices of the named `requests` together; of all requests if none is named."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""

    @property
    def attribute(self) -> str:
        """The attribute that is compared, with its domain."""
        return self.match_attribute or self.distinct_attribute

    def applies_to(self, request: Request, alternative: SubRequest) -> bool:
        """Return whether devices of a request are constrained."""
        return not self.requests or (
            request.name in self.requests
            or (request.is_prioritized and request.name_of(alternative) in self.requests)
        )


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """The requests of a claim, without its name: claims of one template have equal specs."""

    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    @property
    def least(self) -> int:
        """The least number of devices that a claim takes exclusively on any node."""
        return sum(
            min((each.least for each in request.alternatives), default=0)
            for request in self.requests
        )


@dataclass(frozen=True, slots=True)
class ClaimConfig:
    """A configuration of a claim, for some requests; for all if none is named."""

    requests: tuple[str, ...]
    opaque: OpaqueConfig


class DeviceId(NamedTuple):
    """A device anywhere in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        """Return DRIVER/POOL/DEVICE."""
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """A device that a claim was given; with a share ID, only the part `consumed` of a device."""

    request: str
    driver: str
    pool: str
    device: str
    admin: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    share_id: str = ""
    consumed: Amounts = field(default_factory=dict)
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()

    @property
    def id(self) -> DeviceId:
        """The device."""
        return DeviceId(self.driver, self.pool, self.device)


@dataclass(frozen=True, slots=True)
class AllocatedConfig:
    """A configuration in an allocation: `FromClass` or `FromClaim`."""

    source: str
    requests: tuple[str, ...]
    opaque: OpaqueConfig


@dataclass(frozen=True, slots=True)
class Allocation:
    """The devices that a claim was given. Without a node selector they reach every node."""

    results: tuple[DeviceResult, ...]
    config: tuple[AllocatedConfig, ...] = ()
    node_selector: tuple[NodeTerm, ...] | None = None
    timestamp: str = ""

    @property
    def mark(self) -> str:
        """A text that differs for each allocation: its time, and a digest of its devices."""
        found = [(each.request, *each.id, each.share_id) for each in self.results]
        digest = hashlib.sha256(repr((self.timestamp, found)).encode()).hexdigest()
        return f"{self.timestamp}/{digest[:16]}"

    def is_same(self, other: "Allocation") -> bool:
        """Return whether both are of the same devices, in the same shares."""
        mine, others = (
            [(each.request, each.id, each.share_id) for each in of.results] for of in (self, other)
        )
        return mine == others


class Consumer(NamedTuple):
    """An entry of `status.reservedFor`."""

    api_group: str
    resource: str
    name: str
    uid: str

    @property
    def is_pod(self) -> bool:
        """Whether a pod holds the claim."""
        return (self.api_group, self.resource) == ("", "pods")

    @property
    def is_pod_group(self) -> bool:
        """Whether a native PodGroup holds the claim, for all of its pods."""
        return (self.api_group, self.resource) == (NATIVE.name, "podgroups")

    @classmethod
    def of_pod(cls, name: str, uid: str) -> Self:
        """Return the entry of a pod."""
        return cls("", "pods", name, uid)

    @classmethod
    def of_pod_group(cls, name: str, uid: str) -> Self:
        """Return the entry of a native PodGroup."""
        return cls(NATIVE.name, "podgroups", name, uid)


class Owner(NamedTuple):
    """The object that controls a claim."""

    api_version: str
    kind: str
    name: str
    uid: str

    def is_pod_group(self, name: str) -> bool:
        """Whether this is a native PodGroup of this name, in any version of its API."""
        group = self.api_version.partition("/")[0]
        return (group, self.kind, self.name) == (NATIVE.name, NATIVE.object_kind, name)


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A driver's report on an allocated device: types and statuses of its conditions."""

    id: DeviceId
    share_id: str
    conditions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A ResourceClaim."""

    namespace: str
    name: str
    uid: str = ""
    owner: Owner | None = None
    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[ClaimConfig, ...] = ()
    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    device_statuses: tuple[DeviceStatus, ...] = ()
    deleting: bool = False
    finalizers: tuple[str, ...] = ()
    resource_version: str = ""
    mark: str = ""
    """The mark of the last allocation that this scheduler wrote, or was about to write."""
    problems: tuple[Problem, ...] = ()

    @property
    def key(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_marked(self) -> bool:
        """Whether this scheduler, and no other, has allocated the claim."""
        return self.allocation is not None and self.allocation.mark == self.mark

    @property
    def spec(self) -> ClaimSpec:
        """The requests and constraints of the claim."""
        return ClaimSpec(self.requests, self.constraints)


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """A ResourceClaimTemplate: the specification of claims that are made from it."""

    namespace: str
    name: str
    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[ClaimConfig, ...] = ()
    problems: tuple[Problem, ...] = ()
    uid: str = ""

    @property
    def key(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    @property
    def spec(self) -> ClaimSpec:
        """The requests and constraints of the claims."""
        return ClaimSpec(self.requests, self.constraints)

    def claim(self, name: str, owner: Owner, uid: str = "") -> Claim:
        """Return a claim as kube-controller-manager makes it for a pod or PodGroup."""
        return Claim(
            namespace=self.namespace,
            name=name,
            uid=uid,
            owner=owner,
            requests=self.requests,
            constraints=self.constraints,
            config=self.config,
            problems=self.problems,
        )


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A DeviceTaintRule. An empty part of the selector matches all; no selector matches none."""

    name: str
    taint: DeviceTaint
    selects: bool = True
    driver: str = ""
    pool: str = ""
    device: str = ""
    problems: tuple[Problem, ...] = ()
    uid: str = ""

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    def matches(self, device: DeviceId) -> bool:
        """Return whether the rule taints a device."""
        return self.selects and all(
            wanted in ("", present)
            for wanted, present in zip((self.driver, self.pool, self.device), device, strict=True)
        )


@dataclass(frozen=True, slots=True)
class NodeView:
    """The fields of a node that the search for devices reads."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
