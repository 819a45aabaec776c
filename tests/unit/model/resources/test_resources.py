"""Quantities are read as apimachinery reads them, and always rounded up."""

from fractions import Fraction

import pytest

from gang_scheduler.model import resources
from gang_scheduler.model.resources import amount_of, exact_amount_of, parse_quantity, quantity_of


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("4", 4),
        ("+4", 4),
        ("-4", -4),
        ("4.", 4),
        ("1Ki", 1024),
        ("1Mi", 1024**2),
        ("1.5Gi", 3 * 1024**3 // 2),
        ("1Ti", 1024**4),
        ("1Pi", 1024**5),
        ("1Ei", 1024**6),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2.5e+1", 25),
        ("5e-1", 1),
        (3, 3),
        (0.5, 1),
        (1e22 / 1e19, 1000),
    ],
)
def test_a_quantity_is_read_in_every_spelling(text: str | float, amount: int) -> None:
    assert amount == parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1n", 1), ("1u", 1), ("1m", 1), ("1001m", 2), (".1", 1), ("0.1Ki", 103), ("-1500m", -1)],
)
def test_a_fraction_is_rounded_up(text: str, amount: int) -> None:
    assert amount == parse_quantity(text)


@pytest.mark.parametrize(
    "junk",
    ["", " ", ".", "four", "4 ", " 4", "4\n", "4gi", "4KI", "Ki", "1K", "1Kim", "1.2.3", "1e"],
)
def test_junk_is_no_quantity(junk: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(junk)


@pytest.mark.parametrize("junk", ["--1", "1,5", "0x10", "1_000", "nan", "inf"])
def test_a_number_of_another_language_is_no_quantity(junk: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(junk)


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_no_quantity(value: bool) -> None:  # noqa: FBT001 - it is what is tested.
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(value)


def test_the_largest_amount_fits_64_bits() -> None:
    assert 2**63 - 1 == parse_quantity("9223372036854775807")


@pytest.mark.parametrize(
    "text",
    [
        *("9223372036854775808", "18446744073709551615", "99999999999999999999", "8Ei", "16Ei"),
        *("9.3E", "10E", "1e19", "1E19", "1e999", "1e99999999999", 2**63, 2**70),
        *("0.1e1000", "9223372036854775807.5", 1e300),
    ],
)
def test_a_number_above_2_to_the_63_is_capped(text: str | float) -> None:
    assert 2**63 - 1 == parse_quantity(text)
    assert 2**63 - 1 == amount_of("cpu", text)


@pytest.mark.parametrize("text", ["-9223372036854775808", "-8Ei", "-1e999", -(2**70)])
def test_a_number_below_that_is_capped_alike(text: str | int) -> None:
    assert -(2**63 - 1) == parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1e-999", 1), ("1e-99999999999", 1), ("0e99999999999", 0), ("-1e-999", 0)],
)
def test_an_exponent_of_any_length_is_read(text: str, amount: int) -> None:
    assert amount == parse_quantity(text)


def test_cpus_are_capped_in_milli_too() -> None:
    assert 2**63 - 1 == amount_of("cpu", "9E")


@pytest.mark.parametrize(("text", "milli"), [("1", 1000), ("100m", 100), ("0.0001", 1), (2, 2000)])
def test_cpu_is_counted_in_milli(text: str | int, milli: int) -> None:
    assert milli == amount_of("cpu", text)


@pytest.mark.parametrize("resource", ["memory", "nvidia.com/gpu", "requests.cpu"])
def test_everything_else_is_counted_in_ones(resource: str) -> None:
    assert 2 == amount_of(resource, "2")


def test_amounts_are_added_by_resource() -> None:
    expected = {"cpu": 3, "memory": 5, "gpu": 1}

    assert expected == resources.add({"cpu": 1, "memory": 5}, {"cpu": 2, "gpu": 1})


def test_the_maximum_is_taken_by_resource() -> None:
    expected = {"cpu": 2, "memory": 5, "gpu": 1}

    assert expected == resources.maximum({"cpu": 1, "memory": 5}, {"cpu": 2, "gpu": 1})


def test_the_total_of_nothing_is_nothing() -> None:
    assert {} == resources.total([])


def test_the_total_adds_all() -> None:
    assert {"cpu": 6} == resources.total([{"cpu": 1}, {"cpu": 2}, {"cpu": 3}])


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 1500, "1500m"),
        ("cpu", 64_000, "64"),
        ("cpu", 2_000_000, "2k"),
        ("memory", 0, "0"),
        ("memory", 1000, "1000"),
        ("memory", 3 * 2**29, "1536Mi"),
        ("memory", 2**60, "1Ei"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("pods", 5000, "5k"),
    ],
)
def test_an_amount_is_written_as_kubernetes_does(resource: str, amount: int, text: str) -> None:
    assert text == quantity_of(resource, amount)
    assert amount == amount_of(resource, text)


@pytest.mark.parametrize(
    ("resource", "amount", "text", "read"),
    [
        ("nvidia.com/gpu", Fraction(3, 2), "1500m", Fraction(3, 2)),
        ("nvidia.com/gpu", Fraction(4, 3), "1333m", Fraction(1333, 1000)),
        ("nvidia.com/gpu", Fraction(4, 2), "2", 2),
        ("cpu", Fraction(2000, 3), "666m", 666),
        ("memory", Fraction(10, 3), "3", 3),
    ],
)
def test_a_part_of_a_unit_is_written_in_thousandths(
    resource: str, amount: Fraction, text: str, read: int | Fraction
) -> None:
    assert text == quantity_of(resource, amount)
    assert read == exact_amount_of(resource, text)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1.5"),
        ("cpu", 8000, "8"),
        ("memory", 3 * 2**29, "1.5Gi"),
        ("memory", 1023, "1023"),
        ("memory", 0, "0"),
        ("ephemeral-storage", 32 * 2**30, "32Gi"),
        ("hugepages-2Mi", 5 * 2**30, "5Gi"),
        ("nvidia.com/gpu", 8, "8"),
        ("nvidia.com/gpu", Fraction(3, 2), "1.5"),
        ("nvidia.com/gpu", Fraction(8, 7), "1.142"),
        ("cpu", Fraction(2000, 3), "0.666"),
        ("memory", Fraction(2**31, 3), "682.7Mi"),
    ],
)
def test_amounts_are_written_for_people(resource: str, amount: int | Fraction, text: str) -> None:
    assert text == resources.quantity(resource, amount)
