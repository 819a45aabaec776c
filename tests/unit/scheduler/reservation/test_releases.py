"""Promised starts count the devices that running gangs free when they end."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, Devices, Holders, PodClaim
from gang_scheduler.model.devices import Claim, ClaimSpec, Consumer
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.selectors import AffinityTerm, PodAffinity
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.reservation import promise
from gang_scheduler.scheduler.reservation.releases import MOST_COLUMNS
from support.builders import node
from support.call_counts import calls_of
from support.device_builders import CLASSES, allocated, devices, request, slice_of
from support.plan_reading import gangs_placed, reasons
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import Running, in_queue, promising, running, with_ends, world
from support.selector_builders import app

NOW = 10_000
A = queue_ref("a")
ENDS: dict[str, int | None] = {"r0": NOW + 1800, "r1": NOW + 3600}


def asking(name: str, number: int, seconds: int | None = None, *, created_at: int = NOW) -> Gang:
    """Return a gang of one pod whose claim asks for so many devices."""
    gang = in_queue(A, name, cpu=1, created_at=created_at)
    if number:
        devices = DeviceNeeds((DeviceNeed(ClaimSpec((request(count=number),))),))
        (pod,) = gang.pending
        pod = replace(pod, pod_class=replace(pod.pod_class, devices=devices))
        gang = replace(gang, pending=(pod,))
    return replace(gang, duration=seconds)


def holding(name: str) -> Running:
    """Return a running gang of one pod with a claim of its own name."""
    found = running(A, name, "n0", cpu=1)
    pod = replace(found.bound.pod, claims=(PodClaim("gpu", name),))
    return found._replace(bound=replace(found.bound, pod=pod))


def cluster(gangs: Sequence[Gang], runs: Sequence[Running], ending: Sequence[str] = ()) -> Snapshot:
    """Return a cluster of one node with three devices. Each running gang has one of them."""
    queues = [our_queue("root", 100_000), our_queue("a", 100_000)]
    found = with_ends(world(queues, gangs, [node("n0", cpu=64)], runs, taken_at=NOW), ENDS)
    holders = {
        f"default/{each.bound.pod.name}": Holders(frozenset({each.bound.pod.uid})) for each in runs
    }
    holders |= {key: Holders() for key in ending}
    claims = {
        key: Claim(
            *("default", key.removeprefix("default/")),
            allocation=allocated(f"gpu-{i}"),
            reserved_for=(Consumer("", "pods", "x", "x"),),
        )
        for i, key in enumerate(holders)
    }
    known = Devices(
        classes=CLASSES,
        slices=(slice_of(devices(3)),),
        claims=claims,
        holders=holders,
        ending=tuple(ending),
    )
    return replace(found, devices=known)


BOTH = [holding("r0"), holding("r1")]


@pytest.mark.parametrize(
    ("number", "starts"), [(2, (NOW + 1800, "r0")), (3, (NOW + 3600, "r1")), (4, None)]
)
def test_a_start_is_promised_once_enough_devices_are_free(
    number: int, starts: tuple[int, str] | None
) -> None:
    plan = promising(cluster([asking("big", number, created_at=0)], BOTH))

    found = [(each.start, each.after.name if each.after else "") for each in plan.reservations]
    assert found == ([starts] if starts else [])
    assert reasons(plan) == {"big": "Unschedulable"}


def test_a_start_does_not_wait_for_claims_whose_users_have_ended() -> None:
    gangs = [asking("big", 3, created_at=0)]
    plan = promising(cluster(gangs, [holding("r0")], ending=["default/gone", "default/past"]))

    assert [NOW + 1800] == [each.start for each in plan.reservations]


@pytest.mark.parametrize(
    ("number", "seconds", "starts"),
    [(1, 1800, True), (1, 3601, False), (1, None, False), (0, None, True)],
)
def test_a_later_gang_takes_no_device_that_the_promised_gang_needs(
    number: int, seconds: int | None, *, starts: bool
) -> None:
    gangs = [asking("big", 3, created_at=0), asking("later", number, seconds)]

    plan = promising(cluster(gangs, BOTH))

    assert [NOW + 3600] == [each.start for each in plan.reservations]
    assert gangs_placed(plan) == (["later"] if starts else [])
    if not starts:
        assert "WaitingForTurn" == reasons(plan)["later"]


def test_for_a_gang_without_claims_no_claim_is_looked_at() -> None:
    blocked = cluster([asking("big", 0, created_at=0)], BOTH)
    full = replace(blocked, free=np.minimum(blocked.free, 0))

    calls = calls_of(lambda: promising(full))

    assert 0 == calls["releases.Sum.uses"]


def test_the_search_for_a_start_counts_the_claims_that_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(promise, "USES_A_LOOK", 1)
    monkeypatch.setattr(promise, "MOST_LOOKS", 1)

    plan = promising(cluster([asking("big", 3, created_at=0)], BOTH))

    assert () == plan.reservations


def test_the_terms_of_pods_that_end_cost_little_whatever_their_number() -> None:
    """A thousand running pods with 150 terms each took a second in each cycle with a promise."""

    def columns(terms: int) -> int:
        runs = [with_terms(holding(name), terms) for name in ENDS]
        calls = calls_of(lambda: promising(cluster([asking("big", 3, created_at=0)], runs)))
        return calls["pod_affinity.AffinityChanges._add"]

    assert 0 < columns(MOST_COLUMNS) < 8 * 2 * MOST_COLUMNS
    assert 0 == columns(MOST_COLUMNS + 1)


def test_a_start_is_promised_though_pods_with_very_many_terms_run() -> None:
    runs = [with_terms(each, MOST_COLUMNS + 1) for each in BOTH]

    plan = promising(cluster([asking("big", 3, created_at=0)], runs))

    assert [NOW + 3600] == [each.start for each in plan.reservations]


def test_the_terms_of_pods_that_end_keep_no_gang_from_a_promised_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(promise, "COLUMNS_A_LOOK", 1 / promise.MOST_LOOKS)
    runs = [with_terms(each, MOST_COLUMNS) for each in BOTH]

    plan = promising(cluster([asking("big", 3, created_at=0)], runs))

    assert [NOW + 3600] == [each.start for each in plan.reservations]


def with_terms(run: Running, number: int) -> Running:
    """Return a running gang whose pod keeps away from so many others."""
    pod = run.bound.pod
    anti = tuple(AffinityTerm(app(f"{pod.name}-{each}"), "zone") for each in range(number))
    pod_class = replace(pod.pod_class, pod_affinity=PodAffinity(anti=anti))
    return run._replace(bound=replace(run.bound, pod=replace(pod, pod_class=pod_class)))
