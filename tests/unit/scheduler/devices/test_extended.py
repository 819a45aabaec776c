"""Extended resources of nodes that offer them as devices, in a snapshot and in a cycle."""

import random
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    Device,
    DeviceId,
    DeviceResult,
    DeviceTaint,
    NodeView,
    Slice,
)
from gang_scheduler.model.extended_resources import ContainerRequest, claim_name, need_of
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.devices.extended import SHARES, with_devices
from gang_scheduler.scheduler.devices.pools import Pools
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, node, pod, snapshot
from support.call_counts import Calls, calls_of
from support.device_builders import CLASSES, DRIVER, devices, request, slice_of

GPU = "nvidia.com/gpu"
CLASS = "gpu"
ASKED = (ContainerRequest("main", 0, GPU, 1, 2),)


def member(name: str, of: str, **fields: Any) -> Pod:
    """Return a waiting pod that asks for two GPUs as an extended resource."""
    made = pod(name, gang=of, extra={GPU: 2})
    need = need_of(GPU, CLASS, ASKED)
    assert need is not None
    needs = replace(DeviceNeeds(extended=(need,)), **fields)
    return replace(made, extended=ASKED, pod_class=replace(made.pod_class, devices=needs))


def cluster(
    members: dict[str, int],
    given: dict[str, list[Device]],
    plugin: dict[str, int] | None = None,
    claims: tuple[Claim, ...] = (),
) -> Snapshot:
    """Return gangs, nodes with devices, and nodes with a device plugin that offers so many."""
    slices = [slice_of(found, name=at, pool=at, node_name=at) for at, found in given.items()]
    nodes = [node(at) for at in given]
    nodes += [node(at, extra={GPU: number}) for at, number in (plugin or {}).items()]
    gangs = [
        gang(name, members=[member(f"{name}-{i}", name) for i in range(number)])
        for name, number in members.items()
    ]
    known = Devices(
        classes=CLASSES, slices=tuple(slices), claims={each.key: each for each in claims}
    )
    found = snapshot(nodes, gangs)
    table = NodeTable(found.nodes.nodes, {GPU: CLASS}, [GPU])
    return replace(found, nodes=table, free=table.allocatable, devices=known)


def decide(found: Snapshot) -> Plan:
    return schedule(found, PROFILES["binpack"])


def placed(plan: Plan) -> dict[str, list[str]]:
    """Return the node and the devices of each pod of a plan."""
    return {
        bind.pod.name: [
            *(bind.node,),
            *(each.device for claim in bind.claims for each in claim.allocation.results),
        ]
        for each in plan.placed
        for bind in each.binds
    }


def message(plan: Plan) -> str:
    (refused,) = plan.refused
    assert refused.reason is Reason.UNSCHEDULABLE
    return describe(refused)


def taken(node_name: str, *names: str) -> Claim:
    results = tuple(DeviceResult("r", DRIVER, node_name, each) for each in names)
    return Claim("default", "other", allocation=Allocation(results))


def test_nodes_offer_their_devices_unless_they_list_the_resource_themselves() -> None:
    found = with_devices(cluster({}, {"n0": devices(8)}, plugin={"n1": 4}))

    column = found.nodes.axis[GPU]
    assert [8, 4] == found.nodes.allocatable[:, column].tolist()
    assert [8, 4] == found.free[:, column].tolist()
    assert found.nodes.by_devices is not None
    assert [True, False] == found.nodes.by_devices[GPU].tolist()


def test_the_nodes_are_the_same_object_while_nothing_changes() -> None:
    before = cluster({}, {"n0": devices(8)})
    again = replace(before, taken_at=1)

    assert with_devices(before).nodes is with_devices(again).nodes
    assert with_devices(with_devices(before)).nodes is with_devices(before).nodes


def test_a_device_for_several_claims_counts_as_many() -> None:
    shared = [replace(each, allow_multiple=True) for each in devices(1)]
    found = with_devices(cluster({}, {"n0": shared}))

    assert [SHARES] == found.nodes.allocatable[:, found.nodes.axis[GPU]].tolist()


