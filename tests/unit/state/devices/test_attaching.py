"""Which devices of a claim are attached, by the conditions that their drivers set."""

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.causes.devices import DevicesAwaited
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    DeviceId,
    DeviceResult,
    DeviceStatus,
)
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.state.devices import attaching
from support.device_builders import DRIVER

TRUE, FALSE = "True", "False"


def result(name: str, share_id: str = "", *, later: bool = True) -> DeviceResult:
    """Return a device that must be attached and powered first, or one that need not."""
    return DeviceResult(
        *("gpu", DRIVER, "n0", name),
        share_id=share_id,
        binding_conditions=("Attached", "Powered") if later else (),
        binding_failure_conditions=("Failed", "Lost") if later else (),
    )


def told(name: str, share_id: str = "", **conditions: str) -> DeviceStatus:
    """Return what the driver says of a device."""
    return DeviceStatus(DeviceId(DRIVER, "n0", name), share_id, tuple(conditions.items()))


def claim(*statuses: DeviceStatus) -> Claim:
    return Claim("default", "a", device_statuses=statuses)


BOTH = Allocation((result("x"), result("y"), result("z", later=False)))


def test_a_device_is_pending_until_all_its_conditions_are_true() -> None:
    half = told("x", Attached=TRUE, Powered=TRUE), told("y", Attached=TRUE, Powered=FALSE)

    nothing = list(attaching.pending(claim(), BOTH))
    some = list(attaching.pending(claim(*half), BOTH))

    assert ["x", "y"] == [each.device.device for each in nothing]
    assert [("y", "Powered")] == [(each.device.device, each.condition) for each in some]


def test_a_failure_condition_counts_once_it_is_true() -> None:
    told_of = claim(told("x", Failed=FALSE), told("y", Failed=TRUE, Lost=TRUE))

    (found,) = attaching.failures(told_of, BOTH)

    assert ("default/a", "y", "Failed") == (found.claim, found.device.device, found.condition)


def test_conditions_of_another_share_of_a_device_do_not_count() -> None:
    shared = Allocation((result("x", "1"),))
    ready = {"Attached": TRUE, "Powered": TRUE}

    assert 1 == len(list(attaching.pending(claim(told("x", "2", **ready)), shared)))
    assert [] == list(attaching.pending(claim(told("x", "1", **ready)), shared))


def test_devices_without_binding_conditions_are_never_waited_for() -> None:
    plain = Allocation((result("z", later=False),))

    assert not attaching.is_attached_later(plain)
    assert attaching.is_attached_later(BOTH)
    assert attaching.awaited([(claim(told("z", Failed=TRUE)), plain)]) is None


def test_what_is_awaited_is_counted_over_all_claims() -> None:
    ready = claim(told("x", Attached=TRUE, Powered=TRUE))

    found = attaching.awaited([(ready, BOTH), (claim(), Allocation((result("x"),)))])

    assert DevicesAwaited(2, 3, "default/a", f"{DRIVER}/n0/y", "Attached") == found


def test_the_only_node_of_an_allocation_is_the_one_that_its_selector_names() -> None:
    def on(*nodes: str, on_field: bool = True) -> Allocation:
        only = Requirement("metadata.name", Operator.IN, nodes, on_field=on_field)
        return Allocation((), node_selector=((only,),))

    found = [on("n0"), on("n0", "n1"), on("n0", on_field=False), Allocation(())]
    assert ["n0", "", "", ""] == [attaching.only_node(each) for each in found]
