"""What is taken: by allocations of claims, whole or in shares, and by what a plan holds."""

import random

import pytest

from gang_scheduler.model.devices import Claim, DeviceId
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from support.device_builders import DRIVER, allocated, amounts, taken_by

GPU_0, GPU_1 = (DeviceId(DRIVER, "n0", name) for name in ("gpu-0", "gpu-1"))
SHARE = allocated("gpu-0", share_id="s", consumed=amounts(memory="2"))
TWO = 2 * 10**9


def test_devices_of_allocated_claims_are_taken_whatever_the_claims_are() -> None:
    deleting = Claim("default", "c", allocation=allocated("gpu-0"), deleting=True)

    taken = Taken.of_claims([deleting, Claim("default", "d")])

    assert taken.has(GPU_0)
    assert not taken.has(GPU_1)


def test_admin_access_takes_nothing() -> None:
    assert not taken_by(allocated("gpu-0", admin=True)).is_used(GPU_0)


def test_a_share_takes_its_capacity_and_not_the_device() -> None:
    taken = taken_by(SHARE, SHARE)

    assert not taken.has(GPU_0)
    assert taken.is_used(GPU_0)
    assert ({"memory": 2 * TWO}, 2) == (taken.capacity(GPU_0), taken.shares(GPU_0))


def test_what_is_removed_is_free_again() -> None:
    taken = taken_by(allocated("gpu-0"), SHARE)

    taken.remove(SHARE)
    taken.remove(allocated("gpu-0"))

    assert not taken.is_used(GPU_0)
    assert {"memory": 0} == taken.capacity(GPU_0)


def test_a_device_in_two_claims_is_a_conflict_and_is_free_only_after_both() -> None:
    taken = taken_by(allocated("gpu-0"), allocated("gpu-0", "gpu-1"))

    assert [GPU_0] == taken.conflicts()
    taken.remove(allocated("gpu-0"))
    assert taken.has(GPU_0)
    assert [] == taken.conflicts()


def test_a_copy_changes_nothing_of_what_it_is_a_copy_of() -> None:
    taken = taken_by(allocated("gpu-0"), SHARE)
    plan = taken.copy()

    plan.remove(allocated("gpu-0"))
    plan.add(allocated("gpu-1"))
    plan.add(SHARE)
    other = plan.copy()
    other.remove(SHARE)
    other.remove(SHARE)

    assert (True, False) == (taken.has(GPU_0), taken.has(GPU_1))
    assert (False, True) == (plan.has(GPU_0), plan.has(GPU_1))
    assert (TWO, 2 * TWO, 0) == tuple(
        each.capacity(GPU_0)["memory"] for each in (taken, plan, other)
    )
    assert [False, True, False] == [
        GPU_1 in each.conflicts() for each in (taken, conflicting(plan), other)
    ]


def conflicting(plan: Taken) -> Taken:
    """Return a plan in which one more claim has gpu-1."""
    copied = plan.copy()
    copied.add(allocated("gpu-1"))
    return copied


@pytest.mark.parametrize("seed", range(5))
def test_following_changes_counts_as_counting_all_claims(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - for cases, not for secrets.
    claims: dict[str, Claim] = {}
    taken = Taken.of_claims(())
    for _ in range(40):
        before, keys = dict(claims), [f"c{dice.randrange(400)}" for _ in range(dice.randint(1, 60))]
        for key in keys:
            share = dice.choice(["", "share"])
            consumed = amounts(memory=str(dice.randint(1, 9))) if share else {}
            names = [f"gpu-{dice.randrange(300)}" for _ in range(2)]
            allocation = allocated(*names, share_id=share, consumed=consumed)
            claims[key] = Claim("default", key, allocation=dice.choice([None, allocation]))
        taken = taken.following(before, claims, set(keys))
        anew = Taken.of_claims(claims.values())

        for device in (DeviceId(DRIVER, "n0", f"gpu-{each}") for each in range(300)):
            assert taken.holders(device) == anew.holders(device)
            assert taken.shares(device) == anew.shares(device)
            assert taken.is_used(device) == anew.is_used(device)
            least = {name: n for name, n in taken.capacity(device).items() if n}
            assert least == {name: n for name, n in anew.capacity(device).items() if n}
