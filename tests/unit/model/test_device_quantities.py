"""Quantities of devices: read exactly, compared exactly, written as Kubernetes writes them."""

import pytest

from gang_scheduler.model import device_quantities as quantities
from gang_scheduler.model.device_quantities import MOST, NANO, Notation, Quantity


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("80Gi", 80 * 2**30 * NANO),
        ("1.5Ki", 1536 * NANO),
        ("100m", NANO // 10),
        ("3k", 3000 * NANO),
        ("1e3", 1000 * NANO),
        ("1E", 10**18 * NANO),
        (".5", NANO // 2),
        ("+7", 7 * NANO),
        ("-2", -2 * NANO),
        (12, 12 * NANO),
        ("1n", 1),
        ("0.1n", 1),
        ("1e-200", 1),
        ("99999999999E", MOST),
    ],
)
def test_a_quantity_is_read_exactly(text: object, nanos: int) -> None:
    assert nanos == quantities.parse(text).nanos


@pytest.mark.parametrize("text", ["", ".", "1 Gi", "Gi", "1ki", "0x10", None, True, "1" * 65, []])
def test_what_is_no_quantity_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantities.parse(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("80Gi", "80Gi"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("512", "512"),
        ("1000", "1k"),
        ("0.5", "500m"),
        ("1e3", "1e3"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-2Gi", "-2Gi"),
    ],
)
def test_a_quantity_is_written_as_kubernetes_writes_it(text: str, written: str) -> None:
    assert written == str(quantities.parse(text))


def test_the_notation_makes_no_difference_between_equal_amounts() -> None:
    assert quantities.parse("1Ki") == quantities.parse("1024")
    assert Quantity(5, Notation.BINARY) < Quantity(6)


def test_amounts_are_listed_in_billionths() -> None:
    assert [("memory", 2 * NANO)] == list(quantities.nanos_of({"memory": Quantity(2 * NANO)}))
