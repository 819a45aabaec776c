"""What a request takes of a device's capacities, and whether that much is left."""

from typing import Any

import pytest

from gang_scheduler.model.device_quantities import parse
from gang_scheduler.model.devices import Capacity, CapacityPolicy, Device
from gang_scheduler.scheduler.devices.capacity import CapacityError, consumed, is_enough
from support.device_builders import amounts, capacities


def policy(**fields: Any) -> CapacityPolicy:
    texts: dict[str, Any] = {
        name: value if isinstance(value, tuple) else parse(value) for name, value in fields.items()
    }
    return CapacityPolicy(**texts)


def taken_of(asked: str | None, found: CapacityPolicy | None, whole: str = "40Gi") -> str | None:
    """Return what is taken of one capacity."""
    device = Device("gpu-0", capacity={"memory": Capacity(parse(whole), found)})
    taken = consumed(device, {} if asked is None else amounts(memory=asked))
    return None if taken is None else str(taken["memory"])


RANGE = policy(default="1Gi", minimum="1Gi", maximum="8Gi", step="1Gi")
VALUES = policy(default="10Gi", valid_values=(parse("10Gi"), parse("20Gi")))
FRACTIONS = policy(default="500m", minimum="250m", step="250m")


@pytest.mark.parametrize(
    ("asked", "found", "taken"),
    [
        (None, None, "40Gi"),
        ("3Gi", None, "3Gi"),
        (None, RANGE, "1Gi"),
        ("100Mi", RANGE, "1Gi"),
        ("1500Mi", RANGE, "2Gi"),
        ("9Gi", RANGE, None),
        ("15Gi", VALUES, "20Gi"),
        ("21Gi", VALUES, None),
        (None, VALUES, "10Gi"),
        ("300m", FRACTIONS, "500m"),
        ("900m", FRACTIONS, "1"),
        ("3Gi", policy(default="1Gi", minimum="1Gi"), "3Gi"),
        ("3Gi", policy(default="1Gi"), "3Gi"),
        ("4Gi", policy(default="1Gi", maximum="2Gi"), None),
    ],
)
def test_an_amount_is_rounded_as_the_policy_says(
    asked: str | None, found: CapacityPolicy | None, taken: str | None
) -> None:
    assert taken == taken_of(asked, found)


@pytest.mark.parametrize("asked", ["9223372036854775807", "1500u"])
def test_what_cannot_be_computed_is_an_error(asked: str) -> None:
    with pytest.raises(CapacityError):
        taken_of(asked, policy(minimum="1m", step="10"))


def test_a_negative_amount_is_an_error() -> None:
    with pytest.raises(CapacityError, match="memory: the amount -1 is negative"):
        taken_of("-1", None)


def test_every_capacity_of_a_device_is_taken() -> None:
    device = Device("gpu-0", capacity=capacities(memory="40Gi", cores="8"))

    taken = consumed(device, amounts(memory="1Gi"))

    assert amounts(memory="1Gi", cores="8") == taken


def test_a_capacity_that_a_device_does_not_have_rules_it_out() -> None:
    assert consumed(Device("gpu-0"), amounts(memory="1Gi")) is None


def test_what_is_in_use_is_no_longer_there() -> None:
    device = Device("gpu-0", capacity=capacities(memory="4"))
    taken = amounts(memory="3")

    assert is_enough(device, taken, {})
    assert is_enough(device, taken, {"memory": 10**9})
    assert not is_enough(device, taken, {"memory": 10**9 + 1})
