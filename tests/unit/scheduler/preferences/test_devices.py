"""Nodes with earlier alternatives of a claim come first."""

from dataclasses import replace

import numpy as np
import pytest

from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices
from gang_scheduler.model.devices import ClaimSpec, Device, Request
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.preferences import devices as preference
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Share, Trial
from support.builders import gang, group, node, pod, snapshot
from support.call_counts import calls_of
from support.device_builders import (
    CLASSES,
    DRIVER,
    asked,
    attributes,
    first_available,
    request,
    slice_of,
)


def sized(size: str) -> str:
    """Return a selector of devices of a size."""
    return f"device.attributes['{DRIVER}'].size == '{size}'"


LARGE_OR_SMALL = first_available(
    asked("large", selectors=(sized("large"),)), asked("small", selectors=(sized("small"),))
)


def asking(*requests: Request) -> PodClass:
    """Return a class of pods with a claim of these requests."""
    return PodClass(devices=DeviceNeeds((DeviceNeed(ClaimSpec(requests)),)))


def devices(*sizes: list[str]) -> Devices:
    """Return the devices of nodes n0, n1 and so on, given by their sizes."""
    slices = tuple(
        slice_of(
            [Device(f"d{i}", attributes(size=size)) for i, size in enumerate(of_node)],
            name=f"s{n}",
            pool=f"n{n}",
            node_name=f"n{n}",
        )
        for n, of_node in enumerate(sizes)
    )
    return Devices(classes=CLASSES, slices=slices)


def trial(*sizes: list[str]) -> Trial:
    """Return a trial of these nodes."""
    found = snapshot([node(f"n{n}") for n in range(len(sizes))], [])
    return Trial(replace(found, devices=devices(*sizes)))


def test_a_node_counts_by_the_alternative_that_the_next_pod_gets() -> None:
    cluster = trial(["small"], ["large", "small"], [], ["large", "large"])

    assert [7, 8, 0, 8] == preference.score(asking(LARGE_OR_SMALL), cluster).tolist()


def test_requests_add_up() -> None:
    pods = asking(LARGE_OR_SMALL, replace(LARGE_OR_SMALL, name="more"))
    cluster = trial(["small", "small"], ["small", "large"], ["large", "large"])

    assert [14, 15, 16] == preference.score(pods, cluster).tolist()


@pytest.mark.parametrize(("asks", "concerned"), [(LARGE_OR_SMALL, True), (request(), False)])
def test_only_claims_with_alternatives_are_compared(asks: Request, *, concerned: bool) -> None:
    assert concerned == preference.concerns(asking(asks), trial([]))


def test_equal_nodes_are_searched_once() -> None:
    cluster = trial(*[["small"] for _ in range(40)])

    calls = calls_of(lambda: preference.score(asking(LARGE_OR_SMALL), cluster))

    assert 1 == calls["device_ledger.DeviceLedger._places"]


def test_only_nodes_whose_devices_have_changed_are_looked_at_again() -> None:
    cluster, pods = trial(*[["large", "small"] for _ in range(40)]), asking(LARGE_OR_SMALL)
    preference.score(pods, cluster)
    before = cluster.copy()
    cluster.assume(Share(pods, np.array([3]), np.array([1])))

    calls = calls_of(lambda: preference.score(pods, cluster))

    assert 1 == calls["device_ledger.DeviceLedger._alternatives"]
    assert 7 == preference.score(pods, cluster)[3]
    assert [8] * 40 == preference.score(pods, before).tolist()


def test_a_gang_is_placed_where_it_gets_the_first_alternative() -> None:
    member = pod("a-0", gang="a", cpu=1)
    needs = asking(LARGE_OR_SMALL).devices
    member = replace(member, pod_class=replace(member.pod_class, devices=needs))
    cluster = snapshot([node("n0"), node("n1")], [group(gang("a", members=[member]))])

    plan = schedule(replace(cluster, devices=devices(["small"], ["large"])), PROFILES["binpack"])

    assert ["n1"] == [bind.node for each in plan.placed for bind in each.binds]
