"""Pools: which slices count, whether they are whole, what reaches a node, and in which order."""

from typing import Any

import pytest

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.devices import (
    Device,
    DeviceTaint,
    Invalid,
    NodeView,
    Slice,
    TaintRule,
    Unsupported,
)
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.scheduler.devices.pools import Pool, PoolId, Pools
from support.device_builders import DRIVER, NODE, counter_set, devices, slice_of, uses

GROUPS = 4
ON_RACK = ((Requirement("rack", Operator.IN, ("r1",)),),)


def only(*slices: Slice, **fields: Any) -> Pool:
    """Return the only pool that reaches NODE."""
    (pool,) = Pools(slices, **fields).on(NODE)
    return pool


def names(pool: Pool) -> list[str]:
    return [each.id.device for each in pool.devices]


def test_only_the_newest_generation_counts_also_if_it_is_for_another_node() -> None:
    old = slice_of(devices(2), name="old")
    new = slice_of(devices(1), name="new", generation=2)

    assert ["gpu-0"] == names(only(old, new))
    elsewhere = slice_of(devices(1), name="new", generation=2, node_name="n1")
    assert () == Pools([old, elsewhere]).on(NODE)


def test_a_pool_is_whole_with_as_many_slices_as_it_says_whichever_nodes_they_are_for() -> None:
    one = slice_of(devices(1), name="a", slice_count=2)
    other = slice_of([Device("x")], name="b", slice_count=2, node_name="n1")

    assert only(one).is_incomplete
    assert not only(one).is_usable
    whole = only(one, other)
    assert whole.is_usable
    assert (["gpu-0"], ["x"]) == (names(whole), [each.name for each in whole.elsewhere])
    assert not whole.is_local


@pytest.mark.parametrize(
    ("slices", "why"),
    [
        ([slice_of([Device("a"), Device("a")])], "duplicate device name a"),
        (
            [
                slice_of([], name="s0", slice_count=2, counters=(counter_set("c", m="1"),)),
                slice_of([], name="s1", slice_count=2, counters=(counter_set("c", m="1"),)),
            ],
            "duplicate counter set name c",
        ),
        ([slice_of([Device("a", consumes=uses("c", m="1"))])], "counter set c not found"),
        (
            [
                slice_of([], name="s0", slice_count=2, counters=(counter_set("c", m="1"),)),
                slice_of([Device("a", consumes=uses("c", n="1"))], name="s1", slice_count=2),
            ],
            "counter n not found in counter set c",
        ),
        (
            [
                slice_of([Device("a")], name="s0", slice_count=2),
                slice_of(
                    [Device("b", consumes=uses("c", m="1"))],
                    name="s1",
                    slice_count=2,
                    node_name="n1",
                ),
            ],
            "counter set c not found",
        ),
    ],
)
def test_a_pool_is_invalid_by_its_names_and_its_counters(slices: list[Slice], why: str) -> None:
    pool = only(*slices)

    assert why == pool.invalid
    assert not pool.is_usable


def test_a_slice_reaches_nodes_in_four_ways() -> None:
    ways: list[dict[str, Any]] = [
        {"node_name": "n0"},
        {"node_name": "", "all_nodes": True},
        {"node_name": "", "node_selector": ON_RACK},
        {"node_name": "", "per_device": True},
    ]
    slices = [
        slice_of([Device("x", node_name="n0"), Device("y", node_name="n1")], pool=f"p{i}", **way)
        for i, way in enumerate(ways)
    ]

    assert [f"p{i}" for i in range(GROUPS)] == [each.id.pool for each in Pools(slices).on(NODE)]
    per_device = Pools(slices).on(NODE)[-1]
    assert [True, False] == [each.here for each in per_device.devices]
    on_another = [each.id.pool for each in Pools(slices).on(NodeView("n1", {}))]
    assert ["p1", "p3"] == on_another


def test_a_slice_without_a_way_is_skipped() -> None:
    unknown = slice_of(devices(1), node_name="")
    pools = Pools([unknown, slice_of(devices(1), pool="p")])

    assert ["p"] == [each.id.pool for each in pools.on(NODE)]


def test_pools_go_by_driver_and_name_and_those_that_must_be_attached_last() -> None:
    slow = slice_of([Device("x", binding_conditions=("Attached",))], driver="a", pool="a")
    slices = [slow, *(slice_of(devices(1), driver=d, pool=p) for d in "cb" for p in ("10", "9"))]

    assert [("b", "10"), ("b", "9"), ("c", "10"), ("c", "9"), ("a", "a")] == [
        (each.id.driver, each.id.pool) for each in Pools(slices).on(NODE)
    ]


def test_slices_of_a_pool_go_by_name_and_devices_as_they_are_listed() -> None:
    second = slice_of([Device("b"), Device("a")], name="s1", slice_count=2)
    first = slice_of([Device("z")], name="s0", slice_count=2)

    assert ["z", "b", "a"] == names(only(second, first))


def test_a_slice_that_is_not_understood_does_not_count_and_is_named() -> None:
    refused = Unsupported("spec.devices[0].nodeAllocatableResources", "Gate")
    bad = slice_of([Device("x")], name="b", slice_count=2, problems=(refused,))
    other = slice_of(devices(1), name="a", slice_count=2)

    pool = only(other, bad)

    assert pool.is_incomplete
    assert (refused,) == pool.unsupported
    invalid = slice_of([], name="b", slice_count=2, problems=(Invalid("f", "v", "e"),))
    assert () == only(other, invalid).unsupported


def test_rules_taint_the_devices_that_they_select() -> None:
    taint = DeviceTaint("bad", effect="NoSchedule")
    rules = [
        TaintRule("r", taint, device="gpu-1"),
        TaintRule("other", taint, driver="nic.example.com"),
    ]

    pool = only(slice_of(devices(2)), taint_rules=rules)

    assert [(), (taint,)] == [each.device.taints for each in pool.devices]


def test_a_changed_slice_costs_the_pools_of_its_own_name() -> None:
    pools = Pools([slice_of(devices(2), pool=f"p{i}") for i in range(GROUPS)])
    before = pools.on(NODE)

    after = pools.with_changes([slice_of(devices(3), pool="p2")]).on(NODE)

    same = [one is other for one, other in zip(before, after, strict=True)]
    assert [True, True, False, True] == same
    assert ["gpu-0", "gpu-1", "gpu-2"] == names(after[2])
    assert before == pools.on(NODE)


def test_a_pool_goes_with_its_last_slice() -> None:
    pools = Pools([slice_of(devices(1), name=name, slice_count=2) for name in ("a", "b")])

    without_one = pools.with_changes(gone=[(PoolId(DRIVER, "n0"), "a")])
    without_both = without_one.with_changes(gone=[(PoolId(DRIVER, "n0"), "b")])

    assert [True] == [each.is_incomplete for each in without_one.on(NODE)]
    assert [] == list(without_both)


def test_other_labels_of_a_node_are_noticed() -> None:
    pools = Pools([slice_of(devices(1), node_name="", node_selector=ON_RACK)])

    assert len(pools.on(NODE)) == 1
    assert () == pools.on(NodeView("n0", {"rack": "r2"}))
    assert f"{DRIVER}/n0" == str(pools.on(NODE)[0].id)


def test_counters_are_in_billionths() -> None:
    pool = only(
        slice_of([], name="s0", slice_count=2, counters=(counter_set("card", m="80Gi"),)),
        slice_of([Device("x", consumes=uses("card", m="1"))], name="s1", slice_count=2),
    )

    assert {"card": {"m": 80 * 2**30 * 10**9}} == pool.counters
    assert pool.is_local
