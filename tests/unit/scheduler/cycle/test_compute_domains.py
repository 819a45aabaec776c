"""Gangs with channels of a ComputeDomain are advised to gather, and are scheduled all the same."""

from dataclasses import replace

import pytest

from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices
from gang_scheduler.model.devices import ClaimSpec, DeviceClass
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.eligibility import CHANNEL_CLASS, NVLINK_DOMAIN
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, group, node, pod, snapshot
from support.device_builders import request

MUST = TopologyRequest(must=(LayerRef(NVLINK_DOMAIN, by_label=True),))
PREFER = TopologyRequest(prefer=(LayerRef(NVLINK_DOMAIN, by_label=True),))


def decided(members: int, device_class: str, asked: TopologyRequest | None = None) -> Plan:
    """Decide on a gang whose members have a claim of a class each."""
    needs = DeviceNeeds((DeviceNeed(ClaimSpec((request(device_class=device_class),))),))
    pods = [pod(f"a-{i}", gang="a") for i in range(members)]
    waiting = [replace(p, pod_class=replace(p.pod_class, devices=needs)) for p in pods]
    nodes = [node(f"n{i}", labels={NVLINK_DOMAIN: "c0"}) for i in range(2)]
    asking = group(gang("a", members=waiting), topology_request=asked)
    known = Devices(classes={device_class: DeviceClass(device_class)})
    cluster = replace(snapshot(nodes, [asking]), devices=known)
    return schedule(cluster, PROFILES["binpack"])


@pytest.mark.parametrize(
    ("members", "device_class", "asked", "warns"),
    [
        (2, CHANNEL_CLASS, None, True),
        (2, CHANNEL_CLASS, PREFER, True),
        (2, CHANNEL_CLASS, MUST, False),
        (1, CHANNEL_CLASS, None, False),
        (2, "gpu.nvidia.com", None, False),
    ],
)
def test_a_gang_with_channels_that_may_be_apart_is_warned(
    members: int, device_class: str, asked: TopologyRequest | None, *, warns: bool
) -> None:
    plan = decided(members, device_class, asked)

    expected = [Reason.NOT_GATHERED] if warns else []
    assert expected == [each.problem.reason for each in plan.warned]
    assert [Reason.UNSCHEDULABLE] == [each.reason for each in plan.refused]
