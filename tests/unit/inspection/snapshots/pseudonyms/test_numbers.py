"""Pseudonyms of addresses and of long numbers."""

import pytest

from gang_scheduler.inspection.snapshots import pseudonyms
from gang_scheduler.model.refs import natural_key


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ip-10-20-30-40.internal", ["10-20-30-40"]),
        ("10.20.30.40", ["10.20.30.40"]),
        ("account-123456789012", ["123456789012"]),
        ("job-17-0", []),
        ("34359738368", []),
        ("512Mi", []),
        ("2024-05-01T12:00:00Z", []),
    ],
)
def test_addresses_and_long_numbers_tell_something(text: str, found: list[str]) -> None:
    assert found == [*pseudonyms.number_of(text)]


def test_pseudonyms_are_in_the_order_of_the_numbers_and_as_long() -> None:
    names = ["ip-10-20-30-40", "ip-10-20-30-7", "ip-52-1-9-1", "a-1234567", "a-7654321"]
    by = pseudonyms.number_pseudonyms(part for name in names for part in pseudonyms.number_of(name))

    after = {name: pseudonyms.renamed_numbers(name, by) for name in names}

    for key in (natural_key, str):
        assert [after[each] for each in sorted(names, key=key)] == sorted(after.values(), key=key)
    assert [*map(len, after)] == [*map(len, after.values())]
    assert not [name for name in names if name in after.values()]


def test_a_number_that_does_not_begin_with_zero_gets_no_zero_in_front() -> None:
    by = pseudonyms.number_pseudonyms(["5555555", "0000007"])

    assert by["5555555"][0] != "0"
    assert by["0000007"].startswith("000000")