def test_a_gang_gets_devices_and_a_claim_for_each_member() -> None:
    plan = decide(cluster({"g": 2}, {"n0": devices(4)}))

    assert {"g-0": ["n0", "gpu-0", "gpu-1"], "g-1": ["n0", "gpu-2", "gpu-3"]} == placed(plan)
    (first, _) = plan.placed[0].binds
    (claim,) = first.claims
    assert f"default/{claim_name('g-0', first.pod.uid)}" == claim.claim
    assert claim.is_new
    assert ["container-0-request-1"] * 2 == [each.request for each in claim.allocation.results]
    assert [GPU] == [each.resource for each in claim.extended]


def test_a_gang_has_members_on_nodes_of_both_kinds() -> None:
    plan = decide(cluster({"g": 3}, {"n0": devices(2)}, plugin={"n1": 4}))

    assert {"n0": 1, "n1": 2} == {
        at: sum(each[0] == at for each in placed(plan).values()) for at in ("n0", "n1")
    }
    assert sorted(len(each) for each in placed(plan).values()) == [1, 1, 3]


def test_a_gang_that_does_not_fit_whole_gets_no_device() -> None:
    plan = decide(cluster({"g": 3, "h": 2}, {"n0": devices(4)}))

    assert {"h-0", "h-1"} == placed(plan).keys()
    assert "Insufficient nvidia.com/gpu" in message(plan)


def test_devices_in_claims_of_other_pods_are_not_given_twice() -> None:
    claims = (taken("n0", "gpu-0", "gpu-2", "gpu-3"),)
    plan = decide(cluster({"g": 1}, {"n0": devices(4)}, claims=claims))

    assert {} == placed(plan)
    expected = f"1 Insufficient nvidia.com/gpu (1 free of 4, as devices of class {CLASS})"
    assert expected in message(plan)
    said = f"Needs 2 {GPU}, which DeviceClass {CLASS} gives, on one node; the best node has 1 of 4"
    assert said in message(plan)


def test_the_message_tells_which_devices_are_out_of_use() -> None:
    bad = [replace(each, taints=(DeviceTaint("bad", "", "NoSchedule"),)) for each in devices(3)]
    plan = decide(cluster({"g": 1}, {"n0": [*bad, Device("x")]}))

    said = f"1 free of 4, as devices of class {CLASS}, 3 have taint bad:NoSchedule"
    assert said in message(plan)


def test_a_claim_that_is_allocated_already_is_kept() -> None:
    found = cluster({}, {"n0": devices(2), "n1": devices(2)})
    one = member("g-0", "g")
    assert one.pod_class.devices is not None
    (need,) = one.pod_class.devices.extended
    kept = member("g-0", "g", extended=(), kept=(need,))
    claim = replace(taken("n0", "gpu-0", "gpu-1"), name=claim_name("g-0", kept.uid))
    known = replace(found.devices, claims={claim.key: claim})
    group = snapshot([], [gang("g", members=[kept])]).groups
    plan = decide(replace(found, devices=known, groups=group))

    (bind,) = plan.placed[0].binds
    (given,) = bind.claims
    assert (claim.key, False, (need,)) == (given.claim, given.is_new, given.extended)


@pytest.mark.parametrize("number", [1, 2])
def test_claims_and_extended_resources_share_one_stock(number: int) -> None:
    found = cluster({"g": 1}, {"n0": devices(2 + number - 1)})
    other = pod("h-0", gang="h")
    needs = DeviceNeeds((DeviceNeed(Claim("", "", requests=(request(),)).spec),))
    other = replace(other, pod_class=replace(other.pod_class, devices=needs))
    groups = snapshot([], [gang("h", members=[other])]).groups
    plan = decide(replace(found, groups=(*found.groups, *groups)))

    assert number == len(plan.placed)


def test_devices_that_failed_a_gang_are_not_given_to_it_for_extended_resources() -> None:
    found = cluster({"a": 1}, {"n0": devices(3)})
    avoiding = member("a-0", "a", avoided=(DeviceId(DRIVER, "n0", "gpu-0"),))
    waiting = replace(found.groups[0], gangs=(gang("a", members=[avoiding]),))

    assert ["n0", "gpu-1", "gpu-2"] == placed(decide(replace(found, groups=(waiting,))))["a-0"]


# Changed slices.

RACKS = 2


