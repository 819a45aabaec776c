"""Claims that another scheduler allocates where ours have devices are noticed, once for a pool."""

from dataclasses import replace

import pytest

from gang_scheduler.model.devices import Allocation, Claim, DeviceResult
from gang_scheduler.state.devices.foreign_claims import ForeignClaims

WAITS = Claim("default", "c", uid="c")


def allocated(pool: str = "n0", *, ours: bool = False, admin: bool = False) -> Claim:
    """Return the claim with a device of a pool."""
    allocation = Allocation((DeviceResult("r", "d", pool, "gpu-0", admin=admin),))
    return replace(WAITS, allocation=allocation, mark=allocation.mark if ours else "")


def beside_ours() -> ForeignClaims:
    """Return the claims where one of ours has a device of pool n0."""
    found = ForeignClaims()
    found.changed(WAITS, allocated(ours=True))
    return found


def test_a_claim_of_another_scheduler_on_a_pool_of_ours_is_noticed_once() -> None:
    found = beside_ours()

    found.changed(WAITS, allocated())
    found.changed(WAITS, allocated())

    assert [("c", "d", "n0")] == [(each.claim.name, *each[1:]) for each in found.news]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WAITS, allocated("n1")),
        (WAITS, allocated(ours=True)),
        (WAITS, allocated(admin=True)),
        (WAITS, None),
        (None, allocated()),
        (allocated(), allocated()),
    ],
    ids=["other pool", "ours", "admin", "gone", "first seen", "allocated before"],
)
def test_nothing_else_is_noticed(before: Claim | None, after: Claim | None) -> None:
    found = beside_ours()

    found.changed(before, after)

    assert not found.news


def test_once_ours_are_gone_the_pool_is_free_for_others() -> None:
    found = beside_ours()
    found.changed(allocated(ours=True), None)

    found.changed(WAITS, allocated())

    assert not found.news
