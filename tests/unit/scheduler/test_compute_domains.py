"""Gangs with channels of a ComputeDomain gather in one NVLink domain, or are advised to."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gang_scheduler.model.api_words import GatherComputeDomains
from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices, PodClaim
from gang_scheduler.model.devices import Claim, ClaimSpec, Device, DeviceClass
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.compute_domains import CHANNEL_CLASS, NVLINK_DOMAIN, claims_channel
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, group, node, pod, snapshot
from support.device_builders import request, slice_of

MUST = TopologyRequest(must=(LayerRef(NVLINK_DOMAIN, by_label=True),))
PREFER = TopologyRequest(prefer=(LayerRef(NVLINK_DOMAIN, by_label=True),))


def claiming(member: Pod, device_class: str = CHANNEL_CLASS) -> Pod:
    """Return a pod with a claim of a class."""
    needs = DeviceNeeds((DeviceNeed(ClaimSpec((request(device_class=device_class),))),))
    return replace(member, pod_class=replace(member.pod_class, devices=needs))


def decided(members: int, device_class: str, asked: TopologyRequest | None = None) -> Plan:
    """Decide on a gang whose members have a claim of a class each."""
    waiting = [claiming(pod(f"a-{i}", gang="a"), device_class) for i in range(members)]
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


CLIQUES = ("c0", "c0", "c1", "c1", "c1", "")
"""The NVLink domain of each node n0, n1, ...; the last one has none."""


def cluster(
    members: Sequence[Pod],
    setting: GatherComputeDomains,
    *,
    bound_members: Sequence[Pod] = (),
    asked: TopologyRequest | None = None,
) -> Snapshot:
    """Return a cluster with one gang. Each node has room for one member, and a channel."""
    nodes = [
        node(f"n{i}", cpu=1, labels={NVLINK_DOMAIN: clique} if clique else {})
        for i, clique in enumerate(CLIQUES)
    ]
    found = snapshot(
        nodes,
        [group(gang("a", members=members, bound_members=bound_members), topology_request=asked)],
    )
    channels = tuple(
        slice_of([Device("channel-0")], name=f"s{i}", pool=f"n{i}", node_name=f"n{i}")
        for i in range(len(CLIQUES))
    )
    known = Devices(
        classes={CHANNEL_CLASS: DeviceClass(CHANNEL_CLASS)},
        slices=channels,
        gather_compute_domains=setting,
    )
    return replace(found, devices=known)


def nodes_of(plan: Plan) -> dict[str, str]:
    """Return the node of each member that is bound."""
    return {bind.pod.name: bind.node for placed in plan.placed for bind in placed.binds}


def members(number: int) -> list[Pod]:
    """Return members with a channel each."""
    return [claiming(pod(f"a-{i}", gang="a", cpu=1)) for i in range(number)]


@pytest.mark.parametrize(
    ("number", "setting", "asked", "expected"),
    [
        (3, GatherComputeDomains.OFF, None, {"n0", "n1", "n2"}),
        (3, GatherComputeDomains.PREFER, None, {"n2", "n3", "n4"}),
        (3, GatherComputeDomains.MUST, None, {"n2", "n3", "n4"}),
        (4, GatherComputeDomains.PREFER, None, 4),
        (4, GatherComputeDomains.MUST, None, set()),
        (4, GatherComputeDomains.MUST, PREFER, set()),
    ],
)
def test_members_with_channels_gather_in_one_nvlink_domain(
    number: int,
    setting: GatherComputeDomains,
    asked: TopologyRequest | None,
    expected: set[str] | int,
) -> None:
    plan = schedule(cluster(members(number), setting, asked=asked), PROFILES["binpack"])

    found = {*nodes_of(plan).values()}
    assert expected == (len(found) if isinstance(expected, int) else found)


def test_the_refusal_of_members_that_must_gather_says_what_the_best_domain_lacks() -> None:
    plan = schedule(cluster(members(4), GatherComputeDomains.MUST), PROFILES["binpack"])

    (refused,) = plan.refused
    assert Reason.UNSCHEDULABLE == refused.reason
    assert refused.misfit is not None
    assert refused.misfit.offers is not None
    best = [(domain.path, number) for domain, number in refused.misfit.offers.best]
    assert [(("c1",), 3), (("c0",), 2)] == best
    assert () == plan.warned


def test_a_layer_in_which_members_gather_anyway_is_kept() -> None:
    on_one_node = TopologyRequest(must=(LayerRef("kubernetes.io/hostname", by_label=True),))
    asking = cluster(members(2), GatherComputeDomains.MUST, asked=on_one_node)

    assert {} == nodes_of(schedule(asking, PROFILES["binpack"]))


def test_members_without_a_channel_may_be_outside_of_the_nvlink_domain() -> None:
    launcher = pod("a-launcher", gang="a", cpu=1)
    asking = cluster([*members(3), launcher], GatherComputeDomains.MUST)

    found = nodes_of(schedule(asking, PROFILES["binpack"]))

    assert {"n2", "n3", "n4"} == {found[f"a-{i}"] for i in range(3)}
    assert "a-launcher" in found


def test_a_member_that_comes_back_joins_the_others_in_their_nvlink_domain() -> None:
    claim = Claim("default", "c", requests=(request(device_class=CHANNEL_CLASS),))
    there = replace(pod("a-0", gang="a", cpu=1, node="n3"), claims=(PodClaim("channel", "c"),))
    asking = cluster(members(2)[1:], GatherComputeDomains.MUST, bound_members=[there])
    asking = replace(asking, devices=replace(asking.devices, claims={"default/c": claim}))

    assert claims_channel(there, asking.devices)
    assert nodes_of(schedule(asking, PROFILES["binpack"]))["a-1"] in {"n2", "n3", "n4"}