def random_slice(dice: random.Random, name: str, nodes: int) -> Slice:
    """Return a slice of any pool, for one node, for some, or for each device's own."""
    at = f"n{dice.randrange(nodes)}"
    some = ((Requirement("rack", Operator.IN, (f"r{dice.randrange(RACKS)}",)),),)
    kinds: list[dict[str, Any]] = [
        {"node_name": at},
        {"node_name": "", "all_nodes": True},
        {"node_name": "", "node_selector": some},
        {"node_name": "", "per_device": True},
    ]
    (reach,) = dice.choices(kinds, [6, 1, 1, 1])
    here: dict[str, Any] = {"node_name": at} if "per_device" in reach else {}
    given = [
        Device(f"gpu-{dice.randrange(9)}", allow_multiple=dice.random() < 0.1, **here)
        for _ in range(dice.randrange(4))
    ]
    return slice_of(
        given,
        name=name,
        driver=dice.choice([DRIVER, DRIVER, "other.example.com"]),
        pool=f"p{dice.randrange(nodes)}",
        generation=dice.choice([1, 1, 2]),
        slice_count=dice.choice([1, 1, 2]),
        **reach,
    )


def offered_in(slices: tuple[Slice, ...], table: NodeTable) -> list[int]:
    """Return how many devices of the class each node has, counted from the beginning."""
    pools = Pools(slices)
    return [
        sum(
            SHARES if each.device.allow_multiple else 1
            for pool in pools.on(NodeView(at.name, at.labels))
            for each in pool.devices
            if pool.is_usable and each.here and pool.id.driver == DRIVER
        )
        for at in table.nodes
    ]


def counted(slices: tuple[Slice, ...], table: NodeTable) -> list[int]:
    devices_now = Devices(classes=CLASSES, slices=slices)
    found = replace(snapshot([]), nodes=table, free=table.allocatable, devices=devices_now)
    column = with_devices(found).nodes.allocatable[:, table.axis[GPU]]
    return [int(each) for each in column]


@pytest.mark.parametrize("seed", range(80))
def test_counting_changes_gives_what_counting_anew_gives(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - slices are no secrets
    nodes = dice.randrange(1, 6)
    made = [node(f"n{i}", labels={"rack": f"r{i % RACKS}"}) for i in range(nodes)]
    table = NodeTable(made, {GPU: CLASS}, [GPU])
    known = {f"s{i}": random_slice(dice, f"s{i}", nodes) for i in range(dice.randrange(2 * nodes))}
    for _ in range(12):
        for _ in range(dice.randrange(3)):
            name = f"s{dice.randrange(2 * nodes)}"
            if dice.random() < 0.3:
                known.pop(name, None)
            else:
                known[name] = random_slice(dice, name, nodes)
        if dice.random() < 0.2:
            table = NodeTable(made, {GPU: CLASS}, [GPU])
        if dice.random() < 0.8:
            slices = tuple(known.values())
            assert offered_in(slices, table) == counted(slices, table)


def after_a_change(nodes: int, *, of_node: bool = False) -> Calls:
    """Return the calls for counting again once a slice has changed, or else a node."""
    before = cluster({}, {f"n{i}": devices(8) for i in range(nodes)})
    with_devices(before)
    if of_node:
        table = NodeTable(before.nodes.nodes, {GPU: CLASS}, [GPU])
        after = replace(before, nodes=table)
    else:
        (first, *others) = before.devices.slices
        slices = (replace(first, devices=tuple(devices(7))), *others)
        after = replace(before, devices=replace(before.devices, slices=slices))
    return calls_of(lambda: with_devices(after))


def test_a_changed_slice_costs_its_own_devices_however_many_nodes_there_are() -> None:
    few, many = after_a_change(20), after_a_change(200)

    assert 1 == few["extended._count"]
    assert few.total() == many.total()


def test_a_changed_node_counts_no_devices_again() -> None:
    calls = after_a_change(50, of_node=True)

    assert 0 == calls["extended._count"]


def test_nodes_that_offer_as_many_devices_as_before_are_the_same_object() -> None:
    before = cluster({}, {"n0": devices(2), "n1": devices(2)})
    (first, second) = before.devices.slices
    tainted = [replace(each, taints=(DeviceTaint("bad", "", "NoSchedule"),)) for each in devices(2)]
    slices = (replace(first, devices=tuple(tainted)), second)
    after = replace(before, devices=replace(before.devices, slices=slices))

    assert with_devices(before).nodes is with_devices(after).nodes
