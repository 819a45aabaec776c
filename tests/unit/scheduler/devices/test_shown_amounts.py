"""What nodes offer for people: by device plugin as they say, and by DeviceClass as devices."""

from dataclasses import replace

from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.devices import Claim, Device, DeviceTaint
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.scheduler.devices import inventory
from gang_scheduler.scheduler.devices.shown_amounts import Offered, classes_of, offered
from support.builders import node
from support.device_builders import CLASSES, claim, devices, slice_of
from support.device_builders import allocated as of_n0

GPU, CLASS = "nvidia.com/gpu", "gpu"
MAPPED = {GPU: CLASS, "deviceclass.resource.kubernetes.io/gpu": CLASS, "other/gpu": "gone"}


def known(*given: Device, at: str = "n0", taken: tuple[str, ...] = ()) -> Devices:
    used = claim()
    claims = {"c": type(used)("default", "c", allocation=of_n0(*taken))} if taken else {}
    slices = (slice_of(given, name=at, pool=at, node_name=at),)
    return Devices(classes=CLASSES, slices=slices, claims=claims)


def of(nodes: NodeTable, found: Devices) -> Offered:
    states = inventory.of_snapshot(found).figures(nodes.rows)
    on_nodes = inventory.by_node(states)
    return offered(nodes, nodes.allocatable, classes_of(nodes, found), on_nodes)


def gpus(found: Offered) -> list[tuple[int, int]]:
    (column,) = found.columns([GPU])
    pairs = zip(found.used[:, column], found.allocatable[:, column], strict=True)
    return [(int(used), int(there)) for used, there in pairs]


def test_devices_count_where_no_device_plugin_lists_the_resource() -> None:
    nodes = NodeTable([node("n0"), node("n1", extra={GPU: 4})], MAPPED)

    assert [(2, 3), (0, 4)] == gpus(of(nodes, known(*devices(3), taken=("gpu-0", "gpu-2"))))


def test_a_node_that_lists_the_resource_counts_as_it_says() -> None:
    nodes = NodeTable([node("n0", extra={GPU: 2})], MAPPED)

    assert [(0, 2)] == gpus(of(nodes, known(*devices(3), taken=("gpu-0",))))


def test_devices_count_though_no_pod_and_no_node_names_the_resource() -> None:
    nodes = NodeTable([node("n0")], MAPPED)

    assert GPU not in nodes.axis
    assert [(0, 2)] == gpus(of(nodes, known(*devices(2))))


def test_requests_of_pods_do_not_count_beside_the_devices_of_their_claims() -> None:
    nodes = NodeTable([node("n0")], MAPPED, [GPU])
    free = nodes.allocatable - nodes.vector([(GPU, 2)])
    found = known(*devices(2), taken=("gpu-0", "gpu-1"))
    states = inventory.of_snapshot(found).figures(nodes.rows)

    on_nodes = inventory.by_node(states)
    assert [(2, 2)] == gpus(offered(nodes, free, classes_of(nodes, found), on_nodes))


def test_tainted_devices_are_there_only_while_they_are_in_use() -> None:
    bad = Device("bad", taints=(DeviceTaint("bad", "", "NoSchedule"),))
    nodes = NodeTable([node("n0")], MAPPED)

    assert [(0, 1)] == gpus(of(nodes, known(bad, Device("good"))))
    assert [(1, 2)] == gpus(of(nodes, known(bad, Device("good"), taken=("bad",))))


def test_only_a_class_that_names_a_resource_of_its_own_counts() -> None:
    nodes = NodeTable([node("n0")], MAPPED)

    assert {GPU: CLASS} == classes_of(nodes, known(*devices(1)))
    assert [] == of(NodeTable([node("n0")]), known(*devices(1))).columns([GPU])


def test_devices_of_unknown_nodes_and_of_many_nodes_count_on_none() -> None:
    nodes = NodeTable([node("n0")], MAPPED)
    found = known(*devices(1))
    others = (
        inventory.Figure("d", at, CLASS, (CLASS,), inventory.FREE, 1) for at in ("", "elsewhere")
    )
    on_nodes = inventory.by_node(others)

    assert [(0, 0)] == gpus(offered(nodes, nodes.allocatable, classes_of(nodes, found), on_nodes))


def test_a_device_that_stands_for_two_resources_is_one_in_their_sum() -> None:
    other = {"other/gpu": "both"}
    slices = (slice_of([*devices(3)]),)
    classes = {**CLASSES, "both": replace(CLASSES["gpu"], name="both")}
    used = Claim("default", "c", allocation=of_n0("gpu-0"))
    found = of(
        NodeTable([node("n0")], {GPU: CLASS, **other}),
        Devices(classes=classes, slices=slices, claims={"c": used}),
    )

    def summed(*resources: str) -> tuple[int, int]:
        there, in_use = found.summed(resources)
        return int(in_use[0]), int(there[0])

    assert [(1, 3)] == gpus(found)
    assert (1, 3) == summed(GPU, "other/gpu") == summed("other/gpu") == summed(GPU)
    assert (0, 0) == summed()
