"""Selectors in words: the usual forms, and no guess at others."""

import pytest

from gang_scheduler.scheduler.devices.selector_words import MATCHING, conditions

CAPACITY = "device.capacity['gpu.nvidia.com'].memory"
ATTRIBUTE = 'device.attributes["gpu.nvidia.com"].productName'


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (f"{CAPACITY}.compareTo(quantity('80Gi')) >= 0", "with memory >= 80Gi"),
        (f"{CAPACITY}.compareTo(quantity('80Gi')) == 0", "with memory = 80Gi"),
        (f"{CAPACITY}.isGreaterThan(quantity('64Gi'))", "with memory > 64Gi"),
        (f"{CAPACITY}.isLessThan(quantity('64Gi'))", "with memory < 64Gi"),
        (f"{ATTRIBUTE} == 'H100 (80GB)'", "with productName = H100 (80GB)"),
        ("device.attributes['d'].index < 4", "with index < 4"),
        ("!device.attributes['d'].mig", "with mig = false"),
        (
            "device.attributes['d'].driverVersion.compareTo(semver('565.0.0')) > 0",
            "with driverVersion > 565.0.0",
        ),
        (
            (
                f"device.driver == 'gpu.nvidia.com' && has({ATTRIBUTE}) && {ATTRIBUTE} == 'A && B'"
                f" && {CAPACITY}.compareTo(quantity('40Gi')) >= 0"
            ),
            "with productName = A && B and memory >= 40Gi",
        ),
        ("device.driver == 'gpu.nvidia.com'", ""),
        (f"{ATTRIBUTE} == 'a' || {ATTRIBUTE} == 'b'", MATCHING),
        (f"{ATTRIBUTE}.lowerAscii().matches('^.*h100.*$')", MATCHING),
        (f"({ATTRIBUTE} == 'a' && true) || false", MATCHING),
        ("", MATCHING),
    ],
)
def test_a_selector_in_words(selector: str, words: str) -> None:
    assert words == conditions([selector])


def test_all_selectors_are_said_or_only_that_there_are_some() -> None:
    known = f"{CAPACITY}.compareTo(quantity('80Gi')) >= 0"

    assert "with memory >= 80Gi and index = 1" == conditions(
        [known, "device.attributes['d'].index == 1"]
    )
    assert MATCHING == conditions([known, "true || false"])
    assert "" == conditions([])
