"""Which devices the claims of a plan are given, by name."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices, PodClaim
from gang_scheduler.model.devices import Claim, ClaimSpec, Device, DeviceId, Slice
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.scheduler.devices import planned_claims
from gang_scheduler.scheduler.devices.device_ledger import DeviceLedger
from gang_scheduler.scheduler.devices.outcomes import NoFit
from support.builders import node, pod
from support.call_counts import calls_of
from support.device_builders import CLASSES, DRIVER, attributes, devices, request, slice_of


def needs(count: int = 1) -> DeviceNeeds:
    """Return the needs of a pod whose claim asks for so many devices."""
    return DeviceNeeds((DeviceNeed(ClaimSpec((request(count=count),))),))


def member(name: str, asking: DeviceNeeds) -> Pod:
    """Return a pod with a claim of its own name."""
    found = replace(pod(name), claims=(PodClaim("gpu", name),))
    return replace(found, pod_class=replace(found.pod_class, devices=asking))


def pool(at: str, given: Sequence[Device]) -> Slice:
    """Return the pool of a node."""
    return slice_of(given, name=at, pool=at, node_name=at)


def ledger(*slices: Slice, waiting: Sequence[Pod]) -> DeviceLedger:
    """Return a ledger of the nodes of these pools, in which the claims of pods wait."""
    claims = {}
    for each in waiting:
        assert each.pod_class.devices is not None
        (need,) = each.pod_class.devices.claims
        claim = Claim(each.namespace, each.name, requests=need.spec.requests)
        claims[claim.key] = claim
    known = Devices(classes=CLASSES, slices=slices, waiting=claims)
    return DeviceLedger(known, NodeTable([node(each.node_name) for each in slices]))


def assume(on: DeviceLedger, asking: DeviceNeeds, row: int, *, nominated: bool = False) -> None:
    """Assume a member on a node."""
    on.apply(PodClass(devices=asking), np.array([row]), np.array([1]), nominated=nominated)


def given(of: DeviceLedger, *binds: Bind, nominated: bool = False) -> dict[str, list[str]]:
    """Return the devices of each pod of a plan."""
    return {
        bind.pod.name: [each.device for it in bind.claims for each in it.allocation.results]
        for bind in planned_claims.named(of, binds, nominated=nominated)
    }


def test_each_node_of_a_plan_is_searched_with_the_steps_of_a_gang() -> None:
    waiting = [member(f"a-{i}", needs()) for i in range(3)]
    found = ledger(*(pool(f"n{i}", devices(1)) for i in range(3)), waiting=waiting)
    for row in range(3):
        assume(found, needs(), row)
    search = found.free_devices.search

    def uses_all_steps(*args: object) -> object:
        outcome = search(*args)  # type: ignore[arg-type]
        found.free_devices._budget.left = -1
        return outcome

    found.free_devices.search = uses_all_steps  # type: ignore[method-assign, assignment]
    binds = [Bind(each, f"n{i}") for i, each in enumerate(waiting)]

    assert {"a-0": ["gpu-0"], "a-1": ["gpu-0"], "a-2": ["gpu-0"]} == given(found, *binds)


def test_a_pod_that_does_not_exist_yet_is_given_nothing_by_name() -> None:
    of_two = DeviceNeeds((*needs().claims, *needs(2).claims))
    virtual = replace(member("a-0", of_two), claims=(), virtual=True)
    found = ledger(pool("n0", devices(3)), waiting=[])
    assume(found, of_two, 0)

    assert {"a-0": []} == given(found, Bind(virtual, "n0"))


def test_a_gang_is_given_no_device_that_failed_it() -> None:
    avoided = (DeviceId(DRIVER, "n0", "gpu-0"), DeviceId(DRIVER, "n0", "gpu-1"))
    avoiding = replace(needs(), avoided=avoided)
    waits = member("a", avoiding)
    found = ledger(pool("n0", devices(3)), waiting=[waits])
    assume(found, avoiding, 0)

    assert {"a": ["gpu-2"]} == given(found, Bind(waits, "n0"))
    lack = found.lack(avoiding, 0)
    assert isinstance(lack, NoFit)
    assert 2 == lack.funnel.avoided


def test_a_plan_names_devices_though_its_last_gang_has_used_up_its_steps() -> None:
    waits = member("a", needs())
    found = ledger(pool("n0", devices(1)), waiting=[waits])
    assume(found, needs(), 0)
    found.free_devices._budget.left = -1

    assert {"a": ["gpu-0"]} == given(found, Bind(waits, "n0"))


def test_reserved_devices_that_are_lost_are_not_named() -> None:
    waits = member("a", needs(2))
    found = ledger(pool("n0", devices(1)), waiting=[waits])
    assume(found, needs(2), 0, nominated=True)

    assert {"a": []} == given(found, Bind(waits, "n0"), nominated=True)


def crowd(nodes: Sequence[Sequence[Device]], asking: DeviceNeeds, each: int = 1) -> DeviceLedger:
    """Return a ledger of nodes with these devices, and so many members on each of them."""
    waiting = [member(f"a-{i}", asking) for i in range(len(nodes) * each)]
    slices = (pool(f"n{i}", some) for i, some in enumerate(nodes))
    made = ledger(*slices, waiting=waiting)
    for row in range(len(nodes)):
        for _ in range(each):
            assume(made, asking, row)
    return made


def planned(of: DeviceLedger, asking: DeviceNeeds, each: int = 1) -> list[Bind]:
    """Return the binds of all members on nodes."""
    binds = [
        Bind(member(f"a-{row * each + i}", asking), found.name)
        for row, found in enumerate(of.nodes.nodes)
        for i in range(each)
    ]
    return list(planned_claims.named(of, binds))


def named_like(node: int, number: int, **fields: Any) -> list[Device]:
    """Return devices whose names no other node has."""
    return [replace(found, name=f"{found.name}-of-{node}") for found in devices(number, **fields)]


def test_nodes_that_are_alike_are_searched_once() -> None:
    nodes = [named_like(i, 4) for i in range(10)]

    calls = calls_of(lambda: planned(crowd(nodes, needs(2), 2), needs(2), 2))

    # A node has room for two members; whether a third fits needs no search.
    assert 1 == calls["planned_claims._search"] - calls["free_devices.FreeDevices.moved"]
    assert 9 == calls["free_devices.FreeDevices.moved"]


@pytest.mark.parametrize("seed", range(20))
def test_what_each_member_is_given_is_what_a_search_of_its_node_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = Random(seed)  # noqa: S311 - for a test, not for secrets.
    selectors = (f"device.attributes['{DRIVER}'].fast",) if dice.random() < 0.5 else ()
    asking = DeviceNeeds((DeviceNeed(ClaimSpec((request(count=2, selectors=selectors),))),))
    nodes = [
        [
            replace(
                found,
                attributes=attributes(fast=dice.random() < 0.7),
                binding_conditions=("Attached",) if dice.random() < 0.3 else (),
            )
            for found in named_like(i, 8)
        ]
        for i in range(12)
    ]
    nodes = [some for some in nodes if sum(_is_fast(found) for found in some) >= 4]

    found = planned(crowd(nodes, asking, 2), asking, 2)
    monkeypatch.setattr(planned_claims, "_by_place", lambda *_: None)

    assert planned(crowd(nodes, asking, 2), asking, 2) == found


def _is_fast(device: Device) -> bool:
    return device.attributes["fast"].value is True
