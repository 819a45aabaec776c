"""Devices by class and state: which count, and what is looked at again after a change."""

from dataclasses import replace
from typing import Any

from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    Device,
    DeviceClass,
    DeviceResult,
    DeviceTaint,
    Slice,
    TaintRule,
)
from gang_scheduler.scheduler.devices import inventory
from gang_scheduler.scheduler.devices.inventory import ClassCount, Inventory
from support.device_builders import CLASSES, DRIVER, allocated, attributes, devices, slice_of

NODES = {"n0", "n1"}
LARGE = DeviceClass("large", (f"device.attributes['{DRIVER}'].size == 'large'",))


def counts(*slices: Slice, **of: Any) -> list[ClassCount]:
    """Return the figures of a snapshot with these slices."""
    found = Devices(**{"classes": CLASSES, "slices": slices, **of})
    return inventory.of_snapshot(found).counts(NODES)


def claims(*allocations: Allocation) -> dict[str, Claim]:
    """Return allocated claims."""
    found = [Claim("default", f"c{i}", allocation=each) for i, each in enumerate(allocations)]
    return {each.key: each for each in found}


def test_devices_are_free_used_or_tainted_and_used_comes_first() -> None:
    bad = (DeviceTaint("bad", effect="NoSchedule"),)
    given = [*devices(3), Device("t", taints=bad), Device("u", taints=bad)]

    found = counts(slice_of(given), claims=claims(allocated("gpu-0", "u")))

    assert [ClassCount(DRIVER, "gpu", free=2, used=2, tainted=1)] == found
    assert 5 == found[0].all


def test_a_taint_rule_taints_and_an_effect_that_keeps_no_claim_out_does_not() -> None:
    rules = (
        TaintRule("r", DeviceTaint("bad", effect="NoExecute"), device="gpu-0"),
        TaintRule("s", DeviceTaint("odd", effect="None")),
        TaintRule("t", DeviceTaint("bad", effect="NoSchedule"), driver="other"),
    )

    assert [ClassCount(DRIVER, "gpu", free=1, tainted=1)] == counts(
        slice_of(devices(2)), taint_rules=rules
    )


def test_a_share_uses_its_device_and_admin_access_uses_none() -> None:
    share = DeviceResult("r", DRIVER, "n0", "gpu-0", share_id="s")
    looks = DeviceResult("r", DRIVER, "n0", "gpu-1", admin=True)

    found = counts(slice_of(devices(2)), claims=claims(Allocation((share,)), Allocation((looks,))))

    assert [ClassCount(DRIVER, "gpu", free=1, used=1)] == found


def test_a_device_counts_in_each_of_its_classes_and_in_none_whose_selector_fails() -> None:
    given = [Device("a", attributes(size="large")), Device("b")]

    found = counts(slice_of(given), classes={**CLASSES, "large": LARGE})

    assert [ClassCount(DRIVER, "gpu", free=2), ClassCount(DRIVER, "large", free=1)] == found
    assert [ClassCount(DRIVER, "", free=2)] == counts(slice_of(given), classes={})


def test_only_the_newest_generation_counts_and_no_node_that_is_gone() -> None:
    old, new = slice_of(devices(4)), slice_of(devices(1), name="new", generation=2)
    gone = slice_of(devices(2), name="g", pool="gone", node_name="gone")

    assert [ClassCount(DRIVER, "gpu", free=1)] == counts(old, new, gone)


def test_a_slice_that_did_not_change_is_not_looked_at_again() -> None:
    first, second = slice_of(devices(1)), slice_of(devices(1), name="s1", pool="n1")
    known = Inventory()
    before = Devices(classes=CLASSES, slices=(first, second))

    assert 2 == len(list(known.look(before)))
    assert 0 == len(list(known.look(before)))
    changed = replace(second, devices=tuple(devices(3)))
    after = Devices(classes=before.classes, slices=(first, changed), taint_rules=before.taint_rules)
    assert 1 == len(list(known.look(after)))
    assert [ClassCount(DRIVER, "gpu", free=4)] == known.counts(NODES)


def test_other_classes_are_asked_of_all_devices_again() -> None:
    known = Inventory()
    before = Devices(classes={}, slices=(slice_of(devices(1)),))
    list(known.look(before))

    list(known.look(Devices(classes=CLASSES, slices=before.slices)))

    assert [ClassCount(DRIVER, "gpu", free=1)] == known.counts(NODES)
