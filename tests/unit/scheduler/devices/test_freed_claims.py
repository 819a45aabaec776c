"""Claims whose users leave are free with the last one, on the nodes that reach their devices."""

import pytest

from gang_scheduler.model.device_needs import Devices, Holders
from gang_scheduler.model.devices import Allocation, Claim, Consumer
from gang_scheduler.scheduler.devices.freed_claims import ANYWHERE, FreedClaims
from support.device_builders import allocated

USER = Consumer("", "pods", "x", "x")


def freed(
    holders: Holders, *, rows: tuple[int, ...] = (1,), reserved: tuple[Consumer, ...] = (USER,)
) -> FreedClaims:
    """Return what is free of one claim with a device of these rows."""
    claim = Claim("default", "c", allocation=allocated("gpu-0"), reserved_for=reserved)
    devices = Devices(claims={claim.key: claim}, holders={claim.key: holders})

    def rows_of(_: Allocation) -> tuple[int, ...]:
        return rows

    return FreedClaims(devices, rows_of)


def test_a_claim_is_free_with_its_last_user_and_taken_with_the_first_that_comes_back() -> None:
    found = freed(Holders(frozenset("xy")))

    assert (set(), ()) == (found.change((("default/c", "x"),), -1), found.on(1))
    assert {1} == found.change((("default/c", "y"),), -1)
    assert ["default/c"] == [claim for claim, _ in found.on(1)]
    assert found.has("default/c")
    assert {1} == found.change((("default/c", "x"),), 1)
    assert (False, ()) == (found.has("default/c"), found.on(1))


def test_devices_that_several_nodes_reach_are_free_on_all() -> None:
    found = freed(Holders(frozenset("x")), rows=(ANYWHERE,))

    found.change((("default/c", "x"),), -1)

    assert ["default/c"] == [claim for claim, _ in found.on(7)]


@pytest.mark.parametrize(
    ("holders", "reserved"),
    [
        (Holders(frozenset("x"), others=True), (USER,)),
        (Holders(frozenset()), ()),
        (Holders(frozenset("xy")), (USER,)),
    ],
    ids=["a user that is not known", "reserved for no pod", "another user"],
)
def test_a_claim_stays_taken(holders: Holders, reserved: tuple[Consumer, ...]) -> None:
    found = freed(holders, reserved=reserved)

    assert set() == found.change((("default/c", "x"), ("default/unknown", "x")), -1)
    assert not found.has("default/c")


def test_a_claim_whose_users_have_ended_is_free_for_whoever_expects_it() -> None:
    found = freed(Holders(frozenset()))

    assert {1} == found.change((("default/c", ""),), -1)


def test_a_copy_is_independent() -> None:
    found = freed(Holders(frozenset("x")))
    copied = found.copy()

    found.change((("default/c", "x"),), -1)

    assert (True, False) == (found.has("default/c"), copied.has("default/c"))
