"""Devices, claims and searches for them, with as few words as a test needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from gang_scheduler.model import device_quantities as quantities
from gang_scheduler.model.devices import (
    Allocation,
    Attribute,
    AttributeKind,
    Capacity,
    Claim,
    Constraint,
    CounterSet,
    CounterUse,
    Device,
    DeviceClass,
    DeviceResult,
    NodeView,
    Request,
    Slice,
    SubRequest,
)
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.candidates import Candidates
from gang_scheduler.scheduler.devices.claim_requests import ClaimRequests, requests_of
from gang_scheduler.scheduler.devices.outcomes import Budget, Found, Outcome
from gang_scheduler.scheduler.devices.pools import Pools
from gang_scheduler.scheduler.devices.search import allocate
from gang_scheduler.scheduler.devices.search_state import DevicesInUse

DRIVER = "gpu.example.com"
NODE = NodeView("n0", {"rack": "r1"})
CLASSES = {"gpu": DeviceClass("gpu", (f"device.driver == '{DRIVER}'",))}


def attributes(**values: object) -> dict[str, Attribute]:
    """Return attributes of the driver, typed by what they are."""
    kinds = {bool: AttributeKind.BOOL, int: AttributeKind.INT, str: AttributeKind.STRING}
    found: dict[str, Any] = values
    return {name: Attribute(kinds[type(value)], value) for name, value in found.items()}


def amounts(**values: str) -> dict[str, quantities.Quantity]:
    """Return amounts by name."""
    return {name: quantities.parse(value) for name, value in values.items()}


def capacities(**values: str) -> dict[str, Capacity]:
    """Return capacities without a policy."""
    return {name: Capacity(value) for name, value in amounts(**values).items()}


def uses(counter_set: str, **values: str) -> tuple[CounterUse, ...]:
    """Return what a device takes of a counter set."""
    return (CounterUse(counter_set, amounts(**values)),)


def counter_set(name: str, **values: str) -> CounterSet:
    """Return a set of counters."""
    return CounterSet(name, amounts(**values))


def devices(count: int, **fields: Any) -> list[Device]:
    """Return devices gpu-0, gpu-1, ... that are equal."""
    return [Device(f"gpu-{i}", **fields) for i in range(count)]


def slice_of(given: Sequence[Device], **fields: Any) -> Slice:
    """Return the only slice of a pool for NODE."""
    defaults: dict[str, Any] = {"name": "s", "driver": DRIVER, "pool": "n0", "node_name": "n0"}
    return Slice(**{**defaults, **fields}, devices=tuple(given))


def asked(name: str = "gpu", **fields: Any) -> SubRequest:
    """Return what a request asks for."""
    return SubRequest(name, fields.pop("device_class", "gpu"), **fields)


def request(name: str = "gpu", **fields: Any) -> Request:
    """Return a request with `exactly`."""
    return Request(name, (asked(name, **fields),))


def first_available(*alternatives: SubRequest, name: str = "gpu") -> Request:
    """Return a request with alternatives."""
    return Request(name, alternatives, is_prioritized=True)


def claim(*requests: Request, constraints: Sequence[Constraint] = (), name: str = "c") -> Claim:
    """Return a claim."""
    return Claim("default", name, requests=requests, constraints=tuple(constraints))


def allocated(*names: str, **fields: Any) -> Allocation:
    """Return an allocation of devices of NODE."""
    return Allocation(tuple(DeviceResult("r", DRIVER, "n0", each, **fields) for each in names))


def taken_by(*allocations: Allocation) -> Taken:
    """Return what allocations take."""
    taken = Taken()
    for each in allocations:
        taken.add(each)
    return taken


def search(
    given: Sequence[Device] | Sequence[Slice] | Pools,
    *claims: Claim,
    taken: Taken | None = None,
    classes: Mapping[str, DeviceClass] = CLASSES,
    budget: Budget | None = None,
) -> Outcome:
    """Return what a search on NODE answers."""
    return allocate(NODE, claims, pools_of(given), taken or Taken(), classes, budget or Budget())


def pools_of(given: Sequence[Device] | Sequence[Slice] | Pools) -> Pools:
    """Return the pools of slices, or of devices in one slice."""
    if isinstance(given, Pools):
        return given
    slices = [each for each in given if isinstance(each, Slice)]
    own = [each for each in given if isinstance(each, Device)]
    return Pools([*slices, *([slice_of(own)] if own else [])])


def chosen(outcome: Outcome) -> list[list[str]]:
    """Return what was found: REQUEST=DEVICE of each claim."""
    assert isinstance(outcome, Found), outcome
    return [
        [f"{result.request}={result.device}" for result in each.results]
        for each in outcome.allocations
    ]


def asked_for(*claims: Claim) -> ClaimRequests:
    """Return what claims ask for."""
    return requests_of(claims, CLASSES)


def candidates_of(
    given: Sequence[Device] | Sequence[Slice], wanted: ClaimRequests, taken: Taken | None = None
) -> Candidates:
    """Return the candidates on NODE."""
    return Candidates(wanted, pools_of(given).on(NODE), taken or Taken())


def room_of(wanted: ClaimRequests, candidates: Candidates) -> DevicesInUse:
    """Return the room for what is asked for."""
    return DevicesInUse(wanted, candidates)
