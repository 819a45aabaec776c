"""What the status of a claim says of its devices: results, configurations and the node selector."""

import uuid
from dataclasses import replace
from typing import Any

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.devices import (
    AllocatedConfig,
    Allocation,
    Claim,
    ClaimConfig,
    Device,
    DeviceClass,
    DeviceToleration,
    OpaqueConfig,
    Request,
    Slice,
)
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.scheduler.devices.allocating import given_to
from gang_scheduler.scheduler.devices.outcomes import Found
from support.device_builders import (
    CLASSES,
    asked,
    capacities,
    claim,
    devices,
    first_available,
    request,
    search,
    slice_of,
)

OF_CLASS, OF_CLAIM = OpaqueConfig("d", {"of": "class"}), OpaqueConfig("d", {"of": "claim"})
CONFIGURED = {
    "gpu": DeviceClass("gpu", config=(OF_CLASS,)),
    "nic": DeviceClass("nic", config=(OF_CLASS,)),
}
HERE = ((Requirement("metadata.name", Operator.IN, ("n0",), on_field=True),),)
RACK = Requirement("rack", Operator.IN, ("r1",))


def allocation(
    given: list[Slice] | list[Device],
    *requests: Request,
    classes: dict[str, DeviceClass] = CLASSES,
    **fields: Any,
) -> Allocation:
    """Return what one claim is given."""
    outcome = search(given, replace(claim(*requests), **fields), classes=classes)
    assert isinstance(outcome, Found), outcome
    return outcome.allocations[0]


def test_a_result_has_the_conditions_of_its_device_and_the_tolerations_of_its_request() -> None:
    device = Device("x", binding_conditions=("Attached",), binding_failure_conditions=("Failed",))
    toleration = DeviceToleration("bad", "Exists")

    (result,) = allocation([device], request(tolerations=(toleration,))).results

    assert (("Attached",), ("Failed",)) == (
        result.binding_conditions,
        result.binding_failure_conditions,
    )
    assert (toleration,) == result.tolerations
    assert not result.admin
    assert "" == result.share_id


def test_admin_access_is_said_where_it_was_asked_for() -> None:
    assert allocation(devices(1), request(admin_access=True)).results[0].admin


def test_a_share_has_an_id_that_no_other_has() -> None:
    shared = [Device("x", capacity=capacities(m="0"), allow_multiple=True)]
    two = [replace(claim(request()), uid=uid) for uid in "ab"]

    outcome = search(shared, *two)

    assert isinstance(outcome, Found)
    ids = [each.results[0].share_id for each in outcome.allocations]
    assert len({*ids}) == 2
    assert ids == [str(uuid.UUID(each)) for each in ids]
    again = search(shared, *(replace(each, resource_version="2") for each in two))
    assert isinstance(again, Found)
    assert again.allocations[0].results[0].share_id not in ids


def test_configurations_of_classes_come_once_a_class_and_before_those_of_the_claim() -> None:
    requests = [request("a"), request("n", device_class="nic"), request("b")]
    own = ClaimConfig(("n",), OF_CLAIM)

    found = allocation(devices(3), *requests, classes=CONFIGURED, config=(own,))

    assert (
        AllocatedConfig("FromClass", ("a", "b"), OF_CLASS),
        AllocatedConfig("FromClass", ("n",), OF_CLASS),
        AllocatedConfig("FromClaim", ("n",), OF_CLAIM),
    ) == found.config


def test_a_configuration_for_all_requests_names_none() -> None:
    own = (ClaimConfig((), OF_CLAIM), ClaimConfig(("a", "b"), OF_CLAIM))

    found = allocation(devices(2), request("a"), request("b"), config=own)

    assert (AllocatedConfig("FromClaim", (), OF_CLAIM),) * 2 == found.config


def test_a_configuration_counts_if_its_alternative_was_chosen() -> None:
    pick = first_available(asked("many", count=9), asked("few"), name="gpu")
    own = tuple(ClaimConfig((name,), OF_CLAIM) for name in ("gpu/many", "gpu/few", "gpu"))

    found = allocation(devices(2), pick, request("b"), config=own)

    assert [("gpu/few",), ("gpu",)] == [each.requests for each in found.config]


def test_a_local_device_binds_the_claim_to_its_node() -> None:
    assert HERE == allocation(devices(1), request()).node_selector
    bound = slice_of([Device("x", binds_to_node=True)], node_name="", all_nodes=True)
    assert HERE == allocation([bound], request()).node_selector


def test_other_devices_leave_the_nodes_that_all_of_their_slices_select() -> None:
    expected = (RACK, Requirement("zone", Operator.EXISTS))
    anywhere = slice_of([Device("w")], pool="a", node_name="", all_nodes=True)
    one = slice_of([Device("x")], pool="b", node_name="", node_selector=((RACK,),))
    other = slice_of(
        [Device("y", node_selector=((RACK,),))], pool="c", node_name="", per_device=True
    )

    found = allocation([anywhere, one, other], request(count=3))

    assert ((expected[0],),) == found.node_selector
    assert allocation([anywhere], request()).node_selector is None


def test_a_claim_without_results_has_neither() -> None:
    assert Allocation(()) == allocation(devices(1))
    assert isinstance(claim(), Claim)


def test_an_allocation_can_be_given_to_another_claim_with_the_same_requests() -> None:
    shared = [Device("x", allow_multiple=True)]
    first = allocation(shared, request(), classes=CONFIGURED)
    config = (ClaimConfig((), OF_CLAIM),)
    other = replace(claim(request()), name="other", config=config)

    given = given_to(other, first, CONFIGURED)

    assert given == allocation(shared, request(), classes=CONFIGURED, name="other", config=config)
    assert given.results[0].share_id != first.results[0].share_id
    assert [each.source for each in given.config] == ["FromClass", "FromClaim"]
