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
from support.device_builders import (
    CLASSES,
    DRIVER,
    allocated,
    attributes,
    counter_set,
    devices,
    slice_of,
    uses,
)

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


def test_devices_of_incomplete_and_invalid_pools_count_only_while_they_are_in_use() -> None:
    incomplete = slice_of(devices(2), slice_count=2)
    twice = slice_of([*devices(1), *devices(2)])
    no_counter = slice_of(devices(2, consumes=uses("memory", m="1")))

    for each in (incomplete, twice, no_counter):
        assert [] == counts(each)
        used = counts(each, claims=claims(allocated("gpu-0")))
        assert [ClassCount(DRIVER, "gpu", used=1)] == used


def test_a_slice_that_no_way_to_a_node_is_known_of_does_not_count() -> None:
    assert [] == counts(slice_of(devices(2), node_name=""))
    assert [ClassCount(DRIVER, "gpu", free=2)] == counts(
        slice_of(devices(2), node_name="", all_nodes=True)
    )


def card_and_parts(*taken: str, **of: Any) -> dict[str, ClassCount]:
    """Return the figures of a card of 8Gi, its 4 halves of 4Gi, and claims for some of them."""
    given = [
        Device("card", attributes(size="large"), consumes=uses("c", m="8Gi")),
        *(Device(f"half-{i}", consumes=uses("c", m="4Gi"), **of) for i in range(4)),
    ]
    slices = (
        slice_of(given, slice_count=2),
        slice_of((), name="t", slice_count=2, counters=(counter_set("c", m="8Gi"),)),
    )
    used = {"claims": claims(allocated(*taken))} if taken else {}
    found = counts(*slices, classes={**CLASSES, "large": LARGE}, **used)
    return {each.device_class: each for each in found}


def test_a_card_and_its_parts_count_as_many_as_can_be_used_at_once() -> None:
    large, gpu = "large", "gpu"
    idle = card_and_parts()
    assert (1, 2) == (idle[large].free, idle[gpu].free)

    whole = card_and_parts("card")
    assert ClassCount(DRIVER, large, used=1) == whole[large]
    assert ClassCount(DRIVER, gpu, used=1) == whole[gpu]

    broken = card_and_parts("half-2")
    assert large not in broken
    assert ClassCount(DRIVER, gpu, free=1, used=1) == broken[gpu]


def test_parts_without_taints_count_before_those_with_taints() -> None:
    bad = (DeviceTaint("bad", effect="NoSchedule"),)

    assert ClassCount(DRIVER, "gpu", free=1) == card_and_parts(taints=bad)["gpu"]


def test_nothing_more_is_free_of_counters_of_which_too_much_is_used() -> None:
    assert ClassCount(DRIVER, "gpu", used=3) == card_and_parts("half-0", "half-1", "half-2")["gpu"]


def test_only_pools_whose_devices_in_use_changed_are_counted_again() -> None:
    first, second = slice_of(devices(2)), slice_of(devices(2), name="s1", pool="n1")
    known = Inventory()
    idle = Devices(CLASSES, (first, second), ())
    list(known.look(idle))
    before = dict(known._figures)

    used = claims(allocated("gpu-0"))
    list(known.look(Devices(idle.classes, idle.slices, idle.taint_rules, used)))

    changed = [pool for pool, found in known._figures.items() if found is not before[pool]]
    assert [(DRIVER, "n0")] == changed
    assert [ClassCount(DRIVER, "gpu", free=3, used=1)] == known.counts(NODES)


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
